package mock

import (
	"strings"
	"testing"
	"time"
)

// One slot, and six requests that come at once: four of a, whose answers are long, then two of b.
func TestSchedules(t *testing.T) {
	for schedule, want := range map[string]string{"": "a1 a2 a3 a4 b1 b2", fcfs: "a1 a2 a3 a4 b1 b2",
		roundRobin: "a1 b1 a2 b2 a3 a4", vtc: "a1 b1 b2 a2 a3 a4"} {
		c := Config{StepBase: 10 * time.Millisecond, MaxNumSeqs: 1, Schedule: schedule}
		var jobs []Job
		for i, id := range strings.Fields("a1 a2 a3 a4 b1 b2") {
			jobs = append(jobs, Job{ID: id, Tenant: id[:1], At: time.Duration(i), Prompt: fresh(i, 8), Output: map[string]int{"a": 20, "b": 8}[id[:1]]})
		}
		records, _, err := Simulate(c, jobs, nil, time.Second)
		if err != nil {
			t.Fatal(err)
		}
		var order []string
		for _, r := range records {
			order = append(order, r.ID)
		}
		if got := strings.Join(order, " "); got != want {
			t.Errorf("%q: %s, want %s", schedule, got, want)
		}
	}
}

// Who was away has no credit for it: the counter of b starts where that of a is.
func TestCounterLift(t *testing.T) {
	x := newTurns(Config{Schedule: vtc})
	a, b := &seq{tenant: "a", prompt: make([]int32, 100)}, &seq{tenant: "b"}
	x.arrive(a, nil)
	x.admit(a)
	x.serve(a, 50)
	x.arrive(b, nil)
	if x.served["a"] != 200 || x.served["b"] != 200 {
		t.Errorf("%v", x.served)
	}
	x.serve(a, 1)
	x.arrive(&seq{tenant: "c"}, []*seq{a, b})
	if x.served["c"] != 200 {
		t.Errorf("%v", x.served)
	}
}

func TestCheckSchedule(t *testing.T) {
	for text, c := range map[string]Config{"unknown schedule": {Schedule: "fair"}, "fixed times": {Schedule: vtc, ITL: 1}} {
		if _, err := New(c); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
