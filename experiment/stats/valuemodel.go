package stats

import "math"

// valueModel is how a bounded percentile rises with the load near the threshold, u = ln(load/threshold).
type valueModel struct {
	slope float64 // d ln(value)/d ln(load) at the threshold
	shape valueShape
}

type valueShape int

const (
	// A batch whose step time grows with its size, at a rate: requests in flight are rate × stay, so that 1/value falls
	// linearly with the rate. So does the wait of an M/M/1 queue.
	ofBatch valueShape = iota
	asPower
	// In a closed loop the batch is the load: the value grows linearly with it.
	asLine
)

// valueModels are possible ones. A batch has the slope limit/(value of a lone request) - 1.
var valueModels = func() (out []valueModel) {
	for b := 0.1; b < 200; b *= 1.35 {
		out = append(out, valueModel{b, ofBatch}, valueModel{b, asPower})
		if b <= 1 {
			out = append(out, valueModel{b, asLine})
		}
	}
	return out
}()

// log is ln(value/limit) at u; +Inf beyond what any load reaches.
func (m valueModel) log(u float64) float64 {
	switch grown := m.slope * math.Expm1(u); {
	case m.shape == asPower:
		return m.slope * u
	case m.shape == asLine:
		return math.Log1p(grown)
	case grown >= 1:
		return math.Inf(1)
	default:
		return -math.Log1p(-grown)
	}
}

// valueLoss: a batch that is full, and one that still fills, have lower values than the model's; far from the
// threshold a value only shows on which side it is.
func (k *likelihood) valueLoss(i, limit int, threshold float64, m valueModel) float64 {
	const (
		misfit = 0.1 // standard error of the model, as a share of the distance
		widest = 0.7 // |ln(load/threshold)| up to which the distance counts
	)
	e, u := &k.probes[i].Limits[limit], k.log[i]-threshold
	expected := max(m.log(min(max(u, -widest), widest)), k.floor[limit]) // a request alone has a latency, too
	if e.Log < expected && (k.filling[i] || u > 0 && e.Log > 0 || u < -widest) || u > widest && e.Log > expected {
		return 0
	}
	expected = min(expected, 3)
	far := misfit * expected
	z := (e.Log - expected) / math.Sqrt(e.Error*e.Error+far*far)
	return z * z / 2
}

func (k *likelihood) valuesLoss(limit int, threshold float64) (least float64) {
	if !k.values[limit] {
		return 0
	}
	const usual, flatness = 1.5, 0.7 // smallest usual slope, and the standard deviation of the logarithm of others
	least = math.Inf(1)
	for _, m := range valueModels {
		x := 0.0
		if m.shape != asLine {
			x = min(0, math.Log(m.slope/usual)) / flatness
		}
		sum := x * x / 2
		for i := range k.probes {
			if p := &k.probes[i]; limit < len(p.Limits) && p.Limits[limit].Error > 0 {
				sum += k.valueLoss(i, limit, threshold, m)
			}
		}
		least = min(least, sum)
	}
	return least
}
