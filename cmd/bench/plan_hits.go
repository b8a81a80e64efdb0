package main

import (
	"fmt"
	"strings"

	"bench/experiment"
	"bench/experiment/workload"
)

// mostCounted bounds what a dry run counts of each point: the share hardly changes behind it.
const mostCounted = 10_000

// uncounted is how many requests are counted where their number depends on the server.
const uncounted = 1000

// hitsText says how much of the prompts of each point a prefix cache could hold, without a bound and with room for so many tokens
// (0 = not known); empty for points that share nothing.
func hitsText(points []*experiment.Spec, room int) string {
	var lines strings.Builder
	for _, s := range points {
		if !s.Reuses() || s.Repeat > 1 {
			continue
		}
		hits := countHits(s, 0)
		fmt.Fprintf(&lines, "  %s: %.2f %% of the prompt tokens of %s", s.Pretty(), 100*hits.Rate(), count(hits.Requests, "request"))
		if experiment.Countable(room) {
			in := countHits(s, room)
			fmt.Fprintf(&lines, "; in the simulated server's %d tokens %.2f %%", room, 100*in.Rate())
		}
		lines.WriteByte('\n')
	}
	if lines.Len() == 0 {
		return ""
	}
	return "\nprefix hits that are possible, in a cache without a bound:\n" + lines.String()
}

// countHits counts the hits of a point's first requests in a cache with room for so many tokens; 0 = without a bound.
func countHits(s *experiment.Spec, room int) (hits workload.Hits) {
	n := plannedRequests(s)
	if n == 0 {
		n = uncounted
	}
	for r, hit := range s.Hits(room) {
		if hits.Add(&r, hit); hits.Requests >= min(n, mostCounted) {
			break
		}
	}
	return hits
}
