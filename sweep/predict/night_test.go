package predict

import (
	"context"
	"errors"
	"math"
	"testing"

	"bench/experiment"
	"bench/experiment/record"
)

const twoRows = head + `
[[row]]
name = "loop"
input = 300
output = 20
concurrency = 4
requests = 40
repeats = 2
[[row]]
name = "open"
input = 300
output = 20
rate = 5
requests = 40
`

// A night in memory has what a comparison reads, is no prediction, and its times are as stated.
func TestNight(t *testing.T) {
	_, p, err := planned(t, twoRows)
	if err != nil {
		t.Fatal(err)
	}
	night := func(times float64) *record.Run {
		n, err := p.Night(t.Context(), "night-01", "1/night-01", func(*experiment.Spec) float64 { return times })
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	quiet, slow := night(1), night(1.08)
	if len(quiet.Rows) != 3 || len(quiet.Manifest.Plan) != 3 || quiet.Manifest.Predicted != nil {
		t.Fatalf("%d rows, manifest %+v", len(quiet.Rows), quiet.Manifest)
	}
	for i, row := range quiet.Rows {
		if records, err := quiet.Records(&row); err != nil || row.Predicted || len(records) < 40 {
			t.Errorf("%s: predicted %v, %d records, %v", row.ID, row.Predicted, len(records), err)
		}
		if x := slow.Rows[i].Summary.TPOT.P50 / row.Summary.TPOT.P50; math.Abs(x-1.08) > 0.005 {
			t.Errorf("%s: TPOT is %g times as long", row.ID, x)
		}
	}
	if !quiet.Manifest.Target.Simulated || quiet.Manifest.Target.Simulator != slow.Manifest.Target.Simulator {
		t.Errorf("%+v", slow.Manifest.Target)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Night(ctx, "x", "x", nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
