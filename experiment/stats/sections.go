package stats

import "math"

const (
	sections        = 5
	fewestSectioned = 50 // requests in a window with sections
	// sectionTimes is the number of the ranks' autocorrelation times in the shortest window with sections, for a tail
	// and for a percentile in the middle: sections of less depend on each other.
	sectionTimes, sectionTimesMiddle = 4, 20
)

// bySections is the interval of the p-quantile by how much it differs between five successive sections of the window:
// Student's t for its logarithm (Asmussen and Glynn, "Stochastic Simulation", 2007, section III.5: sectioning). It
// needs no autocorrelation, and the sizes of the values count, where counting needs dozens of independent values over
// the limit. Percentiles of few values are skewed and too low: the interval is wider by 1/√m for m values beyond the
// percentile. It is never narrower than independent requests would have it, which also holds for ties.
// ok is false where the window is too short, or a section has no such percentile, since requests failed.
func (s *InOrder) bySections(p, confidence float64) (iv Interval, ok bool) {
	n, times := float64(s.n), float64(sectionTimes)
	if min(p, 1-p) > middle {
		times = sectionTimesMiddle
	}
	if s.n < fewestSectioned || n < times*s.rankTime() {
		return iv, false
	}
	whole, squares := math.Log(quantile(s.sorted, 0, p)), 0.0
	for i := range sections {
		d := math.Log(s.sectionAt(i, p)) - whole
		squares += d * d
	}
	risk := strict * (1 - confidence) / 2
	half := quantileOfT(1-risk, sections-1) * math.Sqrt(squares/((sections-1)*sections))
	half *= 1 + 1/math.Sqrt(n*min(p, 1-p))
	if math.IsNaN(half) || math.IsInf(half, 0) {
		return iv, false
	}
	spread := s.level(1 - p).spread
	iv = s.byCounts(weight{pass: spread, fail: spread}, p, (1-confidence)/2, (1-confidence)/2)
	return Interval{min(iv.Lo, math.Exp(whole-half)), max(iv.Hi, math.Exp(whole+half))}, true
}
