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
// cache of the server's room, if that is known. Empty: the point shares no prefix.
func hitsText(s *experiment.Spec, cache experiment.PrefixCache) string {
	if !s.SharesPrefixes() || s.HasPrompts() || s.Repeat > 1 {
		return ""
	}
	hits := countHits(s, experiment.PrefixCache{Block: cache.Block})
	text := fmt.Sprintf("%s: %.2f %% of the prompt tokens of %s",
		s.Label(), 100*hits.Rate(), unit.Plural(hits.Requests, "request"))
	if cache.Countable() {
		in := countHits(s, cache)
		text += fmt.Sprintf("; in the simulated server's %d tokens %.2f %%", cache.Room, 100*in.Rate())
	}
	return text
}

// countHits counts the hits of a point's first requests.
func countHits(s *experiment.Spec, cache experiment.PrefixCache) (hits workload.Hits) {
	n := plannedRequests(s)
	if n == 0 {
		n = countedOpen
	}
	for r, hit := range s.PrefixHits(cache) {
		if hits.Add(&r, hit); hits.Requests >= min(n, countedAtMost) {
			break
		}
	}
	return hits
}
