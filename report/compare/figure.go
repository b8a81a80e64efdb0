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
	Scale
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
	return figure{Scale: Scale{metric.ByName(name)}, key: key, stat: stat}
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
