package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// dealtAtRandom deals blocks of places to parties, each block turned or permuted at random.
func dealtAtRandom(blocks, places, parties int, permuted bool, rng *rand.Rand) *Dealt {
	d := &Dealt{Parties: parties, Permuted: permuted}
	for range blocks {
		by := rng.IntN(places)
		block := make([]int, places)
		for i := range block {
			block[i] = (i + by) % places % parties
		}
		if permuted {
			rng.Shuffle(places, func(i, k int) { block[i], block[k] = block[k], block[i] })
		}
		d.Blocks = append(d.Blocks, block)
	}
	return d
}

// Whatever the scores are, z has mean 0 and variance 1 over the dealing, and the largest |z| exceeds the critical value
// as often as the level says.
func TestDealt(t *testing.T) {
	simulation(t)
	for _, c := range []struct {
		blocks, places, parties int
		permuted                bool
	}{{40, 4, 4, false}, {40, 2, 2, false}, {30, 6, 4, false}, {1, 20, 4, true}, {40, 3, 3, true}} {
		rng := rand.New(rand.NewPCG(1, 2))
		scores := make([]float64, c.blocks*c.places)
		for i := range scores {
			if scores[i] = float64(i%c.places) + 0.1*rng.NormFloat64(); rng.Float64() < 0.05 {
				scores[i] = math.NaN()
			}
		}
		const runs, level = 2000, 0.05
		sum, squares, above := 0.0, 0.0, 0.0
		critical := Critical([]*Dealt{dealtAtRandom(c.blocks, c.places, c.parties, c.permuted, rng)}, [][]float64{scores}, level, false)
		for range runs {
			most := 0.0
			for k, z := range dealtAtRandom(c.blocks, c.places, c.parties, c.permuted, rng).Z(scores) {
				if most = max(most, math.Abs(z)); k == 0 {
					sum, squares = sum+z, squares+z*z
				}
			}
			if most > critical {
				above++
			}
		}
		if math.Abs(sum/runs) > 0.08 || math.Abs(squares/runs-1) > 0.12 || math.Abs(above/runs-level) > 0.02 {
			t.Errorf("%+v: mean %.3f, variance %.3f, above %.4f", c, sum/runs, squares/runs, above/runs)
		}
	}
}

// Equal scores are no difference; a party whose scores are the largest has the largest z, and covariates and strata take
// off what they explain.
func TestDealtAndAligned(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	d := dealtAtRandom(40, 4, 4, false, rng)
	if z := d.Z(make([]float64, 160)); z[0] != 0 {
		t.Errorf("equal scores: %v", z)
	}
	values, length := make([]float64, 160), make([]float64, 160)
	for i := range values {
		length[i] = rng.ExpFloat64()
		values[i] = 100*float64(i/16) + 50*length[i] + rng.NormFloat64()
		if d.Blocks[i/4][i%4] == 2 {
			values[i] += 3
		}
	}
	a := NewAligned(values, 16, length)
	ranks := a.Ranks(a.Residuals)
	critical := Critical([]*Dealt{d}, [][]float64{ranks}, 0.01, false)
	if z := d.Z(ranks); z[2] < critical || z[2] < 2*math.Abs(z[0]) {
		t.Errorf("%v, critical %v", z, critical)
	}
	a.Residuals[5] = math.NaN()
	if ranks := a.Ranks(a.Residuals); !math.IsNaN(ranks[5]) || math.IsNaN(ranks[4]) {
		t.Error(ranks[:8])
	}
	if NewAligned(make([]float64, 100), 16) != nil {
		t.Error("six strata")
	}
}
