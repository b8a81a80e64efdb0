package published

import (
	"cmp"
	"math"
	"slices"
)

type Query struct {
	Model     string // ID of the model table
	Precision string // of the weights; of the experts where they differ
	GPU       string // ID of the hardware table
	GPUs      int
	// Input and Output are tokens per request.
	Input, Output float64
	Concurrency   float64 // mean requests in flight; 0 = only the highest throughputs
	Engine        string  // the server's, whose figures come first; "" = unknown
}

const Tolerance = 0.1

// stated is how far a length may be from the one that the source states to count as that: prompts are sized to within
// a few tokens.
const stated = 0.01

// Near are the figures of the same model, precision, GPUs and lengths, the query's engine first: the highest
// throughputs, and for each engine the latencies at the concurrency within Tolerance, else at its neighbours. Of
// several at one concurrency the nearest lengths count, then the newest, then the lowest TPOT.
func Near(q Query) []Figure { return near(All(), q) }

func InDataSets(q Query) []Figure {
	var out []Figure
	for _, f := range All() {
		if f.Scenario != "" && q.sameSetup(f) {
			out = append(out, f)
		}
	}
	return out
}

func near(all []Figure, q Query) []Figure {
	var same []Figure
	for _, f := range all {
		if q.matches(f) {
			same = append(same, f)
		}
	}
	slices.SortStableFunc(same, func(a, b Figure) int {
		return cmp.Or(cmp.Compare(foreign(a, q), foreign(b, q)), cmp.Compare(a.Engine, b.Engine),
			cmp.Compare(a.ExpertParallel, b.ExpertParallel), cmp.Compare(a.Concurrency, b.Concurrency),
			cmp.Compare(q.distance(a), q.distance(b)), cmp.Compare(b.Date, a.Date), cmp.Compare(a.TPOTMs, b.TPOTMs))
	})
	same = slices.CompactFunc(same, func(a, b Figure) bool { // the nearest, newest, fastest one comes first
		return a.layout() == b.layout() && a.Concurrency == b.Concurrency
	})
	var out []Figure
	for len(same) > 0 {
		n := 1
		for n < len(same) && same[n].layout() == same[0].layout() {
			n++
		}
		out = append(out, neighbours(same[:n], q.Concurrency)...)
		same = same[n:]
	}
	return out
}

func foreign(f Figure, q Query) int {
	if f.Engine == q.Engine {
		return 0
	}
	return 1
}

func (f Figure) layout() (l struct {
	engine  string
	experts int
}) {
	l.engine, l.experts = f.Engine, f.ExpertParallel
	return l
}

func (q Query) matches(f Figure) bool {
	alike := func(x, mean float64, asStated int) bool {
		return within(x, mean, Tolerance) || within(x, float64(asStated), stated)
	}
	return q.sameSetup(f) && alike(q.Input, f.MeanInput(), f.Input) && alike(q.Output, f.MeanOutput(), f.Output)
}

func (q Query) sameSetup(f Figure) bool {
	return f.Model == q.Model && f.Precision == q.Precision && f.GPU == q.GPU && f.GPUs == q.GPUs
}

func (q Query) distance(f Figure) float64 {
	return math.Abs(math.Log(q.Input/f.MeanInput())) + math.Abs(math.Log(q.Output/f.MeanOutput()))
}

func within(x, published, tolerance float64) bool {
	return published > 0 && math.Abs(x/published-1) <= tolerance
}

func (f Figure) Close(concurrency float64) bool {
	return within(concurrency, float64(f.Concurrency), Tolerance)
}

func neighbours(curve []Figure, concurrency float64) []Figure {
	highest := 0
	for highest < len(curve) && curve[highest].Concurrency == 0 {
		highest++
	}
	out, curve := slices.Clone(curve[:highest]), curve[highest:]
	if len(curve) == 0 || concurrency <= 0 {
		return out
	}
	ratio := func(f Figure) float64 { return math.Abs(math.Log(concurrency / float64(f.Concurrency))) }
	nearest := slices.MinFunc(curve, func(a, b Figure) int { return cmp.Compare(ratio(a), ratio(b)) })
	if nearest.Close(concurrency) {
		return append(out, nearest)
	}
	above := slices.IndexFunc(curve, func(f Figure) bool { return float64(f.Concurrency) > concurrency })
	switch above {
	case -1:
		return append(out, curve[len(curve)-1])
	case 0:
		return append(out, curve[0])
	}
	return append(out, curve[above-1:above+1]...)
}
