package stats

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Summary describes one sample, in the unit of its values. Std is the population's standard deviation (ddof
// 0, the default of numpy.std), not the n-1 estimate. Percentiles are Quantiles. CI95 has the 95 % interval
// of each of them, under "p50", "p90", "p95", "p99" and "p999", and, if the values are in time order, the
// MeanInterval under "mean". GradeOf decides whether a percentile should be shown.
type Summary struct {
	N int `json:"n"`
	// ESS is the effective sample size: the number of independent values with a mean as precise; 0 = time
	// order unknown.
	ESS float64 `json:"ess,omitempty"`
	// Effective is, for each percentile, the number of independent requests that these are worth; nil = time
	// order unknown.
	Effective map[string]float64 `json:"n_effective,omitempty"`
	// Needed is, for each percentile that is not Sound, the number of requests that makes it Sound if the
	// dependence stays; nil = time order unknown.
	Needed map[string]int `json:"n_needed,omitempty"`

	Mean float64             `json:"mean"`
	Std  float64             `json:"std"`
	Min  float64             `json:"min"`
	P50  float64             `json:"p50"`
	P90  float64             `json:"p90"`
	P95  float64             `json:"p95"`
	P99  float64             `json:"p99"`
	P999 float64             `json:"p999"`
	Max  float64             `json:"max"`
	CI95 map[string]Interval `json:"ci95"`
}

type percentile struct {
	name string
	p    float64
}

var shown = [...]percentile{{"p50", 0.5}, {"p90", 0.9}, {"p95", 0.95}, {"p99", 0.99}, {"p999", 0.999}}

const shownConfidence = 0.95

// Summarize describes values; nil if there are none. It does not change the slice, and its result does not
// depend on their order. A NaN among the values makes every figure NaN, which JSON rejects: the caller must
// leave out missing values, and count them.
func Summarize(values []float64) *Summary {
	return summarize(ascending(sortedCopy(values)))
}

// SummarizeInOrder is Summarize for values in time order, with the effective sample size and an interval of
// the mean.
func SummarizeInOrder(values []float64, rng *rand.Rand) *Summary {
	return NewInOrder(values).Summarize(rng)
}

// Summarize takes one value of each request.
func (o *InOrder) Summarize(rng *rand.Rand) *Summary {
	s, values := describe(o.sorted), o.values
	if s == nil {
		return nil
	}
	d := DependenceOf(values)
	s.ESS = d.effective(s.N)
	s.CI95["mean"] = meanInterval(newBlocks(values, nil, 1), o.sorted.(ascending), d, shownConfidence, rng)
	s.order(o, func(int) bool { return true })
	return s
}

// order replaces what assumes independent values by what the order of the requests shows. bounded reports
// whether a shown percentile may have an upper end.
func (s *Summary) order(requests *InOrder, bounded func(i int) bool) {
	s.Effective, s.Needed = map[string]float64{}, map[string]int{}
	for i, q := range shown {
		iv := requests.Interval(q.p, shownConfidence)
		if !bounded(i) {
			iv.Hi = math.Inf(1)
		}
		s.CI95[q.name] = iv
		s.Effective[q.name] = requests.Effective(q.p)
		if need := requests.needed(q.p); need > requests.n || math.IsInf(iv.Hi, 1) {
			s.Needed[q.name] = need
		}
	}
}

// Grade is the grade of a percentile, by name ("p95"). Without the time order of the values it takes them for
// independent.
func (s *Summary) Grade(name string) Grade {
	i := slices.IndexFunc(shown[:], func(q percentile) bool { return q.name == name })
	if s == nil || i < 0 {
		return NoBound
	}
	effective, ordered := s.Effective[name]
	if _, needs := s.Needed[name]; !ordered {
		effective = float64(s.N)
	} else if needs {
		effective = 0
	}
	return GradeOf(s.N, effective, shown[i].p)
}

func summarize(sorted ranked) *Summary {
	s := describe(sorted)
	if s == nil {
		return nil
	}
	for _, q := range shown {
		s.CI95[q.name] = quantileInterval(sorted, q.p, shownConfidence)
	}
	return s
}

// describe leaves CI95 empty.
func describe(sorted ranked) *Summary {
	n := sorted.size()
	if n == 0 {
		return nil
	}
	at := func(p float64) float64 { return quantile(sorted, p) }
	s := &Summary{
		N: n, Min: at(0), P50: at(0.5), P90: at(0.9), P95: at(0.95), P99: at(0.99), P999: at(0.999), Max: at(1),
		CI95: map[string]Interval{},
	}
	s.Mean, s.Std = meanStd(sorted)
	return s
}

// meanStd returns the mean and the population's standard deviation, with compensated sums in two passes over
// sorted values, so that the result does not depend on the order of measurement.
func meanStd(sorted ranked) (mean, std float64) {
	n := float64(sorted.size())
	var sum, squares compensated
	for x, times := range sorted.runs() {
		sum.add(x, times)
	}
	// Rounding can put the quotient slightly outside of the sample: the mean of equal values is that value.
	mean = min(max(sum.value()/n, sorted.at(0)), sorted.at(sorted.size()-1))
	for x, times := range sorted.runs() {
		squares.add((x-mean)*(x-mean), times)
	}
	return mean, math.Sqrt(squares.value() / n)
}

// compensated is a sum with compensation of rounding errors: A. Neumaier, "Rundungsfehleranalyse einiger
// Verfahren zur Summation endlicher Summen", ZAMM 54 (1974). gonum's function needs a slice, which Counts do
// not have.
type compensated struct{ sum, lost float64 }

func (c *compensated) add(x float64, times int) {
	product := x * float64(times)
	if times > 1 {
		c.lost += math.FMA(x, float64(times), -product) // rounding error of the product
	}
	// The conversions keep the compiler from fusing or reordering.
	t := float64(c.sum + product)
	if math.Abs(c.sum) >= math.Abs(product) {
		c.lost += float64(c.sum-t) + product
	} else {
		c.lost += float64(product-t) + c.sum
	}
	c.sum = t
}

func (c *compensated) value() float64 { return c.sum + c.lost }

func (s *Summary) Get(name string) (float64, bool) {
	if s == nil {
		return 0, false
	}
	i := slices.Index([]string{"mean", "std", "min", "p50", "p90", "p95", "p99", "p999", "max"}, name)
	if i < 0 {
		return 0, false
	}
	return [...]float64{s.Mean, s.Std, s.Min, s.P50, s.P90, s.P95, s.P99, s.P999, s.Max}[i], true
}

type Grade string

// NoBound: the sample is smaller than MinSamples at 95 %, so that even independent values would not bound the
// percentile from above. Sound: worth at least soundSamples independent values, and bounded. Thin: between
// them.
const (
	NoBound Grade = "no_bound"
	Thin    Grade = "thin"
	Sound   Grade = "sound"
)

func GradeOf(n int, effective, p float64) Grade {
	switch {
	case !boundedBy(n, p, shownConfidence):
		return NoBound
	case effective < float64(soundSamples(p)):
		return Thin
	default:
		return Sound
	}
}

// NeededFor is the least number of values that bound the percentile of that name from above; 0: it has another name.
func NeededFor(name string) int {
	i := slices.IndexFunc(shown[:], func(q percentile) bool { return q.name == name })
	if i < 0 {
		return 0
	}
	return MinSamples(shown[i].p, shownConfidence)
}

func (g Grade) Worst(other Grade) Grade {
	order := []Grade{NoBound, Thin, Sound, ""}
	if slices.Index(order, other) < slices.Index(order, g) {
		return other
	}
	return g
}

// soundSamples is the number of values from which the p-quantile is Sound: ten are expected beyond it (20 for
// p50, 100 for p90, 200 for p95, 1,000 for p99). From p999 on it is a hundred (100,000 for p999), because
// values out there, a pause or a retry, come in bursts, and ten values can be one event. It is a rule of
// thumb, not a theorem. It is math.MaxInt for p outside (0, 1).
func soundSamples(p float64) int {
	if !(p > 0 && p < 1) {
		return math.MaxInt
	}
	// One value in `every` is beyond the quantile; rounded, since 1-0.9 is slightly less than a tenth.
	every := math.Round(1e6/min(p, 1-p)) / 1e6
	beyond := 10.0
	if every >= 1000 {
		beyond = 100
	}
	return int(math.Ceil(beyond * every))
}
