package verdict

import (
	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/stats"
)

// EndsEarly reports whether the row ends as soon as its SLO is decided (until = "decided"), or, as a probe of a
// search, as soon as the server does not keep up.
func EndsEarly(s *experiment.Spec) bool {
	probe := s.Search != nil && s.Search.Goal == experiment.GoalSLO && !s.HasConversations() && !s.IsColdStart()
	return s.Until == experiment.UntilDecided || probe
}

type SequentialTest struct {
	row     Measured               // its spec, without findings
	ended   map[int]*record.Record // ended requests after the first one that has not
	first   int                    // number of requests that have ended, counted from the first without a gap
	seen    []*record.Record       // of these, the requests of the window
	next    int                    // number of the next look, from 1
	decided []bool                 // by limit: at an earlier look
}

func NewSequentialTest(spec *experiment.Spec) *SequentialTest {
	return &SequentialTest{row: Measured{Row: &record.Row{Spec: *spec}}, ended: map[int]*record.Record{}, next: 1,
		decided: make([]bool, len(questions(spec)))}
}

// Add takes a request that has ended, and reports whether the SLO is decided: a limit fails, or all pass.
func (k *SequentialTest) Add(r *record.Record) bool {
	k.ended[r.I] = r
	for {
		r, ok := k.ended[k.first]
		if !ok {
			return false
		}
		delete(k.ended, k.first)
		k.first++
		if r.Phase != record.PhaseWindow || r.Left() {
			continue
		}
		k.seen = append(k.seen, r)
		if len(k.seen) < (stats.Looks{}).At(k.next) {
			continue
		}
		if k.next++; k.look(k.next - 1) {
			return true
		}
	}
}

func (k *SequentialTest) look(number int) bool {
	open := k.row.Spec.Search != nil
	for i, q := range questions(&k.row.Spec) {
		if !q.limit.Decidable() || q.class == "" && k.row.Spec.EveryClassOverrides(q.limit.Key) {
			continue
		}
		var v record.Verdict
		if !k.decided[i] {
			k.decided[i] = k.row.judgeLook(&v, q, k.seen, number)
		}
		if v.Verdict == stats.Fail && k.decided[i] {
			return true
		}
		open = open || !k.decided[i]
	}
	return !open
}
