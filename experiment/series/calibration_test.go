package series

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bench/experiment/record"
	"bench/experiment/roofline"
	"bench/experiment/stats"
)

func TestCalibrationOf(t *testing.T) {
	row := func(id string, concurrency int, model string) record.Row {
		r := record.Row{ID: id, Roofline: &record.Roofline{Model: model, Hardware: "h", GPUs: 1, Batch: float64(concurrency), Context: 100, Input: 80, Cached: 5}}
		r.Spec.Concurrency = concurrency
		r.Summary = record.Summary{TPOT: &stats.Summary{P50: 12}, ITL: &stats.Summary{P50: 10}, TTFT: &stats.Summary{P50: 50}, TokensPerEvent: 1, Requests: record.Requests{Completed: 6}}
		return r
	}
	flagged, bare, several, rated := row("flagged", 4, "m"), row("bare", 4, "m"), row("several", 2, "m"), row("rated", 1, "m")
	few := row("few", 1, "m")
	few.Summary.Requests.Completed = 5
	rated.Findings = []record.Finding{{Code: "heterogeneous", Severity: record.Note}, {Code: "rate_not_achieved", Severity: record.Caution}} // its times are as good as any
	flagged.Findings = []record.Finding{{Code: "errors", Severity: record.Invalid}, {Code: "rate_not_achieved", Severity: record.Caution}, {Code: "client_machine", Severity: record.Caution}}
	bare.Roofline = nil
	several.Summary.TokensPerEvent = 2 // its gaps are not of one token
	rated.Spec.Rate = 3
	c := CalibrationPoints([]record.Row{flagged, bare, few, row("one", 1, "m"), several, row("other", 8, "another model"), rated})
	want := []roofline.Point{
		{Name: "one", Metric: "tpot", Batch: 1, Context: 100, Ms: 10}, {Name: "one", Metric: "ttft", Input: 80, Cached: 5, Ms: 50},
		{Name: "several", Metric: "tpot", Batch: 2, Context: 100, Ms: 12}, {Name: "rated", Metric: "tpot", Batch: 1, Context: 100, Ms: 10},
	}
	if d := cmp.Diff(want, c.Points); d != "" {
		t.Error(d)
	}
	if c.Setup == nil || c.Setup.Model != "m" || !slices.Equal(c.LeftOut, []string{"flagged (errors, client_machine)", "bare (no roofline)", "few (5 requests completed, 6 needed)", "other (different model or hardware)"}) {
		t.Errorf("%+v", c)
	}
	if c := CalibrationPoints([]record.Row{bare}); c.Points != nil || c.Setup != nil {
		t.Errorf("%+v", c)
	}
}

// Rows to check give what a user compares: alone the step and the prompt, in a closed loop TPOT and TTFT.
func TestCalibrationKeepsCheckRowsOut(t *testing.T) {
	row := func(name string, concurrency int) record.Row {
		r := record.Row{ID: name, Roofline: &record.Roofline{Model: "m", Hardware: "h", GPUs: 1, Batch: float64(concurrency), Context: 100, Input: 80}}
		r.Spec.Name, r.Spec.Concurrency = name, concurrency
		r.Summary = record.Summary{TPOT: &stats.Summary{P50: 12}, TTFT: &stats.Summary{P50: 50}, Requests: record.Requests{Completed: 6}}
		r.Summary.Tokens.Output = 60
		return r
	}
	c := CalibrationPoints([]record.Row{row("check-a", 1), row("decode", 4), row("check-b", 4)})
	fit := []roofline.Point{{Name: "decode", Metric: "tpot", Batch: 4, Context: 100, Ms: 12}}
	check := []roofline.Point{
		{Name: "check-a", Metric: "tpot", Batch: 1, Context: 100, Ms: 12}, {Name: "check-a", Metric: "ttft", Input: 80, Ms: 50},
		{Name: "check-b", Metric: "tpot", Concurrency: 4, Input: 80, Output: 10, Ms: 12}, {Name: "check-b", Metric: "ttft", Concurrency: 4, Input: 80, Output: 10, Ms: 50},
	}
	if d := cmp.Diff(fit, c.Points) + cmp.Diff(check, c.Check); d != "" {
		t.Error(d)
	}
}
