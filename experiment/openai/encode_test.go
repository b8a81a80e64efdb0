package openai

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bench/experiment/target"
)

func TestBody(t *testing.T) {
	tests := []struct {
		name   string
		params Params
		prompt Prompt
		output int
		want   string
	}{
		{"ids", Params{Model: "m", Stream: true, IgnoreEOS: true}, Prompt{IDs: []int32{1, 22, 128000}}, 8,
			`{"model":"m","stream":true,"stream_options":{"include_usage":true},"temperature":0,"ignore_eos":true,"max_tokens":8,"min_tokens":8,"prompt":[1,22,128000]}`},
		{"text", Params{Model: "m"}, Prompt{Text: "a\n\"b\" <é>"}, 5, `{"model":"m","stream":false,"temperature":0,"max_tokens":5,"prompt":"a\n\"b\" <é>"}`},
		{"chat", Params{API: target.Chat, Model: "m", Stream: true}, Prompt{Text: "hi"}, 3,
			`{"model":"m","stream":true,"stream_options":{"include_usage":true},"temperature":0,"max_tokens":3,"messages":[{"role":"user","content":"hi"}]}`},
		{"responses", Params{API: target.Responses, Model: "m", Stream: true, IgnoreEOS: true}, Prompt{Text: "hi"}, 3,
			`{"model":"m","stream":true,"temperature":0,"ignore_eos":true,"max_output_tokens":3,"min_tokens":3,"input":[{"role":"user","content":"hi"}]}`},
		{"messages", Params{API: target.Messages, Model: "m", Stream: true, IgnoreEOS: true, Omit: map[string]bool{"ignore_eos": true}}, Prompt{Text: "hi"}, 3,
			`{"model":"m","stream":true,"temperature":0,"max_tokens":3,"min_tokens":3,"messages":[{"role":"user","content":"hi"}]}`},
		{"no length", Params{}, Prompt{Text: "hi"}, 0, `{"model":"","stream":false,"temperature":0,"prompt":"hi"}`},
		{"omitted", Params{Stream: true, IgnoreEOS: true, Omit: map[string]bool{"ignore_eos": true, "min_tokens": true, "stream_options": true, "temperature": true}},
			Prompt{IDs: []int32{}}, 3, `{"model":"","stream":true,"max_tokens":3,"prompt":[]}`},
		{"extra", Params{Stream: true, IgnoreEOS: true, Omit: map[string]bool{"seed": true}, Extra: map[string]any{"temperature": 0.7, "seed": 1, "ignore_eos": false,
			"min_tokens": 1, "stream_options": map[string]any{"continuous_usage_stats": true}}}, Prompt{Text: "x"}, 3,
			`{"model":"","stream":true,"temperature":0.7,"seed":1,"ignore_eos":false,"min_tokens":1,"stream_options":{"continuous_usage_stats":true},"max_tokens":3,"prompt":"x"}`},
		{"extra length", Params{Extra: map[string]any{"max_completion_tokens": 9}}, Prompt{Text: "x"}, 3, `{"model":"","stream":false,"temperature":0,"max_completion_tokens":9,"prompt":"x"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e, err := tt.params.Encoder()
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // a body must leave nothing behind
				got := e.Body([]byte("keep"), tt.prompt, tt.output)
				if string(got[:4]) != "keep" {
					t.Fatalf("%s", got)
				}
				if diff := cmp.Diff(decode(t, []byte(tt.want)), decode(t, got[4:])); diff != "" {
					t.Errorf("%s\n%s", diff, got)
				}
			}
			e.Sampling()["temperature"] = "changed"
			if e.Sampling()["temperature"] == "changed" {
				t.Error("Sampling gives the encoder's own map")
			}
		})
	}
	for _, api := range []string{target.Chat, target.Responses, target.Messages} {
		e, _ := Params{API: api}.Encoder()
		if got := e.Body(nil, Prompt{IDs: []int32{1}}, 1); got != nil {
			t.Errorf("%s with ids: %s", api, got)
		}
	}
	for _, p := range []Params{{API: "x"}, {Extra: map[string]any{"prompt": 1}}, {Extra: map[string]any{"input": 1}}, {Extra: map[string]any{"f": func() {}}}} {
		if _, err := p.Encoder(); err == nil {
			t.Errorf("%+v: no error", p)
		}
	}
}

func decode(t *testing.T, text []byte) (v any) {
	t.Helper()
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// FuzzString: encoded strings are those of encoding/json.
func FuzzString(f *testing.F) {
	f.Add("a\"\\\x00\x1f\x7f é \xff\xc3 \u2028 <&> 😀 \xed\xa0\x80")
	f.Fuzz(func(t *testing.T, text string) {
		want, _ := json.Marshal(text)
		if diff := cmp.Diff(decode(t, want), decode(t, appendString(nil, text))); diff != "" {
			t.Error(diff)
		}
	})
}

// TestBodyAllocatesOnce: a body grows once, however long the extra fields are, and without a copy of the prompt.
func TestBodyAllocatesOnce(t *testing.T) {
	const most = 2 // one, and under the race detector the one that slices.Grow copies
	prompt, ids := Prompt{Text: strings.Repeat("some words ", 1000)}, Prompt{IDs: slices.Repeat([]int32{128000}, 1000)}
	for _, c := range []struct {
		api    string
		prompt Prompt
	}{{target.Completions, prompt}, {target.Completions, ids}, {target.Chat, prompt}, {target.Responses, prompt}} {
		e, err := Params{API: c.api, IgnoreEOS: true, Extra: map[string]any{"x": strings.Repeat("y", 4000)}}.Encoder()
		if err != nil {
			t.Fatal(err)
		}
		var body []byte
		if n := testing.AllocsPerRun(10, func() { body = e.Body(nil, c.prompt, 128000) }); n > most {
			t.Errorf("%s: %v allocations for a body", c.api, n)
		}
		answer := &Answer{Text: []byte("an answer"), IDs: c.prompt.IDs}
		if n := testing.AllocsPerRun(10, func() { e.Extend(nil, body, answer, c.prompt, 128000) }); n > most {
			t.Errorf("%s: %v allocations for a turn", c.api, n)
		}
	}
}
