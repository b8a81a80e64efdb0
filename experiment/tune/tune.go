// Package tune races settings of a server against each other: which one to measure next, which ones need no more, and
// what is known of those that were not measured. Its steps:
//
//   - the default setting is measured with its full search, then one challenger after the other. A challenger that
//     certainly does not reach the best setting so far is raced out after few probes;
//   - order One takes one knob after the other, each keeps its best value. Order All takes every combination, the
//     likeliest best first by a model of main effects that all measurements so far are fitted to (model);
//   - with enough measured, the model bounds the settings that are left. Those far below the best are left out, but for
//     a random share that is measured as an audit; an audit above its bound ends the use of the model;
//   - last, the best setting and the default run again on fresh servers and other requests, A B B A (Next), so that the
//     ratio is free of the luck by which the best was chosen;
//   - the certificate bounds how much better any other setting can be (Certify).
//
// All is a function of the trials in their order: whoever repeats them gets the same decisions. It has no clock, no
// files and no servers. Goals are natural logarithms, more is better.
package tune

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

const (
	One = "one" // one knob after the other, in their order
	All = "all" // every combination

	Most = 500 // settings of a space
)

type Space struct {
	Knobs  []int // the number of values of each; the first values together are the default
	Order  string
	Budget float64   // s of server time, with starts; 0 = unlimited
	Prior  []float64 // of each setting, more is better: where to begin, never evidence; nil = none
	Seed   uint64
}

func (s *Space) Size() int {
	n := 1
	for _, values := range s.Knobs {
		n *= values
	}
	return n
}

// Trials is how many settings a race measures: with order All those that a model needs and two audits, at least.
func (s *Space) Trials() (least, most int) {
	n, columns := s.Size(), newModel(s).columns
	if s.Order != All {
		return columns, columns
	}
	return min(n, columns+4), n
}

// Values are the indices of a setting's values. The last knob varies fastest.
func (s *Space) Values(setting int) []int {
	out := make([]int, len(s.Knobs))
	for i := len(s.Knobs) - 1; i >= 0; i-- {
		out[i] = setting % s.Knobs[i]
		setting /= s.Knobs[i]
	}
	return out
}

func (s *Space) with(setting, knob, value int) int {
	step := 1
	for _, values := range s.Knobs[knob+1:] {
		step *= values
	}
	return setting + (value-s.Values(setting)[knob])*step
}

type Trial struct {
	Setting int
	Round   int     // of the confirmation, from 1; 0 = of the race
	Failed  string  // why its server did not start or died; empty = it ran
	Out     bool    // raced out: it does not reach Bound
	Bound   float64 // of a setting that is raced out
	Above   bool    // it passes at the greatest load that is tried: Log is the least that it can have
	// Log is the estimate and Error its standard error. Of a setting that is raced out they are rough: of use for the
	// model alone; Error 0 = unknown.
	Log, Error float64
	Cost       float64 // s of server time
}

type Action struct {
	Setting int
	Round   int
	audit   bool
	Beat    float64 // goal of the best setting so far; -Inf = none
	Done    string  // nothing: Certified, BudgetSpent or NothingRuns; empty = run it
}

const (
	Certified   = "certified"
	BudgetSpent = "budget"
	NothingRuns = "nothing runs"
)

// Race is the state of a race. New begins one, and Add takes the trial of each Action.
type Race struct {
	space     Space
	trials    []Trial
	tried     map[int]int // setting → index of its trial
	audits    map[int]bool
	distrust  bool // an audit was above its bound
	knob      int  // order One: the knob that is varied
	spent     float64
	model     *model
	predicted map[int]float64 // settings that the model leaves out → their bounds
	shuffled  []int           // settings in the order in which audits are drawn
	winner    int             // of the race, once its confirmation has begun; -1 = not yet
	cut       bool            // the budget ended the race before that
}

func New(s Space) *Race {
	r := &Race{space: s, tried: map[int]int{}, audits: map[int]bool{}, winner: -1}
	r.shuffled = rand.New(rand.NewPCG(s.Seed, 0x61756469)).Perm(s.Size())
	return r
}

// Add takes the next trial. One that Next did not ask for counts too: the matrix was another one, or rows were lost.
func (r *Race) Add(t Trial) {
	asked := r.Next()
	if t.Round == 0 {
		if asked.audit && asked.Setting == t.Setting {
			r.audits[t.Setting] = true
			seen := t.Log
			if t.Error == 0 {
				seen = math.Inf(-1)
			}
			r.distrust = r.distrust || t.Failed == "" && seen > r.predicted[t.Setting]
		}
		r.tried[t.Setting], r.model = len(r.trials), nil
	} else if r.winner < 0 {
		r.winner, _ = r.best()
	}
	r.trials = append(r.trials, t)
	r.spent += t.Cost
}

// best is the setting with the highest estimate in the race; -1 = none.
func (r *Race) best() (setting int, t *Trial) {
	setting = -1
	for _, i := range r.tried {
		x := &r.trials[i]
		if x.Failed == "" && !x.Out && (t == nil || x.Log > t.Log || x.Log == t.Log && x.Setting < t.Setting) {
			setting, t = x.Setting, x
		}
	}
	return setting, t
}

func (r *Race) Next() Action {
	best, top := r.best()
	a := Action{Beat: math.Inf(-1)}
	if top != nil {
		a.Beat = top.Log
	}
	if r.winner < 0 {
		setting, audit, more := r.challenger(best, a.Beat)
		if r.cut = more && !r.affords(); more && !r.cut {
			a.Setting, a.audit = setting, audit
			return a
		}
		if best < 0 {
			a.Done = map[bool]string{true: BudgetSpent, false: NothingRuns}[more]
			return a
		}
	}
	return r.confirmation(a)
}

func (r *Race) rounds() []int {
	b := r.winner
	if b < 0 {
		b, _ = r.best()
	}
	if b == 0 || r.failed(0) {
		return []int{b, b}
	}
	return []int{0, b, b, 0}
}

func (r *Race) failed(setting int) bool {
	i, there := r.tried[setting]
	return there && r.trials[i].Failed != ""
}

func (r *Race) confirmation(a Action) Action {
	rounds, done := r.rounds(), 0
	for i := range r.trials {
		if r.trials[i].Round > 0 {
			done++
		}
	}
	a.Beat = math.Inf(-1)
	switch full := r.fullCost(); {
	case done >= len(rounds) && !r.cut:
		a.Done = Certified
	case done >= len(rounds):
		a.Done = BudgetSpent
	case r.space.Budget > 0 && r.spent+full > r.space.Budget:
		a.Done = BudgetSpent
	default:
		a.Setting = rounds[done]
		for _, s := range rounds[:done+1] {
			if s == a.Setting {
				a.Round++
			}
		}
	}
	return a
}

// fullCost is what a full search has taken, with its start; 0 = not known yet.
func (r *Race) fullCost() float64 {
	sum, n := 0.0, 0.0
	for _, t := range r.trials {
		if t.Failed == "" && !t.Out {
			sum, n = sum+t.Cost, n+1
		}
	}
	if n == 0 {
		return 0
	}
	return sum / n
}

// affords reports whether the budget has room for a full search, and then for the confirmation.
func (r *Race) affords() bool {
	const confirmation = 4
	return r.space.Budget == 0 || r.spent == 0 || r.spent+(1+confirmation)*r.fullCost() <= r.space.Budget
}

func (r *Race) challenger(best int, beat float64) (setting int, audit, more bool) {
	if _, tried := r.tried[0]; !tried {
		return 0, false, true
	}
	if r.space.Order != All {
		setting, more = r.inTurn(max(best, 0))
		return setting, false, more
	}
	return r.likeliest(beat)
}

// inTurn is the next value of the knob that is varied, beside the best setting so far.
func (r *Race) inTurn(best int) (setting int, more bool) {
	for ; r.knob < len(r.space.Knobs); r.knob++ {
		for value := range r.space.Knobs[r.knob] {
			setting = r.space.with(best, r.knob, value)
			if _, tried := r.tried[setting]; !tried {
				return setting, true
			}
		}
	}
	return 0, false
}

// likeliest is the untried setting with the highest expectation, then the audits among those that the model leaves out.
func (r *Race) likeliest(beat float64) (setting int, audit, more bool) {
	r.fit(beat)
	best := math.Inf(-1)
	for _, s := range r.shuffled {
		if _, tried := r.tried[s]; tried {
			continue
		}
		if _, out := r.predicted[s]; out {
			continue
		}
		const rounding = 1e-9 // of machines: settings that are alike keep their order
		if x := r.model.promise(s); x > best+rounding {
			setting, best, more = s, x, true
		}
	}
	if more {
		return setting, false, true
	}
	const part, least = 4, 2
	if n := len(r.predicted) + len(r.audits); len(r.predicted) > 0 && len(r.audits) < max(least, (n+part-1)/part) {
		for _, s := range r.shuffled {
			if _, out := r.predicted[s]; out {
				return s, true, true
			}
		}
	}
	return 0, false, false
}

func (r *Race) fit(beat float64) {
	if r.model != nil {
		return
	}
	trials := estimated(r.trials)
	r.model = newModel(&r.space).fit(trials)
	r.model.leaveOneOut(trials)
	r.predicted = map[int]float64{}
	above := func(t Trial) bool { return t.Above } // a sum of effects that are cut off bounds nothing
	if r.distrust || !r.model.predicts() || slices.ContainsFunc(r.trials, above) {
		return
	}
	left := r.space.Size() - len(r.tried)
	for s := range r.space.Size() {
		if _, tried := r.tried[s]; tried {
			continue
		}
		if bound := r.model.bound(s, leftOut/float64(left)); bound < beat {
			r.predicted[s] = bound
		}
	}
}

// leftOut is the probability that any setting that the model leaves out is above its bound.
const leftOut = 0.1

type Standing struct {
	State string // of record.TunedSetting
	Trial *Trial // nil = it has not run
	// Mean and Bound are of the model, for one that it leaves out
	Mean, Bound float64
}

const (
	Measured   = "measured"
	RacedOut   = "raced_out"
	Predicted  = "predicted"
	Audited    = "audited"
	Infeasible = "infeasible"
	NotRun     = "not_run"
)

func (r *Race) Standing(setting int) Standing {
	i, tried := r.tried[setting]
	if !tried {
		if bound, out := r.predicted[setting]; out {
			mean, _ := r.model.at(setting)
			return Standing{State: Predicted, Mean: mean, Bound: bound}
		}
		return Standing{State: NotRun}
	}
	s := Standing{State: Measured, Trial: &r.trials[i]}
	switch {
	case s.Trial.Failed != "":
		s.State = Infeasible
	case r.audits[setting]:
		s.State = Audited
	case s.Trial.Out:
		s.State = RacedOut
	}
	return s
}

func (r *Race) Distrusts() bool { return r.distrust }

// Spent is the server time of all trials, s.
func (r *Race) Spent() float64 { return r.spent }

type Certificate struct {
	Best    int     // setting; -1 = none runs
	Log     float64 // its goal, by the confirmation if there is one
	Error   float64
	Above   bool    // Log and Ratio are the least that it can have
	Ratio   float64 // ln of it over the default's, by the confirmation
	RatioSD float64 // 0 = no confirmation, or the best is the default
	// Excess is ln of how much better any other setting can be, at 95 %; +Inf: nothing bounds it.
	Excess    float64
	Confirmed bool
}

// Certify takes draws of what each setting may have, by all that is known of it, and bounds the best of the others over
// the best one. The best is quoted by its confirmation alone: the estimate that it was chosen by is too high. Nothing
// bounds the others if one of them passes at the greatest load that is tried.
func (r *Race) Certify() Certificate {
	best, top := r.best()
	if r.winner >= 0 {
		best, top = r.winner, &r.trials[r.tried[r.winner]]
	}
	c := Certificate{Best: best, Excess: math.Inf(1)}
	if best < 0 {
		return c
	}
	if r.space.Order == All {
		r.fit(top.Log)
	}
	of := normal{top.Log, top.Error, top.Above}
	again, n, planned := r.again(best)
	if again.sd > 0 {
		of = again
	}
	c.Log, c.Error, c.Above, c.Confirmed = of.mean, of.sd, of.above, n >= planned
	switch base, m, _ := r.again(0); {
	case best == 0 || n == 0 || m == 0:
	case base.above:
		c.Confirmed = false // there is no ratio over what may be more
	default:
		c.Ratio, c.RatioSD = again.mean-base.mean, math.Hypot(again.sd, base.sd)
	}
	c.Excess = r.excess(best, of)
	return c
}

type normal struct {
	mean, sd float64
	above    bool // mean is the least
}

// again is the mean of a setting's confirmations; n of the planned ones have run.
func (r *Race) again(setting int) (x normal, n, planned int) {
	for _, s := range r.rounds() {
		if s == setting {
			planned++
		}
	}
	for _, t := range r.trials {
		if t.Round > 0 && t.Setting == setting && t.Failed == "" && !t.Out {
			x.mean, x.sd, x.above, n = x.mean+t.Log, x.sd+t.Error*t.Error, x.above || t.Above, n+1
		}
	}
	if n > 0 {
		x.mean, x.sd = x.mean/float64(n), math.Sqrt(x.sd)/float64(n)
	}
	return x, n, planned
}

const draws = 2000

func (r *Race) excess(best int, of normal) float64 {
	rng := rand.New(rand.NewPCG(r.space.Seed, 0x65786365))
	var others []func() float64
	for s := range r.space.Size() {
		if i, tried := r.tried[s]; s == best || tried && r.trials[i].Failed != "" {
			continue
		} else if tried && r.trials[i].Above {
			return math.Inf(1)
		} else if tried {
			others = append(others, r.trials[i].draw(rng))
		} else if _, out := r.predicted[s]; out {
			mean, sd := r.model.at(s)
			t := distuv.StudentsT{Mu: mean, Sigma: sd, Nu: r.model.freedom, Src: rng}
			others = append(others, t.Rand)
		}
	}
	if len(others) == 0 {
		return math.Inf(1)
	}
	gaps := make([]float64, draws)
	for i := range gaps {
		gaps[i] = math.Inf(-1)
		for _, draw := range others {
			gaps[i] = max(gaps[i], draw())
		}
		gaps[i] -= of.mean + of.sd*rng.NormFloat64()
	}
	slices.Sort(gaps)
	const least = 0.005 // less is no claim that searches can bear out
	return max(gaps[draws*95/100], least)
}

// draw is a value that the trial leaves possible. A setting that is raced out has any from half its bound on, the less
// likely the less a certain FAIL at the bound is: a verdict has 95 %.
func (t *Trial) draw(rng *rand.Rand) func() float64 {
	if !t.Out {
		return func() float64 { return t.Log + t.Error*rng.NormFloat64() }
	}
	const sd, certain, below, above = 0.06, 1.645, math.Ln2, 0.2
	return func() float64 {
		for {
			x := t.Bound - below + (below+above)*rng.Float64()
			if rng.Float64() < distuv.UnitNormal.CDF((t.Bound-x)/sd-certain) {
				return x
			}
		}
	}
}
