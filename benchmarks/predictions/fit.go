package main

import (
	"math"
	"strconv"

	"bench/experiment/roofline"
)

// constant is one of the fitted constants: where it is, its value before any figure, and the standard deviation of
// its logarithm. The figures decide where they can; the rest stays near its prior.
type constant struct {
	of        func(*roofline.Efficiency) *float64
	prior, sd float64
	isShare   bool // of a peak: at most 1
}

// constants and where their priors come from. Shares: aiconfigurator uses 0.8 of the memory bandwidth, vidur's H100
// profiles have 0.73 to 0.87; dense products reach 0.5 to 0.7 of the peak in bf16 and fp8, less in fp4; attention
// 0.5. Times: all-reduces of 5 to 15 µs over NVLink (one-shot kernels); a dozen kernels a layer in a step, of which
// each costs a few µs; as many launches of 10 to 20 µs in a prefill, and several times as many kernels for latent or
// linear attention.
var constants = []constant{
	{func(e *roofline.Efficiency) *float64 { return &e.Memory }, 0.85, 0.05, true},
	{func(e *roofline.Efficiency) *float64 { return &e.Compute.BF16 }, 0.6, 0.2, true},
	{func(e *roofline.Efficiency) *float64 { return &e.Compute.FP8 }, 0.6, 0.2, true},
	{func(e *roofline.Efficiency) *float64 { return &e.Compute.FP4 }, 0.45, 0.25, true},
	{func(e *roofline.Efficiency) *float64 { return &e.Experts }, 0.25, 0.3, true},
	{func(e *roofline.Efficiency) *float64 { return &e.ExpertTokens }, 10, 0.4, false},
	{func(e *roofline.Efficiency) *float64 { return &e.Attention }, 0.5, 0.2, true},
	{func(e *roofline.Efficiency) *float64 { return &e.Link }, 0.6, 0.3, true},
	{func(e *roofline.Efficiency) *float64 { return &e.AllReduceUs }, 6, 0.5, false},
	{func(e *roofline.Efficiency) *float64 { return &e.StepMs }, 0.5, 0.7, false},
	{func(e *roofline.Efficiency) *float64 { return &e.Layer.Any }, 45, 0.4, false},
	{func(e *roofline.Efficiency) *float64 { return &e.Layer.Experts }, 20, 0.3, false},
	{func(e *roofline.Efficiency) *float64 { return &e.Layer.Special }, 20, 0.4, false},
	{func(e *roofline.Efficiency) *float64 { return &e.FrontEndMs }, 20, 0.5, false},
	{func(e *roofline.Efficiency) *float64 { return &e.FrontEndLayer.Any }, 300, 0.5, false},
	{func(e *roofline.Efficiency) *float64 { return &e.FrontEndLayer.Experts }, 200, 0.4, false},
	{func(e *roofline.Efficiency) *float64 { return &e.FrontEndLayer.Special }, 2000, 0.8, false},
}

// engines are the factors on the front end of layers with experts and special attention. vLLM runs prefills as
// compiled pieces and CUDA graphs; the others launch most of their kernels one by one.
var engines = []struct {
	name      string
	prior, sd float64
}{{"vllm", 0.5, 0.5}, {"trtllm", 1, 0.3}, {"sglang", 1.2, 0.3}}

// start is the table's efficiency with all fitted constants at their priors.
func start() roofline.Efficiency {
	e := roofline.BuiltinHardware().Efficiency
	for _, c := range constants {
		*c.of(&e) = c.prior
	}
	e.Engines = map[string]float64{}
	for _, x := range engines {
		e.Engines[x.name] = x.prior
	}
	return e
}

// with is an efficiency with the constants that are the exponentials of x times their priors.
func with(e roofline.Efficiency, x []float64) roofline.Efficiency {
	for i, c := range constants {
		v := c.prior * math.Exp(x[i])
		if c.isShare {
			v = min(1, v)
		}
		*c.of(&e) = v
	}
	e.Engines = map[string]float64{}
	for i, engine := range engines {
		e.Engines[engine.name] = engine.prior * math.Exp(x[len(constants)+i])
	}
	return e
}

// Points of one server are alike: 1,033 of them are of some 60 servers, so each counts as 1/20. Errors have these
// standard deviations, of the logarithm of TTFT and relative to TPOT (a factor and a MAPE are what the tables
// state); larger ones count less (pseudo-Huber).
const (
	weight = 1. / 20
	ttftSD = 0.25
	tpotSD = 0.12
)

// fitted are the most probable constants, given the points and the priors.
func fitted(points []point, e roofline.Efficiency) roofline.Efficiency {
	to := func(x []float64) []float64 { return residuals(points, e, x) }
	return rounded(with(e, leastSquares(to, make([]float64, len(constants)+len(engines)))))
}

// residuals are those of the points, and of the constants from their priors.
func residuals(points []point, e roofline.Efficiency, x []float64) []float64 {
	tried := with(e, x)
	r := make([]float64, 0, 2*len(points)+len(x))
	for i := range points {
		if points[i].queued() {
			continue
		}
		ttft, tpot := points[i].expect(&tried)
		r = append(r, robust(math.Log(ttft.ExpectedMs/points[i].TTFTMs)/ttftSD), robust((tpot.ExpectedMs/points[i].TPOTMs-1)/tpotSD))
	}
	for i, v := range x {
		if i < len(constants) {
			r = append(r, v/constants[i].sd)
		} else {
			r = append(r, v/engines[i-len(constants)].sd)
		}
	}
	return r
}

// robust is the residual whose square is twice the pseudo-Huber loss of a standardised error, times the weight.
func robust(r float64) float64 {
	return math.Copysign(math.Sqrt(2*weight*(math.Sqrt(1+r*r)-1)), r)
}

// rounded has three digits of each constant.
func rounded(e roofline.Efficiency) roofline.Efficiency {
	round := func(v float64) float64 {
		v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 3, 64), 64)
		return v
	}
	for _, c := range constants {
		*c.of(&e) = round(*c.of(&e))
	}
	for name, v := range e.Engines {
		e.Engines[name] = round(v)
	}
	return e
}
