package check

import (
	"iter"
	"math"
	"slices"

	"bench/experiment/metric"
	"bench/experiment/record"
)

// Effect is an effect of a finding on the values of one metric.
type Effect struct {
	record.Effect
	Code  string // of the finding
	Cause string // its code and text
	// What the effect adds to or takes from each value: ms, or a share of it. nil: all by the bound
	Own, Share func(*record.Record) float64
	// of other work on the server's machine: a load that the server cannot sustain there still fails
	Host   bool
	Spares []string // classes whose values it leaves alone
}

var (
	firstToken  = metric.Spanning(metric.ToFirstToken)
	lastToken   = metric.Spanning(metric.ToLastToken)
	fromArrival = []string{"ttft", "e2e"} // they contain what the client does before it sends
	betweenIt   = metric.Spanning(metric.BetweenTokens)
	throughputs = []string{"requests_per_s", "prompt_tokens_per_s", "output_tokens_per_s"}
	goodputs    = []string{"goodput_requests_per_s", "goodput_output_tokens_per_s"}
)

// withFirstAnswer adds the effects on ttfo: with reasoning as on the last token, without it as on the first.
func withFirstAnswer(r *record.Row, effects []Effect) []Effect {
	alike := [][]string{{"e2e"}, {"ttft", "tpot"}}
	if r.Summary.Reasoning == nil {
		alike = [][]string{{"ttft"}}
		if !r.Spec.LimitsMetric("ttfo") {
			return effects
		}
	}
	for _, metrics := range alike {
		out := slices.Clone(effects)
		for _, x := range effects {
			if slices.Contains(metrics, x.Metric) {
				x.Metric = "ttfo"
				out = append(out, x)
			}
		}
		if len(out) > len(effects) {
			return out
		}
	}
	return effects
}

func unbounded(d record.Direction, metrics ...[]string) []Effect {
	return touch(record.Effect{Direction: d, Unit: record.UnitFactor}, metrics...)
}

func inMs(d record.Direction, ms float64, metrics ...[]string) []Effect {
	return touch(record.Effect{Direction: d, Bound: &ms, Unit: record.UnitMs}, metrics...)
}

// exactly is the effect of what a part of each request takes, at most most.
func exactly(d record.Direction, most float64, own func(*record.Record) float64, metrics ...[]string) []Effect {
	return each(inMs(d, most, metrics...), func(x *Effect) { x.Own = own })
}

func byFactor(d record.Direction, x float64, metrics ...[]string) []Effect {
	return touch(record.Effect{Direction: d, Bound: &x, Unit: record.UnitFactor}, metrics...)
}

func onRequests(d record.Direction, n int, metrics ...[]string) []Effect {
	return touch(record.Effect{Direction: d, Bound: new(float64(n)), Unit: record.UnitRequests}, metrics...)
}

// touch takes an infinite bound for none.
func touch(x record.Effect, metrics ...[]string) []Effect {
	if x.Bound != nil && (math.IsInf(*x.Bound, 0) || math.IsNaN(*x.Bound)) {
		x.Bound = nil
	}
	var out []Effect
	for _, x.Metric = range slices.Concat(metrics...) {
		out = append(out, Effect{Effect: x})
	}
	return out
}

func each(effects []Effect, set func(*Effect)) []Effect {
	for i := range effects {
		set(&effects[i])
	}
	return effects
}

// most is the largest of a figure of requests, at least 0.
func most(records iter.Seq[*record.Record], of func(*record.Record) float64) (most float64) {
	for r := range records {
		most = max(most, of(r))
	}
	return most
}

// number is how many of the requests are so.
func number(records []*record.Record, is func(*record.Record) bool) (n int) {
	for _, r := range records {
		if is(r) {
			n++
		}
	}
	return n
}

// completed are the numbers of completed requests that are so, and of all.
func (e *evidence) completed(is func(*record.Record) bool) (n, of int) {
	for r := range record.Completed(e.records) {
		if of++; is(r) {
			n++
		}
	}
	return n, of
}
