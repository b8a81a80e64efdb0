package verdict

import (
	"slices"

	"bench/experiment"
	"bench/experiment/record"
)

// OverloadTest finds, when a window is over, that the server did not keep up with its arrivals: the backlog keeps the
// server busy then, and load behind the window can't change a verdict.
//
// It tests the requests that have ended. The others have waited as long as those that arrived with them, or longer.
type OverloadTest struct {
	row    Measured         // its spec, without findings
	window []*record.Record // every stride-th ended request of the window
	stride int
	ended  int // requests of the window
	next   int // number of them at the next test
}

// NewOverloadTest is nil for a row without a queue that an SLO limits.
func NewOverloadTest(s *experiment.Spec) *OverloadTest {
	queues := func(q question) bool { return q.limit.Stat != "mean" && slices.Contains(ofQueue, q.limit.Metric) }
	if !s.HasConstantRate() || s.HasConversations() || !slices.ContainsFunc(questions(s), queues) {
		return nil
	}
	return &OverloadTest{row: Measured{Row: &record.Row{Spec: *s}}, stride: 1}
}

// Add takes a request that has ended. Of many it keeps an even sample.
func (k *OverloadTest) Add(r *record.Record) {
	const most = 4096
	if k == nil || r.Phase != record.PhaseWindow {
		return
	}
	if k.ended++; k.ended%k.stride != 0 {
		return
	}
	if k.window = append(k.window, r); len(k.window) == most {
		for i := range most / 2 {
			k.window[i] = k.window[2*i+1]
		}
		clear(k.window[most/2:])
		k.window, k.stride = k.window[:most/2], 2*k.stride
	}
}

// Found tests again only when there is an eighth more to see.
func (k *OverloadTest) Found() bool {
	if k.ended < k.next {
		return false
	}
	k.next = k.ended + k.ended/8 + 1
	window := record.WindowByArrival(k.window)
	return slices.ContainsFunc(questions(&k.row.Spec), func(q question) bool {
		o := k.row.observe(q.limit, filter(window, q.about), asMeasured)
		return q.limit.Stat != "mean" && k.row.overloaded(o, o.values)
	})
}
