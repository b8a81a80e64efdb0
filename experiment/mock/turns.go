package mock

import (
	"fmt"
	"slices"
	"time"
)

// Values of Config.Schedule.
const (
	fcfs       = "fcfs"
	roundRobin = "round-robin"
	vtc        = "vtc"
)

func (c Config) checkSchedule(bad func(key, problem, hint string)) {
	switch {
	case c.Schedule != "" && !slices.Contains([]string{fcfs, roundRobin, vtc}, c.Schedule):
		bad("schedule", fmt.Sprintf("unknown schedule %q", c.Schedule), `write "fcfs", "round-robin" or "vtc"`)
	case c.Schedule != "" && c.fixed():
		bad("schedule", "with fixed times no request waits for another", "leave out ttft and itl, or schedule")
	}
}

// turns decides whose request is admitted next: the next tenant's in the order of their names, or by a virtual token
// counter the tenant's with the least service (Sheng et al., "Fairness in Serving Large Language Models", OSDI 2024,
// algorithm 2). nil: whoever came first.
type turns struct {
	byCounter bool
	last      string             // tenant of the request that was admitted last
	served    map[string]float64 // by tenant
}

// Weights of a prompt's and an answer's token, as in the paper.
const (
	promptCost = 1
	answerCost = 2
)

func newTurns(c Config) *turns {
	if c.Schedule == "" || c.Schedule == fcfs {
		return nil
	}
	return &turns{byCounter: c.Schedule == vtc, served: map[string]float64{}}
}

// arrive lifts the counter of a tenant who had nothing in the queue: who was away has no credit for it.
func (t *turns) arrive(q *seq, waiting []*seq) {
	if t == nil || !t.byCounter || slices.ContainsFunc(waiting, func(w *seq) bool { return w.tenant == q.tenant }) {
		return
	}
	least := t.served[t.last]
	for i, w := range waiting {
		if s := t.served[w.tenant]; i == 0 || s < least {
			least = s
		}
	}
	t.served[q.tenant] = max(t.served[q.tenant], least)
}

// next is the index of the request to admit, of a queue by arrival that is not empty. A preempted one goes on first.
func (t *turns) next(waiting []*seq, now time.Duration) int {
	best := 0
	if t == nil || waiting[0].preemptions > 0 {
		return best
	}
	for i, q := range waiting {
		if q.queued > now {
			break
		}
		if q.tenant != waiting[best].tenant && t.before(q.tenant, waiting[best].tenant) {
			best = i
		}
	}
	return best
}

func (t *turns) before(a, b string) bool {
	if t.byCounter {
		return t.served[a] < t.served[b]
	}
	if aheadA, aheadB := a > t.last, b > t.last; aheadA != aheadB {
		return aheadA
	}
	return a < b
}

func (t *turns) admit(q *seq) {
	if t != nil && q.preemptions == 0 {
		t.last = q.tenant
		t.served[q.tenant] += promptCost * float64(len(q.prompt))
	}
}

func (t *turns) serve(q *seq, tokens int) {
	if t != nil {
		t.served[q.tenant] += answerCost * float64(tokens)
	}
}
