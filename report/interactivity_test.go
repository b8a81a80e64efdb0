package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"bench/experiment/record"
	"bench/experiment/series"
	fixture "bench/internal/reporttest"
)

// curveOf is a run of one series with the given TPOT and throughput at concurrency 1, 2, 4 …
func curveOf(tpot, output []float64) *Analysis {
	var rows []record.Row
	for i := range tpot {
		rows = append(rows, fixture.Shape{Name: "D", Axes: fixture.Axis("concurrency", []string{"1", "2", "4"}[i]), Concurrency: 1 << i, N: 400, TTFT: 50, TPOT: tpot[i], Output: output[i]}.Row())
	}
	return &Analysis{Series: series.FromRows(rows)}
}

func TestInteractivityTable(t *testing.T) {
	o := curveOf([]float64{8, 20, 40}, []float64{100, 400, 600})
	for i, x := range []float64{120, 60, 40} { // tok/s/user, exact
		o.Series[0].Points[i].PerUserTokensPerS = record.RepeatsOf([]float64{x})
	}
	table := o.interactivityTable()
	var got [][]string
	for _, row := range table.Rows {
		for _, c := range row {
			got = append(got, []string{c.Text, c.Title})
		}
	}
	want := [][]string{{"D", ""}, {"40.0 to 120", ""}, {"500", "between concurrency 2 and concurrency 4"}, {"200", "between concurrency 1 and concurrency 2"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(table.Columns) != 4 || table.Caption != "tok/s/GPU at a given tok/s/user" {
		t.Errorf("%d columns, %q", len(table.Columns), table.Caption)
	}
	if fast := curveOf([]float64{1, 3, 6}, []float64{100, 400, 600}).interactivityTable(); len(fast.Rows) != 1 || len(fast.Columns) < 4 {
		t.Errorf("200 and 500 tok/s/user are reached: %+v", fast)
	}
	if none := curveOf([]float64{8}, []float64{100}).interactivityTable(); len(none.Rows) != 0 {
		t.Errorf("of one point: %+v", none.Rows)
	}
}
