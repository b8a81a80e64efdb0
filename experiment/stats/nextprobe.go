package stats

import (
	"cmp"
	"math"
	"slices"
)

// Probe is what one run shows about the threshold: the highest load at which a condition holds.
type Probe struct {
	Load    float64
	Verdict Verdict // whether the condition holds at this load; empty = UNDECIDED
	Log     float64 // ln(figure ÷ limit) of the limit that is nearest to be exceeded, or exceeded most; NaN = unknown
	Counted bool    // the window ends by a number of requests: none is longer
	Need    float64 // s that a window at this load needs for a verdict; 0 = not known
	Stay    float64 // mean time of a request in the server, s; 0 = not known, or it did not keep up
	Window  float64 // s; 0 = not known
	Spent   float64 // s
}

// Between is the threshold by the verdicts alone: above the highest PASS and below the lowest FAIL, and the likeliest
// load between them by the line through the logarithms of the figures on both sides of the limit. Where verdicts
// contradict each other, all of their loads are between the ends.
func (s Search) Between(probes []Probe) (b Bracket) {
	lowestFail, passed := math.Inf(1), highestPass(probes)
	for _, p := range probes {
		if p.Verdict == Fail {
			lowestFail = min(lowestFail, p.Load)
		}
	}
	low, high := 0.0, math.Inf(1)
	for _, p := range probes {
		if p.Verdict == Pass && p.Load < lowestFail {
			low = max(low, p.Load)
		} else if p.Verdict == Fail && p.Load > passed {
			high = min(high, p.Load)
		}
	}
	if low > 0 && low >= s.end() && math.IsInf(high, 1) {
		low = s.Max
	}
	if low > 0 {
		b.Low = new(low)
	}
	if !math.IsInf(high, 1) {
		b.High = new(high)
	}
	if b.Bounds() {
		best := s.Round(s.crossing(probes, low, high), false)
		b.Best = &best
	}
	return b
}

// Bounds reports whether both ends are known and near enough to each other for a likeliest load between them.
func (b Bracket) Bounds() bool {
	const widest = 3 // times the lower end
	return b.Low != nil && b.High != nil && *b.High <= widest**b.Low
}

func (s Search) crossing(probes []Probe, low, high float64) float64 {
	const most = 1 // |ln(figure ÷ limit)| that counts
	inside := slices.DeleteFunc(slices.Clone(probes), func(p Probe) bool {
		return p.Load < low || p.Load > high || math.IsNaN(p.Log)
	})
	slices.SortFunc(inside, func(a, b Probe) int { return cmp.Compare(a.Load, b.Load) })
	for i := 1; i < len(inside); i++ {
		a, b := &inside[i-1], &inside[i]
		if x, y := max(a.Log, -most), min(b.Log, most); x <= 0 && y > 0 {
			return a.Load * math.Pow(b.Load/a.Load, x/(x-y))
		}
	}
	return math.Sqrt(low * high)
}

// Pace is what decides the length of probes, in seconds.
type Pace struct {
	Budget float64 // of the whole search
	Start  float64 // load of the first probe; 0 = in the middle of the range
	Warmup float64 // of the first probe
	Least  float64 // shortest window
	Most   float64 // longest window; 0 = any
	// Verdict is the number of requests' times in the server, one after the other, in the shortest window with a
	// verdict.
	Verdict float64
	Fewest  float64 // requests of a verdict; 0 = any
	Beat    float64 // the search ends when the threshold is not above it; 0 = in any case by its tolerance or budget
}

type Step struct {
	Load           float64
	Warmup, Window float64 // s
	drain          float64 // s, until its last requests have ended; 0 = not known
}

// Next is the next probe; more is false if the search is over. known is what the probes show together: where it has a
// best load the next probe is just below it, where it narrows most and can pass; else at the middle of what the probes
// lean to. What the budget must leave for a verdict at the lower end of the answer is spent there at last.
func (s Search) Next(probes []Probe, pace Pace, known Bracket) (step Step, more bool) {
	if len(probes) == 0 {
		step = Step{Load: s.allowed(cmp.Or(pace.Beat, pace.Start, math.Sqrt(s.Min*s.Max))), Warmup: pace.Warmup,
			Window: pace.Least}
		if pace.Start > 0 { // a slow server has few requests in the shortest window
			step.Window = max(step.Window, pace.telling(step.Load))
		}
		pace.fit(&step, 0)
		return step, true
	}
	spent := spentOn(probes)
	low, high := 0.0, math.Inf(1)
	if known.Low != nil {
		low = *known.Low
	}
	if known.High != nil {
		high = *known.High
	}
	if high <= max(s.Min, pace.Beat) {
		return Step{}, false
	}
	quoted, covered := s.quoted(probes, pace, low, known.Best)
	ends := quoted >= s.Max || low > 0 && s.Close(low, high)
	if covered && ends {
		return Step{}, false
	}
	at := s.place(probes, pace, known.Best)
	step = s.step(probes, pace, spent, at)
	if last, open := s.settling(probes, pace, at, known.Best); open && pace.fit(&last, spent) {
		step = last
	} else if s.Whole || known.Best == nil { // of a rate a twin learns from each probe
		if step, more = s.newly(probes, pace, spent, at, known); !more {
			return Step{}, false
		}
	}
	if quoted < s.Min || covered {
		return step, pace.fit(&step, spent)
	}
	last := s.Confirming(probes, pace, quoted)
	if ends { // with what the budget has left, if that is half of it
		return last, pace.fit(&last, spent)
	}
	cost := last.Warmup + last.Window + last.drain
	const enough = 0.9 // the answer, and with it the cost, moves with each probe
	if left := pace.Budget - spent; enough*cost <= left {
		explored := pace
		explored.Budget -= cost
		if !explored.fit(&step, spent) {
			return last, pace.fit(&last, spent)
		}
	}
	return step, pace.fit(&step, spent)
}

// settling is a probe that is long enough for a verdict, where a short one at the next load would show nothing: at the
// highest load of the range if all of it leans to PASS; where the next load is the last one again; without a best load,
// at the ends of what the probes lean to, once they are near to each other, and below them. open is false if there is
// none, or if probes that were long enough left it open.
func (s Search) settling(probes []Probe, pace Pace, next float64, best *float64) (step Step, open bool) {
	low, high := Leaning(probes)
	var loads []float64
	if low > 0 && low >= s.end() && math.IsInf(high, 1) {
		loads = append(loads, s.Max)
	}
	if s.same(probes[len(probes)-1].Load, next) {
		loads = append(loads, next)
	}
	if best == nil && low > 0 && s.Close(low, high) {
		loads = append(loads, high, low)
		for _, m := range margins {
			if below := s.Round(m*low, false); below > highestPass(probes) {
				loads = append(loads, below)
			}
		}
	}
	for _, load := range loads {
		if step, open = s.deciding(probes, pace, load); open {
			return step, true
		}
	}
	return step, false
}

// end is the highest load of the range as probes of it are rounded.
func (s Search) end() float64 { return s.Round(s.Max, false) }

// same reports whether two loads are one but for the rounding of the range's end.
func (s Search) same(a, b float64) bool { return s.Round(a, false) == s.Round(b, false) }

// deciding is a probe at a load, as short as a verdict can be, then as long as the last one of a search. open is false
// if one at that load has a verdict or was that long.
func (s Search) deciding(probes []Probe, pace Pace, load float64) (step Step, open bool) {
	const nearly, enough = 0.95, 1.2 // of a window; times the longest one
	step = s.Confirming(probes, pace, load)
	stay := stayAt(probes, load)
	brief := max(pace.Least, pace.Verdict*stay, s.fewest(pace, load, stay))
	for _, p := range probes {
		if s.same(p.Load, load) {
			brief = max(brief, p.Need)
		}
	}
	if pace.Most > 0 {
		brief, step.Window = min(brief, pace.Most), min(step.Window, pace.Most)
	}
	longest, decided := s.longest(probes, load)
	if longest < nearly*brief {
		step.Window = min(step.Window, max(brief, enough*longest))
	}
	return step, !decided && enough*longest <= step.Window
}

// newly is a probe at a load without a verdict, the one with the shortest windows first, that is longer than all there:
// an equally long one would show the same. more is false if the budget, or what ends a window, allows none.
func (s Search) newly(probes []Probe, pace Pace, spent, next float64, known Bracket) (step Step, more bool) {
	const longer, enough = 1.5, 1.2 // times the longest window; what the budget must leave of it
	for _, load := range s.undecided(probes, next, known) {
		tried, _ := s.longest(probes, load)
		step = s.step(probes, pace, spent, load)
		step.Window = max(step.Window, longer*tried)
		if fits := step; pace.fit(&fits, spent) && fits.Window >= enough*tried {
			return step, true
		}
	}
	return Step{}, false
}

// undecided are loads without a verdict: the next one, those between the ends of what the probes lean to, and beyond what
// was probed where an end is missing.
func (s Search) undecided(probes []Probe, next float64, known Bracket) (loads []float64) {
	low, high := Leaning(probes)
	least, most, passed := math.Inf(1), 0.0, highestPass(probes)
	for _, p := range probes {
		least, most = min(least, p.Load), max(most, p.Load)
	}
	all := []float64{next, high, low}
	if best := known.Best; best != nil {
		all = append(all, *best, *best+1, passed+1)
	}
	if passed == 0 {
		all = append(all, 0.75*least, least/2)
	}
	if s.Between(probes).High == nil {
		all = append(all, 1.15*low, 1.3*low, 1.4*most)
	}
	for _, load := range all {
		at := s.allowed(load)
		if _, decided := s.longest(probes, at); load > 0 && !math.IsInf(load, 1) && !decided && !slices.Contains(loads, at) {
			loads = append(loads, at)
		}
	}
	slices.SortStableFunc(loads, func(a, b float64) int {
		x, _ := s.longest(probes, a)
		y, _ := s.longest(probes, b)
		return cmp.Compare(x, y)
	})
	return loads
}

// longest is the longest window at a load; decided: a probe there has a verdict, or no window can be longer.
func (s Search) longest(probes []Probe, load float64) (window float64, decided bool) {
	for _, p := range probes {
		if s.same(p.Load, load) {
			window = max(window, p.Window)
			long := p.Counted && p.Window > 0 // without a window it is invalid
			decided = decided || p.Verdict == Pass || p.Verdict == Fail || long
		}
	}
	return window, decided
}

// place is the load of the next probe: in turn just below the best one, at it and below, so that no load is probed
// twice in a row; without a best load the middle of what the probes lean to.
func (s Search) place(probes []Probe, pace Pace, best *float64) float64 {
	if next := highestPass(probes) + 1; best != nil && s.Whole && next > *best {
		missed := func(p Probe) bool { return p.Load == next && p.Verdict == Fail }
		if !slices.ContainsFunc(probes, missed) { // no load is between them
			return s.allowed(next)
		}
	}
	if best != nil {
		farthest := 1.7     // times the highest load so far
		if pace.Start > 0 { // which is far below the best one
			farthest = 2.5
		}
		beside := [...]float64{0.95, 1, 0.88}
		highest := 0.0
		for _, p := range probes {
			highest = max(highest, p.Load)
		}
		return s.allowed(min(*best*beside[len(probes)%len(beside)], farthest*highest))
	}
	const away = 2
	low, high := Leaning(probes)
	switch {
	case low == 0 && math.IsInf(high, 1):
		return s.allowed(probes[len(probes)-1].Load / away)
	case low == 0:
		return s.allowed(high / away)
	case math.IsInf(high, 1):
		return s.allowed(low * away)
	}
	return s.allowed(math.Sqrt(low * high))
}

// Leaning is what the probes lean to: the highest load that leans to PASS, below the lowest that leans to FAIL; 0 and
// +Inf = none. A verdict outweighs what leans the other way at its load.
func Leaning(probes []Probe) (low, high float64) {
	passed := highestPass(probes)
	high = math.Inf(1)
	for _, p := range probes {
		if p.leans() == Fail && (p.Verdict == Fail || p.Load > passed) {
			high = min(high, p.Load)
		}
	}
	for _, p := range probes {
		if p.leans() == Pass && p.Load < high {
			low = max(low, p.Load)
		}
	}
	return low, high
}

func highestPass(probes []Probe) (load float64) {
	for _, p := range probes {
		if p.Verdict == Pass {
			load = max(load, p.Load)
		}
	}
	return load
}

// Likely is Between with what each probe leans to in place of a verdict that it lacks.
func (s Search) Likely(probes []Probe) Bracket {
	leaning := slices.Clone(probes)
	for i := range leaning {
		leaning[i].Verdict = leaning[i].leans()
	}
	return s.Between(leaning)
}

func (p *Probe) leans() Verdict {
	switch {
	case p.Verdict == Pass, p.Verdict == Fail:
		return p.Verdict
	case p.Log <= 0:
		return Pass
	case p.Log > 0:
		return Fail
	}
	return Undecided
}

// drains is how long the last requests of a window take to end, in mean times of a request.
const drains = 2

// margins below the likeliest load at which a last probe is to pass: nearer to the limit a verdict takes longer.
var margins = [...]float64{0.92, 0.85, 0.75, 0.6}

// quoted is the load of the last probe: the lower end, but not too near to the limit, and lower each time that a long
// run there could not decide it. It is 0 without a lower end. covered: a run has passed there, or none will.
func (s Search) quoted(probes []Probe, pace Pace, low float64, best *float64) (load float64, covered bool) {
	const below, nearly = 0.05, 0.7
	if low < s.Min {
		return 0, false
	}
	if best == nil || low >= s.Max {
		if load = s.Max; low < s.Max { // which can have more digits than a load of a probe
			load = s.Round(low, false)
		}
		return load, s.passed(probes, load, max(below, s.Tolerance))
	}
	open := 0
	for _, p := range probes {
		if p.Verdict != Pass && p.Load <= *best && p.Load >= margins[len(margins)-1]**best && (p.Counted ||
			p.Window >= nearly*pace.confirms(p.Stay)) {
			open++
		}
	}
	at := min(open, len(margins)-1)
	load = s.Round(max(s.Min, min(low, margins[at]**best)), false)
	return load, open > at || s.passed(probes, load, max(below, s.Tolerance))
}

func (s Search) passed(probes []Probe, load, below float64) bool {
	return slices.ContainsFunc(probes, func(p Probe) bool { return p.Verdict == Pass && p.Load*(1+below) >= load })
}

// Confirming is a probe that is long enough for a verdict at a load, by what the probes show.
func (s Search) Confirming(probes []Probe, pace Pace, load float64) Step {
	const similar = 0.2 // ln of the ratio of two loads that need as many requests
	stay := stayAt(probes, load)
	step := Step{Load: load, Warmup: max(pace.Warmup, 3*stay), Window: pace.confirms(stay), drain: drains * stay}
	step.Window = max(step.Window, s.fewest(pace, load, stay))
	for _, p := range probes {
		// one nearer to the limit needs more
		if d := math.Log(load / p.Load); p.Need > 0 && d >= -0.03 && d <= similar {
			step.Window = max(step.Window, min(p.Need*p.Load/load, 3*pace.Verdict*stay))
		}
	}
	return step
}

// fewest is the window in which a slow server gets the requests of a verdict, in a part of the budget.
func (s Search) fewest(pace Pace, load, stay float64) float64 {
	const part = 3
	if s.Whole { // workers: the rate is by Little's law
		load /= stay
	}
	return min(pace.Fewest/load, pace.Budget/part)
}

func spentOn(probes []Probe) (sum float64) {
	for _, p := range probes {
		sum += p.Spent
	}
	return sum
}

// At is a probe at a load, long enough for a verdict or like those that explore; more is false if the budget is spent.
func (s Search) At(probes []Probe, pace Pace, load float64, verdict bool) (step Step, more bool) {
	spent := spentOn(probes)
	if step = s.step(probes, pace, spent, load); verdict {
		step = s.Confirming(probes, pace, load)
	}
	return step, pace.fit(&step, spent)
}

func (s Search) step(probes []Probe, pace Pace, spent, load float64) Step {
	const part, fill, long, fewest = 6, 3, 10, 60
	stay := stayAt(probes, load)
	return Step{Load: load, Warmup: max(pace.Warmup, fill*stay), drain: drains * stay,
		Window: max(pace.Least, spent/part, long*stay, min(fewest/load, pace.Budget/part/2), pace.telling(load))}
}

// telling is a window with enough requests for a p95, in a part of the budget.
func (p Pace) telling(load float64) float64 {
	const requests, part = 26, 3
	return min(requests/load, p.Budget/part)
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

func (p Pace) fit(step *Step, spent float64) bool {
	if p.Most > 0 {
		step.Window = min(step.Window, p.Most)
	}
	left := p.Budget - spent - step.Warmup - step.drain
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
		if p.Stay > 0 && d < best {
			best, stay = d, p.Stay
		}
	}
	return stay
}
