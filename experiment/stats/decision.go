package stats

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"
)

// Decision is the verdict on a limit of the p-quantile, by its interval.
type Decision struct {
	Verdict  Verdict  // PASS: the whole interval is within the limit; FAIL: it is beyond it
	Interval Interval // of the percentile
	Within   float64  // probability that the percentile is within the limit, as the interval has it
	// Need is the number of requests to add for a verdict if estimate and dependence stay; 0 = decided, or more than
	// 20 times as many as there are: the percentile is too near to the limit.
	Need int
}

// FarthestNeed is the most that Need can be, as a multiple of the requests that there are.
const FarthestNeed = 20

// Decide checks whether the p-quantile is within a limit, by its two-sided interval.
func (s *InOrder) Decide(limit, p, confidence float64) Decision {
	d := s.Verdict(limit, p, confidence)
	if s.n == 0 {
		return d
	}
	iv := s.Interval(p, confidence)
	d.Within = s.within(limit, p, iv, confidence)
	if d.Verdict == Undecided {
		d.Need = s.need(limit, p, iv, confidence)
	}
	return d
}

// Verdict is a decision without what an open one needs, which takes most of the time.
func (s *InOrder) Verdict(limit, p, confidence float64) Decision {
	if s.n == 0 {
		return Decision{Verdict: Undecided, Interval: unbounded(), Within: 0.5}
	}
	iv := s.Interval(p, confidence)
	if v := iv.Against(limit); v != Undecided {
		return Decision{Verdict: v, Interval: iv}
	}
	if far := s.far(iv, p, confidence); far.Against(limit) != Undecided {
		return Decision{Verdict: far.Against(limit), Interval: far}
	}
	return Decision{Verdict: Undecided, Interval: iv}
}

// Against is Pass if all of the interval is within the limit, Fail if it is beyond.
func (iv Interval) Against(limit float64) Verdict {
	switch {
	case iv.Hi <= limit:
		return Pass
	case iv.Lo > limit:
		return Fail
	}
	return Undecided
}

// DecideShare checks whether at most a share of the requests fails; their values are 0, or 1 if failed.
func (s *InOrder) DecideShare(limit, confidence float64) Decision {
	share, worth := s.Over(0), 1/s.weight(1-limit).pass
	at := func(n int) Interval { return ShareInterval(share, float64(n)*worth, confidence) }
	n := float64(s.n) * worth
	iv := at(s.n)
	d := Decision{Verdict: iv.Against(limit), Interval: iv,
		Within: mathext.RegIncBeta(n*share+0.5, n*(1-share)+0.5, limit)}
	if d.Verdict == Undecided {
		d.Need = s.worthwhile(float64(first(s.farthestTotal(),
			func(n int) bool { return at(n).Against(limit) != Undecided })))
	}
	return d
}

// within is by counts; of bounded values whose interval ends, it takes the logarithm of the percentile for normal about
// the estimate, on each side as wide as the interval.
func (s *InOrder) within(limit, p float64, iv Interval, confidence float64) float64 {
	estimate := quantile(s.sorted, p)
	end, z := iv.Hi, distuv.UnitNormal.Quantile((1+confidence)/2)
	if limit < estimate {
		end = iv.Lo
	}
	if share := math.Log(limit/estimate) / math.Abs(math.Log(end/estimate)); s.Bounded && !math.IsNaN(share) &&
		end > 0 && !math.IsInf(end, 0) {
		return distuv.UnitNormal.CDF(z * share)
	}
	n := float64(s.n) / s.weight(p).pass // Jeffreys' posterior of the share over the limit
	over := n * s.Over(limit)
	return mathext.RegIncBeta(over+0.5, n-over+0.5, 1-p)
}

// Over is the share of the values over the limit.
func (s *InOrder) Over(limit float64) float64 {
	n := s.sorted.size()
	return float64(n-sort.Search(n, func(i int) bool { return s.sorted.at(i) > limit })) / float64(n)
}

// need is by counts; of bounded values whose interval ends, by its width, which falls with the root of the number of
// requests.
func (s *InOrder) need(limit, p float64, iv Interval, confidence float64) int {
	n, estimate := float64(s.n), quantile(s.sorted, p)
	end := iv.Hi
	if limit < estimate {
		end = iv.Lo
	}
	total := n * math.Pow(math.Log(end/estimate)/math.Log(limit/estimate), 2)
	if !s.Bounded || math.IsInf(end, 0) || end <= 0 || math.IsInf(estimate, 0) || estimate <= 0 {
		total = s.fewestForEnd(limit, p, confidence)
	}
	return s.worthwhile(total)
}

func (s *InOrder) worthwhile(total float64) int {
	if more := math.Ceil(total) - float64(s.n); more >= 1 && more <= FarthestNeed*float64(s.n) {
		return int(more)
	}
	return 0
}

// farthestTotal is the most requests in all that Need tells of: more of them take long to count.
func (s *InOrder) farthestTotal() int { return min(farthest, (1+FarthestNeed)*s.n) }

func (s *InOrder) fewestForEnd(limit, p, confidence float64) float64 {
	n, over, risk := float64(s.n), s.Over(limit), s.upperRisk(confidence)
	total := first(s.farthestTotal(), func(total int) bool {
		x := float64(total)
		w := s.weightOf(p, x)
		if over < 1-p {
			return x > n && w.passes(x, math.Ceil(over*x-1e-9), p, risk)
		}
		return x > n && w.fails(x, math.Floor(over*x+1e-9), p, (1-confidence)/2)
	})
	if total == math.MaxInt {
		return math.Inf(1)
	}
	return float64(total)
}

func (s *InOrder) upperRisk(confidence float64) float64 {
	if s.Alone {
		return (1 - confidence) / 2
	}
	return strict * (1 - confidence) / 2
}

const (
	sections        = 5
	fewestSectioned = 50 // requests in a window with sections
	// sectionTimes is the number of the ranks' autocorrelation times in the shortest window with sections, for a tail
	// and for a percentile in the middle: sections of less depend on each other.
	sectionTimes, sectionTimesMiddle = 4, 20
)

// bySections is the interval of the p-quantile by how much it differs between five successive sections of the window:
// Student's t for its logarithm (Asmussen and Glynn, "Stochastic Simulation", 2007, section III.5: sectioning). It
// hardly needs autocorrelation times, and the sizes of the values count, where counting needs dozens of independent
// values over the limit. Two things make it wider, both chosen by simulation:
//
//   - Percentiles of few values are skewed and too low: by 1/√m for m requests beyond the percentile, which are worth
//     2/(1+τ) of them. τ is the time of exceeding it; all of it would make too few verdicts.
//   - Sections of a short window resemble each other: by 1/√(1 − 2.3 ρ/n), nearly as those of an autoregression; ρ is
//     the time of the ranks.
//
// It is never narrower than independent requests would have it, which also holds for ties. ok is false where the
// window is too short, or a section has no such percentile, since requests failed.
func (s *InOrder) bySections(p, confidence float64) (iv Interval, ok bool) {
	n, times := float64(s.n), float64(sectionTimes)
	if min(p, 1-p) > middle {
		times = sectionTimesMiddle
	}
	if s.n < fewestSectioned || n < times*s.rankTime() {
		return iv, false
	}
	whole, squares := math.Log(quantile(s.sorted, p)), 0.0
	for i := range sections {
		d := math.Log(s.sectionAt(i, p)) - whole
		squares += d * d
	}
	risk, level := strict*(1-confidence)/2, s.level(1-p)
	half := quantileOfT(1-risk, sections-1) * math.Sqrt(squares/((sections-1)*sections))
	half *= 1 + math.Sqrt((1+level.time)/2/(n*min(p, 1-p)))
	half /= math.Sqrt(1 - 2.3*s.rankTime()/n)
	if math.IsNaN(half) || math.IsInf(half, 0) {
		return iv, false
	}
	iv = s.byCounts(weight{pass: level.spread, fail: level.spread}, p, (1-confidence)/2, (1-confidence)/2)
	return Interval{min(iv.Lo, math.Exp(whole-half)), max(iv.Hi, math.Exp(whole+half))}, true
}

// clusteredAtMost is P(K ≤ k) for a number K of requests over a limit that come in clusters: the number of
// clusters is Poisson, their sizes are geometric (Pólya and Aeppli: Johnson, Kemp and Kotz, "Univariate
// Discrete Distributions", 3rd edition, section 9.7). mean is K's, dispersion its variance over its mean, above
// 1. Such a K is 0 far more often than a Poisson number with mean/dispersion events: a queue with few requests
// over the limit has few, large clusters, not many small ones.
func clusteredAtMost(k int, mean, dispersion float64) float64 {
	const huge = 1e200
	if k < 0 {
		return 0
	}
	stay := (dispersion - 1) / (dispersion + 1) // probability that a cluster has one more request
	starts := mean * (1 - stay)                 // mean number of clusters
	// P(K=0) = exp(−starts) and a recursion in two terms, scaled so that nothing overflows.
	before, now := 0.0, 1.0
	sum, scale := now, -starts
	for i := 1; i <= k; i++ {
		x := float64(i)
		next := ((2*stay*(x-1)+starts*(1-stay))*now - stay*stay*(x-2)*before) / x
		if i == 1 {
			next = starts * (1 - stay)
		}
		before, now = now, next
		if sum += now; sum > huge {
			before, now, sum, scale = before/huge, now/huge, sum/huge, scale+math.Log(huge)
		}
	}
	return min(1, math.Exp(math.Log(sum)+scale))
}

type Verdict string

// Pass and Fail hold with the requested confidence; Undecided means that the sample is too small.
const (
	Pass      Verdict = "PASS"
	Fail      Verdict = "FAIL"
	Undecided Verdict = "UNDECIDED"
)

// Looks are the moments at which a row that ends early may be evaluated: after firstLook requests, and after each
// doubling. The risk is divided among them: look k takes 1/(k·(k+1)) of it, which sums to at most all of it.
type Looks struct {
	Risk float64 // of a wrong decision over all looks; 0.01 = 1 %
}

const firstLook = 64

func (Looks) At(k int) int { return firstLook << (k - 1) }

func (l Looks) Confidence(k int) float64 { return 1 - l.Risk/float64(k*(k+1)) }

func ranks(values []float64) []float64 { return ranksIn(argsort(values), values) }

func ranksIn(order []int, values []float64) []float64 {
	out := make([]float64, len(values))
	for from := 0; from < len(order); {
		to := from + 1
		for to < len(order) && values[order[to]] == values[order[from]] {
			to++
		}
		for _, i := range order[from:to] {
			out[i] = float64(from+to-1) / 2
		}
		from = to
	}
	return out
}

func argsort(values []float64) []int {
	type placed struct {
		x float64
		i int
	}
	sorted, order := make([]placed, len(values)), make([]int, len(values))
	for i, x := range values {
		sorted[i] = placed{x, i}
	}
	slices.SortFunc(sorted, func(a, b placed) int { return cmp.Compare(a.x, b.x) })
	for k, p := range sorted {
		order[k] = p.i
	}
	return order
}
