package verdict

import (
	"math"
	"slices"

	"bench/experiment/record"
)

// effect is an effect of a finding on the values of one metric.
type effect struct {
	record.Effect
	code  string // of the finding
	cause string // its code and text
	own   func(*record.Record) float64
	share func(*record.Record) float64 // of each value that the effect adds or takes; nil: all by the bound
	// of other work on the server's machine: a load that the server cannot sustain there still fails
	host   bool
	spares []string // classes whose values it leaves alone
}

var (
	firstToken  = []string{"ttft", "ttft_from_send", "ttfe"}
	lastToken   = []string{"e2e", "e2e_from_send"}
	fromArrival = []string{"ttft", "e2e"} // they contain what the client does before it sends
	ofQueue     = slices.Concat(firstToken, lastToken, []string{"ttfo", "cap_wait"})
	betweenIt   = []string{"tpot", "itl"}
	throughputs = []string{"requests_per_s", "prompt_tokens_per_s", "output_tokens_per_s"}
	goodputs    = []string{"goodput_requests_per_s", "goodput_output_tokens_per_s"}
)

// withFirstAnswer adds the effects on ttfo: with reasoning as on the last token, without it as on the first.
func (e *Measured) withFirstAnswer(effects []effect) []effect {
	alike := [][]string{{"e2e"}, {"ttft", "tpot"}}
	if e.Summary.Reasoning == nil {
		alike = [][]string{{"ttft"}}
		if !e.Spec.LimitsMetric("ttfo") {
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

func unbounded(d record.Direction, metrics ...[]string) []effect {
	return touch(record.Effect{Direction: d, Unit: record.UnitFactor}, metrics...)
}

func inMs(d record.Direction, ms float64, metrics ...[]string) []effect {
	return touch(record.Effect{Direction: d, Bound: &ms, Unit: record.UnitMs}, metrics...)
}

func exactly(d record.Direction, most float64, own func(*record.Record) float64, metrics ...[]string) []effect {
	out := inMs(d, most, metrics...)
	for i := range out {
		out[i].own = own
	}
	return out
}

// byShare: a share of each request's own values can be the effect's, at most most.
func byShare(d record.Direction, most float64, share func(*record.Record) float64, metrics ...[]string) []effect {
	out := byFactor(d, 1/(1-most), metrics...)
	for i := range out {
		out[i].share = share
	}
	return out
}

func byFactor(d record.Direction, x float64, metrics ...[]string) []effect {
	return touch(record.Effect{Direction: d, Bound: &x, Unit: record.UnitFactor}, metrics...)
}

func onRequests(d record.Direction, n int, metrics ...[]string) []effect {
	return touch(record.Effect{Direction: d, Bound: new(float64(n)), Unit: record.UnitRequests}, metrics...)
}

// touch takes an infinite bound for none.
func touch(x record.Effect, metrics ...[]string) []effect {
	if x.Bound != nil && (math.IsInf(*x.Bound, 0) || math.IsNaN(*x.Bound)) {
		x.Bound = nil
	}
	var out []effect
	for _, group := range metrics {
		for _, x.Metric = range group {
			out = append(out, effect{Effect: x})
		}
	}
	return out
}
