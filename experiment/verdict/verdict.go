// Package verdict judges a measured row: which limits of its SLO it meets, and whether its figures can be
// trusted.
//
// Measured.Conclude is the whole: it summarizes the records, decides each limit as PASS, FAIL or UNDECIDED
// (at the end of the window, or at looks while an until = "decided" row runs), and makes the checks, whose
// failures are findings. Everything is a function of the row's spec, records and samples: nothing here sends,
// reads a file or takes the time.
package verdict

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

// confidence of a PASS or a FAIL: MLPerf LoadGen's.
const confidence = 0.99

// judgeLimit decides one limit. window is the requests that it covers, by arrival; s summarizes the row, or
// the class.
func judgeLimit(q question, window []*record.Record, s *record.Summary, stream bool, t experiment.Target) record.Verdict {
	l := q.limit
	v := record.Verdict{Metric: l.Key, Class: q.class, Limit: l.Value, Unit: l.Unit, Observed: len(window)}
	switch {
	case len(window) == 0:
		decide(&v, stats.Undecided, "no request in the window")
	case interrupted(window):
		decide(&v, stats.Undecided, "the row was interrupted")
	case needsEvents(l) && mostlyBuffered(window):
		decide(&v, stats.Undecided, "the answers arrived all at once: something between server and client buffers them")
	case l.Metric == "itl":
		judgeGaps(&v, l, window)
	case l.Stat == "mean":
		judgeMean(&v, l, window, stream, confidence)
	case l.Stat != "":
		judgePercentile(&v, l, window, stream)
	case l.Metric == "error_rate":
		judgeErrors(&v, l, window)
	default:
		judgeFigure(&v, l, s, t)
	}
	return v
}

func decide(v *record.Verdict, verdict stats.Verdict, why string) {
	v.Verdict, v.Why = string(verdict), why
}

// needsEvents reports whether the limit's metric needs the times of single events.
func needsEvents(l experiment.Limit) bool { return l.Metric == "itl" || l.Metric == "tpot" }

func mostlyBuffered(window []*record.Record) bool {
	whole, of := buffered(window)
	return whole > 0 && float64(whole) > tolerated*float64(of)
}

// judgePercentile ranks failed requests as +∞, so that time-outs can't improve a percentile.
func judgePercentile(v *record.Verdict, l experiment.Limit, window []*record.Record, stream bool) {
	p, _ := l.P()
	values, failed := ranked(l.Metric, window, stream)
	setPercentile(v, values, failed, p)
	judgeShare(v, len(values), overLimit(values, l.Value), p, failed)
}

// setPercentile sets the verdict's value, if the percentile is finite.
func setPercentile(v *record.Verdict, values []float64, failed int, p float64) {
	sorted := slices.Sorted(slices.Values(values))
	if x := stats.QuantileWithMissing(sorted[:len(sorted)-failed], failed, p); !math.IsInf(x, 0) && !math.IsNaN(x) {
		v.Value = &x
	}
}

func overLimit(values []float64, limit float64) int {
	over := 0
	for _, x := range values {
		if x > limit {
			over++
		}
	}
	return over
}

const notMeasured = "not measured: no request has this metric"

func overText(over, n int, p float64) string {
	return fmt.Sprintf("%d of %d over the limit, %s %% allowed", over, n, unit.Brief((1-p)*100, 3))
}

// judgeShare decides from counts: over of n requests exceed the limit, a share of 1−p may.
func judgeShare(v *record.Verdict, n, over int, p float64, failed int) {
	if n == 0 {
		decide(v, stats.Undecided, notMeasured)
		return
	}
	verdict, need := stats.Decide(n, over, p, confidence)
	decide(v, verdict, overText(over, n, p))
	v.Observed = n
	if failed > 0 {
		v.Why += fmt.Sprintf(" (%d of them failed)", failed)
	}
	setNeed(v, need)
}

// setNeed sets the number of further requests that a decision needs; 0 = none, or more would not help.
func setNeed(v *record.Verdict, need int) {
	if v.Need = need; need > 0 {
		v.Why += fmt.Sprintf("; need %d more requests", need)
	}
}

// judgeGaps counts in requests, not in gaps: the gaps of one request depend on each other, and taken as
// independent they would decide too early. A failed request counts as the mean number of gaps of the others,
// all infinite.
func judgeGaps(v *record.Verdict, l experiment.Limit, window []*record.Record) {
	var gaps stats.Counts
	requests, over, failed := 0, 0, 0
	for _, r := range window {
		if !r.OK() {
			failed++
			continue
		}
		if r.Gaps.Len() > 0 {
			requests++
		}
		for us := range r.Gaps.All() {
			gaps.Add(us)
			if float64(us)/record.UsPerMs > l.Value {
				over++
			}
		}
	}
	p, _ := l.P()
	overRequests := failed
	if requests > 0 {
		missing := (failed*gaps.N() + requests - 1) / requests
		if x := gaps.Sorted(record.UsPerMs).QuantileWithMissing(missing, p); !math.IsInf(x, 0) {
			v.Value = &x
		}
		// ⌈over / gaps · requests⌉ in whole numbers: a float could round an exact result up.
		overRequests += (over*requests + gaps.N() - 1) / gaps.N()
	}
	judgeShare(v, requests+failed, overRequests, p, failed)
	if requests > 0 {
		v.Why += "; gaps counted by request: within a request they depend on each other"
	}
}

// judgeMean compares the bootstrap interval of the mean over requests, by arrival, with the limit.
func judgeMean(v *record.Verdict, l experiment.Limit, window []*record.Record, stream bool, confidence float64) {
	const few = 30 // below, the bootstrap interval is too short
	values, failed := ranked(l.Metric, window, stream)
	if failed > 0 {
		decide(v, stats.Fail, fmt.Sprintf("%d requests failed and rank as infinite: the mean has no value", failed))
		return
	}
	if len(values) == 0 {
		decide(v, stats.Undecided, notMeasured)
		return
	}
	n, mean := len(values), stat.Mean(values, nil)
	iv := stats.MeanInterval(values, confidence, rand.New(rand.NewPCG(record.Seed, 2)))
	v.Value, v.Observed = &mean, n
	v.Why = fmt.Sprintf("mean %s ms [%s, %s] (%s %%, n=%d)",
		unit.Brief(mean, 4), unit.Brief(iv.Lo, 4), unit.Brief(iv.Hi, 4), unit.Brief(100*confidence, 4), n)
	switch {
	case n < few:
		decide(v, stats.Undecided, fmt.Sprintf("n too small for an interval of the mean: %d", n))
		setNeed(v, few-n)
	case math.IsInf(iv.Hi, 1):
		decide(v, stats.Undecided, fmt.Sprintf("no interval of the mean: the %d requests depend too much on each other", n))
		setNeed(v, n)
	case iv.Hi <= l.Value:
		v.Verdict = string(stats.Pass)
	case iv.Lo > l.Value:
		v.Verdict = string(stats.Fail)
	default:
		v.Verdict = string(stats.Undecided)
		setNeed(v, meanNeed(n, mean, l.Value, iv))
	}
}

// meanNeed is the number of further requests that would move the interval off the limit, if mean and spread
// stay; 0 if that takes more than ten million, as in stats.Decide.
func meanNeed(n int, mean, limit float64, iv stats.Interval) int {
	reach := iv.Hi - mean
	if mean > limit {
		reach = mean - iv.Lo
	}
	total := math.Ceil(float64(n) * math.Pow(reach/(mean-limit), 2)) // +Inf if mean = limit
	if total > 1e7 {
		return 0
	}
	return max(1, int(total)-n)
}

// ranked is a latency of each request that has it, in ms. A failed request is +∞, and counted.
func ranked(metric string, window []*record.Record, stream bool) (values []float64, failed int) {
	for _, r := range window {
		if !r.OK() {
			failed++
			values = append(values, math.Inf(1))
		} else if ms, ok := r.Latency(metric, stream); ok {
			values = append(values, ms)
		}
	}
	return values, failed
}

// judgeErrors decides whether the true error rate is within the limit: few requests without a failure prove
// little.
func judgeErrors(v *record.Verdict, l experiment.Limit, window []*record.Record) {
	n, failed := len(window), 0
	for _, r := range window {
		if !r.OK() {
			failed++
		}
	}
	v.Value = new(float64(failed) / float64(n))
	switch { // a limit of 0 or 1 needs no statistics
	case l.Value == 0 && failed > 0:
		decide(v, stats.Fail, fmt.Sprintf("%d requests failed", failed))
	case l.Value == 0:
		decide(v, stats.Pass, "no request failed")
	case l.Value >= 1:
		decide(v, stats.Pass, "every request may fail")
	default:
		verdict, need := stats.Decide(n, failed, 1-l.Value, confidence)
		decide(v, verdict, fmt.Sprintf("%d of %d failed", failed, n))
		setNeed(v, need)
	}
}

// judgeFigure compares a figure of the whole window: one measurement, without an interval.
func judgeFigure(v *record.Verdict, l experiment.Limit, s *record.Summary, t experiment.Target) {
	if l.Unit == "usd" && t.Priced() && s.Throughput.OutputTokensPerS == 0 {
		decide(v, stats.Fail, "no output token in the window: the price has no value")
		return
	}
	x, missing := figure(l.Metric, s, t)
	if missing != "" {
		decide(v, stats.Undecided, missing)
		return
	}
	ok := x <= l.Value
	if strings.HasPrefix(l.Metric, "min_") {
		ok = x >= l.Value
	}
	verdict := stats.Fail
	if ok {
		verdict = stats.Pass
	}
	v.Value = &x
	decide(v, verdict, fmt.Sprintf("%s over a window of %s s", unit.Brief(x, 4), unit.Brief(s.DurationS, 3)))
}

// figure is the value of a limit on the whole window, or why it has none.
func figure(metric string, s *record.Summary, t experiment.Target) (x float64, missing string) {
	switch metric {
	case "min_requests_per_s":
		return s.Throughput.RequestsPerS, ""
	case "min_prompt_tokens_per_s":
		return s.Throughput.PromptTokensPerS, ""
	case "min_output_tokens_per_s":
		return s.Throughput.OutputTokensPerS, ""
	case "min_output_tokens_per_s_per_gpu":
		if s.Throughput.OutputTokensPerSPerGPU == nil {
			return 0, "number of GPUs not specified: write gpus = 1 in [target]"
		}
		return *s.Throughput.OutputTokensPerSPerGPU, ""
	case "min_goodput_requests_per_s":
		if s.Goodput == nil {
			return 0, "per-request limit not specified: write [slo.each]"
		}
		return s.Goodput.RequestsPerS, ""
	}
	usd, ok := costPerMillion(s, t)
	if !ok {
		return 0, NoPrice
	}
	return usd, ""
}
