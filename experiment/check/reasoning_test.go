package check

import (
	"slices"
	"strings"
	"testing"

	"bench/experiment/record"
	fixture "bench/internal/fixturetest"
)

// thinks gives the first n requests of the window reasoning, whose answer begins at the last token.
func (e *evidence) thinks(n int) []*record.Record {
	own := e.inWindow()[:n]
	for _, r := range own {
		r.FirstAnswer, r.ReasoningTokens = r.Last, new(1)
	}
	return own
}

// The checks of reasoning and speculation: what fails each, and what just passes.
func TestFindingsOfTheAnswers(t *testing.T) {
	endless := func(n int) func(*evidence) {
		return func(e *evidence) {
			for _, r := range e.thinks(100)[:n] {
				r.FirstAnswer, r.ReasoningTokens = record.Micros{}, new(2)
			}
		}
	}
	tags := func(n int) func(*evidence) {
		return func(e *evidence) {
			for _, r := range e.inWindow()[:n] {
				r.ThinkTag = true
			}
		}
	}
	parsed := func(e *evidence) {
		for _, r := range e.thinks(2) {
			r.ThinkTag = true
		}
	}
	speculates := func(real int) func(*evidence) {
		return func(e *evidence) {
			e.Speculation = &record.Speculation{Source: record.SpeculationOfServer, AcceptanceLength: new(2.5)}
			for _, r := range e.inWindow()[:real] {
				r.PromptHash = "0123456789abcdef"
			}
		}
	}
	for _, c := range []struct {
		code, what string
		change     func(*evidence)
		want       record.Severity // empty: passed
		text       string
		effects    []string
	}{
		{"unanswered", "all answered", func(e *evidence) { e.thinks(100) }, "", "", nil},
		{"unanswered", "one", endless(1), record.Note, "1 of 100 answers ended in their reasoning", nil},
		{"unanswered", "two", endless(2), record.Caution, "2 of 100 answers ended", nil},
		{"unparsed_reasoning", "one", tags(1), "", "", nil},
		{"unparsed_reasoning", "two", tags(2), record.Caution, "2 of 100 answers have <think> tags", []string{"ttfo"}},
		{"unparsed_reasoning", "behind streamed reasoning", parsed, "", "", nil},
		{"synthetic_speculation", "synthetic", speculates(0), record.Caution, "speculates (2.5 tokens per step) on 100 synthetic prompts of 100", nil},
		{"synthetic_speculation", "mixed", speculates(98), record.Caution, "on 2 synthetic prompts of 100", nil},
		{"synthetic_speculation", "real text", speculates(99), "", "", nil},
	} {
		e, code := flawless(), ""
		c.change(e)
		only(c.code, func(of string) { e.checked(); code = of })
		i := slices.IndexFunc(e.Findings, func(f record.Finding) bool { return f.Code == code })
		if i < 0 {
			if c.want != "" || !slices.Contains(e.Checks.Passed, code) {
				t.Errorf("%s, %s: no finding", c.code, c.what)
			}
			continue
		}
		f := e.Findings[i]
		var touched []string
		for _, x := range f.Effects {
			touched = append(touched, x.Metric)
		}
		if f.Severity != c.want || !strings.Contains(f.Text, c.text) || f.Hint == "" || !slices.Equal(touched, c.effects) {
			t.Errorf("%s, %s: %+v", c.code, c.what, f)
		}
	}
}

// What moves other latencies moves the first answer token, too: with reasoning as the last token, else as the first.
// It is named only where a row has it.
func TestEffectsOnTheFirstAnswer(t *testing.T) {
	of := func(e *evidence) (bounds []float64) {
		for _, f := range e.Findings {
			for _, x := range f.Effects {
				if x.Metric == "ttfo" {
					bounds = append(bounds, *x.Bound)
				}
			}
		}
		return bounds
	}
	connect := func(e *evidence) {
		for _, r := range e.inWindow()[:10] {
			r.ConnectUs = new(int64(4000))
		}
	}
	plain, limited, thinking := flawless(), flawless(), flawless()
	connect(plain)
	connect(limited)
	connect(thinking)
	limited.Spec.SLO = fixture.SLO(t, `ttfo_p95 = "1s"`)
	thinking.thinks(100)
	for _, c := range []struct {
		name string
		e    *evidence
		want []float64
	}{{"no reasoning", plain, nil}, {"a limit", limited, []float64{4}}, {"reasoning", thinking, []float64{4}}} {
		if got := of(c.e.checked()); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
