package report

import (
	"cmp"
	"fmt"

	"bench/experiment/record"
	"bench/experiment/telemetry"
	"bench/experiment/unit"
)

// workersTable is the load workers of each row that has them.
func (r *Run) workersTable() Table {
	t := Table{ID: "workers", Caption: "Load workers", Columns: []Column{{Head: "row"}, {Head: "worker"},
		{Head: "requests", Num: true}, {Head: "concurrency", Num: true}, {Head: "max in flight", Num: true},
		{Head: "lag p99", Unit: "ms", Num: true, Help: "lag"}, {Head: "TTFT p50 from send", Unit: "ms", Num: true},
		{Head: "machine busy", Unit: "%", Num: true}, {Head: "start skew", Unit: "ms", Num: true}}}
	for _, row := range r.Live() {
		for i := range row.Workers {
			w := &row.Workers[i]
			concurrency := Absent()
			if w.Concurrency > 0 {
				concurrency = count(w.Concurrency)
			}
			t.Add(TextCell(row.ID), TextCell(fmt.Sprintf("%d %s", w.Worker, w.Host)), count(w.Sent), concurrency, count(w.MaxInFlight),
				optional(w.LagP99, unit.Digits), optional(w.TTFTP50, unit.Digits), busyCell(cmp.Or(w.Client, &telemetry.Usage{})), skewCell(w))
		}
	}
	return t
}

// skewCell is how far a worker's start can lie from the leader's, and how late it was.
func skewCell(w *record.Worker) Cell {
	c := TextCell("±" + unit.Digits(float64(w.StartSkewUs)/record.UsPerMs))
	if w.StartLateUs > 0 {
		c.Text += fmt.Sprintf(", %s late", unit.Digits(float64(w.StartLateUs)/record.UsPerMs))
	}
	return c
}
