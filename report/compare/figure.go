package compare

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"

	"bench/experiment"
	"bench/experiment/metric"
	"bench/experiment/record"
	"bench/experiment/stats"
)

type figure struct {
	metric.Metric
	key       string      // ttft_p99, output_tokens_per_s, error_rate
	stat      metric.Stat // p99; empty for figures of the whole window
	threshold *experiment.Threshold
}

// alwaysCompared needs no threshold. Per GPU and in total, because one can hide a loss of the other.
var alwaysCompared = []string{"ttft_p50", "ttft_p95", "ttft_p99", "ttfo_p50", "ttfo_p95", "ttfo_p99",
	"tpot_p50", "tpot_p95", "tpot_p99", "itl_p50", "itl_p99", "e2e_p50", "e2e_p95", "e2e_p99",
	metric.RequestsPerS, metric.OutputTokensPerS, metric.OutputTokensPerSPerGPU, metric.PromptTokensPerS,
	metric.GoodputRequestsPerS, metric.ErrorRate, "session_time_p50", "session_time_p90", metric.Interactivity,
	metric.AnswersValid, metric.AnswersCorrect, metric.AcceptanceRate, metric.AcceptanceLength, metric.TokensPerStep,
	"reasoning_tokens_p50", metric.EnergyPerToken}

func figures(g experiment.Gate, limited []string) []figure {
	var out []figure
	for i := range g.Thresholds {
		f := newFigure(g.Thresholds[i].Metric)
		f.threshold = &g.Thresholds[i]
		out = append(out, f)
	}
	for _, name := range slices.Concat(alwaysCompared, limited) {
		if !slices.ContainsFunc(out, func(f figure) bool { return f.key == name }) {
			out = append(out, newFigure(name))
		}
	}
	return out
}

func newFigure(key string) figure {
	name, stat := metric.Cut(key)
	return figure{Metric: metric.ByName(name), key: key, stat: stat}
}

// absolute figures are compared by their difference; all others by their ratio.
func (f figure) absolute() bool { return f.IsShare() }

// relative applies a function to what is compared by its ratio.
func (f figure) relative(of func(float64) float64, x float64) float64 {
	if f.absolute() {
		return x
	}
	return of(x)
}

func (f figure) scale(x float64) float64 { return f.relative(math.Log, x) }

func (f figure) unscale(x float64) float64 { return f.relative(math.Exp, x) }

// change turns a difference on the scale of comparison into a relative change; of a share it leaves it.
func (f figure) change(difference float64) float64 { return f.relative(math.Expm1, difference) }

// distance is a change on the scale of comparison.
func (f figure) distance(change float64) float64 { return f.relative(math.Log1p, change) }

// changes are those of an interval: no share changes by more than 1.
func (f figure) changes(iv stats.Interval) stats.Interval {
	iv.Lo, iv.Hi = f.change(iv.Lo), f.change(iv.Hi)
	if f.absolute() {
		iv.Lo, iv.Hi = max(iv.Lo, -1), min(iv.Hi, 1)
	}
	return iv
}

// verdict is that of a change with an adjusted p, of which farthest is the largest size that the data leave either way.
func (f figure) verdict(change, adjusted, farthest, margin float64) Verdict {
	switch {
	case adjusted <= risk && change != 0 && f.Neutral():
		return Changed
	case adjusted <= risk && WorseBy(f.key, change) > 0:
		return Worse
	case adjusted <= risk && change != 0:
		return Better
	case farthest <= margin:
		return NoChange
	}
	return Inconclusive
}

// within is the variance of the figure within a row, one of so many repeats of its side, on the scale of comparison:
// by block bootstrap of its requests if they were loaded, else from the interval of its summary; 0 = unknown.
func (f figure) within(s *sample, repeats int) float64 {
	row := s.row
	n := float64(row.Summary.Requests.Stayed())
	switch {
	case n == 0:
		return 0
	case f.ofSomeRows():
		return f.ownVariance(s, repeats)
	case f.absolute():
		return shareVariance(row.Summary.FailedShare(), n)
	case f.stat == "": // one request more or less at the edge of the window
		return 1 / (n * n)
	}
	if w := s.resample(f.Name); w != nil {
		return w.Variance(func(w *stats.Resample) float64 { return math.Log(f.resampled(w)) }, f.random(row))
	}
	if summary := row.Values(f.Name); summary != nil {
		return logVariance(summary.CI95[string(f.stat)])
	}
	return 0
}

func (f figure) resampled(w *stats.Resample) float64 {
	if p, ok := f.stat.P(); ok {
		return w.Quantile(p)
	}
	return w.Mean()
}

// random is the bootstrap's source, the same for the same row and figure.
func (f figure) random(row *record.Row) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprint(h, row.ID, row.Salt, row.Spec.Repeat)
	return rand.New(rand.NewPCG(h.Sum64(), uint64(len(f.key))))
}

// logVariance takes the interval for 2 × 1.96 standard errors: a lower bound of the spread. 0 = it has no end.
func logVariance(ci stats.Interval) float64 {
	if !(ci.Lo > 0) || math.IsInf(ci.Hi, 1) {
		return 0
	}
	se := math.Log(ci.Hi/ci.Lo) / (2 * 1.96)
	return se * se
}

// shareVariance adds half a value: none in n does not prove a share of 0.
func shareVariance(share, n float64) float64 {
	share = (min(1, max(0, share))*n + 0.5) / (n + 1)
	return share * (1 - share) / n
}
