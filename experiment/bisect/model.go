package bisect

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// The model of an observation's logarithm: the level of good, changes up to its revision, a drift and noise. The
// level has a flat prior; a change has a normal one whose size is a multiple of the noise (sizes); the drift is a
// random walk with a trend, whose steps are another (drifts); the noise is unknown, its prior worth one run. All but
// the multiples is integrated in closed form (normal-inverse-gamma), and they are summed over, as is the place of the
// changes: nothing is estimated first and then taken as certain.

const (
	typicalNoise = 0.02 // sd of a run's logarithm, worth one run
	twoChanges   = 0.05 // probability beforehand
	trend        = 0.25 // of the drift in a run, over its random step
	tails        = 3.0  // deviations beyond which a run counts less
)

// drifts are deviations of the random step in a mean run, over the deviation of the noise.
var drifts = [...]struct{ size, prior float64 }{{0, 0.3}, {0.05, 0.3}, {0.15, 0.25}, {0.5, 0.15}}

// sizes are deviations of a change, likewise.
var sizes = [...]float64{1, 2, 6, 40}

type Belief struct {
	None, Two float64  // probability that no revision changes the figure, that two do
	Places    []Change // where it may change, the likeliest first
	Spread    float64  // standard deviation of a run's logarithm

	search    *Search
	places    []int     // measured revisions, ascending; gap g ends at places[g]
	times     []float64 // of the observations, by the mean time between them
	unit      float64   // of times, in hours
	hours     float64   // of the last observation
	weights   []float64 // variances of the observations, over the noise's
	all       []hypothesis
	likeliest hypothesis
}

// Change is a place where the figure may change. Beside revisions that cannot be built it is more than one of them.
type Change struct {
	First, Last int // one of these revisions is the first bad one
	Probability float64
	Log, Error  float64 // ln of the change, with its standard error
}

// Named are the changes that an answer names: one, or two if two are likelier.
func (b *Belief) Named() []Change {
	n := 1
	if b.Two > 0.5 {
		n = 2
	}
	return b.Places[:min(n, len(b.Places))]
}

// Within are the fewest revisions that have a share of the probability of all changes.
func (b *Belief) Within(share float64) (revisions []int) {
	all, sum := 0.0, 0.0
	for _, c := range b.Places {
		all += c.Probability
	}
	for _, c := range b.Places {
		for r := c.First; r <= c.Last && sum < share*all; r++ {
			revisions = append(revisions, r)
		}
		sum += c.Probability
	}
	return revisions
}

// hypothesis has changes at the ends of two gaps; of one change second is 0, of none both. In one gap they are alike.
type hypothesis struct {
	first, second int
	weight        float64
	log, variance [2]float64
	noise         float64
	fit           *fit
}

// fit has the products of the steps up at each gap, and of the observations, which are the last column, by the
// inverse covariance and without the level of good.
type fit struct {
	drift    float64
	inverse  mat.Cholesky
	ones     *mat.VecDense
	level    float64 // precision of the level
	logDet   float64
	columns  *mat.Dense
	products *mat.Dense
}

// Believe weighs all hypotheses. Runs that are far from every level of the likeliest one count less.
func (s *Search) Believe() *Belief {
	b := &Belief{search: s, weights: slices.Repeat([]float64{1}, len(s.Seen))}
	b.hours = s.Seen[0].At
	for _, o := range s.Seen { // a clock that was set back stands still
		b.hours = max(b.hours, o.At)
		b.places, b.times = append(b.places, o.Revision), append(b.times, b.hours-s.Seen[0].At)
	}
	b.unit = max((b.hours-s.Seen[0].At)/float64(len(s.Seen)), 1e-9)
	for i := range b.times {
		b.times[i] = 1 + b.times[i]/b.unit
	}
	slices.Sort(b.places)
	b.places = slices.Compact(b.places)
	const least = 6 // observations
	b.all = b.hypotheses()
	if len(s.Seen) >= least && b.temper() {
		b.all = b.hypotheses()
	}
	b.sum()
	return b
}

func (b *Belief) hypotheses() (all []hypothesis) {
	revisions := float64(b.search.Revisions - 1)
	pairs := max(1, revisions*(revisions-1)/2)
	none := cmp.Or(b.search.None, 0.1)
	one, two := (1-none)*(1-twoChanges), (1-none)*twoChanges
	width := func(g int) float64 { return float64(b.places[g] - b.places[g-1]) }
	for _, d := range drifts {
		f := b.fit(d.size)
		all = append(all, f.weigh(0, 0, 1, d.prior*none*float64(len(sizes))))
		for _, size := range sizes {
			for g := 1; g < len(b.places); g++ {
				all = append(all, f.weigh(g, 0, size*size, d.prior*one*width(g)/revisions),
					f.weigh(g, g, 2*size*size, d.prior*two*width(g)*(width(g)-1)/2/pairs))
				for h := g + 1; h < len(b.places); h++ {
					all = append(all, f.weigh(g, h, size*size, d.prior*two*width(g)*width(h)/pairs))
				}
			}
		}
	}
	b.likeliest = slices.MaxFunc(all, func(x, y hypothesis) int { return cmp.Compare(x.weight, y.weight) })
	sum := 0.0
	for i := range all {
		all[i].weight = math.Exp(all[i].weight - b.likeliest.weight)
		sum += all[i].weight
	}
	for i := range all {
		all[i].weight /= sum
	}
	return all
}

// weigh integrates a hypothesis; its weight is ln(prior × likelihood). size is the variance of a change over that of
// noise.
func (f *fit) weigh(first, second int, size, prior float64) hypothesis {
	h := hypothesis{first: first, second: second, fit: f}
	n, at := f.ones.Len(), f.products.At
	y := f.products.RawMatrix().Cols - 1
	explained, det := 0.0, 1.0
	switch p := at(first, first) + 1/size; {
	case first == 0:
	case second == 0 || second == first:
		h.log[0], h.variance[0] = at(first, y)/p, 1/p
		explained, det = at(first, y)*h.log[0], size*p
	default:
		q, r := at(second, second)+1/size, at(first, second)
		d := p*q - r*r
		h.log = [2]float64{(q*at(first, y) - r*at(second, y)) / d, (p*at(second, y) - r*at(first, y)) / d}
		h.variance = [2]float64{q / d, p / d}
		explained, det = at(first, y)*h.log[0]+at(second, y)*h.log[1], size*size*d
	}
	rest := typicalNoise*typicalNoise + max(0, at(y, y)-explained)
	h.noise = rest / float64(n)
	h.weight = math.Log(prior) - (f.logDet+math.Log(det)+float64(n)*math.Log(rest))/2
	return h
}

func (b *Belief) fit(drift float64) *fit {
	n, p := len(b.times), len(b.places)
	columns := mat.NewDense(n, p+1, nil)
	f := &fit{drift: drift, columns: columns, products: &mat.Dense{}}
	covariance := mat.NewSymDense(n, nil)
	for i, o := range b.search.Seen {
		for k := range i + 1 {
			covariance.SetSym(i, k, drift*drift*together(b.times[i], b.times[k]))
		}
		covariance.SetSym(i, i, covariance.At(i, i)+b.weights[i])
		for g := range p {
			columns.Set(i, g, b.step(g, i))
		}
		columns.Set(i, p, o.Log-b.search.Seen[0].Log)
	}
	f.inverse.Factorize(covariance) // its diagonal is at least 1
	var solved mat.Dense
	_ = f.inverse.SolveTo(&solved, columns)
	f.products.Mul(columns.T(), &solved)
	f.ones = mat.VecDenseCopyOf(solved.ColView(0))
	f.level = f.products.At(0, 0)
	f.logDet = f.inverse.LogDet() + math.Log(f.level)
	row := mat.VecDenseCopyOf(f.products.RowView(0))
	f.products.RankOne(f.products, -1/f.level, row, row)
	return f
}

// together is the covariance of the drift at two times.
func together(s, t float64) float64 { return min(s, t) + trend*trend*s*t }

// step is 1 if an observation is of a revision behind a gap; of gap 0 all are.
func (b *Belief) step(gap, i int) float64 {
	if b.search.Seen[i].Revision >= b.places[gap] {
		return 1
	}
	return 0
}

func (b *Belief) temper() (any bool) {
	h := &b.likeliest
	n := len(b.times)
	level, rest := make([]float64, n), mat.NewVecDense(n, nil)
	for i, o := range b.search.Seen {
		if h.first > 0 {
			level[i] = b.step(h.first, i)*h.log[0] + b.step(h.second, i)*h.log[1]
		}
		rest.SetVec(i, o.Log-level[i])
	}
	mean := mat.Dot(h.fit.ones, rest) / h.fit.level
	floats.AddConst(-mean, rest.RawVector().Data)
	_ = h.fit.inverse.SolveVecTo(rest, rest)
	off := make([]float64, n)
	for i := range off { // from its nearest level: it may be of another revision than is believed
		x := level[i] + b.weights[i]*rest.AtVec(i)
		off[i] = min(math.Abs(x), math.Abs(x-h.log[0]), math.Abs(x-h.log[0]-h.log[1]))
	}
	const normal, least = 1.4826, 0.003 // sd over the median; of runs that agree by luck
	sd := max(least, normal*slices.Sorted(slices.Values(off))[n/2])
	for i := range off {
		b.weights[i] = max(1, math.Pow(off[i]/(tails*sd), 2))
		any = any || b.weights[i] > 1
	}
	return any
}

// moments of a change, over the hypotheses that have it.
type moments struct{ weight, mean, square float64 }

func (m *moments) add(h *hypothesis, i int) {
	m.weight += h.weight
	m.mean += h.weight * h.log[i]
	m.square += h.weight * (h.noise*h.variance[i] + h.log[i]*h.log[i])
}

func (b *Belief) sum() {
	n := len(b.places)
	gaps := make([]moments, n)
	noise := 0.0
	for i := range b.all {
		h := &b.all[i]
		noise += h.weight * h.noise
		if h.first == 0 {
			b.None += h.weight
			continue
		}
		gaps[h.first].add(h, 0)
		if h.second > 0 {
			b.Two += h.weight
		}
		if h.second > h.first {
			gaps[h.second].add(h, 1)
		}
	}
	b.Spread = math.Sqrt(noise)
	for g := 1; g < n; g++ {
		b.divide(g, &gaps[g])
	}
	slices.SortStableFunc(b.Places, func(x, y Change) int { return cmp.Compare(y.Probability, x.Probability) })
}

// divide shares a gap's change among its revisions. Those before one that can be built are with it.
func (b *Belief) divide(g int, m *moments) {
	mean := m.mean / m.weight
	c := Change{First: b.places[g-1] + 1, Log: mean, Error: math.Sqrt(max(0, m.square/m.weight-mean*mean))}
	for r := c.First; r <= b.places[g]; r++ {
		if b.search.Broken[r] && r < b.places[g] {
			continue
		}
		c.Last, c.Probability = r, m.weight*float64(r-c.First+1)/float64(b.places[g]-b.places[g-1])
		b.Places = append(b.Places, c)
		c.First = r + 1
	}
}

// ahead is what good would show at a time if a column were what was observed, for each column of the fit, and its
// variance over the variance of the noise.
func (b *Belief) ahead(f *fit, at float64) (shown *mat.VecDense, variance float64) {
	n := len(b.times)
	t, size := 1+(max(at, b.hours)-b.search.Seen[0].At)/b.unit, f.drift*f.drift
	with, weights := mat.NewVecDense(n, nil), mat.NewVecDense(n, nil)
	for i := range n {
		with.SetVec(i, size*together(t, b.times[i]))
	}
	_ = f.inverse.SolveVecTo(weights, with)
	rest := 1 - mat.Dot(f.ones, with)
	variance = size*together(t, t) - mat.Dot(with, weights) + rest*rest/f.level
	weights.AddScaledVec(weights, rest/f.level, f.ones)
	shown = &mat.VecDense{}
	shown.MulVec(f.columns.T(), weights)
	return shown, variance
}
