package compare

import (
	"fmt"
	"math"

	"bench/experiment/stats"
)

// judgeShadow gives every figure its verdict. The probability of even one false alarm is risk: gated figures share
// most of it, the others the rest, each family by Holm. Adjusted p-values compare with risk.
func judgeShadow(figures []ShadowFigure) {
	for _, gated := range []bool{true, false} {
		part := risk * gatedShare
		if !gated {
			part = risk - part
		}
		var family []*ShadowFigure
		var p []float64
		for i := range figures {
			f := &figures[i]
			if f.Gated == gated && f.judged() && f.P != nil {
				family, p = append(family, f), append(p, *f.P)
			}
		}
		for i, adjusted := range stats.Holm(p) {
			family[i].Adjusted = new(min(1, adjusted*risk/part))
			family[i].judge(part, len(family))
		}
	}
	for i := range figures {
		f := &figures[i]
		switch {
		case !f.judged():
			f.Why = laterTurnsWhy
		case f.P == nil && f.Why == "":
			f.Verdict, f.NeedPairs = Inconclusive, 0
			f.Why = "the values that it depends on are of a few moments or conversations only"
			if f.Pairs < stats.LeastPairs || f.Sessions < stats.LeastGroups {
				f.Why = fmt.Sprintf("too few pairs: at least %d of %d conversations are needed", stats.LeastPairs,
					stats.LeastGroups)
			}
		}
	}
}

// judge sets the verdict of a figure that is one of a family with a risk.
func (f *ShadowFigure) judge(part float64, family int) {
	farthest := f.farthest(part)
	switch f.Verdict = f.figure.verdict(*f.Change, *f.Adjusted, farthest, f.Margin); f.Verdict {
	case Changed:
		f.Why = noDirection
	case NoChange:
		f.NoChangeWithin = farthest
	case Inconclusive:
		f.NeedPairs = f.need(part / float64(family))
		f.Why = "the interval includes no change and more than the margin"
		if *f.P <= risk {
			f.Why = "significant alone, but not among all figures"
		}
	}
}

// farthest is the largest change either way that the data leave, each way at a confidence of 1 − part.
func (f *ShadowFigure) farthest(part float64) float64 {
	iv := f.figure.changes(f.contrast.Interval(1 - 2*part))
	return max(-iv.Lo, iv.Hi)
}

// need is the number of pairs, in all, with which a change of the margin is detected; 0 = unknown.
func (f *ShadowFigure) need(level float64) int {
	times := f.contrast.Detectable(level, power) / (f.figure.distance(f.Margin) - f.least())
	if n := float64(f.Pairs) * max(1.1, times*times); n < 1e9 {
		step := math.Pow(10, math.Floor(math.Log10(n))-1)
		return int(math.Ceil(n/step) * step)
	}
	return 0
}

// decided reports whether every gated figure has a verdict.
func decided(figures []ShadowFigure) bool {
	for i := range figures {
		if figures[i].Gated && figures[i].Verdict == Inconclusive {
			return false
		}
	}
	return len(figures) > 0
}
