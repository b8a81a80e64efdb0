package predict

import (
	"math"
	"slices"
	"strings"
	"testing"

	"bench/experiment/record"
)

const thinking = `[mock]
reasoning_tokens = 20
[[row]]
name = "mix"
api = "chat"
concurrency = 1
requests = 30
[[row.mix]]
weight = 0.25
name = "usual"
input = 100
output = 60
[[row.mix]]
weight = 0.25
name = "none"
input = 100
output = 60
extra_body = { reasoning_effort = "none" }
[[row.mix]]
weight = 0.25
name = "short"
input = 100
output = 15
[[row]]
name = "completions"
concurrency = 1
requests = 3
input = 100
output = 60
[[row]]
name = "talk"
api = "chat"
input = 160
output = 60
concurrency = 1
requests = 9
session = { turns = 3, user = 64 }
`

// The answers of a prediction reason as those of the simulated server: by effort, in chat only, and a later
// turn does not contain it.
func TestReasoning(t *testing.T) {
	_, rows := predicted(t, head+thinking)
	for class, want := range map[string]int{"usual": 20, "none": 0, "short": 15} {
		s := rows["mix"].Classes[class]
		switch x := s.Reasoning; {
		case want == 0:
			if x != nil {
				t.Errorf("%s: %+v", class, x)
			}
		case x == nil || x.Tokens.Min != float64(want) || x.Tokens.Max != float64(want):
			t.Errorf("%s: %+v", class, x)
		case class == "short":
			if x.Unanswered != x.Requests || s.TTFO != nil {
				t.Errorf("short: %d of %d without an answer, ttfo %+v", x.Unanswered, x.Requests, s.TTFO)
			}
		case math.Abs(s.TTFO.P50-s.TTFT.P50-float64(want)*s.TPOT.P50) > 1:
			t.Errorf("%s: ttfo %g, ttft %g, tpot %g", class, s.TTFO.P50, s.TTFT.P50, s.TPOT.P50)
		}
	}
	if x := rows["completions"].Summary.Reasoning; x != nil {
		t.Errorf("completions: %+v", x)
	}
	talk := rows["talk"]
	// Turns have 160, 160+40+64 and 264+40+64 tokens: each answer comes back without its 20 of reasoning.
	if got := talk.Summary.Tokens.Prompt; got != 3*(160+264+368) || found(talk, "prompts") {
		t.Errorf("%d prompt tokens, findings %+v", got, talk.Findings)
	}
}

// Of a server that can reason, TTFO is not predicted unless the matrix states for how many tokens.
func TestReasoningUnknown(t *testing.T) {
	const row = `[[row]]
name = "a"
api = "chat"
input = 100
output = 60
concurrency = 1
requests = 300
[row.slo]
ttfo_p50 = "1s"
tpot_p50 = "1s"
`
	real := strings.Replace(head, "[target]", "[target]\nendpoint = \"127.0.0.1:9\"", 1)
	_, rows := predicted(t, real+row)
	verdicts := func(row *record.Row) (text string) {
		for _, v := range row.SLO {
			text += v.Metric + " " + string(v.Verdict) + " "
		}
		return text
	}
	if a := rows["a"]; verdicts(a) != "tpot_p50 PASS ttfo_p50 UNDECIDED " || !found(a, "reasoning") {
		t.Errorf("%s, findings %+v", verdicts(a), a.Findings)
	}
	_, rows = predicted(t, real+"[mock]\nreasoning_tokens = 20\n"+row)
	if a := rows["a"]; verdicts(a) != "tpot_p50 PASS ttfo_p50 PASS " || a.Summary.Reasoning == nil || found(a, "reasoning") {
		t.Errorf("stated: %s, findings %+v", verdicts(a), a.Findings)
	}
	_, p, err := planned(t, real+strings.Replace(row, "concurrency = 1\nrequests = 300", `rate = { search = "slo", min = 1, max = 8 }`, 1)+
		"[[row]]\nname = \"b\"\ninput = 1\noutput = 1\nconcurrency = 1\nrequests = 1\n")
	if err != nil || len(p.Prediction.LeftOut) != 1 || !strings.Contains(p.Prediction.LeftOut[0].Why, "reasoning tokens") {
		t.Errorf("search: %v, left out %+v", err, p.Prediction.LeftOut)
	}
}

func found(row *record.Row, code string) bool {
	return slices.ContainsFunc(row.Findings, func(f record.Finding) bool { return f.Code == code })
}
