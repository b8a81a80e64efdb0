package series

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

// Resampled is the certainty of a LoadLimit: where it is in series whose repeats are drawn at random, with
// replacement, from those of each point.
type Resampled struct {
	Share float64 `json:"share"` // of the draws with the same result
	Low   *int    `json:"low"`   // 95 % of the draws that have a point have it from this one …
	High  *int    `json:"high"`  // … to this one; null: no draw has a point
}

// draws give a share with a standard error of at most 3.5 %.
const draws = 200

func (s *Series) resample() {
	if !slices.ContainsFunc(s.Points, func(p Point) bool { return len(p.Rows) > 1 }) {
		return
	}
	rng := rand.New(rand.NewPCG(record.Seed, 1))
	found := []*LoadLimit{&s.MaxLoadWithinSLO, &s.Knee, &s.Saturation}
	drawn := make([][]int, len(found)) // the point of each draw; −1 = none
	for range draws {
		d := s.draw(rng)
		for i, k := range []LoadLimit{d.findMaxLoad(), d.findKnee(), d.findSaturation()} {
			at := -1
			if k.Point != nil {
				at = *k.Point
			}
			drawn[i] = append(drawn[i], at)
		}
	}
	for i, k := range found {
		k.Resampled = resampled(k.Point, drawn[i])
	}
}

func (s *Series) draw(rng *rand.Rand) Series {
	out := *s
	out.Points = make([]Point, len(s.Points))
	for i := range s.Points {
		rows := make([]*record.Row, len(s.Points[i].Rows))
		for j := range rows {
			rows[j] = s.Points[i].Rows[rng.IntN(len(rows))]
		}
		out.Points[i] = pointOf(s.Axis, rows)
		out.Points[i].Valid = s.Points[i].Valid // an invalid point stays invalid, whichever repeats are drawn
		if slices.ContainsFunc(s.Points[i].Rows, func(r *record.Row) bool { return r.Spec.Added > 0 }) {
			out.Points[i].SLO = s.Points[i].SLO // the verdict is the longest repeat's, drawn or not
		}
	}
	return out
}

func resampled(point *int, drawn []int) *Resampled {
	r := &Resampled{}
	same, has := 0, []int{}
	for _, at := range drawn {
		if point != nil && at == *point || point == nil && at < 0 {
			same++
		}
		if at >= 0 {
			has = append(has, at)
		}
	}
	r.Share = float64(same) / float64(len(drawn))
	if slices.Sort(has); len(has) > 0 {
		r.Low, r.High = &has[len(has)*25/1000], &has[(len(has)-1)*975/1000]
	}
	return r
}

const (
	// unlikely is the probability, if all repeats measure the same, of a spread that counts as a difference.
	// It is tested for three means.
	unlikely    = 0.003
	leastSpread = 0.05
)

// betweenRuns is the finding that the repeats of a point differ by more than their own intervals explain: something
// changed between the runs. The verdict of the point is the worst of its repeats'.
func betweenRuns(rows []*record.Row) (record.Finding, bool) {
	var parts []string
	var effects []record.Effect
	for _, metric := range compared {
		var means, errors []float64
		for _, r := range rows {
			if s := r.Summary.Latency(metric); s != nil {
				if ci, ok := s.CI95["mean"]; ok {
					means, errors = append(means, s.Mean), append(errors, (ci.Hi-ci.Lo)/2/1.96)
				}
			}
		}
		p, ok := stats.Same(means, errors)
		if spread := stats.SpreadOf(means); ok && p < unlikely && spread.Max-spread.Min > leastSpread*spread.Min {
			parts = append(parts, fmt.Sprintf("mean %s %s to %s", metric, unit.Format(spread.Min, "ms"),
				unit.Format(spread.Max, "ms")))
			x := record.Effect{Metric: metric, Direction: record.Unknown, Unit: record.UnitFactor}
			if spread.Min > 0 {
				x.Bound = new(spread.Max / spread.Min)
			}
			effects = append(effects, x)
		}
	}
	if len(parts) == 0 {
		return record.Finding{}, false
	}
	return record.Finding{Code: "between_runs", Severity: record.Caution, Effects: effects,
		Text: fmt.Sprintf("the %d repeats differ by more than their confidence intervals explain: %s", len(rows),
			strings.Join(parts, ", ")),
		Hint: `quote the spread of the repeats; look for what changed between runs (order = "blocked" separates drift from effect)`}, true
}
