package stats

import (
	"cmp"
	"math"
	"slices"
)

// Pace is what decides the length of probes, in seconds.
type Pace struct {
	Budget float64 // of the whole search
	Warmup float64 // of the first probe
	Least  float64 // shortest window
	Most   float64 // longest window; 0 = any
	// Verdict is the number of requests' times in the server, one after the other, in the shortest window with a verdict.
	Verdict float64
	Beat    float64 // the search ends when the threshold is not above it; 0 = in any case by its tolerance or budget
}

type Step struct {
	Load           float64
	Warmup, Window float64 // s
}

// Next is the next probe; more is false if the search is over. It goes where a probe tells most about the threshold,
// and at first to the middle of what is possible. Windows grow with the time spent. What the budget must leave for a
// verdict at the lower end of the answer is spent there at last.
func (s Search) Next(probes []Probe, pace Pace) (step Step, more bool) {
	if len(probes) == 0 {
		step = Step{Load: s.allowed(cmp.Or(pace.Beat, math.Sqrt(s.Min*s.Max))), Warmup: pace.Warmup, Window: pace.Least}
		pace.fit(&step, 0)
		return step, true
	}
	r := s.Region(probes)
	spent := 0.0
	for _, p := range probes {
		spent += p.Spent
	}
	if r.High <= max(s.Min, pace.Beat) {
		return Step{}, false
	}
	quoted := s.quoted(r)
	if s.covered(probes, quoted, pace) && (quoted >= s.Max || s.Close(r.Low, r.High)) {
		return Step{}, false
	}
	step = s.step(r, probes, pace, spent, r.best(s, probes))
	if quoted < s.Min || s.covered(probes, quoted, pace) {
		return step, pace.fit(&step, spent)
	}
	last := s.Confirming(probes, pace, quoted)
	cost := last.Warmup + last.Window + 2*stayAt(probes, quoted)
	ends := quoted >= s.Max || s.Close(r.Low, r.High)
	const wide = 1.4   // a wider answer is worth more probes than a verdict at its end
	const enough = 0.9 // the answer, and with it the cost, moves with each probe
	if left := pace.Budget - spent; enough*cost <= left && (cost <= confirming*pace.Budget || ends) {
		explored := pace
		explored.Budget -= cost + 2*stayAt(probes, step.Load)
		if ends || r.High <= wide*r.Low && !explored.fit(&step, spent) {
			return last, pace.fit(&last, spent)
		}
	}
	return step, pace.fit(&step, spent) && !ends
}

// quoted is the load of the last probe: the lower end, but not so near to the limit that a verdict takes long. It is 0
// without a lower end.
func (s Search) quoted(r *Region) float64 {
	const margin = 0.92 // of the estimate
	load := min(r.Low, s.Max)
	if load < s.Max && margin*r.Best >= s.Min && r.Low > s.Min {
		load = max(s.Min, min(load, margin*r.Best))
	}
	return s.Round(load, false)
}

// confirming is the largest share of the budget that is kept for the last probe.
const confirming = 0.42

// Confirming is a probe that is long enough for a verdict at a load, as far as is known.
func (s Search) Confirming(probes []Probe, pace Pace, load float64) Step {
	stay := stayAt(probes, load)
	step := Step{Load: load, Warmup: max(pace.Warmup, 3*stay), Window: pace.confirms(stay)}
	for _, p := range probes {
		if d := math.Log(load / p.Load); p.Need > 0 && d >= -0.03 && d <= similar { // one nearer to the limit needs more
			step.Window = max(step.Window, min(p.Need/load, 3*pace.Verdict*stay))
		}
	}
	return step
}

func (s Search) step(r *Region, probes []Probe, pace Pace, spent, load float64) Step {
	const part, fill, fewest = 6, 3, 60
	step := Step{Load: load, Warmup: pace.Warmup}
	stay := stayAt(probes, load)
	if stay > 0 {
		step.Warmup = fill*stay + 2*r.likelihood.longest(math.Log(load))/load
	}
	step.Window = max(pace.Least, spent/part, 2*stays*stay, min(fewest/load, pace.Budget/part/2))
	if relaxation := r.likelihood.queue.relaxation(load); !math.IsInf(relaxation, 1) {
		const most = 3 // a window takes at most this part of the time spent for its queue
		step.Window = max(step.Window, min(relaxations*relaxation, spent/most))
		step.Warmup = max(step.Warmup, min(2*relaxation, step.Window/2))
	}
	return step
}

// confirms is the shortest window of the last probe, s.
func (p Pace) confirms(stay float64) float64 {
	const share = 6 // of the budget
	window := max(p.Least, p.Budget/share, p.Verdict*stay)
	if p.Most > 0 {
		window = min(window, p.Most)
	}
	return window
}

// covered reports whether a long run has passed at a load, or within the tolerance below it; or several there could
// not decide it.
func (s Search) covered(probes []Probe, load float64, pace Pace) bool {
	const below, nearly, attempts = 0.05, 0.7, 2
	open := 0
	for _, p := range probes {
		if !p.Counted && p.Window < nearly*pace.confirms(p.Stay) || p.Load*(1+max(below, s.Tolerance)) < load {
			continue
		}
		if p.Passed {
			return true
		}
		if s.Close(p.Load, load) && s.Close(load, p.Load) {
			open++
		}
	}
	return open >= attempts
}

func (p Pace) fit(step *Step, spent float64) bool {
	if p.Most > 0 {
		step.Window = min(step.Window, p.Most)
	}
	left := p.Budget - spent - step.Warmup
	if left >= step.Window/2 {
		step.Window = min(step.Window, left)
		return true
	}
	return false
}

func stayAt(probes []Probe, load float64) (stay float64) {
	best := math.Inf(1)
	for _, p := range probes {
		d := math.Log(load / p.Load)
		if d < 0 {
			d = 10 - d
		}
		if p.Stay > 0 && p.Verdict != Fail && p.Sustained == 0 && d < best {
			best, stay = d, p.Stay
		}
	}
	return stay
}

func (k *likelihood) longest(log float64) (time float64) {
	for limit := range k.limits {
		time = max(time, k.timeNear(log, limit))
	}
	return time
}

func (r *Region) best(s Search, probes []Probe) float64 {
	switch {
	case math.IsInf(r.High, 1) && s.Max <= 2*r.Low:
		return s.Max
	case r.Low == 0 && r.High <= 2*s.Min:
		return s.Min
	case r.likelihood.limits == 0 || r.Low == 0 || math.IsInf(r.High, 1):
		load := s.allowed(math.Exp(r.middle()))
		const near, away = 0.1, 1.4
		beside := 0
		for _, p := range probes {
			if math.Abs(math.Log(p.Load/load)) < near {
				beside++
			}
		}
		switch { // more of the same does not bound it
		case beside > 0 && r.Low == 0:
			return s.allowed(load / away)
		case beside > 0:
			return s.allowed(load * away)
		}
		return load
	}
	const candidates = 40
	low, high := math.Log(r.Low), math.Log(r.High)
	step := (high - low) / candidates
	best, at := 0.0, r.middle()
	for _, x := range grid(low, high, step) {
		if gain := r.gain(x); gain > best {
			best, at = gain, x
		}
	}
	nearest := 2 * step // the same load again rather than one beside it
	load := math.Exp(at)
	for _, p := range probes {
		if d := math.Abs(math.Log(p.Load) - at); d <= nearest {
			nearest, load = d, p.Load
		}
	}
	load = s.allowed(load)
	overloaded := slices.ContainsFunc(probes, func(p Probe) bool { return p.Load == load && p.Verdict == Fail })
	if overloaded { // a second time shows no more
		return s.allowed(math.Exp(r.middle()))
	}
	if times(probes, load) > 1 && (load <= r.Low || load >= r.High) { // a third run there hardly moves the end
		return s.allowed(math.Sqrt(r.Low * r.High))
	}
	return load
}

func times(probes []Probe, load float64) (n int) {
	for _, p := range probes {
		if p.Load == load {
			n++
		}
	}
	return n
}
