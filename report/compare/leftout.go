package compare

import (
	"fmt"
	"slices"
	"strings"
)

// LeftOut is a run of base, or one of its rows, that differs from new in what makes figures incomparable, while
// others of base do not: one night on another server must not end the comparison for as long as base has it.
type LeftOut struct {
	Run string `json:"run"`
	Row string `json:"row,omitempty"` // empty: the whole run
	Why string `json:"why"`
}

// onlyLikeNew is base without the runs that are not comparable with new; base itself if that leaves none, or if the
// runs of new differ among themselves.
func onlyLikeNew(base, changed Side, allow []string) (Side, []LeftOut) {
	like := Side{Name: base.Name}
	var left []LeftOut
	for _, run := range base.Runs {
		differences := sideDifferences(Side{Name: base.Name, Runs: []Run{run}}, changed, allow)
		if why := refusals(differences); why != "" {
			left = append(left, LeftOut{Run: run.Name, Why: why})
			continue
		}
		like.Runs = append(like.Runs, run)
	}
	if len(like.Runs) == 0 {
		return base, nil
	}
	return like, left
}

// onlyLikeNew is the pair without the rows of base whose workload is not that of new; the pair itself if that leaves
// none.
func (p pair) onlyLikeNew(allow []string) (pair, []LeftOut) {
	like := pair{name: p.name, changed: p.changed}
	var left []LeftOut
	for _, s := range p.base {
		one := pair{name: p.name, base: []sample{s}, changed: p.changed}
		if why := refusals(one.differences(allow)); why != "" {
			left = append(left, LeftOut{Run: s.run.Name, Row: s.row.ID, Why: why})
			continue
		}
		like.base = append(like.base, s)
	}
	if len(like.base) == 0 {
		return p, nil
	}
	return like, left
}

// refusals are the differences that refuse a comparison, as text; empty: none does.
func refusals(ds []Difference) string {
	var out []string
	for _, d := range ds {
		if d.refuses() {
			out = append(out, fmt.Sprintf("%s %s (new: %s)", d.What, d.Base, d.New))
		}
	}
	return strings.Join(slices.Compact(out), "; ")
}
