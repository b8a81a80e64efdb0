package revisions

import (
	"maps"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"bench/experiment/metric"
	"bench/experiment/record"
	"bench/experiment/stats"
)

type Measured struct {
	Dir   string
	Rows  []*record.Row
	Found []record.Found // by its search
}

// OperatingPoint is the figure of a row that searches for its load.
const OperatingPoint = "operating_point"

var unlimited = []string{metric.OutputTokensPerS, "ttft_p50", "tpot_p50", "e2e_p50"}

// figures are those of the run: the one that is asked for, the search's, or those that the row limits. Of repeats
// they are the geometric mean.
func (m *Measured) figures(asked string) map[string]float64 {
	out := map[string]float64{}
	if asked == "" && len(m.Found) > 0 {
		if x := m.Found[0].Best; x != nil {
			out[OperatingPoint] = *x
		}
		return out
	}
	for _, key := range m.keys(asked) {
		sum := 0.0
		for _, row := range m.Rows {
			x, _ := row.Figure(key)
			sum += math.Log(x) // of one that is missing −∞
		}
		if x := math.Exp(sum / float64(len(m.Rows))); x > 0 {
			out[key] = x
		}
	}
	return out
}

func (m *Measured) keys(asked string) (keys []string) {
	if asked != "" {
		return []string{asked}
	}
	for _, l := range m.Rows[0].Spec.SLO.Limits {
		if l.Metric != metric.ErrorRate {
			keys = append(keys, strings.TrimPrefix(l.Key, "min_"))
		}
	}
	if len(keys) == 0 {
		return unlimited
	}
	return keys
}

// invalid is why a run does not count; empty = it does.
func (m *Measured) invalid() string {
	for _, row := range m.Rows {
		if !row.Valid() {
			return "invalid: " + strings.Join(row.Codes(record.Invalid), ", ")
		}
	}
	return ""
}

// chooseMetric takes, once good and bad have two runs each, the figure by which they differ most, over its error.
func (b *Bisection) chooseMetric() {
	last := len(b.Revisions) - 1
	if b.Metric != "" || min(len(b.of(0)), len(b.of(last))) < 2 {
		return
	}
	b.Choice = 0
	most := -1.0
	for _, key := range slices.Sorted(maps.Keys(b.of(0)[0].Figures)) {
		good, bad := logs(b.of(0), key), logs(b.of(last), key)
		const least = 0.01 // of the deviation: two runs can agree by luck
		x, y := stat.StdDev(good, nil), stat.StdDev(bad, nil)
		z := math.Abs(stat.Mean(good, nil)-stat.Mean(bad, nil)) / math.Hypot(least, math.Hypot(x, y))
		if b.Choice++; z > most { // of one that a run lacks it is not a number
			b.Metric, most = key, z
		}
	}
}

func (b *Bisection) of(revision int) (out []Run) {
	for _, r := range b.Runs {
		if r.Revision == revision && r.Invalid == "" {
			out = append(out, r)
		}
	}
	return out
}

func logs(runs []Run, key string) (out []float64) {
	for _, r := range runs {
		out = append(out, math.Log(r.Figures[key]))
	}
	return out
}

// smallest is the change, as a share, that the runs of good and bad would have shown in four of five cases.
func (b *Bisection) smallest() float64 {
	const power = 1.96 + 0.84 // errors: a test at 5 %, passed by 80 %
	square := 0.0
	for _, end := range []int{0, len(b.Revisions) - 1} {
		x := logs(b.of(end), b.Metric)
		square += stat.Variance(x, nil) / float64(len(x))
	}
	return math.Expm1(power * math.Sqrt(square))
}

// Level is a figure of good or bad by its runs alone, with its interval of 95 %; with one run that has no end.
type Level struct {
	Value    float64        `json:"value"`
	Interval stats.Interval `json:"interval"`
	Runs     int            `json:"runs"`
}

func (b *Bisection) level(revision int) Level {
	x := logs(b.of(revision), b.Metric)
	mean, half := stat.Mean(x, nil), math.Inf(1)
	if n := float64(len(x)); n > 1 {
		half = stat.StdDev(x, nil) / math.Sqrt(n) * distuv.StudentsT{Sigma: 1, Nu: n - 1}.Quantile(0.975)
	}
	return Level{math.Exp(mean), stats.Interval{Lo: math.Exp(mean - half), Hi: math.Exp(mean + half)}, len(x)}
}
