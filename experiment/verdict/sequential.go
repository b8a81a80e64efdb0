package verdict

import (
	"cmp"
	"slices"

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

// OverloadTest finds, when a window is over, that the server did not keep up with its arrivals: the backlog keeps the
// server busy then, and load behind the window can't change a verdict.
//
// It tests the requests that have ended. The others have waited as long as those that arrived with them, or longer. If
// none of the window has, those of the warm-up stand for it: all of it waits behind them, and only load of the first
// moments behind it can run beside its last requests.
type OverloadTest struct {
	row            Measured // its spec, without findings
	warmup, window endedSample

	longest int64 // from first token (not streamed: sent) to end, µs
	now     int64 // latest end, µs
	from    int64 // when the warm-up showed the overload, µs; 0 = it does not
}

// endedSample is every stride-th of the requests that have ended.
type endedSample struct {
	kept   []*record.Record
	stride int
	ended  int
	next   int // number of ended ones at the next test
}

// NewOverloadTest is nil for a row without a queue that an SLO limits.
func NewOverloadTest(s *experiment.Spec) *OverloadTest {
	queues := func(q question) bool { return q.limit.Stat != "mean" && slices.Contains(ofQueue, q.limit.Metric) }
	if !s.HasConstantRate() || s.HasConversations() || !slices.ContainsFunc(questions(s), queues) {
		return nil
	}
	return &OverloadTest{row: Measured{Row: &record.Row{Spec: *s}},
		warmup: endedSample{stride: 1}, window: endedSample{stride: 1}}
}

// Add takes a request that has ended. Of many it keeps an even sample.
func (k *OverloadTest) Add(r *record.Record) {
	if k == nil {
		return
	}
	if k.now = max(k.now, r.End.Us()); r.OK() {
		k.longest = max(k.longest, r.End.Us()-cmp.Or(r.First, r.Sent).Us())
	}
	switch r.Phase {
	case record.PhaseWarmup:
		k.warmup.add(r)
	case record.PhaseWindow:
		k.window.add(r)
	}
}

func (s *endedSample) add(r *record.Record) {
	const most = 4096
	if s.ended++; s.ended%s.stride != 0 {
		return
	}
	if s.kept = append(s.kept, r); len(s.kept) == most {
		for i := range most / 2 {
			s.kept[i] = s.kept[2*i+1]
		}
		clear(s.kept[most/2:])
		s.kept, s.stride = s.kept[:most/2], 2*s.stride
	}
}

// Found is asked after requests that ended behind the window.
func (k *OverloadTest) Found() bool {
	if k.from == 0 && k.window.ended == 0 && k.shownBy(&k.warmup) {
		k.from = k.now
	}
	return k.shownBy(&k.window) || k.from > 0 && k.now-k.from > k.longest
}

// shownBy tests again only when there is an eighth more to see.
func (k *OverloadTest) shownBy(s *endedSample) bool {
	if s.ended < s.next {
		return false
	}
	s.next = s.ended + s.ended/8 + 1
	inOrder := record.ByArrival(s.kept)
	return slices.ContainsFunc(questions(&k.row.Spec), func(q question) bool {
		o := k.row.observe(q.limit, filter(inOrder, q.about), asMeasured)
		return q.limit.Stat != "mean" && k.row.overloaded(o, o.values)
	})
}
