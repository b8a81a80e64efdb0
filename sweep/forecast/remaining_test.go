package forecast

import (
	"cmp"
	"testing"
	"time"

	"bench/experiment"
	"bench/experiment/endpoint"
	"bench/experiment/record"
	"bench/experiment/workload"
	"bench/sweep/matrix"
)

const second = workload.Span(time.Second)

// matrixOf is a matrix of points in order of execution.
func matrixOf(points ...experiment.Spec) *matrix.Matrix {
	for i := range points {
		points[i].Repeat = max(1, points[i].Repeat)
	}
	return &matrix.Matrix{Name: "chat", Points: points}
}

// ended is a finished row of 100 requests, or as many as its point states, without warm-up; it took a second beyond
// its window.
func ended(s *experiment.Spec, took time.Duration) *record.Row {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	r := &record.Row{Spec: *s, StartedAt: start, Epoch: start, EndedAt: start.Add(took), Window: record.Window{EndUs: (took - time.Second).Microseconds()}}
	r.Summary.Requests.Planned = cmp.Or(s.Requests, 100)
	r.Summary.Requests.Completed = r.Summary.Requests.Planned
	return r
}

func TestSpanString(t *testing.T) {
	const s, m = time.Second, time.Minute
	for want, w := range map[string]Span{
		"about 42s":         {Least: 42 * s, Most: 42 * s},
		"about 11m 20s":     {Least: 11 * m, Most: 11*m + 20*s},
		"about 1h 05m":      {Least: 65 * m, Most: 65 * m},
		"2s to 1m 43s":      {Least: 2 * s, Most: 103 * s},
		"at least 30s":      {Least: 30 * s, Most: 40 * s, Open: true},
		"not known":         {Open: true},
		"about 0s":          Span{Least: s, Most: s}.Less(time.Hour),
		"at least 1h 00m":   {Least: time.Hour - 100*time.Millisecond, Open: true},
		"about 1m 00s":      {Least: 59900 * time.Millisecond, Most: 59900 * time.Millisecond},
		"about 1h 00m":      {Least: 3599900 * time.Millisecond, Most: 3599900 * time.Millisecond},
		"58m 20s to 1h 23m": {Least: 3500 * s, Most: 5000 * s},
		"about 99h 59m":     {Least: 100*time.Hour - m, Most: 100*time.Hour - m},
		"about 59s":         {Least: 59400 * time.Millisecond, Most: 59400 * time.Millisecond},
		"1m 40s to 1m 55s":  {Least: 100 * s, Most: 115 * s},
	} {
		if got := w.String(); got != want {
			t.Errorf("%+v: %s, want %s", w, got, want)
		}
	}
}

// The durations of rows that ended predict the others.
func TestRemainingLearns(t *testing.T) {
	timed := experiment.Spec{Name: "timed", Load: workload.Load{Concurrency: 2, Duration: 30 * second}}
	counted := experiment.Spec{Name: "counted", Load: workload.Load{Concurrency: 1, Requests: 100}}
	again := counted
	again.Repeat = 2
	a := NewRemaining(matrixOf(timed, counted, again, experiment.Spec{Name: "unpicked"}), []string{"timed", "counted"})
	if got := a.Left().String(); got != "at least 30s" {
		t.Errorf("before: %s", got)
	}
	a.Reach("timed-r1")
	a.Learn(ended(&timed, 35*time.Second))
	if got := a.Row(&timed).String(); got != "about 35s" {
		t.Errorf("rows take 5 s on top: %s", got)
	}
	a.Reach("counted-r1")
	now := time.Now()
	r := endpoint.Snapshot{Begun: now.Add(-20 * time.Second), Done: 9}
	if got := a.RowLeft(&counted, r, now).String(); got != "not known" {
		t.Errorf("nine of a hundred are too few: %s", got)
	}
	r.Done = 25
	if got := a.RowLeft(&counted, r, now).String(); got != "about 1m 00s" {
		t.Errorf("25 took 20 s: %s", got)
	}
	a.Learn(ended(&counted, 80*time.Second))
	if got := a.Left().String(); got != "about 1m 20s" {
		t.Errorf("a repeat takes as long: %s", got)
	}
	a.Reach("unheard-of-r1")
	if len(a.Todo) != 1 {
		t.Errorf("%d rows are left", len(a.Todo))
	}
	a.Reach("counted-r2")
	if got := a.Left().String(); got != "about 0s" {
		t.Errorf("at the end: %s", got)
	}
}

// Servers that bench starts take a time that is not known before the first one.
func TestRemainingStarts(t *testing.T) {
	row := func(name, variant string) experiment.Spec {
		return experiment.Spec{Name: name, Variant: variant, Load: workload.Load{Concurrency: 1, Duration: 10 * second}}
	}
	a := NewRemaining(matrixOf(row("a", "n=1"), row("b", "n=1"), row("a2", "n=2"), row("a3", "n=3")), nil)
	a.starts = true
	if got := a.Left().String(); got != "at least 40s" {
		t.Errorf("before: %s", got)
	}
	a.Reach("a-r1")
	a.Start = time.Minute
	if got := a.Left().String(); got != "2m 30s to 8m 33s" {
		t.Errorf("two starts and three rows: %s", got)
	}
	a.Reach("a3-r1") // the server n=2 did not start
	if got := a.Left().String(); got != "about 0s" {
		t.Errorf("at the last row: %s", got)
	}
}
