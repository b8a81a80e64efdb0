package verdict

import (
	"cmp"
	"math"
	"slices"

	"bench/experiment/check"
	"bench/experiment/metric"
	"bench/experiment/record"
)

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
func endsOf(effects []check.Effect, latency, class string) (low, high end) {
	if latency == metric.E2EPerToken { // at most as much, since every answer has a token
		latency = "e2e"
	}
	low, high = end{add: -1, factor: 1}, end{add: 1, factor: 1}
	for _, x := range effects {
		if x.Metric != latency || slices.Contains(x.Spares, class) {
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

func (d *end) apply(x check.Effect) {
	if !slices.Contains(d.codes, x.Code) {
		d.codes = append(d.codes, x.Code)
	}
	if !slices.Contains(d.causes, x.Cause) {
		d.causes = append(d.causes, x.Cause)
	}
	switch {
	case x.Own != nil:
		d.own = append(d.own, x.Own)
	case x.Share != nil:
		d.shares = append(d.shares, x.Share)
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
	slices.SortStableFunc(finite, func(a, b int) int { return cmp.Compare(d.add*values[a], d.add*values[b]) })
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

func figureEnds(effects []check.Effect, key string) (low, high end) {
	low, high = endsOf(effects, record.TouchedMetric(key), "")
	if metric.PerToken(key) {
		low, high = high, low
		low.add, high.add = -1, 1
	}
	return low, high
}
