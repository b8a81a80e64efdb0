package compare

import (
	"fmt"
	"slices"
	"strings"
)

// LeftOut is a run of base, or one of its rows, that differs from new in what makes figures incomparable,
// while others of base do not: one night on another server must not end the comparison for as long as base
// has it.
type LeftOut struct {
	Run string `json:"run"`
	Row string `json:"row,omitempty"` // or its point; empty: the whole run
	Why string `json:"why"`
}

// onlyLikeNew leaves out runs of base that are not comparable with new, unless that leaves none.
func onlyLikeNew(base, changed Side, allow []string) (Side, []LeftOut) {
	like := Side{Name: base.Name}
	var left []LeftOut
	for _, run := range base.Runs {
		if why := refusals(sideDifferences(Side{Runs: []Run{run}}, changed, allow)); why != "" {
			left = append(left, LeftOut{Run: run.Name, Why: why})
		} else {
			like.Runs = append(like.Runs, run)
		}
	}
	if len(like.Runs) == 0 {
		return base, nil
	}
	return like, left
}

// onlyLikeNew leaves out the rows of base with another workload than new, unless that leaves none.
func (p pair) onlyLikeNew(allow []string) (pair, []LeftOut) {
	like, left := p.divided(allow)
	if like == nil {
		return p, nil
	}
	p.base = like
	return p, left
}

// divided are the rows of base with the workload of new, and the others.
func (p pair) divided(allow []string) (like []sample, left []LeftOut) {
	for _, s := range p.base {
		one := pair{name: p.name, base: []sample{s}, changed: p.changed}
		if why := refusals(one.differences(allow)); why != "" {
			left = append(left, LeftOut{Run: s.run.Name, Row: s.row.ID, Why: why})
		} else {
			like = append(like, s)
		}
	}
	return like, left
}

func refusals(ds []Difference) string {
	var out []string
	for _, d := range ds {
		if d.refuses() {
			out = append(out, fmt.Sprintf("%s %s (new: %s)", d.What, d.Base, d.New))
		}
	}
	return strings.Join(slices.Compact(out), "; ")
}

// withoutChangedPoints leaves out the pairs of which no row of base has the workload of new: new is a new base for
// them.
func withoutChangedPoints(pairs []pair, allow []string) (like []pair, left []LeftOut, added []string) {
	for _, p := range pairs {
		same, unlike := p.divided(allow)
		if same != nil {
			like = append(like, p)
			continue
		}
		for i := range unlike {
			unlike[i].Row = p.name
		}
		left, added = append(left, slices.Compact(unlike)...), append(added, p.name)
	}
	return like, left, added
}
