package record

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAnswers: failed requests, the warm-up and answers that were not checked are in no share; answers to one prompt
// count together.
func TestAnswers(t *testing.T) {
	add := func(out []*Record, n int, r Record) []*Record {
		for range n {
			one := r
			out = append(out, &one)
		}
		return out
	}
	valid := Record{Phase: PhaseWindow, Outcome: "ok", Valid: new(true)}
	invalid := Record{Phase: PhaseWindow, Outcome: "short", Valid: new(false), Invalid: "schema"}
	rs := add(nil, 90, valid)
	rs = add(rs, 10, invalid)
	rs = add(rs, 5, Record{Phase: PhaseWarmup, Outcome: "ok", Valid: new(false), Invalid: "not_json"})
	rs = add(rs, 5, Record{Phase: PhaseWindow, Outcome: "timeout"})
	rs = add(rs, 5, Record{Phase: PhaseWindow, Outcome: "ok", Invalid: "forced"})
	rs = add(rs, 5, Record{Phase: PhaseWindow, Outcome: "ok"})
	a := Summarize(rs, Window{EndUs: 1e6}, Mode{Streams: true}, nil, 0).Answers
	if a == nil || a.Valid == nil || a.Correct != nil {
		t.Fatalf("%+v", a)
	}
	if d := cmp.Diff([]map[string]int{{"schema": 10}, {"forced": 5}}, []map[string]int{a.Reasons, a.Unchecked}); d != "" {
		t.Error(d)
	}
	v := *a.Valid
	if v.Checked != 100 || v.In != 90 || v.Share != 0.9 || v.Effective != 100 || math.Abs(v.CI95.Lo-0.8238) > 1e-4 || math.Abs(v.CI95.Hi-0.9510) > 1e-4 {
		t.Errorf("%+v", v)
	}

	rs = nil
	for _, prompt := range []string{"a", "b", "c", "d"} { // each prompt 25 times, always the same answer
		rs = add(rs, 25, Record{Phase: PhaseWindow, Outcome: "ok", PromptHash: prompt, Correct: new(prompt != "d")})
	}
	c := Summarize(rs, Window{EndUs: 1e6}, Mode{Streams: true}, nil, 0).Answers.Correct
	if c.Checked != 100 || c.Share != 0.75 || c.Effective > 4 || c.CI95.Lo > 0.25 {
		t.Errorf("%+v", c)
	}
	rs = add(nil, 6, Record{Phase: PhaseWindow, Outcome: "ok", PromptHash: "a", Valid: new(true)}) // of two prompts
	rs = add(rs, 6, Record{Phase: PhaseWindow, Outcome: "ok", PromptHash: "b", Valid: new(false)})
	if v := Summarize(rs, Window{EndUs: 1e6}, Mode{Streams: true}, nil, 0).Answers.Valid; v.Effective != 2 || !(v.CI95.Lo > 0.01 && v.CI95.Hi < 0.99) {
		t.Errorf("%+v", v)
	}
	if none := Summarize(add(nil, 3, Record{Phase: PhaseWindow, Outcome: "ok"}), Window{EndUs: 1e6}, Mode{Streams: true}, nil, 0).Answers; none != nil {
		t.Errorf("%+v of answers that were not checked", none)
	}
}
