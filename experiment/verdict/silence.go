package verdict

import (
	"cmp"
	"slices"

	"bench/experiment/record"
)

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
