package verdict

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"bench/experiment"
	"bench/experiment/check"
	"bench/experiment/record"
)

// disturbed is a row of ten requests with one effect on ttft, whose own part is a ms per index.
func disturbed(x record.Effect, exact bool) (*Measured, []*record.Record, []float64) {
	e := &Measured{Row: &record.Row{}}
	var requests []*record.Record
	var values []float64
	for i := range 10 {
		requests = append(requests, &record.Record{I: i, Outcome: "ok"})
		values = append(values, float64(10*(i+1)))
	}
	requests[3].Outcome, values[3] = "timeout", math.Inf(1)
	x.Metric = "ttft"
	f := check.Effect{Effect: x, Cause: "client_cpu: stolen"}
	if exact {
		f.Own = func(r *record.Record) float64 { return float64(r.I) }
	}
	e.effects = []check.Effect{f}
	return e, requests, values
}

func TestEnds(t *testing.T) {
	inf := math.Inf(1)
	bound := func(x float64) *float64 { return &x }
	measured := []float64{10, 20, 30, inf, 50, 60, 70, 80, 90, 100}
	for _, c := range []struct {
		name      string
		x         record.Effect
		exact     bool
		low, high []float64 // nil: as measured
	}{
		{"ms, inflated", record.Effect{Direction: record.Inflated, Bound: bound(15), Unit: record.UnitMs}, false, []float64{0, 5, 15, inf, 35, 45, 55, 65, 75, 85}, nil},
		{"ms, lowered", record.Effect{Direction: record.Lowered, Bound: bound(5), Unit: record.UnitMs}, false, nil, []float64{15, 25, 35, inf, 55, 65, 75, 85, 95, 105}},
		{"each its own", record.Effect{Direction: record.Inflated, Bound: bound(9), Unit: record.UnitMs}, true, []float64{10, 19, 28, inf, 46, 55, 64, 73, 82, 91}, nil},
		{"a factor, unknown", record.Effect{Direction: record.Unknown, Bound: bound(2), Unit: record.UnitFactor}, false,
			[]float64{5, 10, 15, inf, 25, 30, 35, 40, 45, 50}, []float64{20, 40, 60, inf, 100, 120, 140, 160, 180, 200}},
		{"two requests, inflated: the largest", record.Effect{Direction: record.Inflated, Bound: bound(2), Unit: record.UnitRequests}, false,
			[]float64{10, 20, 30, inf, 50, 60, 70, 80, -inf, -inf}, nil},
		{"two requests, lowered: the smallest", record.Effect{Direction: record.Lowered, Bound: bound(2), Unit: record.UnitRequests}, false,
			nil, []float64{inf, inf, 30, inf, 50, 60, 70, 80, 90, 100}},
		{"no bound, inflated", record.Effect{Direction: record.Inflated, Unit: record.UnitFactor}, false,
			[]float64{-inf, -inf, -inf, inf, -inf, -inf, -inf, -inf, -inf, -inf}, nil},
		{"no bound, lowered", record.Effect{Direction: record.Lowered, Unit: record.UnitFactor}, false,
			nil, []float64{inf, inf, inf, inf, inf, inf, inf, inf, inf, inf}},
	} {
		e, requests, values := disturbed(c.x, c.exact)
		low, high := endsOf(e.effects, "ttft", "")
		moved := func(want []float64) []float64 {
			if want == nil {
				return measured
			}
			return want
		}
		if got := low.values(requests, values); !slices.Equal(got, moved(c.low)) {
			t.Errorf("%s: low %v, want %v", c.name, got, c.low)
		}
		if got := high.values(requests, values); !slices.Equal(got, moved(c.high)) {
			t.Errorf("%s: high %v, want %v", c.name, got, c.high)
		}
		if (len(low.causes) > 0) != (c.low != nil) || (len(high.causes) > 0) != (c.high != nil) {
			t.Errorf("%s: causes %v, %v", c.name, low.causes, high.causes)
		}
		if !slices.Equal(values, measured) {
			t.Errorf("%s: the measured values changed: %v", c.name, values)
		}
		if other, _ := endsOf(e.effects, "tpot", ""); !other.untouched() {
			t.Errorf("%s: tpot moved", c.name)
		}
	}
}

// Whatever the effects, no value at the low end is above the measured one, none at the high end below it, and
// no true value that the effects allow leaves the ends' counts over a limit.
func TestEndsContainTheTruth(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 9))
	for range 300 {
		n, bound, factor, touched := 1+rng.IntN(40), 20*rng.Float64(), 1+rng.Float64(), rng.IntN(4)
		e := &Measured{Row: &record.Row{}}
		for unit, bound := range map[string]float64{record.UnitMs: bound, record.UnitFactor: factor,
			record.UnitRequests: float64(touched)} {
			e.effects = append(e.effects, touch(record.Inflated, &bound, unit, "x: x", "ttft")...)
		}
		var requests []*record.Record
		var truth, measured []float64
		for range n {
			x := 100 * rng.ExpFloat64()
			requests = append(requests, &record.Record{Outcome: "ok"})
			truth = append(truth, x)
			measured = append(measured, x*(1+rng.Float64()*(factor-1))+rng.Float64()*bound)
		}
		for _, i := range rng.Perm(n)[:min(touched, n)] {
			measured[i] += 1e4
		}
		low, high := endsOf(e.effects, "ttft", "")
		if !slices.Equal(high.values(requests, measured), measured) {
			t.Fatal("inflated values have no higher end")
		}
		at := low.values(requests, measured)
		for i := range at {
			if at[i] > measured[i] {
				t.Fatalf("low %g above measured %g", at[i], measured[i])
			}
		}
		for _, limit := range []float64{1, 30, 100, 300} {
			over := func(values []float64) (n float64) {
				for _, x := range values {
					if x > limit {
						n++
					}
				}
				return n
			}
			if few, real := over(at), over(truth); few > real {
				t.Fatalf("%g over %g ms at the low end, %g in truth", few, limit, real)
			}
		}
	}
}

func TestGapsAtTheEnds(t *testing.T) {
	r := func(outcome string, gaps ...int64) *record.Record {
		return &record.Record{Outcome: outcome, Gaps: record.Pack(gaps...), First: record.At(0), Last: record.At(20_000)}
	}
	requests := []*record.Record{r("ok", 10_000, 30_000), r("ok", 10_000, 10_000), r("timeout")}
	e := &Measured{Row: &record.Row{}}
	over := func(d end) float64 {
		return e.observe(experiment.Limit{Metric: "itl", Stat: "p95", Value: 20}, requests, &d).over
	}
	e.effects = touch(record.Unknown, new(15.0), record.UnitMs, "client_cpu: stolen", "itl")
	low, high := endsOf(e.effects, "itl", "")
	if over(*asMeasured) != 1.5 || over(low) != 1 || over(high) != 3 { // the failed request has two gaps, of six
		t.Errorf("measured %v, low %v, high %v", over(*asMeasured), over(low), over(high))
	}
	e.effects = touch(record.Unknown, new(1.0), record.UnitRequests, "network: lost", "itl")
	if low, high = endsOf(e.effects, "itl", ""); over(low) > 1.5 || over(high) < 2 {
		t.Errorf("one request: low %v, high %v", over(low), over(high))
	}
}

// Of a throughput that was lowered by up to a factor, the price can only be lower.
func TestFigureEnds(t *testing.T) {
	e := &Measured{Row: &record.Row{}}
	throughputs := []string{"requests_per_s", "prompt_tokens_per_s", "output_tokens_per_s"}
	e.effects = touch(record.Lowered, new(2.0), record.UnitFactor, "shared_server: another client", throughputs...)
	for _, c := range []struct {
		key       string
		low, high float64
	}{{"min_output_tokens_per_s", 100, 200}, {"min_output_tokens_per_s_per_gpu", 100, 200}, {"usd_per_million_output_tokens", 50, 100}, {"error_rate", 100, 100}} {
		low, high := figureEnds(e.effects, c.key)
		if low.figure(100) != c.low || high.figure(100) != c.high {
			t.Errorf("%s: %g to %g, want %g to %g", c.key, low.figure(100), high.figure(100), c.low, c.high)
		}
	}
	e.effects = touch(record.Lowered, nil, record.UnitFactor, "server_restarted: it was", throughputs...)
	if low, high := figureEnds(e.effects, "min_requests_per_s"); low.figure(3) != 3 || !math.IsInf(high.figure(3), 1) {
		t.Errorf("%g to %g", low.figure(3), high.figure(3))
	}
}

// touch is one effect on several metrics.
func touch(d record.Direction, bound *float64, unit, cause string, metrics ...string) (out []check.Effect) {
	for _, metric := range metrics {
		x := record.Effect{Metric: metric, Direction: d, Bound: bound, Unit: unit}
		out = append(out, check.Effect{Effect: x, Cause: cause})
	}
	return out
}
