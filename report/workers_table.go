package report

import (
	"cmp"
	"fmt"
	"slices"

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

func (r *Run) workersSummary() Table {
	t := newTable("workers-summary", "Load workers (in parentheses: which; TTFT counts from the send)", "row",
		"workers", "highest lag p99|ms # ?lag", "lowest TTFT p50|ms #", "highest TTFT p50|ms #",
		"highest start skew|ms #")
	for _, row := range r.Live() {
		if len(row.Workers) == 0 {
			continue
		}
		_, lag := extremes(row.Workers, func(w *record.Worker) *float64 { return w.LagP99 })
		lowest, highest := extremes(row.Workers, func(w *record.Worker) *float64 { return w.TTFTP50 })
		skewed := slices.MaxFunc(row.Workers, func(a, b record.Worker) int {
			return cmp.Compare(a.StartSkewUs+a.StartLateUs, b.StartSkewUs+b.StartLateUs)
		})
		t.Add(TextCell(row.ID), TextCell(row.LoadWorkers()), lag, lowest, highest, skewCell(&skewed))
	}
	return t
}

func extremes(workers []record.Worker, of func(*record.Worker) *float64) (lowest, highest Cell) {
	var low, high *record.Worker
	for i := range workers {
		w := &workers[i]
		if of(w) == nil {
			continue
		}
		if low == nil || *of(w) < *of(low) {
			low = w
		}
		if high == nil || *of(w) > *of(high) {
			high = w
		}
	}
	if low == nil {
		return Absent(), Absent()
	}
	cell := func(w *record.Worker) Cell {
		return TextCell(fmt.Sprintf("%s (%d)", unit.Digits(*of(w)), w.Worker))
	}
	return cell(low), cell(high)
}

func skewCell(w *record.Worker) Cell {
	c := TextCell("±" + unit.Digits(float64(w.StartSkewUs)/record.UsPerMs))
	if w.StartLateUs > 0 {
		c.Text += fmt.Sprintf(", %s late", unit.Digits(float64(w.StartLateUs)/record.UsPerMs))
	}
	return c
}
