package stats

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Dealt is how units were dealt to parties: at random, in blocks. If the parties are alike, the units' scores are fixed,
// and the dealing alone decides which sums of scores a party can have, however the scores depend on each other (Fisher,
// The Design of Experiments, 1935).
type Dealt struct {
	Blocks   [][]int // the party of each unit
	Parties  int
	Permuted bool // every order of a block was as likely; otherwise every rotation of it
}

// draws of the dealing.
const draws = 1999

// Units is the number of all units.
func (d *Dealt) Units() (n int) {
	for _, b := range d.Blocks {
		n += len(b)
	}
	return n
}

// Z is how far each party's sum of scores lies from its mean, in standard deviations of the dealing. Scores are of the
// units of one block after the other; NaN: the unit is missing.
func (d *Dealt) Z(scores []float64) []float64 {
	centred := d.centred(scores)
	return d.standardized(d.sums(centred, d.Blocks), d.deviations(centred))
}

// Critical is what the largest |z| of all parties and series of scores exceeds with the given probability, if the
// parties are alike. Each series was dealt in its way. above: the largest z.
func Critical(dealt []*Dealt, series [][]float64, level float64, above bool) float64 {
	largest := make([]float64, draws)
	for m, d := range dealt {
		d.draw(series[m], above, largest)
	}
	slices.Sort(largest)
	return largest[min(draws-1, int(math.Ceil((1-level)*(draws+1)))-1)]
}

// draw raises each largest |z| by another dealing.
func (d *Dealt) draw(scores []float64, above bool, largest []float64) {
	rng := rand.New(rand.NewPCG(1, 2))
	centred := d.centred(scores)
	deviations := d.deviations(centred)
	blocks := make([][]int, len(d.Blocks))
	for b := range blocks {
		blocks[b] = slices.Clone(d.Blocks[b])
	}
	for i := range largest {
		d.deal(blocks, rng)
		for _, z := range d.standardized(d.sums(centred, blocks), deviations) {
			if above {
				z = max(z, 0)
			}
			largest[i] = max(largest[i], math.Abs(z))
		}
	}
}

// deal deals the units of the blocks once more.
func (d *Dealt) deal(blocks [][]int, rng *rand.Rand) {
	for b, places := range blocks {
		if d.Permuted {
			rng.Shuffle(len(places), func(i, k int) { places[i], places[k] = places[k], places[i] })
			continue
		}
		by := rng.IntN(len(places))
		n := copy(places, d.Blocks[b][by:])
		copy(places[n:], d.Blocks[b][:by])
	}
}

// centred is the scores without the mean of their block; 0: missing.
func (d *Dealt) centred(scores []float64) []float64 {
	out := make([]float64, len(scores))
	from := 0
	for _, block := range d.Blocks {
		sum, n := 0.0, 0.0
		for i := range block {
			if x := scores[from+i]; !math.IsNaN(x) {
				sum, n = sum+x, n+1
			}
		}
		for i := range block {
			if x := scores[from+i]; !math.IsNaN(x) {
				out[from+i] = x - sum/n
			}
		}
		from += len(block)
	}
	return out
}

func (d *Dealt) sums(centred []float64, blocks [][]int) []float64 {
	out := make([]float64, d.Parties)
	from := 0
	for _, block := range blocks {
		for i, party := range block {
			out[party] += centred[from+i]
		}
		from += len(block)
	}
	return out
}

// deviations are the standard deviations of the parties' sums over all ways to deal.
func (d *Dealt) deviations(centred []float64) []float64 {
	out := make([]float64, d.Parties)
	places := make([]int, d.Parties)
	from := 0
	for _, block := range d.Blocks {
		own := centred[from : from+len(block)]
		from += len(block)
		clear(places)
		squares := 0.0
		for i, x := range own {
			places[block[i]]++
			squares += x * x
		}
		if !d.Permuted && len(block) > 1 && slices.Max(places) > 1 {
			rotated(block, own, out)
			continue
		}
		w := float64(len(block))
		for k, n := range places {
			if w > 1 {
				out[k] += squares * float64(n) * (w - float64(n)) / (w * (w - 1))
			}
		}
	}
	for k, v := range out {
		out[k] = math.Sqrt(v)
	}
	return out
}

// rotated adds each party's variance over the rotations of a block.
func rotated(block []int, scores, variances []float64) {
	w := len(block)
	sums := make([]float64, len(variances))
	for by := range w {
		clear(sums)
		for i, x := range scores {
			sums[block[(i+by)%w]] += x
		}
		for k, s := range sums {
			variances[k] += s * s / float64(w)
		}
	}
}

// standardized is 0 where every dealing gives the same sum.
func (*Dealt) standardized(sums, deviations []float64) []float64 {
	for k, s := range sums {
		if sums[k] = 0; deviations[k] > 1e-9 {
			sums[k] = s / deviations[k]
		}
	}
	return sums
}

// Dependence is the correlation of a party's scores in successive blocks, beside its mean. Each block must have one unit
// of each party, in the same order.
func (d *Dealt) Dependence(scores []float64) float64 {
	x, n := d.centred(scores), d.Parties
	for k := range n {
		mean := 0.0
		for b := range d.Blocks {
			mean += x[b*n+k] / float64(len(d.Blocks))
		}
		for b := range d.Blocks {
			x[b*n+k] -= mean
		}
	}
	squares, products := 0.0, 0.0
	for i, v := range x {
		if squares += v * v; i >= n {
			products += v * x[i-n]
		}
	}
	if squares == 0 {
		return 0
	}
	return products / squares
}
