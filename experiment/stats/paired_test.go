package stats

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// knownPairs are 60 pairs of 12 clusters.
func knownPairs() Pairs {
	var p Pairs
	for i := range 60 {
		a := 100 + float64((i*37)%41) + float64((i*i)%7)*3
		p.A = append(p.A, a)
		p.B = append(p.B, a*1.05+float64((i*53)%17)-8)
		p.Cluster = append(p.Cluster, (i*7)%12)
	}
	return p
}

// Differences are numpy's; standard errors are the same every time, and near the linearized ones by clusters.
func TestPairsKnown(t *testing.T) {
	p := knownPairs()
	shares := Pairs{Cluster: p.Cluster}
	for i := range p.A {
		shares.A = append(shares.A, oneIf(i%11 == 3))
		shares.B = append(shares.B, oneIf(i%9 == 3))
	}
	for _, x := range []struct {
		name     string
		of       func() Contrast
		diff, se float64
	}{
		{"means", func() Contrast { return RatioOfMeans(p) }, 0.04879016416943226, 0.0032},
		{"shares", func() Contrast { return DifferenceOfShares(shares) }, 0.016666666666666663, 0.06},
	} {
		got := x.of()
		if math.Abs(got.Difference-x.diff) > 1e-12 || got.se < x.se/2 || got.se > 2*x.se || got.DF != 5 || got != x.of() {
			t.Errorf("%s: %+v, want %v ± about %v", x.name, got, x.diff, x.se)
		}
	}
}

func oneIf(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// The sides exchanged negate the difference and keep its error; a unit of B times k adds log k; the numbers of
// clusters mean nothing.
func TestPairsProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(LeastPairs, 200).Draw(t, "n")
		value := rapid.Float64Range(0.1, 1000)
		var p Pairs
		for range n {
			p.A = append(p.A, value.Draw(t, "a"))
			p.B = append(p.B, value.Draw(t, "b"))
			p.Cluster = append(p.Cluster, rapid.IntRange(0, n/4).Draw(t, "cluster"))
		}
		k := rapid.Float64Range(0.5, 2).Draw(t, "k")
		for name, f := range map[string]func(Pairs) Contrast{"means": RatioOfMeans,
			"p90": func(p Pairs) Contrast { return RatioOfQuantiles(p, 0.9) }} {
			c := f(p)
			back := f(Pairs{p.B, p.A, p.Cluster})
			sameAs(t, name+": exchanged", back.Difference, -c.Difference)
			sameAs(t, name+": error exchanged", back.se, c.se)
			scaled, renamed := Pairs{A: p.A, Cluster: p.Cluster}, Pairs{A: p.A, B: p.B}
			for i := range p.B {
				scaled.B = append(scaled.B, k*p.B[i])
				renamed.Cluster = append(renamed.Cluster, -3-7*p.Cluster[i])
			}
			sameAs(t, name+": scaled", f(scaled).Difference, c.Difference+math.Log(k))
			sameAs(t, name+": error scaled", f(scaled).se, c.se)
			sameAs(t, name+": renamed", f(renamed).se, c.se)
		}
	})
}

func sameAs(t *rapid.T, what string, got, want float64) {
	if math.Abs(got-want) > 1e-9*(1+math.Abs(want)) && !(math.IsNaN(got) && math.IsNaN(want)) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// What is too little for a test has neither p nor interval.
func TestPairsTooFew(t *testing.T) {
	p := knownPairs()
	few := Pairs{p.A[:LeastPairs-1], p.B[:LeastPairs-1], p.Cluster[:LeastPairs-1]}
	one := Pairs{p.A, p.B, make([]int, len(p.A))}
	zero := Pairs{make([]float64, 60), p.B, p.Cluster}
	for name, c := range map[string]Contrast{"few": RatioOfMeans(few), "one cluster": RatioOfMeans(one), "zero": RatioOfMeans(zero),
		"few of p50": RatioOfQuantiles(few, 0.5), "zero of p50": RatioOfQuantiles(zero, 0.5), "none": RatioOfQuantiles(Pairs{}, 0.5)} {
		if !math.IsNaN(c.P) || c.DF > 0 {
			t.Errorf("%s: p=%v with %v degrees of freedom", name, c.P, c.DF)
		}
	}
}
