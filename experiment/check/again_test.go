package check_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bench/experiment"
	"bench/experiment/check"
	"bench/experiment/record"
	"bench/experiment/verdict"
	"bench/experiment/workload"
	fixture "bench/internal/fixturetest"
)

// saved is a row and its records, written to files and read again.
func saved(t *testing.T, e *verdict.Measured) (*record.Row, []*record.Record) {
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
	for name, change := range map[string]func(*check.Evidence){
		"flawless":           func(*check.Evidence) {},
		"priming failed":     func(e *check.Evidence) { e.FailedPriming = 2 },
		"chat template":      func(e *check.Evidence) { *e.PromptOverhead = 40; cacheTokens(e, 50) },
		"cache of others":    func(e *check.Evidence) { cacheTokens(e, 50) },
		"within a self-test": func(e *check.Evidence) { e.Selftest = check.Tested() },
		"beyond a self-test": func(e *check.Evidence) {
			e.Selftest = check.Tested()
			e.Selftest.Calibration.RequestsPerS = 1
		},
		"classes": func(e *check.Evidence) {
			e.Spec.Mix = []workload.Class{{Name: "", Weight: 1, SLO: map[string]any{"e2e_p50": "1s", "error_rate": 0.5}}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := check.Flawless()
			e.PromptOverhead = new(0)
			e.Spec.SLO = fixture.SLO(t, "ttft_p90 = \"1ms\"\nerror_rate = 0.1\nusd_per_million_output_tokens = 3")
			change(e)
			target := experiment.Target{GPUs: 2, GPUHourUSD: new(1.5)}
			m := &verdict.Measured{Row: e.Row, Records: e.Requests()}
			m.Conclude(target, record.RooflineSource{}.Or(e.Roofline))
			row, records := saved(t, m)
			before := encoded(t, row)
			again := verdict.Again(row, records, target, record.RooflineSource{}.Or(row.Roofline))
			if diff := cmp.Diff(string(before), string(encoded(t, again))); diff != "" {
				t.Errorf("stored (-), again (+):\n%s", diff)
			}
			other := *row
			other.Spec.SLO, other.Spec.Mix = fixture.SLO(t, `e2e_p50 = "1us"`), nil
			changed := verdict.Again(&other, records, target, record.RooflineSource{})
			if changed.SLO[0].Verdict != "FAIL" || changed.Summary.Goodput.Share != 0 {
				t.Errorf("under another SLO: %+v, goodput %+v", changed.SLO, changed.Summary.Goodput)
			}
			whole := verdict.Again(&other, records, target, record.RooflineSource{}.Or(row.Roofline))
			if diff := cmp.Diff(string(encoded(t, whole)), string(encoded(t, verdict.UnderLimits(&other, records, target)))); diff != "" {
				t.Errorf("under other limits, all derived (-), figures kept (+):\n%s", diff)
			}
			if !bytes.Equal(before, encoded(t, row)) {
				t.Error("the stored row was changed")
			}
		})
	}
}

func cacheTokens(e *check.Evidence, n int) {
	for _, r := range e.Requests() {
		r.CachedTokens = &n
	}
}

// Stored rows of prefixes have the same result again.
func TestPrefixAgain(t *testing.T) {
	check.EachWarmRow(func(name string, e *check.Evidence) {
		checks, findings := e.Checks, e.Findings
		again := verdict.Again(e.Row, e.Requests(), experiment.Target{}, record.RooflineSource{})
		of := func(findings []record.Finding) (out []record.Finding) {
			for _, f := range findings {
				if f.Code == "prefix_cache" {
					out = append(out, f)
				}
			}
			return out
		}
		if diff := cmp.Diff(of(findings), of(again.Findings)); diff != "" {
			t.Errorf("%s: stored (-), again (+):\n%s", name, diff)
		}
		for list, was := range map[string][2][]string{"passed": {checks.Passed, again.Checks.Passed},
			"failed":       {checks.Failed, again.Checks.Failed},
			"not possible": {checks.NotPossible, again.Checks.NotPossible}, "unverified": {checks.Unverified, again.Checks.Unverified}} {
			if slices.Contains(was[0], "prefix_cache") != slices.Contains(was[1], "prefix_cache") {
				t.Errorf("%s: %s %v, again %v", name, list, was[0], was[1])
			}
		}
	})
}
