package report

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"bench/experiment/record"
)

// The error of the server is at the end of an invalid finding: no width cuts it.
func TestInvalidFindingIsWhole(t *testing.T) {
	run := fixtureRun()
	run.Rows[0].Findings = []record.Finding{{Code: "errors", Severity: record.Invalid,
		Text: "20 of 40 requests failed (20 status): percentiles cover the others; first error: 503 the model is not loaded"}}
	for _, width := range []int{40, 80, 120} {
		var b bytes.Buffer
		if err := Text(&b, run, Screen{Width: width}); err != nil {
			t.Fatal(err)
		}
		if text := strings.Join(strings.Fields(b.String()), " "); !strings.Contains(text, "first error: 503 the model is not loaded") {
			t.Errorf("%d columns: the reason is cut:\n%s", width, b.String())
		}
	}
}

// A group of findings quotes the row that it can have moved the most, also behind others and of two findings.
func TestFindingQuotesTheWorstRow(t *testing.T) {
	run := fixtureRun()
	ms := func(text string, x *float64) record.Finding {
		return record.Finding{Code: "client_bound", Severity: record.Caution, Text: text, Effects: []record.Effect{{Metric: "ttft", Bound: x, Unit: record.UnitMs}}}
	}
	run.Rows[0].Findings = []record.Finding{ms("lag 1 ms", new(1.0))}
	run.Rows[1].Findings = []record.Finding{ms("lag 9 ms", new(9.0)), ms("steal 3 ms", new(3.0))}
	run.Rows[2].Findings = []record.Finding{ms("lag 2 ms", new(2.0))}
	for want, last := range map[string]*float64{"lag 9 ms; steal 3 ms": new(4.0), "without an end": nil} {
		run.Rows[3].Findings = []record.Finding{ms("without an end", last)}
		o := run.Analyze()
		of := slices.IndexFunc(o.Findings, func(f Finding) bool { return f.Code == "client_bound" })
		if got := o.Findings[of].text(); got != "client_bound (4 rows): "+want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
