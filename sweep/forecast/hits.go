package forecast

import (
	"fmt"

	"bench/experiment"
	"bench/experiment/unit"
	"bench/experiment/workload"
)

const (
	countedAtMost = 10_000 // requests of a point: the hit rate of more hardly differs
	countedOpen   = 1000   // requests of a point whose number the server's speed decides
)

// hitsText is the possible prefix-cache hit rate of a point's first repeat: in an unbounded cache, and in a
// cache of room tokens (0 = not known). Empty: the point shares no prefix.
func hitsText(s *experiment.Spec, room int) string {
	if !s.SharesPrefixes() || s.Repeat > 1 {
		return ""
	}
	hits := countHits(s, 0)
	text := fmt.Sprintf("%s: %.2f %% of the prompt tokens of %s",
		s.Label(), 100*hits.Rate(), unit.Plural(hits.Requests, "request"))
	if experiment.HitsCountable(room) {
		in := countHits(s, room)
		text += fmt.Sprintf("; in the simulated server's %d tokens %.2f %%", room, 100*in.Rate())
	}
	return text
}

// countHits counts the hits of a point's first requests in a cache of room tokens; 0 = unbounded.
func countHits(s *experiment.Spec, room int) (hits workload.Hits) {
	n := plannedRequests(s)
	if n == 0 {
		n = countedOpen
	}
	for r, hit := range s.PrefixHits(room) {
		if hits.Add(&r, hit); hits.Requests >= min(n, countedAtMost) {
			break
		}
	}
	return hits
}
