package twin

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Source gives the first n requests of a long run at a load, in order of arrival. The same source gives the same
// requests at every load, only faster: so that the difference of two loads is no luck. They are the caller's to change.
type Source func(load float64, n int) []Request

// Requests of a long run: to look where the operating point is about, and to find it.
const (
	coarse = 6_000
	Fine   = 40_000
)

// Question is what the twin is asked for: the highest load that meets all limits.
type Question struct {
	Limits   []Limit
	Min, Max float64 // loads
	Whole    bool    // loads are numbers of requests in flight
	Source   Source
	Requests int     // of the long runs that answer
	Changed  float64 // error of the step times for requests that no row had, as a share; 0 = as in the rows
	Beyond   bool    // the answer may be far above the trials: it has the error of that
	// Fleet is what serves: loads are those of one of its replicas, and so are the trials'. Its zero value is the model
	// alone.
	Fleet Fleet
}

// mostReplicas are run of a larger fleet: one more changes little that a request sees.
const mostReplicas = 8

// serve is what the fleet makes of requests whose load is that of one replica.
func (q *Question) serve(m *Model, load float64, n int) []Request {
	f := q.Fleet
	f.Model, f.Replicas = m, min(max(1, f.Replicas), mostReplicas)
	workers := 0
	if q.Whole {
		workers = int(load) * f.Replicas
	}
	sent := q.Source(load*float64(f.Replicas), n)
	const settling = 800 // requests of one replica, as in the source
	for i := range min(n/4, settling*(f.Replicas-1)) {
		sent[settling+i].Window = false
	}
	return f.serve(sent, workers)
}

// Operating is the answer, with its interval. Low 0 or High +Inf: not in the range.
type Operating struct {
	Low, Best, High float64
	Rejected        string // why the twin is no model of this server; empty: it is one
	Outside         string // why the rows do not bear this answer out, though the twin is a model; empty: they do
}

// What simulations of many kinds of servers asked for (docs/predict.md#the-twin).
const (
	widening = 2.5   // standard errors in half of an interval of 95 %
	misfit   = 0.012 // of ln(percentile): the model's own, beside what the residuals show

	leastMisfit = 0.006 // the same of an operating point, which has the spread of the residuals, too
)

const leastWidth = 0.02 // half of the interval of ln(load), at least

// Operating answers from the trials.
func (m *Model) Operating(trials []Trial, q Question) Operating {
	c := newCurve(m, q)
	var out Operating
	untold := ""
	corrections := make([]*correction, len(q.Limits))
	all := m.Residuals(trials, q.Limits...)
	for i, l := range q.Limits {
		all[i] = telling(all[i], l.Value)
		if len(all[i]) == 0 {
			untold = "no row below the limit has enough requests"
		}
		corrections[i] = newCorrection(all[i])
		corrections[i].misfit = math.Hypot(leastMisfit, spread(all[i]))
	}
	c.corrections = corrections
	best, low, high := c.cross(0), c.cross(widening), c.cross(-widening)
	out.Best = best
	speed := 2 * math.Hypot(q.Changed, math.Hypot(m.SpeedError, q.distant(trials, best)))
	widen := func(end float64) float64 { return max(leastWidth, math.Hypot(math.Log(end/best), speed)) }
	out.Low, out.High = best*math.Exp(-widen(low)), best*math.Exp(widen(high))
	out.Rejected = rejected(all, q.Limits, best, q.Beyond)
	out.Outside = cmp.Or(untold, outside(trials, all, best, q.Beyond))
	if low == 0 {
		out.Low = 0
	}
	return out
}

// Highest is the highest load at which the model as it is, without trials that correct it, meets all limits; 0, +Inf:
// none and all of the range do.
func (m *Model) Highest(q Question) float64 {
	c := newCurve(m, q)
	for range q.Limits {
		c.corrections = append(c.corrections, &correction{})
	}
	return c.cross(0)
}

// State is the model at a load: its limited percentiles over their limits, and the mean requests in flight in one
// replica, with their tokens that no other request shares.
type State struct {
	Over     []float64
	InFlight float64
	Tokens   float64
}

// At is the model as it is at a load.
func (m *Model) At(q Question, load float64) State {
	own := q.serve(m, load, q.Requests)
	s := State{InFlight: load * quantile(values(own, own, "e2e"), 0)}
	for _, r := range own {
		s.Tokens += load / float64(len(own)) * (r.Last - r.Arrival) * float64(r.Prompt-r.Cached+r.Output/2)
	}
	for _, l := range q.Limits {
		s.Over = append(s.Over, quantile(values(own, own, l.Metric), l.P)/l.Value)
	}
	return s
}

// telling leaves out residuals of loads that are far over the limit, measured and in the twin alike: where a queue
// grows a small error of the speed is a large one of the wait, and no matter.
func telling(residuals []Residual, limit float64) []Residual {
	const far = 1.5
	return slices.DeleteFunc(residuals, func(r Residual) bool { return min(r.Measured, r.Twin) > far*limit })
}

// spread is what residuals differ from 0 by beyond their errors, as a standard deviation (the method of moments of
// random effects: DerSimonian and Laird 1986, with equal weights): a server of another kind has a misfit of its own at
// each load, and so at the operating point. 0 where the errors explain the residuals.
func spread(residuals []Residual) float64 {
	sum := 0.0
	for _, r := range residuals {
		sum += r.Log*r.Log - r.Error*r.Error
	}
	return math.Sqrt(max(0, sum/float64(max(1, len(residuals)))))
}

// distant is the error of the step times at a load by its distance from the nearest measured one, as a share. Above all
// of them a server can be another one: its batch, its cache or its queue is full.
func (q *Question) distant(trials []Trial, load float64) float64 {
	between, above := 0.15, 0.3 // of ln(ratio of the loads)
	if q.Beyond {
		above = 0.1
	}
	nearest, highest := math.Inf(1), 0.0
	steady := func(t Trial) bool { return !t.Cut && !t.Filling }
	none := !slices.ContainsFunc(trials, steady)
	for i := range trials {
		if none || steady(trials[i]) {
			nearest, highest = min(nearest, math.Abs(math.Log(load/trials[i].Load))), max(highest, trials[i].Load)
		}
	}
	if load > highest {
		return above * nearest
	}
	return between * nearest
}

const gridStep = 0.01 // of ln(load)

type point struct{ log, err float64 } // ln(percentile ÷ limit) of a long run

// run is a long run: its place in the grid of loads, and its requests.
type run struct{ at, requests int }

type curve struct {
	m           *Model
	q           Question
	corrections []*correction
	values      map[run][]point
	last        int
	behind      bool // the last run did not keep up with its arrivals
}

func newCurve(m *Model, q Question) *curve {
	return &curve{m: m, q: q, values: map[run][]point{}, last: int(math.Ceil(math.Log(q.Max/q.Min) / gridStep))}
}

func (c *curve) load(i int) float64 {
	x := c.q.Min * math.Exp(gridStep*float64(i))
	if c.q.Whole {
		x = math.Round(x)
	}
	return min(x, c.q.Max)
}

func (c *curve) at(r run) []point {
	if v, ok := c.values[r]; ok {
		return v
	}
	own := c.q.serve(c.m, c.load(r.at), r.requests)
	const kept = 0.97 // of the arrivals' time, a stay apart
	first, last := own[0], own[len(own)-1]
	c.behind = !c.q.Whole && last.Arrival-first.Arrival < kept*(last.Last-(first.Last-first.Arrival)-first.Arrival)
	var out []point
	sorted := map[string][][]float64{} // by metric: all, and each section
	for _, l := range c.q.Limits {
		if sorted[l.Metric] == nil {
			sorted[l.Metric] = sections(values(own, own, l.Metric))
		}
		all := sorted[l.Metric]
		var logs []float64
		for _, part := range all[1:] {
			logs = append(logs, math.Log(ranked(part, l.P)))
		}
		out = append(out, point{math.Log(ranked(all[0], l.P) / l.Value),
			deviation(logs) / math.Sqrt(float64(len(logs)))})
	}
	c.values[r] = out
	return out
}

// sections are values in order: all of them, and those of each section.
func sections(v []float64) [][]float64 {
	const most, fewest = 10, 20
	out, n := [][]float64{nil}, max(1, min(most, len(v)/fewest))
	for i := range n {
		part := slices.Clone(v[i*len(v)/n : (i+1)*len(v)/n])
		slices.Sort(part)
		out = append(out, part)
	}
	out[0] = merged(out[1:])
	return out
}

// merged is the values of sorted slices in order.
func merged(all [][]float64) []float64 {
	if len(all) == 1 {
		return all[0]
	}
	a, b := merged(all[:len(all)/2]), merged(all[len(all)/2:])
	out := make([]float64, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if b[0] < a[0] {
			a, b = b, a
		}
		out, a = append(out, a[0]), a[1:]
	}
	return append(append(out, a...), b...)
}

// over is the largest ln(percentile ÷ limit) in a long run, with k times its error added.
func (c *curve) over(r run, k float64) float64 {
	most := math.Inf(-1)
	x := math.Log(c.load(r.at))
	for l, p := range c.at(r) {
		mean, err := c.corrections[l].near(x)
		most = max(most, p.log+mean+k*math.Hypot(math.Hypot(err, p.err), c.corrections[l].misfit))
	}
	return most
}

// cross is the load from which a limit is exceeded; 0, +Inf: everywhere, nowhere in the range.
func (c *curve) cross(k float64) float64 {
	low, high := c.between(0, c.last, coarse, k)
	const beside = 3
	for step := beside; low > 0 && c.over(run{low, c.q.Requests}, k) > 0; step *= 2 {
		low = max(0, low-step)
	}
	for step := beside; high < c.last && c.over(run{high, c.q.Requests}, k) <= 0; step *= 2 {
		high = min(c.last, high+step)
	}
	a, b := c.over(run{low, c.q.Requests}, k), c.over(run{high, c.q.Requests}, k)
	switch {
	case a > 0:
		return 0
	case b <= 0:
		return math.Inf(1)
	}
	low, high = c.between(low, high, c.q.Requests, k)
	a, b = c.over(run{low, c.q.Requests}, k), c.over(run{high, c.q.Requests}, k)
	share := 0.5
	if !math.IsInf(b-a, 0) && b > a {
		share = -a / (b - a)
	}
	return math.Exp(math.Log(c.load(low))*(1-share) + math.Log(c.load(high))*share)
}

// between halves a part of the grid until its ends are neighbours.
func (c *curve) between(low, high, requests int, k float64) (int, int) {
	for high-low > 1 {
		if middle := (low + high) / 2; c.over(run{middle, requests}, k) > 0 {
			high = middle
		} else {
			low = middle
		}
	}
	return low, high
}

// Latency is a percentile in seconds, with its interval of 95 %.
type Latency struct{ Value, Low, High float64 }

// Latencies are those of q's limits, whose values do not count, at loads, by long runs of q's number of requests; nil:
// the twin does not keep up with a load, or has no residual.
func (m *Model) Latencies(trials []Trial, q Question, loads []float64) [][]Latency {
	var corrections []*correction
	for _, residuals := range m.Residuals(trials, q.Limits...) {
		if len(residuals) == 0 {
			return make([][]Latency, len(loads))
		}
		corrections = append(corrections, newCorrection(residuals))
	}
	out := make([][]Latency, len(loads))
	for i, load := range loads {
		// A server that is faster or slower by an error of its speed is one at another load.
		speed := math.Exp(2 * math.Hypot(q.Changed, math.Hypot(m.SpeedError, q.distant(trials, load))))
		var at [3][]point
		behind := false
		for j, x := range []float64{load, load / speed, load * speed} {
			if q.Min, q.Max = x, x; q.Whole {
				q.Min = max(1, math.Round(x))
				q.Max = q.Min
			}
			c := newCurve(m, q)
			at[j] = c.at(run{0, q.Requests})
			if behind = j == 0 && c.behind; behind {
				break
			}
		}
		if behind {
			continue
		}
		for j, p := range at[0] {
			mean, err := corrections[j].near(math.Log(load))
			half := max(leastWidth, widening*math.Hypot(math.Hypot(err, p.err), misfit))
			scale := q.Limits[j].Value * math.Exp(mean)
			low, high := min(p.log, at[1][j].log, at[2][j].log)-half, max(p.log, at[1][j].log, at[2][j].log)+half
			l := Latency{scale * math.Exp(p.log), scale * math.Exp(low), scale * math.Exp(high)}
			if math.IsNaN(l.Value) || math.IsInf(l.High, 0) {
				out[i] = nil
				break
			}
			out[i] = append(out[i], l)
		}
	}
	return out
}

// outside is why the loads of the trials do not bear an operating point out; empty: they do.
func outside(trials []Trial, residuals [][]Residual, best float64, beyond bool) string {
	const below, above = math.Ln2, 0.25 // of ln(ratio)
	lowest, highest := math.Inf(1), 0.0
	for i := range trials {
		if !trials[i].Cut && (!trials[i].Filling || reproduced(residuals, trials[i].Load)) {
			lowest, highest = min(lowest, trials[i].Load), max(highest, trials[i].Load)
		}
	}
	switch {
	case math.IsInf(best, 1):
		return "no load exceeds a limit"
	case best == 0 || math.Log(lowest/best) > below:
		return "the limit is far below the lowest measured load"
	case math.Log(best/highest) > above && !beyond:
		return fmt.Sprintf("the limit, at %.4g, is far above %.4g, the highest steady load", best, highest)
	}
	return ""
}

const (
	mostResidual  = 0.15 // of ln(percentile), where its error is small
	fewestRanking = 40   // requests of a percentile that rejects a twin
)

// Reproduced reports whether the twin has a percentile that a row's requests show.
func (r *Residual) Reproduced() bool { return r.N >= fewestRanking && math.Abs(r.Log) <= mostResidual }

// reproduced reports whether the twin has what was measured at a load, on its very arrivals. So a row whose window is
// too short for its steady state, or that no server keeps up with, shows how the server is up to there.
func reproduced(all [][]Residual, load float64) bool {
	found := false
	for _, residuals := range all {
		for _, r := range residuals {
			if r.Load != load {
				continue
			}
			if !r.Reproduced() {
				return false
			}
			found = true
		}
	}
	return found
}

// rejected is the residual near the operating point that is too large beside its error; empty: none is. A percentile of
// too few requests for a bound has the luck of one of them: such rows also count together, those of each side.
func rejected(all [][]Residual, limits []Limit, best float64, beyond bool) string {
	low := -1.0
	if beyond { // what is far below the limit is all there is
		low = math.Inf(-1)
	}
	for i, residuals := range all {
		near := 0.4 // of ln(ratio), or as far as the nearest load
		nearest := math.Inf(1)
		for _, r := range residuals {
			nearest = min(nearest, math.Abs(math.Log(r.Load/best)))
		}
		near = max(near, nearest)
		var few [2][]Residual // below the operating point, and from there on
		for _, r := range residuals {
			if math.Abs(math.Log(r.Load/best)) > near || r.N < fewestRanking ||
				max(r.Measured, r.Twin) < limits[i].Value*math.Exp(low) {
				continue
			}
			if luck := limits[i].luck(r.N); luck > 0 {
				r.Error = math.Hypot(r.Error, luck)
				side := 0
				if r.Load >= best {
					side = 1
				}
				few[side] = append(few[side], r)
			}
			if r.tooLarge() {
				return limits[i].residualText(&r, "at")
			}
		}
		for _, rows := range few {
			if len(rows) == 0 {
				continue
			}
			if r := meanOf(rows); r.tooLarge() {
				return limits[i].residualText(&r, "near")
			}
		}
	}
	return ""
}

func (l *Limit) residualText(r *Residual, place string) string {
	return fmt.Sprintf("%s residual %+.0f %% %s load %.4g", strings.ToUpper(l.Metric), 100*math.Expm1(r.Log), place,
		r.Load)
}

func (r *Residual) tooLarge() bool {
	const deviations = 3
	return math.Abs(r.Log) > max(mostResidual, deviations*r.Error)
}

// luck is the error of ln(percentile) of n requests that do not bound it from above, by the order statistics of
// exponential times; 0 of more requests, and of a mean.
func (l *Limit) luck(n int) float64 {
	const unbounded = 0.025
	if l.P == 0 || math.Pow(l.P, float64(n)) <= unbounded {
		return 0
	}
	return math.Sqrt(l.P/(1-l.P)/float64(n)) / -math.Log(1-l.P)
}

// meanOf joins residuals by their requests.
func meanOf(residuals []Residual) (mean Residual) {
	squares, n := 0.0, 0.0
	for _, r := range residuals {
		own := float64(r.N)
		n += own
		mean.Log, mean.Load, squares = mean.Log+own*r.Log, mean.Load+own*r.Load, squares+own*own*r.Error*r.Error
	}
	mean.Log, mean.Load, mean.Error = mean.Log/n, mean.Load/n, math.Sqrt(squares)/n
	return mean
}
