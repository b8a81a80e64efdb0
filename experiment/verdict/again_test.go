package verdict

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/workload"
	fixture "bench/internal/fixturetest"
)

// saved is a row and its records, written to files and read again.
func saved(t *testing.T, e *Measured) (*record.Row, []*record.Record) {
	t.Helper()
	var row record.Row
	if err := json.Unmarshal(encoded(t, e.Row), &row); err != nil {
		t.Fatal(err)
	}
	return &row, fixture.Decode(t, fixture.Encode(t, e.Records))
}

func encoded(t *testing.T, row *record.Row) []byte {
	t.Helper()
	text, err := json.MarshalIndent(row, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// A stored row that is concluded again is the stored row, whatever its checks take from outside the records.
func TestAgain(t *testing.T) {
	for name, change := range map[string]func(*Measured){
		"flawless":           func(*Measured) {},
		"priming failed":     func(e *Measured) { e.FailedPriming = 2 },
		"chat template":      func(e *Measured) { *e.PromptOverhead = 40; cacheTokens(e, 50) },
		"cache of others":    func(e *Measured) { cacheTokens(e, 50) },
		"within a self-test": func(e *Measured) { e.Selftest = tested() },
		"beyond a self-test": func(e *Measured) {
			e.Selftest = tested()
			e.Selftest.Calibration.RequestsPerS = 1
		},
		"classes": func(e *Measured) {
			e.Spec.Mix = []workload.Class{{Name: "", Weight: 1, SLO: map[string]any{"e2e_p50": "1s", "error_rate": 0.5}}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := flawless()
			e.PromptOverhead = new(0)
			e.Spec.SLO = fixture.SLO(t, "ttft_p90 = \"1ms\"\nerror_rate = 0.1\nusd_per_million_output_tokens = 3")
			change(e)
			target := experiment.Target{GPUs: 2, GPUHourUSD: new(1.5)}
			e.Conclude(target, record.RooflineSource{}.Or(e.Roofline))
			row, records := saved(t, e)
			before := encoded(t, row)
			again := Again(row, records, target, record.RooflineSource{}.Or(row.Roofline))
			if diff := cmp.Diff(string(before), string(encoded(t, again))); diff != "" {
				t.Errorf("stored (-), again (+):\n%s", diff)
			}
			other := *row
			other.Spec.SLO, other.Spec.Mix = fixture.SLO(t, `e2e_p50 = "1us"`), nil
			changed := Again(&other, records, target, record.RooflineSource{})
			if changed.SLO[0].Verdict != "FAIL" || changed.Summary.Goodput.Share != 0 {
				t.Errorf("under another SLO: %+v, goodput %+v", changed.SLO, changed.Summary.Goodput)
			}
			if !bytes.Equal(before, encoded(t, row)) {
				t.Error("the stored row was changed")
			}
		})
	}
}

func cacheTokens(e *Measured, n int) {
	for _, r := range e.Records {
		r.CachedTokens = &n
	}
}

// Rows of older versions lack what two checks need: what these found stays.
func TestAgainOfAnOlderRow(t *testing.T) {
	stored := func(code, text string) func(*record.Row) {
		return func(r *record.Row) {
			r.Findings = append(r.Findings, record.Finding{Code: code, Text: text, Hint: "h"})
			r.Checks.Passed = slices.DeleteFunc(r.Checks.Passed, func(c string) bool { return c == code })
			r.Checks.Failed = append(r.Checks.Failed, code)
		}
	}
	for name, c := range map[string]struct {
		was  func(*record.Row)
		code string
		kept bool
	}{
		"failed priming":  {stored("prefix_cache", "2 requests that prime the prefixes failed"), "prefix_cache", true},
		"self-test":       {stored("client_bound", "the load, 9 streams, exceeds this machine's calibration"), "client_bound", true},
		"a former limit":  {stored("client_bound", "client lag p99 is 0.1 ms (limit 0.05 ms)"), "client_bound", false},
		"another finding": {stored("client_machine", "9 of 9 TCP segments were retransmitted"), "client_machine", false},
	} {
		t.Run(name, func(t *testing.T) {
			e := flawless()
			e.Conclude(experiment.Target{}, record.RooflineSource{}.Or(e.Roofline))
			row, records := saved(t, e)
			passed := slices.Clone(row.Checks.Passed)
			c.was(row)
			again := Again(row, records, experiment.Target{}, record.RooflineSource{}.Or(row.Roofline))
			if found := slices.Contains(again.Checks.Failed, c.code); found != c.kept || (len(again.Findings) == 1) != c.kept {
				t.Errorf("kept %t: %+v", found, again.Findings)
			}
			if !c.kept && !slices.Equal(again.Checks.Passed, passed) {
				t.Errorf("checks %q, before %q", again.Checks.Passed, passed)
			}
		})
	}
	// A text prompt of a cold row with cached tokens: they may be those around every prompt.
	e := flawless()
	cacheTokens(e, 50)
	e.Conclude(experiment.Target{}, record.RooflineSource{}.Or(e.Roofline))
	row, records := saved(t, e)
	row.Findings, row.Checks.Failed, row.Checks.Passed = nil, nil, append(row.Checks.Passed, "prefix_cache")
	again := Again(row, records, experiment.Target{}, record.RooflineSource{}.Or(row.Roofline))
	if len(again.Findings) > 0 || !slices.Contains(again.Checks.Passed, "prefix_cache") {
		t.Errorf("an invented finding: %+v", again.Findings)
	}
}
