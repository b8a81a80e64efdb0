package tune

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// model is a model of main effects: ln(goal) of a setting is a sum over its knobs. Effects are drawn to zero (ridge
// regression), so that it orders settings from the first trials on; the prior is one more column. How far it misses is
// measured by leaving out one trial after the other.
type model struct {
	space   *Space
	columns int
	prior   []float64 // standardized; nil = none
	alone   bool      // trials err by their own errors alone: the question is whether main effects are all

	mean    []float64
	cov     mat.SymDense // inverse of the weighted normal matrix
	miss    float64      // standard deviation of settings around it; +Inf: too few trials to know
	freedom float64
}

const (
	effectSD    = 0.3 // of a value, ln
	interactsSD = 0.1 // what main effects miss, before that is measured
	constantSD  = 10
)

func newModel(s *Space) *model {
	m := &model{space: s, columns: 1, prior: standardized(s.Prior), miss: math.Inf(1)}
	for _, values := range s.Knobs {
		m.columns += values - 1
	}
	if m.prior != nil {
		m.columns++
	}
	return m
}

func estimated(trials []Trial) (out []Trial) {
	for _, t := range trials {
		if t.Round == 0 && t.Failed == "" && t.Error > 0 {
			out = append(out, t)
		}
	}
	return out
}

func standardized(x []float64) []float64 {
	mean, sd := stat.PopMeanStdDev(x, nil)
	if !(sd > 0) {
		return nil
	}
	out := slices.Clone(x)
	floats.AddConst(-mean, out)
	floats.Scale(1/sd, out)
	return out
}

func (m *model) row(setting int) []float64 {
	x := make([]float64, m.columns)
	x[0] = 1
	at := 1
	for i, v := range m.space.Values(setting) {
		if v > 0 {
			x[at+v-1] = 1
		}
		at += m.space.Knobs[i] - 1
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
	normal, right := mat.NewSymDense(m.columns, nil), make([]float64, m.columns)
	for j := range m.columns {
		sd := effectSD
		if j == 0 {
			sd = constantSD
		}
		normal.SetSym(j, j, 1/(sd*sd))
	}
	if m.prior != nil { // what it says is better is better, until the trials say otherwise
		right[m.columns-1] = 0.1 / (effectSD * effectSD)
	}
	for i := range trials {
		t := &trials[i]
		x, w := m.row(t.Setting), m.weight(t)
		normal.SymRankOne(normal, w, mat.NewVecDense(m.columns, x))
		floats.AddScaled(right, w*t.Log, x)
	}
	var factors mat.Cholesky
	factors.Factorize(normal) // each knob's prior makes it positive definite
	_ = factors.InverseTo(&m.cov)
	m.mean = make([]float64, m.columns)
	mat.NewVecDense(m.columns, m.mean).MulVec(&m.cov, mat.NewVecDense(m.columns, right))
	return m
}

// open is the variance of what the fit expects of a row.
func (m *model) open(x []float64) float64 {
	v := mat.NewVecDense(len(x), x)
	return mat.Inner(v, &m.cov, v)
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

// Interaction is the pair of knobs whose values together most clearly do what the sum of their effects does not: what a
// sum leaves of the trials varies with them by more than the errors of the trials can.
func (r *Race) Interaction() (pair [2]int, seen bool) {
	const risk = 0.01
	cutOff := func(t Trial) bool { return t.Above }
	trials := slices.DeleteFunc(estimated(r.trials), cutOff)
	m := newModel(&Space{Knobs: r.space.Knobs})
	m.alone = true
	m.fit(trials)
	n := len(r.space.Knobs)
	least := risk / float64(n*(n-1)/2)
	for a := range n {
		for b := range a {
			type sum struct{ left, weights float64 }
			cells := map[[2]int]sum{}
			for i := range trials {
				t := &trials[i]
				v, w := r.space.Values(t.Setting), m.weight(t)
				c := cells[[2]int{v[b], v[a]}]
				cells[[2]int{v[b], v[a]}] = sum{c.left + w*(t.Log-floats.Dot(m.row(t.Setting), m.mean)), c.weights + w}
			}
			squares, freedom := 0.0, len(cells)-r.space.Knobs[a]-r.space.Knobs[b]+1
			for _, c := range cells {
				squares += c.left * c.left / c.weights
			}
			if freedom < 1 { // a sum can have any such values
				continue
			}
			if p := (distuv.ChiSquared{K: float64(freedom)}).Survival(squares); p < least {
				pair, least, seen = [2]int{b, a}, p, true
			}
		}
	}
	return pair, seen
}
