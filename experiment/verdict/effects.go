package verdict

import (
	"math"
	"slices"

	"bench/experiment/metric"
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
	firstToken  = metric.Spanning(metric.ToFirstToken)
	lastToken   = metric.Spanning(metric.ToLastToken)
	fromArrival = []string{"ttft", "e2e"} // they contain what the client does before it sends
	ofQueue     = slices.Concat(firstToken, lastToken, []string{"ttfo", "cap_wait"})
	betweenIt   = metric.Spanning(metric.BetweenTokens)
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

// exactly is the effect of what a part of each completed request takes.
func (e *Measured) exactly(d record.Direction, own func(*record.Record) float64, metrics ...[]string) []effect {
	return exactly(d, e.most(own), own, metrics...)
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

// end is one end of what the values of a metric can truly be, by the effects of the row's findings. The zero
// value: no finding moves that end.
type end struct {
	add       float64  // +1 at the high end, −1 at the low one
	ms        float64  // every value moves by at most this much more than its own parts
	factor    float64  // every value moves by at most this factor
	requests  int      // that many values can be anything
	unbounded bool     // every value can be anything
	codes     []string // of the findings, each once
	causes    []string // code and text of the findings: "client_bound: CPU steal 15.8 %: …"
	own       []func(*record.Record) float64
	shares    []func(*record.Record) float64 // of a value that is an effect
}

// endsOf are the low end of a metric, of a class or of all requests, which inflated values can truly have, and the high
// end of lowered ones.
func (e *Measured) endsOf(latency, class string) (low, high end) {
	if latency == metric.E2EPerToken { // at most as much, since every answer has a token
		latency = "e2e"
	}
	low, high = end{add: -1, factor: 1}, end{add: 1, factor: 1}
	for _, x := range e.effects {
		if x.Metric != latency || slices.Contains(x.spares, class) {
			continue
		}
		if x.Direction != record.Lowered {
			low.apply(x)
		}
		if x.Direction != record.Inflated {
			high.apply(x)
		}
	}
	return low, high
}

func (d *end) apply(x effect) {
	if !slices.Contains(d.codes, x.code) {
		d.codes = append(d.codes, x.code)
	}
	if !slices.Contains(d.causes, x.cause) {
		d.causes = append(d.causes, x.cause)
	}
	switch {
	case x.own != nil:
		d.own = append(d.own, x.own)
	case x.share != nil:
		d.shares = append(d.shares, x.share)
	case x.Bound == nil:
		d.unbounded = true
	case x.Unit == record.UnitMs:
		d.ms += *x.Bound
	case x.Unit == record.UnitFactor:
		d.factor *= *x.Bound
	case x.Unit == record.UnitRequests:
		d.requests += int(*x.Bound)
	}
}

// asMeasured is the end that no finding moves.
var asMeasured = &end{factor: 1}

func (d *end) untouched() bool { return len(d.causes) == 0 }

func (d *end) value(r *record.Record, x float64) float64 {
	moved, factor := d.ms, d.factor
	for _, share := range d.shares {
		factor /= 1 - share(r)
	}
	for _, own := range d.own {
		moved += own(r)
	}
	if d.add < 0 {
		return max(0, x-moved) / factor // lags and stamps are part of the measured value
	}
	return x*factor + moved
}

// values are the values of requests at this end. Values that can be anything are −∞ at
// the low end, the largest first, and +∞ at the high end, the smallest first: the worst case for any percentile.
func (d *end) values(requests []*record.Record, values []float64) []float64 {
	if d.untouched() {
		return values
	}
	out := make([]float64, len(values))
	for i, x := range values {
		out[i] = d.value(requests[i], x)
	}
	for _, i := range d.free(out) {
		out[i] = math.Inf(int(d.add))
	}
	return out
}

func (d *end) free(values []float64) []int {
	var finite []int
	for i, x := range values {
		if !math.IsInf(x, 1) {
			finite = append(finite, i)
		}
	}
	if d.unbounded {
		return finite
	}
	slices.SortStableFunc(finite, func(a, b int) int {
		if values[a] == values[b] {
			return 0
		}
		if (values[a] < values[b]) == (d.add > 0) {
			return -1
		}
		return 1
	})
	return finite[:min(d.requests, len(finite))]
}

func (d *end) figure(x float64) float64 {
	switch {
	case d.untouched():
		return x
	case (d.unbounded || d.requests > 0) && d.add < 0:
		return 0
	case d.unbounded || d.requests > 0:
		return math.Inf(1)
	case d.add < 0:
		return max(0, x-d.ms) / d.factor
	}
	return x*d.factor + d.ms
}

func (e *Measured) figureEnds(key string) (low, high end) {
	low, high = e.endsOf(record.TouchedMetric(key), "")
	if metric.PerToken(key) {
		low, high = high, low
		low.add, high.add = -1, 1
	}
	return low, high
}
