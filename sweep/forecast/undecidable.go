package forecast

import (
	"fmt"
	"strings"
	"time"

	"bench/experiment"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

// undecidableText lists the limits of a row that its requests can't pass even if none is over the limit; empty:
// none, or the number of requests is not known.
func undecidableText(s *experiment.Spec) string {
	n := plannedRequests(s)
	if s.Search != nil {
		n = int(s.Search.Max * time.Duration(s.Duration).Seconds())
		if s.Search.Axis != "rate" {
			return ""
		}
	}
	var keys []string
	most := 0
	for _, l := range s.SLO.Limits {
		if !l.Decidable() || l.Stat == "mean" {
			continue
		}
		p := 1 - l.Value
		if l.Stat != "" {
			p, _ = l.P()
		}
		if _, need := stats.Decide(0, 0, p, 0.99); n > 0 && n < need {
			keys, most = append(keys, l.Key), max(most, need)
		}
	}
	if len(keys) == 0 {
		return ""
	}
	return fmt.Sprintf("%s: %s can't pass with %s requests: a PASS takes at least %s", s.Name, strings.Join(keys, ", "), unit.Count(n), unit.Count(most))
}
