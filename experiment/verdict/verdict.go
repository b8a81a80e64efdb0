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

// confidence is how sure a PASS or a FAIL is: MLPerf LoadGen's.
const confidence = 0.99

// Judge decides every limit of an SLO for the requests of the window (of one class, where
// class is not empty).
func Judge(c experiment.SLO, class string, records []*record.Record, s *record.Summary, stream bool, t experiment.Target) []record.Verdict {
	var window []*record.Record
	cancelled := false
	for _, r := range records {
		if r.Phase == record.PhaseWindow && (class == "" || r.Class == class) {
			window = append(window, r)
			cancelled = cancelled || r.Outcome == "cancelled"
		}
	}
	record.SortByArrival(window)
	var out []record.Verdict
	for _, l := range c.Limits {
		v := record.Verdict{Metric: l.Key, Class: class, Limit: l.Value, Unit: l.Unit, Observed: len(window)}
		switch {
		case len(window) == 0:
			undecided(&v, "no request in the window")
		case cancelled:
			undecided(&v, "the row was interrupted")
		case (l.Metric == "itl" || l.Metric == "tpot") && mostlyBuffered(window):
			undecided(&v, "the answers came all at once: something between server and client buffers them")
		case l.Metric == "itl":
			judgeGaps(&v, l, window)
		case l.Stat == "mean":
			judgeMean(&v, l, window, stream)
		case l.Stat != "":
			judgePercentile(&v, l, window, stream)
		case l.Metric == "error_rate":
			judgeErrors(&v, l, s)
		default:
			judgeFigure(&v, l, s, t)
		}
		out = append(out, v)
	}
	return out
}

func mostlyBuffered(window []*record.Record) bool {
	whole, of := buffered(window)
	return whole > 0 && float64(whole) > tolerated*float64(of)
}

func undecided(v *record.Verdict, why string) { v.Verdict, v.Why = string(stats.Undecided), why }

// judgePercentile ranks failed requests as +∞, so that time-outs can't improve a percentile.
func judgePercentile(v *record.Verdict, l experiment.Limit, window []*record.Record, stream bool) {
	p, _ := l.P()
	values, failed := ranked(l.Metric, window, stream)
	quote(v, values, failed, p)
	decide(v, len(values), overLimit(values, l.Value), p, failed)
}

// quote sets the value of a percentile, where it is finite.
func quote(v *record.Verdict, values []float64, failed int, p float64) {
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

// decide fills the verdict from counts: over of n were beyond the limit, 1−p may be.
func decide(v *record.Verdict, n, over int, p float64, failed int) {
	if n == 0 {
		undecided(v, notMeasured)
		return
	}
	verdict, need := stats.Decide(n, over, p, confidence)
	v.Verdict, v.Need, v.Observed = string(verdict), need, n
	v.Why = fmt.Sprintf("%d of %d over the limit, %s %% allowed", over, n, unit.Brief((1-p)*100, 3))
	if failed > 0 {
		v.Why += fmt.Sprintf(" (%d of them failed)", failed)
	}
	if need > 0 {
		v.Why += fmt.Sprintf("; need %d more requests", need)
	}
}

// judgeGaps counts in requests, not in gaps: the gaps of one request depend on each other, and
// taking them for independent would decide too soon. A failed request stands for as many infinite
// gaps as the others have on average.
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
		// ⌈over / gaps · requests⌉, in whole numbers: a float would round up what is even.
		overRequests += (over*requests + gaps.N() - 1) / gaps.N()
	}
	decide(v, requests+failed, overRequests, p, failed)
	if requests == 0 {
		return
	}
	v.Why += "; gaps counted by request, since those of one request depend on each other"
}

// judgeMean compares with the bootstrap interval of the mean over requests, in the order of their arrivals.
func judgeMean(v *record.Verdict, l experiment.Limit, window []*record.Record, stream bool) {
	values, failed := ranked(l.Metric, window, stream)
	switch {
	case failed > 0:
		v.Verdict = string(stats.Fail)
		v.Why = fmt.Sprintf("%d requests failed and rank as infinite: the mean has no value", failed)
		return
	case len(values) == 0:
		undecided(v, notMeasured)
		return
	}
	decideMean(v, values, l.Value, confidence)
}

// decideMean fills the verdict from the interval of the mean.
func decideMean(v *record.Verdict, values []float64, limit, confidence float64) {
	const few = 30 // below, the bootstrap says nothing
	n, mean := len(values), stat.Mean(values, nil)
	iv := stats.MeanInterval(values, confidence, rand.New(rand.NewPCG(record.Seed, 2)))
	v.Value, v.Observed = &mean, n
	v.Why = fmt.Sprintf("mean %s ms [%s, %s] (%s %%, n=%d)", unit.Brief(mean, 4), unit.Brief(iv.Lo, 4), unit.Brief(iv.Hi, 4), unit.Brief(100*confidence, 4), n)
	switch {
	case n < few:
		v.Need = few - n
		undecided(v, fmt.Sprintf("%d requests are too few for an interval of the mean; need %d more", n, v.Need))
	case math.IsInf(iv.Hi, 1):
		v.Need = n
		undecided(v, fmt.Sprintf("%d requests depend on each other so much that they give no interval of the mean; need %d more", n, v.Need))
	case iv.Hi <= limit:
		v.Verdict = string(stats.Pass)
	case iv.Lo > limit:
		v.Verdict = string(stats.Fail)
	default:
		v.Verdict = string(stats.Undecided)
		if v.Need = meanNeed(n, mean, limit, iv); v.Need > 0 {
			v.Why += fmt.Sprintf("; need %d more requests", v.Need)
		}
	}
}

// meanNeed is how many more requests would move the interval off the limit, if mean and spread
// stay; 0 where ten million would not, as in stats.Decide.
func meanNeed(n int, mean, limit float64, iv stats.Interval) int {
	reach := iv.Hi - mean
	if mean > limit {
		reach = mean - iv.Lo
	}
	total := math.Ceil(float64(n) * math.Pow(reach/(mean-limit), 2)) // +Inf where they are equal
	if total > 1e7 {
		return 0
	}
	return max(1, int(total)-n)
}

// ranked is a latency of each request of the window that has it, in ms; a failed request is +∞, and counted.
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

// judgeErrors asks whether the true rate is within the limit: no failure in few requests proves little.
func judgeErrors(v *record.Verdict, l experiment.Limit, s *record.Summary) {
	v.Value = &s.ErrorRate
	switch { // at the ends nothing is left to chance
	case l.Value == 0 && s.Requests.Failed > 0:
		v.Verdict, v.Why = string(stats.Fail), fmt.Sprintf("%d requests failed", s.Requests.Failed)
		return
	case l.Value == 0:
		v.Verdict, v.Why = string(stats.Pass), "no request failed"
		return
	case l.Value >= 1:
		v.Verdict, v.Why = string(stats.Pass), "every request may fail"
		return
	}
	verdict, need := stats.Decide(s.Requests.Planned, s.Requests.Failed, 1-l.Value, confidence)
	v.Verdict, v.Need = string(verdict), need
	v.Why = fmt.Sprintf("%d of %d failed", s.Requests.Failed, s.Requests.Planned)
	if need > 0 {
		v.Why += fmt.Sprintf("; need %d more requests", need)
	}
}

// judgeFigure compares a figure of the whole window; it is one measurement, without an interval.
func judgeFigure(v *record.Verdict, l experiment.Limit, s *record.Summary, t experiment.Target) {
	if l.Unit == "usd" && t.Priced() && s.Throughput.OutputTokensPerS == 0 {
		v.Verdict, v.Why = string(stats.Fail), "no output token came inside the window: the price has no value"
		return
	}
	x, missing := figure(l.Metric, s, t)
	if missing != "" {
		undecided(v, missing)
		return
	}
	v.Value = &x
	ok := x <= l.Value
	if strings.HasPrefix(l.Metric, "min_") {
		ok = x >= l.Value
	}
	v.Verdict = string(stats.Fail)
	if ok {
		v.Verdict = string(stats.Pass)
	}
	v.Why = fmt.Sprintf("%s over a window of %s s", unit.Brief(x, 4), unit.Brief(s.DurationS, 3))
}

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
			return 0, "the number of GPUs is not stated: write gpus = 1 in [target]"
		}
		return *s.Throughput.OutputTokensPerSPerGPU, ""
	case "min_goodput_requests_per_s":
		if s.Goodput == nil {
			return 0, "no per-request limit is stated: write [slo.each]"
		}
		return s.Goodput.RequestsPerS, ""
	}
	usd, ok := CostPerMillion(s, t)
	if !ok {
		return 0, NoPrice
	}
	return usd, ""
}
