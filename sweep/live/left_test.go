package live

import (
	"testing"
	"time"

	"bench/experiment"
	"bench/experiment/endpoint"
	"bench/experiment/workload"
)

func TestSpanString(t *testing.T) {
	const s, m = time.Second, time.Minute
	for want, w := range map[string]span{
		"about 42s":          {least: 42 * s, most: 42 * s},
		"about 11m 20s":      {least: 11 * m, most: 11*m + 20*s},
		"about 1h 05m":       {least: 65 * m, most: 65 * m},
		"2s to 1m 43s":       {least: 2 * s, most: 103 * s},
		"at least 30s":       {least: 30 * s, most: 40 * s, open: true},
		"not known how long": {open: true},
		"about 0s":           span{least: s, most: s}.less(time.Hour),
		"at least 1h 00m":    {least: time.Hour - 100*time.Millisecond, open: true},
		"about 1m 00s":       {least: 59900 * time.Millisecond, most: 59900 * time.Millisecond},
		"about 1h 00m":       {least: 3599900 * time.Millisecond, most: 3599900 * time.Millisecond},
		"58m 20s to 1h 23m":  {least: 3500 * s, most: 5000 * s},
		"about 99h 59m":      {least: 100*time.Hour - m, most: 100*time.Hour - m},
		"about 59s":          {least: 59400 * time.Millisecond, most: 59400 * time.Millisecond},
		"1m 40s to 1m 55s":   {least: 100 * s, most: 115 * s},
	} {
		if got := w.String(); got != want {
			t.Errorf("%+v: %s, want %s", w, got, want)
		}
	}
}

// What is known of a row before it ran.
func TestRowSpan(t *testing.T) {
	spec := func(rate float64, l workload.Load) *experiment.Spec {
		return &experiment.Spec{Workload: workload.Workload{Rate: workload.Rate(rate)}, Load: l}
	}
	decided := spec(2, workload.Load{Duration: 60 * second, Warmup: workload.Extent{Time: 5 * second}})
	decided.Until = "decided"
	a := &agenda{}
	for _, tt := range []struct {
		spec *experiment.Spec
		want string
	}{
		{spec(0, workload.Load{Concurrency: 1, Duration: 30 * second, Warmup: workload.Extent{Time: 5 * second}}), "about 36s"},
		{spec(2, workload.Load{Requests: 10}), "about 6s"},
		{spec(0, workload.Load{Concurrency: 1, Requests: 10, Duration: 15 * second}), "at most 16s"},
		{spec(0, workload.Load{Concurrency: 1, Requests: 10, Warmup: workload.Extent{Time: 5 * second}}), "at least 5s"},
		{spec(0, workload.Load{Concurrency: 1, Requests: 10, MaxDuration: 20 * second}), "at most 21s"},
		{spec(0, workload.Load{Concurrency: 1, Requests: 10}), "not known how long"},
		{spec(0, workload.Load{Concurrency: 1, Duration: 15 * second, Warmup: workload.Extent{Requests: 5}}), "at least 15s"},
		{decided, "5s to 1m 06s"},
	} {
		if got := a.rowSpan(tt.spec).String(); got != tt.want {
			t.Errorf("%+v: %s, want %s", tt.spec.Load, got, tt.want)
		}
	}
}

// What has run says how long the rest takes.
func TestAgendaLearns(t *testing.T) {
	timed := experiment.Spec{Name: "timed", Load: workload.Load{Concurrency: 1, Duration: 30 * second}}
	counted := experiment.Spec{Name: "counted", Load: workload.Load{Concurrency: 1, Requests: 100}}
	again := counted
	again.Repeat = 2
	a := newAgenda(matrixOf(timed, counted, again, experiment.Spec{Name: "unpicked"}), []string{"timed", "counted"})
	if got := a.left().String(); got != "at least 31s" {
		t.Errorf("before: %s", got)
	}
	a.reach("timed-r1")
	a.learn(&timed, 35*time.Second)
	if got := a.rowSpan(&timed).String(); got != "about 35s" {
		t.Errorf("rows take 5 s on top: %s", got)
	}
	a.reach("counted-r1")
	now := time.Now()
	r := endpoint.Snapshot{Begun: now.Add(-20 * time.Second), Done: 9}
	if got := a.rest(&counted, r, now).String(); got != "not known how long" {
		t.Errorf("nine of a hundred say nothing: %s", got)
	}
	r.Done = 25
	if got := a.rest(&counted, r, now).String(); got != "about 1m 00s" {
		t.Errorf("25 took 20 s: %s", got)
	}
	a.learn(&counted, 80*time.Second)
	if got := a.left().String(); got != "about 1m 20s" {
		t.Errorf("a repeat takes as long: %s", got)
	}
	a.reach("unheard-of-r1")
	if len(a.todo) != 1 {
		t.Errorf("%d rows are left", len(a.todo))
	}
	a.reach("counted-r2")
	if got := a.left().String(); got != "about 0s" {
		t.Errorf("at the end: %s", got)
	}
}

// Servers that bench starts take a time that is not known before the first one.
func TestAgendaStarts(t *testing.T) {
	row := func(name, variant string) experiment.Spec {
		return experiment.Spec{Name: name, Variant: variant, Load: workload.Load{Concurrency: 1, Duration: 10 * second}}
	}
	a := newAgenda(matrixOf(row("a", "n=1"), row("b", "n=1"), row("a2", "n=2"), row("a3", "n=3")), nil)
	a.starts = true
	if got := a.left().String(); got != "at least 44s" {
		t.Errorf("before: %s", got)
	}
	a.reach("a-r1")
	a.start = time.Minute
	if got := a.left().String(); got != "about 2m 33s" {
		t.Errorf("two starts and three rows: %s", got)
	}
	a.reach("a3-r1") // the server n=2 did not start
	if got := a.left().String(); got != "about 0s" {
		t.Errorf("at the last row: %s", got)
	}
}
