package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The wanted ends are where the binomial tails are 2.5 %, summed term by term.
func TestShareInterval(t *testing.T) {
	for _, c := range []struct {
		in, n  float64
		lo, hi float64
	}{
		{0, 0, 0, 1}, {0, 10, 0, 0.3084971}, {10, 10, 0.6915029, 1}, {9, 10, 0.5549839, 0.9974714},
		{50, 100, 0.3983211, 0.6016789}, {950, 1000, 0.9346095, 0.9626646},
	} {
		share := 0.0
		if c.n > 0 {
			share = c.in / c.n
		}
		if iv := ShareInterval(share, c.n, 0.95); math.Abs(iv.Lo-c.lo) > 1e-6 || math.Abs(iv.Hi-c.hi) > 1e-6 {
			t.Errorf("%v of %v: %v, want [%v, %v]", c.in, c.n, iv, c.lo, c.hi)
		}
	}
}

func TestEffectiveSizeOfClusters(t *testing.T) {
	each := func(n, in, of int) (out []Cluster) {
		for i := range n {
			if i%2 == 0 {
				out = append(out, Cluster{in, of})
			} else {
				out = append(out, Cluster{of - in, of})
			}
		}
		return out
	}
	squared := func(x float64) float64 { return x * x }
	for _, c := range []struct {
		name     string
		clusters []Cluster
		want     float64
	}{ // the quantiles of Student's t are those of statistical tables: 499, 199 and 99 degrees of freedom
		{"single values", each(100, 1, 1), 100},
		{"each prompt five times, always the same", each(100, 5, 5), 99 * squared(1.964729/1.984217)},
		{"each prompt twice, half of them in", each(100, 1, 2), 200 * squared(1.971957/1.984217)},
		{"all in", []Cluster{{3, 3}, {2, 2}}, 2},
		{"one cluster", []Cluster{{1, 4}}, 1},
	} {
		if got := EffectiveSize(c.clusters); math.Abs(got-c.want) > 1e-3 {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestShareOfFewClustersCovers: shares that differ between a few prompts, each asked several times, lie in the 95 %
// interval nearly as often as promised: 93 % of the time with four prompts.
func TestShareOfFewClustersCovers(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, prompts := range []int{4, 8, 30} {
		const runs = 2000
		covered := 0
		for range runs {
			var clusters []Cluster
			in, n := 0, 0
			for range prompts {
				p := 0.3 + 0.5*rng.Float64() // 0.55 on average
				c := Cluster{N: 100 + rng.IntN(400)}
				for range c.N {
					if rng.Float64() < p {
						c.In++
					}
				}
				clusters, in, n = append(clusters, c), in+c.In, n+c.N
			}
			iv := ShareInterval(float64(in)/float64(n), EffectiveSize(clusters), 0.95)
			if iv.Lo <= 0.55 && 0.55 <= iv.Hi {
				covered++
			}
		}
		if share := float64(covered) / runs; share < 0.93 {
			t.Errorf("%d prompts: covered %.3f", prompts, share)
		}
	}
}
