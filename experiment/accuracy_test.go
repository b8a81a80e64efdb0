package experiment

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestQuestions(t *testing.T) {
	good, err := parseQuestions(strings.NewReader(`{"prompt":"a?","expected":"1"}` + "\n\n" + `{"prompt":"b?","expected":["2","two"],"category":"x"}`))
	if err != nil || fmt.Sprint(good) != "[{a? [1]} {b? [2 two]}]" {
		t.Errorf("%v, %v", good, err)
	}
	for text, want := range map[string]string{
		"":                                      "no question",
		`{"prompt":"a","expected":"1"}` + "\nx": "line 2: ",
		`{"prompt":" ","expected":"1"}`:         "line 1: no prompt",
		`{"prompt":"a"}`:                        "line 1: expected is neither",
		`{"prompt":"a","expected":[]}`:          "line 1: no expected answer",
		`{"prompt":"a","expected":7}`:           "line 1: expected is neither",
		strings.Repeat(`{"prompt":"a","expected":"1"}`+"\n", mostQuestions+1): "line 1001: more than 1000 questions",
		`{"prompt":"` + strings.Repeat("a", longestLine):                      "line 1: bufio.Scanner: token too long",
	} {
		if _, err := parseQuestions(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", text, err, want)
		}
	}
}

// TestSums: the built-in questions are 20 different ones, with their sums.
func TestSums(t *testing.T) {
	seen := map[string]bool{}
	for _, q := range sums() {
		var a, b int
		if _, err := fmt.Sscanf(q.Prompt, "Answer with the number only.\nWhat is %d + %d?", &a, &b); err != nil || q.Expected[0] != fmt.Sprint(a+b) || seen[q.Prompt] {
			t.Errorf("%+v", q)
		}
		seen[q.Prompt] = true
	}
	if len(seen) != 20 {
		t.Errorf("%d questions", len(seen))
	}
}

func TestAccuracyCheck(t *testing.T) {
	file := filepath.Join(t.TempDir(), "q.jsonl")
	if err := os.WriteFile(file, []byte(`{"prompt":"a?","expected":"1"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		a    Accuracy
		want string
	}{{Accuracy{}, ""}, {Accuracy{File: file}, ""}, {Accuracy{File: file + "x"}, "file"}, {Accuracy{MinCorrect: 2}, "min_correct"}} {
		var keys []string
		c.a.Check(func(key, _, _ string) { keys = append(keys, key) })
		if strings.Join(keys, " ") != c.want {
			t.Errorf("%+v: %v", c.a, keys)
		}
	}
}

func FuzzQuestions(f *testing.F) {
	f.Add(`{"prompt":"a?","expected":["1"]}`)
	f.Fuzz(func(t *testing.T, text string) {
		questions, err := parseQuestions(strings.NewReader(text))
		for _, q := range questions {
			if err == nil && (q.Prompt == "" || len(q.Expected) == 0) {
				t.Errorf("%+v", q)
			}
		}
	})
}
