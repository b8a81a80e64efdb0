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

// hitsText says how much of the prompts of each point a prefix cache could hold; empty for points that share nothing.
func hitsText(points []*experiment.Spec) string {
	var lines strings.Builder
	for _, s := range points {
		if !s.Reuses() || s.Repeat > 1 {
			continue
		}
		n := plannedRequests(s)
		if n == 0 {
			n = uncounted
		}
		var hits workload.Hits
		for r, hit := range s.Hits() {
			if hits.Add(&r, hit); hits.Requests >= min(n, mostCounted) {
				break
			}
		}
		fmt.Fprintf(&lines, "  %s: %.2f %% of the prompt tokens of %s\n", s.Pretty(), 100*hits.Rate(), count(hits.Requests, "request"))
	}
	if lines.Len() == 0 {
		return ""
	}
	return "\nprefix hits that are possible, in a cache without a bound:\n" + lines.String()
}
