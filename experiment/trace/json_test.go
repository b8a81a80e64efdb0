package trace

import (
	"strings"
	"testing"
)

// TestMistakesInJSON: errors use the terms of the file.
func TestMistakesInJSON(t *testing.T) {
	for _, c := range []struct{ row, want string }{
		{`{"timestamp": 0, "input_length": 1e30, "output_length": 1}`, "input_length is 1e30, but must be an integer"},
		{`{"timestamp": 0, "input_length": "a", "output_length": 1}`, "input_length is a string, but must be an integer"},
		{`{"timestamp": 0, "input_length": 9, "output_length": 1, "hash_ids": [-1]}`, "hash_ids is -1, but must be an integer from 0"},
		{`{"timestamp": "x", "input_length": 9, "output_length": 1}`, "timestamp is a string"},
		{`{"schema": "bench/trace/v1", "block_tokens": "many"}`, "block_tokens is a string, but must be an integer"},
		{`{"timestamp": 0, "input_length": 9, "output_length": 1}}`, "not a JSON object"},
	} {
		r, err := New(strings.NewReader(c.row+"\n"), Options{File: "x"}, nil)
		if err == nil {
			_, err = r.Next()
		}
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.row, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: got %v, want %s", c.row, err, c.want)
		case err != nil && (strings.Contains(err.Error(), "Go ") || strings.Contains(err.Error(), "json: ")):
			t.Errorf("%s: %v", c.row, err)
		}
	}
}

// TestPartsThatAreNoTextAreLost: an image of a prompt is reported as lost.
func TestPartsThatAreNoTextAreLost(t *testing.T) {
	const text = `{"messages": [{"role": "user", "content": [{"type": "text", "text": "what is it?"}, {"type": "image_url", "image_url": {"url": "data:x"}}]}], "output": "b"}`
	r, err := New(strings.NewReader(text+"\n"), Options{File: "x"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	c, err := Convert(&b, r, true)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(c.Lost, "\n"); !strings.Contains(got, "images and files in prompts (1): they count no tokens") {
		t.Errorf("lost: %s", got)
	}
}
