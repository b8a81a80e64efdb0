package verdict

import (
	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/stats"
)

// SequentialTest decides while a row runs whether its SLO is decided. It looks at the first n requests by
// arrival, when all of them have ended, for n that double; for a certain failure after every quarter more.
type SequentialTest struct {
	row   Measured               // its spec, without findings
	ended map[int]*record.Record // ended requests after the first one that has not
	first int                    // number of requests that have ended, counted from the first without a gap
	seen  []*record.Record       // of these, the requests of the window
	next  int                    // number of the next look, from 1
	// nextFailure is the number of requests at the next look for a certain failure.
	nextFailure int
}

// NewSequentialTest is a test of a row that has no request yet.
func NewSequentialTest(spec *experiment.Spec) *SequentialTest {
	return &SequentialTest{row: Measured{Row: &record.Row{Spec: *spec}}, ended: map[int]*record.Record{}, next: 1, nextFailure: failureLook}
}

// Add takes a request that has ended, and reports whether the SLO is decided: a limit fails, or all pass. A
// probe of a search is decided by a failure alone, since its length is part of the answer.
func (k *SequentialTest) Add(r *record.Record) bool {
	k.ended[r.I] = r
	for {
		r, ok := k.ended[k.first]
		if !ok {
			return false
		}
		delete(k.ended, k.first)
		k.first++
		if r.Phase != record.PhaseWindow {
			continue
		}
		k.seen = append(k.seen, r)
		look := len(k.seen) >= (stats.Looks{}).At(k.next)
		if look {
			k.next++
		}
		failures := len(k.seen) >= k.nextFailure
		if failures {
			k.nextFailure = max(failureLook, len(k.seen)*5/4)
		}
		if (look || failures) && k.decided(look) {
			return true
		}
	}
}

// failureLook is the number of requests at the first look for a certain failure; the next ones come after a
// quarter more each.
const failureLook = 64

// decided reports whether the SLO is, at this look or an earlier one; between looks, by a certain failure.
func (k *SequentialTest) decided(look bool) bool {
	spec := &k.row.Spec
	open := spec.Search != nil
	for _, q := range questions(spec) {
		window := filter(k.seen, q.about)
		if !q.limit.Decidable() || len(window) == 0 {
			continue
		}
		if k.row.certainFail(q.limit, window) != "" {
			return true
		}
		if !look {
			open = true
			continue
		}
		var v record.Verdict
		switch k.row.judgeRequests(&v, q.limit, window, true); v.Verdict {
		case string(stats.Fail):
			return true
		case string(stats.Undecided):
			open = true
		}
	}
	return !open
}
