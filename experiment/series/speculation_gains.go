package series

import (
	"fmt"
	"math"
	"slices"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/stats"
)

// SpeculationGain is a point of a server that drafts tokens against the same point of one that does not: they differ in
// one knob or in the endpoint.
type SpeculationGain struct {
	Name  string            // of the row
	Point []experiment.Axis // without what differs
	Off   string            // key=value of the server without speculation
	On    string            // likewise of the other one

	Speculation *record.Speculation // of the first repeat
	TPOT        Ratio               // of the p50, on over off
	Output      Ratio               // output tok/s, likewise, without an interval
}

// Ratio is a figure over another one. CI95 is infinite at an end that is not known; each end is a bound at 95 %.
type Ratio struct {
	Value float64
	CI95  stats.Interval
}

func SpeculationGains(rows []record.Row) []SpeculationGain {
	type side struct {
		spec *experiment.Spec
		rows []*record.Row
	}
	var on, off []side
	for i := range rows {
		r := &rows[i]
		if !r.Valid() {
			continue
		}
		to := &off
		if r.Speculation != nil {
			to = &on
		}
		at := slices.IndexFunc(*to, func(s side) bool { return s.spec.Name == r.Spec.Name && slices.Equal(s.spec.Point, r.Spec.Point) })
		if at < 0 {
			*to = append(*to, side{spec: &r.Spec})
			at = len(*to) - 1
		}
		(*to)[at].rows = append((*to)[at].rows, r)
	}
	var out []SpeculationGain
	for _, with := range on {
		for _, without := range off {
			point, a, b, alike := oneAxisApart(with.spec, without.spec)
			if !alike {
				continue
			}
			g := SpeculationGain{Name: with.spec.Name, Point: point, On: a, Off: b, Speculation: with.rows[0].Speculation}
			g.TPOT = ratioOf(percentiles(with.rows, "", "tpot"), percentiles(without.rows, "", "tpot"))
			g.Output = Ratio{outputOf(with.rows) / outputOf(without.rows), stats.Interval{Lo: math.Inf(-1), Hi: math.Inf(1)}}
			if g.TPOT.Value > 0 {
				out = append(out, g)
			}
		}
	}
	return out
}

func oneAxisApart(x, y *experiment.Spec) (common []experiment.Axis, a, b string, alike bool) {
	if x.Name != y.Name || x.Variant == y.Variant || len(x.Point) != len(y.Point) {
		return nil, "", "", false
	}
	for i, p := range x.Point {
		switch q := y.Point[i]; {
		case p == q:
			common = append(common, p)
		case p.Key != q.Key || a != "":
			return nil, "", "", false
		default:
			a, b = fmt.Sprintf("%s=%s", p.Key, p.Value), fmt.Sprintf("%s=%s", q.Key, q.Value)
		}
	}
	return common, a, b, a != ""
}

func ratioOf(on, off record.Percentiles) Ratio {
	a, hasA := on.Get("p50")
	b, hasB := off.Get("p50")
	if !hasA || !hasB || !(b.Median > 0) {
		return Ratio{}
	}
	r := Ratio{Value: a.Median / b.Median, CI95: stats.Interval{Lo: math.Inf(-1), Hi: math.Inf(1)}}
	if !math.IsInf(a.CI95.Lo, 0) && !math.IsInf(b.CI95.Hi, 0) {
		r.CI95.Lo = a.CI95.Lo / b.CI95.Hi
	}
	if !math.IsInf(a.CI95.Hi, 0) && b.CI95.Lo > 0 {
		r.CI95.Hi = a.CI95.Hi / b.CI95.Lo
	}
	return r
}

func outputOf(rows []*record.Row) float64 {
	var all []float64
	for _, r := range rows {
		all = append(all, r.Summary.Throughput.OutputTokensPerS)
	}
	return record.RepeatsOf(all).Median
}
