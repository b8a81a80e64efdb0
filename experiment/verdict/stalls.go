package verdict

import (
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

func (e *Measured) stalls(paused []span) (out []silence) {
	if !e.Spec.Streams() || !slices.ContainsFunc(e.Records,
		func(r *record.Record) bool { return longestWait(r) >= shortestStall }) {
		return nil
	}
	all := silences(e.Records, e.Window)
	limit, longPrefill, prefill := e.silenceLimit(all), e.longPrefills(), e.prefills()
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

func (e *Measured) silenceLimit(all []silence) func(silence) int64 {
	var decoding []silence // the longest first
	for _, s := range all {
		if s.streams > 0 {
			decoding = append(decoding, s)
		}
	}
	gap := int64(0)
	if rare := max(rareSilences, int(rareShare*float64(e.Summary.Requests.Completed))); rare < len(decoding) {
		gap = decoding[rare].length()
	}
	if itl := e.Summary.ITL; itl != nil { // a slow server has a silence in each step
		gap = max(gap, int64(itl.P50*record.UsPerMs))
	}
	first := 0.0
	if t := e.Summary.TTFTFromSend; t != nil {
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
func (e *Measured) prefills() func(silence) bool {
	fastest := int64(math.MaxInt64)
	for _, r := range e.Records {
		if first, ok := r.First.Get(); ok && computed(r) > 0 {
			fastest = min(fastest, first-r.Sent.Us())
		}
	}
	if fastest == math.MaxInt64 {
		return func(silence) bool { return false }
	}
	return func(s silence) bool {
		computed := int64(0)
		for _, r := range e.Records {
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

func (e *Measured) longPrefills() func(silence) bool {
	var prompts []float64
	for _, r := range e.Records {
		prompts = append(prompts, computed(r))
	}
	slices.Sort(prompts)
	long := longPrompt * stats.Quantile(prompts, 0.5)
	return func(s silence) bool {
		return slices.ContainsFunc(e.Records, func(r *record.Record) bool {
			return endsWithFirst(s, r) && computed(r) > long
		})
	}
}

func (e *Measured) storeStalls() {
	e.Stalls, e.Stalled = nil, 0
	for _, s := range e.disturbed.stalled {
		e.Stalls = append(e.Stalls, record.Stall{FromUs: s.from, ToUs: e.endOf(s), InFlight: e.inFlightThrough(s.span)})
	}
	for _, r := range e.Records {
		if r.Phase == record.PhaseWindow && during(r, e.disturbed.backlogs) {
			e.Stalled++
		}
	}
}

func (e *Measured) inFlightThrough(s span) (n int) {
	for _, r := range e.Records {
		if !r.Sent.IsZero() && r.Sent.Us() <= s.from && r.End.Us() >= s.to {
			n++
		}
	}
	return n
}

func (e *Measured) endOf(s silence) int64 {
	if s.to < e.Window.EndUs {
		return s.to
	}
	next := int64(math.MaxInt64)
	for _, r := range e.Records {
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
