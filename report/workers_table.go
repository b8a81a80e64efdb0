package report

import (
	"cmp"
	"fmt"

	"bench/experiment/record"
	"bench/experiment/telemetry"
	"bench/experiment/unit"
)

func (r *Run) workersTable() Table {
	t := newTable("workers", "Load workers", "row", "worker", "requests #", "concurrency #", "max in flight #",
		"lag p99|ms # ?lag", "TTFT p50 from send|ms #", "machine busy|% #", "connections opened #",
		"start skew|ms #")
	for _, row := range r.Live() {
		for i := range row.Workers {
			w := &row.Workers[i]
			concurrency := Absent()
			if w.Concurrency > 0 {
				concurrency = count(w.Concurrency)
			}
			t.Add(TextCell(row.ID), TextCell(fmt.Sprintf("%d %s", w.Worker, w.Host)), count(w.Sent), concurrency,
				count(w.MaxInFlight), optional(w.LagP99, unit.Digits), optional(w.TTFTP50, unit.Digits),
				busyCell(cmp.Or(w.Client, &telemetry.Usage{})), count(w.Connections.During), skewCell(w))
		}
	}
	return t
}

// loadWorkers is how many load workers sent the rows; empty: bench sweep itself sent them all.
func (r *Run) loadWorkers() string {
	if load := record.LoadWorkers(r.Live()); load != "none" {
		return load
	}
	return ""
}

func skewCell(w *record.Worker) Cell {
	c := TextCell("±" + unit.Digits(float64(w.StartSkewUs)/record.UsPerMs))
	if w.StartLateUs > 0 {
		c.Text += fmt.Sprintf(", %s late", unit.Digits(float64(w.StartLateUs)/record.UsPerMs))
	}
	return c
}
