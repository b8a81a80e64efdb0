package compare

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/stats"
)

type figure struct {
	name       string // ttft_p99, output_tokens_per_s, error_rate
	metric     string // ttft; empty for figures of the whole window
	stat       string // p99
	unit       string
	own        *ownFigure // of a figure that only some rows have; nil: another
	threshold  *experiment.Threshold
	definition string // key of Run.Definitions
}

// alwaysCompared needs no threshold. Per GPU and in total, because one can hide a loss of the other.
var alwaysCompared = []string{"ttft_p50", "ttft_p95", "ttft_p99", "ttfo_p50", "ttfo_p95", "ttfo_p99", "tpot_p50", "tpot_p95", "tpot_p99", "itl_p50", "itl_p99",
	"e2e_p50", "e2e_p95", "e2e_p99", "requests_per_s", "output_tokens_per_s", "output_tokens_per_s_per_gpu", "prompt_tokens_per_s",
	"goodput_requests_per_s", experiment.ErrorRate,
	"session_time_p50", "session_time_p90", experiment.Interactivity, experiment.AnswersValid, experiment.AnswersCorrect,
	experiment.AcceptanceRate, experiment.AcceptanceLength, experiment.TokensPerStep, reasoningTokens + "_p50"}

func figures(g experiment.Gate, limited []string) []figure {
	var out []figure
	for i := range g.Thresholds {
		f := newFigure(g.Thresholds[i].Metric)
		f.threshold = &g.Thresholds[i]
		out = append(out, f)
	}
	for _, name := range slices.Concat(alwaysCompared, limited) {
		if !slices.ContainsFunc(out, func(f figure) bool { return f.name == name }) {
			out = append(out, newFigure(name))
		}
	}
	return out
}

func newFigure(name string) figure {
	f := figure{name: name, unit: "ms", definition: name}
	if own, ok := ownFigures[name]; ok {
		f.own, f.unit = &own, own.unit
		return f
	}
	switch {
	case name == experiment.ErrorRate:
		f.unit = "share"
	case experiment.MoreIsBetter(name):
		f.unit = "tokens/s"
		if strings.Contains(name, "requests") {
			f.unit = "1/s"
		}
	default:
		i := strings.LastIndexByte(name, '_')
		f.metric, f.stat = name[:i], name[i+1:]
		f.definition = f.metric
		switch f.metric {
		case experiment.SessionTime:
			f.unit = "s"
		case reasoningTokens:
			f.unit = "tokens"
		}
	}
	return f
}

// absolute figures are compared by their difference; all others by their ratio.
func (f figure) absolute() bool { return experiment.IsShare(f.name) }

// neutral figures have no direction: more is neither better nor worse.
func (f figure) neutral() bool { return f.metric == reasoningTokens }

func (f figure) scale(x float64) float64 {
	if f.absolute() {
		return x
	}
	return math.Log(x)
}

// change turns a difference on the scale of comparison into a relative change; of a share it leaves it.
func (f figure) change(difference float64) float64 {
	if f.absolute() {
		return difference
	}
	return math.Expm1(difference)
}

func (f figure) of(row *record.Row) (x float64, ok bool) {
	s := &row.Summary
	if f.metric != "" {
		x, ok := f.summary(row).Get(f.stat)
		return x, ok && !math.IsNaN(x) // another tool's summary can lack it
	}
	if f.own != nil {
		if x := f.own.of(row); x != nil {
			return *x, true
		}
		return 0, false
	}
	switch f.name {
	case experiment.ErrorRate:
		return s.FailedShare(), s.Requests.Stayed() > 0
	case "requests_per_s":
		return s.Throughput.RequestsPerS, true
	case "prompt_tokens_per_s":
		return s.Throughput.PromptTokensPerS, true
	case "output_tokens_per_s":
		return s.Throughput.OutputTokensPerS, true
	case "output_tokens_per_s_per_gpu":
		if perGPU := s.Throughput.OutputTokensPerSPerGPU; perGPU != nil {
			return *perGPU, true
		}
	case "goodput_requests_per_s":
		if s.Goodput != nil {
			return s.Goodput.RequestsPerS, true
		}
	}
	return 0, false
}

func (f figure) summary(row *record.Row) *stats.Summary {
	switch f.metric {
	case experiment.SessionTime:
		if row.Sessions == nil {
			return nil
		}
		return row.Sessions.Time
	case reasoningTokens:
		if row.Summary.Reasoning == nil {
			return nil
		}
		return row.Summary.Reasoning.Tokens
	}
	return row.Summary.Latency(f.metric)
}

// within is the variance of the figure within a row, one of so many repeats of its side, on the scale of comparison:
// by block bootstrap of its requests if they were loaded, else from the interval of its summary; 0 = unknown.
func (f figure) within(s *sample, repeats int) float64 {
	row := s.row
	n := float64(row.Summary.Requests.Stayed())
	switch {
	case n == 0:
		return 0
	case f.own != nil:
		return f.own.variance(s, repeats)
	case f.absolute():
		return shareVariance(row.Summary.FailedShare(), n)
	case f.metric == "": // one request more or less at the edge of the window
		return 1 / (n * n)
	}
	if w := s.resample(f.metric); w != nil {
		return w.Variance(func(w *stats.Resample) float64 { return math.Log(f.resampled(w)) }, f.random(row))
	}
	if summary := f.summary(row); summary != nil {
		return logVariance(summary.CI95[f.stat])
	}
	return 0
}

func (f figure) resampled(w *stats.Resample) float64 {
	if p, ok := (experiment.Limit{Stat: f.stat}).P(); ok {
		return w.Quantile(p)
	}
	return w.Mean()
}

// random is the bootstrap's source, the same for the same row and figure.
func (f figure) random(row *record.Row) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprint(h, row.ID, row.Salt, row.Spec.Repeat)
	return rand.New(rand.NewPCG(h.Sum64(), uint64(len(f.name))))
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
