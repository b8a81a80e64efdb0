package tune

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"
)

// model is a model of main effects: ln(goal) of a setting is a sum over its knobs. Effects are drawn to zero (ridge
// regression), so that it orders settings from the first trials on; the prior is one more column. How far it misses is
// measured by leaving out one trial after the other.
type model struct {
	space   *Space
	columns int
	prior   []float64 // standardized; nil = none
	pairs   [][2]int  // knobs with an effect of each two of their values
	alone   bool      // trials err by their own errors alone: the question is whether main effects are all

	mean    []float64
	cov     [][]float64 // inverse of the weighted normal matrix
	squares float64     // sum that the fit makes least
	miss    float64     // standard deviation of settings around it; +Inf: too few trials to know
	freedom float64
}

const (
	effectSD    = 0.3 // of a value, ln
	interactsSD = 0.1 // what main effects miss, before that is measured
	constantSD  = 10
)

func newModel(s *Space, pairs ...[2]int) *model {
	m := &model{space: s, columns: 1, prior: standardized(s.Prior), pairs: pairs, miss: math.Inf(1)}
	for _, values := range s.Knobs {
		m.columns += values - 1
	}
	for _, p := range pairs {
		m.columns += (s.Knobs[p[0]] - 1) * (s.Knobs[p[1]] - 1)
	}
	if m.prior != nil {
		m.columns++
	}
	return m
}

// estimated are the trials of the race with an estimate.
func estimated(trials []Trial) (out []Trial) {
	for _, t := range trials {
		if t.Round == 0 && t.Failed == "" && t.Error > 0 {
			out = append(out, t)
		}
	}
	return out
}

func standardized(x []float64) []float64 {
	mean, square := 0.0, 0.0
	for _, v := range x {
		mean, square = mean+v/float64(len(x)), square+v*v/float64(len(x))
	}
	sd := math.Sqrt(square - mean*mean)
	if !(sd > 0) {
		return nil
	}
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = (v - mean) / sd
	}
	return out
}

func (m *model) row(setting int) []float64 {
	x := make([]float64, m.columns)
	x[0] = 1
	at, values := 1, m.space.Values(setting)
	for i, v := range values {
		if v > 0 {
			x[at+v-1] = 1
		}
		at += m.space.Knobs[i] - 1
	}
	for _, p := range m.pairs {
		a, b, wide := values[p[0]], values[p[1]], m.space.Knobs[p[1]]-1
		if a > 0 && b > 0 {
			x[at+(a-1)*wide+b-1] = 1
		}
		at += (m.space.Knobs[p[0]] - 1) * wide
	}
	if m.prior != nil {
		x[at] = m.prior[setting]
	}
	return x
}

func (m *model) weight(t *Trial) float64 {
	if m.alone {
		return 1 / (t.Error * t.Error)
	}
	return 1 / (t.Error*t.Error + interactsSD*interactsSD)
}

func (m *model) fit(trials []Trial) *model {
	normal, right := make([][]float64, m.columns), make([]float64, m.columns)
	for j := range normal {
		normal[j] = make([]float64, m.columns)
		sd := effectSD
		if j == 0 {
			sd = constantSD
		}
		normal[j][j] = 1 / (sd * sd)
	}
	if m.prior != nil { // what it says is better is better, until the trials say otherwise
		right[m.columns-1] = 0.1 / (effectSD * effectSD)
	}
	for i := range trials {
		t := &trials[i]
		x, w := m.row(t.Setting), m.weight(t)
		for j := range x {
			floats.AddScaled(normal[j], w*x[j], x)
		}
		floats.AddScaled(right, w*t.Log, x)
		m.squares += w * t.Log * t.Log
	}
	m.cov = inverse(normal)
	for _, row := range m.cov {
		m.mean = append(m.mean, floats.Dot(row, right))
	}
	m.squares -= floats.Dot(m.mean, right)
	return m
}

// inverse is that of a positive definite matrix, which it overwrites: Gauss and Jordan, without pivots.
func inverse(a [][]float64) [][]float64 {
	for k := range a {
		pivot := a[k][k]
		a[k][k] = 1
		floats.Scale(1/pivot, a[k])
		for i := range a {
			if i != k {
				x := a[i][k]
				a[i][k] = 0
				floats.AddScaled(a[i], -x, a[k])
			}
		}
	}
	return a
}

// open is the variance of what the fit expects of a row.
func (m *model) open(x []float64) (v float64) {
	for i, row := range m.cov {
		if x[i] != 0 {
			v += x[i] * floats.Dot(row, x)
		}
	}
	return v
}

// leaveOneOut measures how far a setting is from what the others say of it, without the errors of the trials.
func (m *model) leaveOneOut(trials []Trial) {
	m.freedom = float64(len(trials) - m.columns)
	if m.freedom < 2 {
		return
	}
	const least = 0.03
	sum, weights := 0.0, 0.0
	for i := range trials {
		t := &trials[i]
		x := m.row(t.Setting)
		w := m.weight(t)
		e := (t.Log - floats.Dot(x, m.mean)) / (1 - w*m.open(x))
		sum, weights = sum+w*max(0, e*e-t.Error*t.Error), weights+w
	}
	m.miss = max(least, math.Sqrt(sum/weights))
}

func (m *model) predicts() bool { return !math.IsInf(m.miss, 1) }

// at is the expectation of a setting, and its standard deviation.
func (m *model) at(setting int) (mean, sd float64) {
	x := m.row(setting)
	return floats.Dot(x, m.mean), math.Sqrt(m.miss*m.miss + m.open(x))
}

// bound is above a setting but for a probability.
func (m *model) bound(setting int, p float64) float64 {
	mean, sd := m.at(setting)
	return mean + sd*distuv.StudentsT{Sigma: 1, Nu: m.freedom}.Quantile(1-p)
}

// promise orders the settings: an expectation, and a part of what is open about it, since one that nothing is known of
// can be the best.
func (m *model) promise(setting int) float64 {
	const curious = 0.5
	x := m.row(setting)
	return floats.Dot(x, m.mean) + curious*math.Sqrt(m.open(x))
}

// Interactions are the pairs of knobs whose values together do what the sum of their effects does not, the clearest
// first: each lowers the squares of the fit by more than the errors of the trials can.
func (r *Race) Interactions() (pairs [][2]int) {
	const risk = 0.01
	trials := estimated(r.trials)
	squares := func(pairs ...[2]int) float64 {
		m := newModel(&Space{Knobs: r.space.Knobs}, pairs...)
		m.alone = true
		return m.fit(trials).squares
	}
	n := len(r.space.Knobs)
	for {
		before, clearest, chance := squares(pairs...), [2]int{}, risk/float64(n*(n-1)/2)
		for a := range n {
			for b := range a {
				cells := map[[2]int]bool{}
				for _, t := range trials {
					if v := r.space.Values(t.Setting); v[a] > 0 && v[b] > 0 {
						cells[[2]int{v[a], v[b]}] = true
					}
				}
				drop := before - squares(append(pairs[:len(pairs):len(pairs)], [2]int{b, a})...)
				if len(cells) == 0 {
					continue
				}
				if p := (distuv.ChiSquared{K: float64(len(cells))}).Survival(drop); p < chance {
					clearest, chance = [2]int{b, a}, p
				}
			}
		}
		if clearest == [2]int{} {
			return pairs
		}
		pairs = append(pairs, clearest)
	}
}
