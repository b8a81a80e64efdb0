package forecast

import (
	"testing"
	"time"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/workload"
)

// A point takes as long as a row of its shape: with its phases the same, with others by their rate.
func TestDurationsOfEarlierRows(t *testing.T) {
	point := func(output int, l workload.Load) *experiment.Spec {
		return &experiment.Spec{Name: "a", Workload: workload.Workload{Input: workload.Fixed(16), Output: workload.Fixed(output)}, Load: l}
	}
	ran := point(10, workload.Load{Concurrency: 2, Requests: 100})
	ran.Name, ran.Repeat = "of another name", 3
	var e Earlier
	e.Add("20261122T101500Z", []*record.Row{ended(ran, 51*time.Second)}) // 2 requests/s, and a second beyond
	e.Add("20261121T101500Z", []*record.Row{ended(ran, 11*time.Second)})
	open := point(10, workload.Load{Duration: 30 * second})
	open.Rate = 4
	overran := ended(open, 91*time.Second) // it drained for a minute
	overran.Window.EndUs = 30e6
	for _, c := range []struct {
		name string
		spec *experiment.Spec
		want time.Duration
		from source
	}{
		{"the same", point(10, workload.Load{Concurrency: 2, Requests: 100}), 51 * time.Second, fromEarlier},
		{"more requests, and a warm-up", point(10, workload.Load{Concurrency: 2, Requests: 200, Warmup: workload.Extent{Requests: 20}}), 111 * time.Second, fromEarlier},
		{"time ends it", point(10, workload.Load{Concurrency: 2, Requests: 200, Duration: 20 * second}), 21 * time.Second, fromEarlier},
		{"longer answers", point(11, workload.Load{Concurrency: 2, Requests: 100}), 0, fromMatrix},
		{"another load", point(10, workload.Load{Concurrency: 3, Requests: 100}), 0, fromMatrix},
		{"open loop", open, 91 * time.Second, fromRun},
	} {
		d := newDurations(Known{Earlier: e})
		d.learn(overran)
		if took, from := d.of(c.spec); took != c.want || from != c.from {
			t.Errorf("%s: %v from %d, want %v from %d", c.name, took, from, c.want, c.from)
		}
	}
	if e.Run != "20261122T101500Z" || !e.Knows(ran) || e.Knows(open) {
		t.Errorf("the newest run counts: %+v", e)
	}
}

// Rows that ran correct the predicted speed of the loads that have not.
func TestDurationsCorrectSpeed(t *testing.T) {
	at := func(workers int) *experiment.Spec {
		return &experiment.Spec{Workload: workload.Workload{Input: workload.Fixed(16), Output: workload.Fixed(10)}, Load: workload.Load{Concurrency: workers, Requests: 100}}
	}
	d := newDurations(Known{Speed: four})
	before, _ := d.of(at(1)) // 100 ms each
	d.learn(ended(at(2), 11*time.Second))
	after, from := d.of(at(1)) // 200 ms each: two workers had 10 requests/s, not 20
	if from != fromSpeed || (before-perRow).Round(time.Second) != 10*time.Second || (after-perRow).Round(time.Second) != 20*time.Second {
		t.Errorf("%v, then %v from %d", before, after, from)
	}
}

func TestSourcesText(t *testing.T) {
	d := newDurations(Known{Earlier: Earlier{Run: "R"}, Speed: Speed{Basis: "roofline of x"}})
	for _, c := range []struct {
		rows [sources]int
		want string
	}{
		{[sources]int{}, ""},
		{[sources]int{fromMatrix: 3}, "the matrix alone"},
		{[sources]int{fromEarlier: 3}, "the run R"},
		{[sources]int{fromEarlier: 1, fromMatrix: 2}, "the run R (1 row) and the matrix alone (2)"},
		{[sources]int{fromEarlier: 3, fromSpeed: 1, fromMatrix: 2}, "the run R (3 rows), the roofline of x (1) and the matrix alone (2)"},
	} {
		if got := d.sourcesText(c.rows); got != c.want {
			t.Errorf("%v: %s, want %s", c.rows, got, c.want)
		}
	}
}
