package series

import (
	"testing"

	"bench/experiment/record"
)

// Of two repeats the higher cost counts; a repeat without a cost leaves the point without one.
func TestMedianCost(t *testing.T) {
	row := func(usd float64) *record.Row { return &record.Row{Cost: &record.Cost{USDPerMillion: usd}} }
	if got := MedianCost([]*record.Row{row(9), row(1), row(5)}); got == nil || got.USDPerMillion != 5 {
		t.Errorf("%+v, want the median 5", got)
	}
	if got := MedianCost([]*record.Row{row(2), row(3)}); got == nil || got.USDPerMillion != 3 {
		t.Errorf("%+v, want the higher of two", got)
	}
	if got := MedianCost([]*record.Row{row(2), {}}); got != nil {
		t.Errorf("%+v for a repeat without a cost", got)
	}
}
