package check

import (
	"cmp"
	"math"
	"slices"

	"bench/experiment/record"
	"bench/experiment/stats"
)

const (
	// shortestStall, µs. Engines pause for some 100 ms to capture a graph, collect garbage or compute a long prompt.
	shortestStall = 1_000_000
	// stallRatio is how often the usual silence fits into a stall.
	stallRatio = 10
	// rareSilences are not the usual one: a server that computes prompts apart has a silence for each.
	rareSilences, rareShare = 10, 0.25
	// longPrompt times the median prompt: the silence before its first token is its prefill, and no stall.
	longPrompt = 2
	// longestStep, µs, bounds the time in which the tokens of one step arrive.
	longestStep = 100_000
	// prefillSlack times the fastest prefill is the longest one: others run beside it.
	prefillSlack = 2
)

func stalls(e *evidence, paused []span) (out []silence) {
	if !e.Spec.Streams() || !slices.ContainsFunc(e.records,
		func(r *record.Record) bool { return longestWait(r) >= shortestStall }) {
		return nil
	}
	all := silences(e.records, e.Window)
	limit, longPrefill, prefill := silenceLimit(&e.Summary, all), longPrefills(e.records), prefills(e)
	for _, s := range all {
		if s.length() < max(shortestStall, limit(s)) {
			continue
		}
		if !slices.ContainsFunc(paused, func(p span) bool { return p.overlaps(s.from, s.to) }) && !longPrefill(s) &&
			!prefill(s) {
			out = append(out, s)
		}
	}
	return out
}

func silenceLimit(s *record.Summary, all []silence) func(silence) int64 {
	var decoding []silence // the longest first
	for _, s := range all {
		if s.streams > 0 {
			decoding = append(decoding, s)
		}
	}
	gap := int64(0)
	if rare := max(rareSilences, int(rareShare*float64(s.Requests.Completed))); rare < len(decoding) {
		gap = decoding[rare].length()
	}
	if itl := s.ITL; itl != nil { // a slow server has a silence in each step
		gap = max(gap, int64(itl.P50*record.UsPerMs))
	}
	first := 0.0
	if t := s.TTFTFromSend; t != nil {
		first = t.P50 * record.UsPerMs
	}
	return func(s silence) int64 {
		if s.streams > 0 {
			return stallRatio * gap
		}
		// All prompts that wait may be computed before the first token comes.
		return int64(float64(max(stallRatio, 2*s.waiting)) * first)
	}
}

func computed(r *record.Record) float64 {
	if r.CachedTokens != nil {
		return float64(r.Prompt() - *r.CachedTokens)
	}
	return float64(r.Prompt())
}

// prefills: a silence can be the prefill of prompts that waited at its start, if it ended with their first tokens and
// is no longer than twice the row's fastest prefill for each. Behind the window all that waited can be among them.
func prefills(e *evidence) func(silence) bool {
	fastest := int64(math.MaxInt64)
	for _, r := range e.records {
		if first, ok := r.First.Get(); ok && computed(r) > 0 {
			fastest = min(fastest, first-r.Sent.Us())
		}
	}
	if fastest == math.MaxInt64 {
		return func(silence) bool { return false }
	}
	return func(s silence) bool {
		computed := int64(0)
		for _, r := range e.records {
			first, ok := r.First.Get()
			if r.Sent.IsZero() || r.Sent.Us() > s.from || ok && first <= s.from || r.End.Us() < s.to {
				continue
			}
			if endsWithFirst(s, r) || s.to >= e.Window.EndUs {
				computed++
			}
		}
		return s.length() <= prefillSlack*computed*fastest
	}
}

func endsWithFirst(s silence, r *record.Record) bool {
	sameStep := min(s.length()/20, longestStep)
	for _, first := range []record.Micros{r.First, r.FirstEvent} {
		if us, ok := first.Get(); ok && us >= s.to && us-s.to <= sameStep {
			return true
		}
	}
	return false
}

func longPrefills(records []*record.Record) func(silence) bool {
	var prompts []float64
	for _, r := range records {
		prompts = append(prompts, computed(r))
	}
	slices.Sort(prompts)
	long := longPrompt * stats.Quantile(prompts, 0.5)
	return func(s silence) bool {
		return slices.ContainsFunc(records, func(r *record.Record) bool {
			return endsWithFirst(s, r) && computed(r) > long
		})
	}
}

func (e *evidence) storeStalls() {
	e.Stalls, e.Stalled = nil, number(e.records, func(r *record.Record) bool {
		return r.Phase == record.PhaseWindow && during(r, e.disturbed.backlogs)
	})
	for _, s := range e.disturbed.stalled {
		inFlight := number(e.records, func(r *record.Record) bool {
			return !r.Sent.IsZero() && r.Sent.Us() <= s.from && r.End.Us() >= s.to
		})
		e.Stalls = append(e.Stalls, record.Stall{FromUs: s.from, ToUs: endOf(e, s), InFlight: inFlight})
	}
}

func endOf(e *evidence, s silence) int64 {
	if s.to < e.Window.EndUs {
		return s.to
	}
	next := int64(math.MaxInt64)
	for _, r := range e.records {
		at := r.First.Us()
		for us := range r.Gaps.All() {
			if at < s.to {
				at += us
			}
		}
		if at < s.to {
			at = r.End.Us()
		}
		if at >= s.to {
			next = min(next, at)
		}
	}
	if next == math.MaxInt64 {
		return s.to
	}
	return next
}

// silence is a time in which the server sent nothing, although answers were under way, or at least two
// requests waited for their first token.
type silence struct {
	span
	streams int // answers that were under way; 0 = all requests waited for their first token
	waiting int // requests in flight at its end
}

type span struct{ from, to int64 }

func (s span) length() int64 { return s.to - s.from }

func (s span) overlaps(from, to int64) bool { return s.from < to && from < s.to }

// shortestSilence, µs: shorter silences decide nothing, since a stall is at least ten times as long.
const shortestSilence = shortestStall / 10

type change struct {
	at                     int64
	flight, streams, quiet int
	sent                   bool // by a request, not by the server
}

func silences(records []*record.Record, w record.Window) []silence {
	var changes []change
	for _, r := range records {
		changes = appendChanges(changes, r)
	}
	slices.SortStableFunc(changes, func(a, b change) int { return cmp.Compare(a.at, b.at) })
	var out []silence
	var now change // the sums; at is the start of the silence
	for _, c := range changes {
		if silent := now.streams > 0 && now.streams == now.quiet || now.streams == 0 && now.flight > 1; silent &&
			!c.sent {
			s := silence{span{max(now.at, w.StartUs), min(c.at, w.EndUs)}, now.streams, now.flight}
			if s.length() >= shortestSilence {
				out = append(out, s)
			}
		}
		now.flight, now.streams, now.quiet = now.flight+c.flight, now.streams+c.streams, now.quiet+c.quiet
		if !c.sent || now.streams == 0 && now.flight == 2 {
			now.at = c.at
		}
	}
	slices.SortStableFunc(out, func(a, b silence) int { return cmp.Compare(b.length(), a.length()) })
	return out
}

func appendChanges(changes []change, r *record.Record) []change {
	end := max(r.End.Us(), r.Last.Us())
	if r.Sent.IsZero() || r.End.IsZero() {
		return changes
	}
	changes = append(changes, change{at: r.Sent.Us(), flight: 1, sent: true})
	if !r.FirstEvent.IsZero() { // no token, but not nothing
		changes = append(changes, change{at: r.FirstEvent.Us()})
	}
	switch {
	case !r.First.IsZero():
	case r.OK() && !r.FirstEvent.IsZero(): // its tokens came at times that are not known
		return append(changes, change{at: r.FirstEvent.Us(), streams: 1}, change{at: end, flight: -1, streams: -1})
	default:
		return append(changes, change{at: end, flight: -1})
	}
	at := r.First.Us()
	changes = append(changes, change{at: at, streams: 1})
	gap := func(us int64) {
		if us >= shortestSilence {
			changes = append(changes, change{at: at, quiet: 1}, change{at: at + us, quiet: -1})
		}
		at += us
	}
	for us := range r.Gaps.All() {
		gap(us)
	}
	if !r.Last.IsZero() || !r.OK() { // otherwise its last tokens came at times that are not known
		gap(end - at)
	}
	return append(changes, change{at: end, flight: -1, streams: -1})
}

func longestWait(r *record.Record) (us int64) {
	if r.Sent.IsZero() || r.End.IsZero() {
		return 0
	}
	last := r.Sent.Us()
	if !r.First.IsZero() {
		us, last = r.First.Us()-last, r.First.Us()
	}
	for gap := range r.Gaps.All() {
		us, last = max(us, gap), last+gap
	}
	return max(us, r.End.Us()-last)
}
