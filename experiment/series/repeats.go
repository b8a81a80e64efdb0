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

// Resampled is where a knee lies when repeats are drawn at random, with replacement, from those of each point.
type Resampled struct {
	Share float64 `json:"share"` // of the draws in which it is the same point
	Low   *int    `json:"low"`   // 95 % of the draws that have the knee lie from this point …
	High  *int    `json:"high"`  // … to this one; null = no draw has one
}

// draws of the repeats: a share is known to 3 % then.
const draws = 200

// resample says how sure the knees are, as far as the repeats tell.
func (s *Series) resample() {
	if !slices.ContainsFunc(s.Points, func(p SeriesPoint) bool { return len(p.Rows) > 1 }) {
		return
	}
	rng := rand.New(rand.NewPCG(record.Seed, 1))
	knees := []*Knee{&s.SLOKnee, &s.GeometricKnee, &s.Saturation}
	drawn := make([][]int, len(knees)) // the point of each draw; −1 = none
	for range draws {
		d := s.draw(rng)
		for i, k := range []Knee{d.maxLoadWithinSLO(), d.geometricKnee(), d.saturation()} {
			at := -1
			if k.Point != nil {
				at = *k.Point
			}
			drawn[i] = append(drawn[i], at)
		}
	}
	for i, k := range knees {
		k.Resampled = resampled(k.Point, drawn[i])
	}
}

// draw is the series with the repeats of each point drawn anew.
func (s *Series) draw(rng *rand.Rand) Series {
	out := *s
	out.Points = make([]SeriesPoint, len(s.Points))
	for i := range s.Points {
		rows := make([]*record.Row, len(s.Points[i].Rows))
		for j := range rows {
			rows[j] = s.Points[i].Rows[rng.IntN(len(rows))]
		}
		out.Points[i] = s.pointOf(rows)
		out.Points[i].Valid = s.Points[i].Valid // what is doubted stays so, whichever repeats are drawn
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
	// unlikely is the chance of spreads as large as a finding needs, when runs of the same measure the same; three means are
	// looked at.
	unlikely = 0.003
	// apartBy is the distance of the extreme repeats, as a share of the mean, below which nobody minds.
	apartBy = 0.05
)

// betweenRuns findings a point whose repeats differ by more than the intervals inside each of them explain: something changed
// from run to run, and the interval of one run says too little.
func betweenRuns(rows []*record.Row) (record.Finding, bool) {
	var parts []string
	for _, m := range Headlines {
		var means, errors []float64
		for _, r := range rows {
			if s := m.of(&r.Summary); s != nil {
				if ci, ok := s.CI95["mean"]; ok {
					means, errors = append(means, s.Mean), append(errors, (ci.Hi-ci.Lo)/2/1.96)
				}
			}
		}
		p, ok := stats.Same(means, errors)
		if spread := stats.SpreadOf(means); ok && p < unlikely && spread.Max-spread.Min > apartBy*spread.Min {
			parts = append(parts, fmt.Sprintf("mean %s from %s to %s", m.name, unit.Format(spread.Min, "ms"), unit.Format(spread.Max, "ms")))
		}
	}
	if len(parts) == 0 {
		return record.Finding{}, false
	}
	return record.Finding{Code: "between_runs",
		Text: fmt.Sprintf("the %d repeats differ by more than the spread inside each explains: %s", len(rows), strings.Join(parts, ", ")),
		Hint: `quote the spread of the repeats, not the interval of one; look for what changes between runs (order = "blocked" tells drift from effect)`}, true
}
