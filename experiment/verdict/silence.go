package verdict

import (
	"cmp"
	"slices"

	"bench/experiment/record"
)

// silence is a time in which at least one answer was under way and the server sent nothing.
type silence struct {
	span
	streams int // answers that were under way all the time
}

// span is a time, µs from the row's epoch.
type span struct{ from, to int64 }

func (s span) length() int64 { return s.to - s.from }

func (s span) overlaps(from, to int64) bool { return s.from < to && from < s.to }

// shortestSilence, µs: shorter silences decide nothing, since a stall is at least ten times as long.
const shortestSilence = shortestStall / 10

// silences are the silences of a window, the longest first. An answer is under way from its first token on:
// before, the server computes its prompt and has nothing to send.
func silences(records []*record.Record, w record.Window) []silence {
	// Of the answers that are under way, all must be in a long gap: at each edge the numbers of both change.
	type edge struct {
		at             int64
		streams, quiet int
	}
	var edges []edge
	for _, r := range records {
		if r.First.IsZero() {
			continue
		}
		end := r.Last.Us()
		if !r.End.IsZero() {
			end = max(end, r.End.Us())
		}
		edges = append(edges, edge{r.First.Us(), 1, 0}, edge{end, -1, 0})
		at := r.First.Us()
		quiet := func(us int64) {
			if us >= shortestSilence {
				edges = append(edges, edge{at, 0, 1}, edge{at + us, 0, -1})
			}
			at += us
		}
		for us := range r.Gaps.All() {
			quiet(us)
		}
		quiet(end - at)
		if !r.FirstEvent.IsZero() { // no token, but not nothing
			edges = append(edges, edge{r.FirstEvent.Us(), 0, 0})
		}
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Compare(a.at, b.at) })
	var out []silence
	streams, quiet := 0, 0
	for i, e := range edges {
		if i > 0 && streams > 0 && streams == quiet {
			if s := (span{max(edges[i-1].at, w.StartUs), min(e.at, w.EndUs)}); s.length() >= shortestSilence {
				out = append(out, silence{s, streams})
			}
		}
		streams, quiet = streams+e.streams, quiet+e.quiet
	}
	slices.SortStableFunc(out, func(a, b silence) int { return cmp.Compare(b.length(), a.length()) })
	return out
}
