package compare

import (
	"math"

	"bench/experiment/record"
	"bench/experiment/stats"
)

// Quoted is how far the requests of one side carry a percentile. The zero value belongs to a figure that is
// no percentile.
type Quoted struct {
	N     int         `json:"n"` // requests of the repeat with the fewest
	Grade stats.Grade `json:"grade"`
	// AtLeast is the lower end of the percentile's 95 % interval if n is too small for an upper end; absent =
	// the median can be quoted, or n is too small for both.
	AtLeast *float64 `json:"at_least,omitempty"`
}

func (f figure) quoted(samples []sample) (q Quoted) {
	if f.stat == "" {
		return q
	}
	var all []*stats.Summary
	for i := range samples {
		all = append(all, samples[i].row.Values(f.Name))
	}
	p, ok := record.PercentilesOf(all...).Get(string(f.stat))
	if !ok {
		return q
	}
	if q.N, q.Grade = p.N, p.Grade; p.Grade == stats.NoBound && !math.IsInf(p.CI95.Lo, 0) {
		q.AtLeast = &p.CI95.Lo
	}
	return q
}
