package verdict

import (
	"cmp"
	"slices"

	"bench/experiment/record"
	"bench/experiment/stats"
)

// EachLimit is the verdict on each limit over several rows, in the order of the SLO: that of the row that is worst.
func EachLimit(rows ...*record.Row) []record.Verdict {
	var out []record.Verdict
	order := []stats.Verdict{stats.Pass, stats.Undecided, stats.Fail}
	for c := range standing(rows) {
		i := slices.IndexFunc(out, func(v record.Verdict) bool { return v.Metric == c.Metric && v.Class == c.Class })
		switch {
		case i < 0:
			out = append(out, c)
		case cmp.Or(cmp.Compare(slices.Index(order, c.Verdict), slices.Index(order, out[i].Verdict)),
			cmp.Compare(excess(c), excess(out[i]))) > 0:
			out[i] = c
		}
	}
	return out
}
