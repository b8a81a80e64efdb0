package experiment

import (
	"strings"
	"testing"
)

func TestGate(t *testing.T) {
	var g Gate
	g.DecodeTOML(map[string]any{"ttft_p99": "+5%", "output_tokens_per_s": "-3.5%", "error_rate": "+0.002",
		"session_time_p50": "+5%", "answers_valid": "-0.02", "tokens_per_step": "-4%"}, func(key, problem, _ string) {
		t.Errorf("%s: %s", key, problem)
	})
	want := []string{`answers_valid = "-0.02"`, `error_rate = "+0.002"`, `output_tokens_per_s = "-3.5%"`,
		`session_time_p50 = "+5%"`, `tokens_per_step = "-4%"`, `ttft_p99 = "+5%"`}
	for i, w := range want {
		if got := g.Thresholds[i].String(); got != w {
			t.Errorf("threshold %d is %s, want %s", i, got, w)
		}
	}
	if g.Thresholds[2].Worse != 0.035 {
		t.Errorf("a fall of 3.5 %% is %v", g.Thresholds[2].Worse)
	}
}

func TestGateMistakes(t *testing.T) {
	for key, c := range map[string]struct {
		value         any
		problem, hint string
	}{
		"ttft":                 {"+5%", `unknown gate metric "ttft"`, "statistic p50"},
		"ttft_p98":             {"+5%", "unknown gate metric", "p999"},
		"min_requests_per_s":   {"-5%", "unknown gate metric", "requests_per_s"},
		"ttft_p99":             {"5%", "not a change for the worse", `ttft_p99 = "+5%"`},
		"ttft_p95":             {"-5%", "better, not worse", `"+5%"`},
		"requests_per_s":       {"+5%", "better, not worse", `"-5%"`},
		"output_tokens_per_s":  {"-100%", "can't fall by 100 %", `"-5%"`},
		"error_rate":           {"+5%", "a change of error_rate is a difference", `"+0.001"`},
		"answers_valid":        {"-2%", "a change of answers_valid is a difference", `"-0.02"`},
		"acceptance_rate":      {"+0.1", "better, not worse", `"-0.02"`},
		"reasoning_tokens_p50": {"+5%", "unknown gate metric", "answers_valid"},
		"e2e_p50":              {"+50", "a change of e2e_p50 is a percentage", `"+5%"`},
		"e2e_p99":              {0.05, "in quotes", `e2e_p99 = "+5%"`},
		"tpot_p50":             {"+nan%", "not a change", `"+5%"`},
		"tpot_p95":             {"+0%", "not a change", `"+5%"`},
	} {
		var g Gate
		said := ""
		g.DecodeTOML(map[string]any{key: c.value}, func(at, problem, hint string) {
			if at != key || !strings.Contains(problem, c.problem) || !strings.Contains(hint, c.hint) {
				t.Errorf("%s = %v: at %s: %s (%s), want %q and %q", key, c.value, at, problem, hint, c.problem, c.hint)
			}
			said = problem
		})
		if said == "" || len(g.Thresholds) > 0 {
			t.Errorf("%s = %v is taken", key, c.value)
		}
	}
	var g Gate
	g.DecodeTOML("x", func(_, problem, _ string) {
		if problem != "gate is a table" {
			t.Error(problem)
		}
	})
}
