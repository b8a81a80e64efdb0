package compare

import (
	"fmt"
	"math"
	"slices"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/stats"
)

const SchemaPlan = "bench/plan/v1"

// Plan lists which gated figures a recipe decides with the noise that earlier runs show, and what the others
// need.
type Plan struct {
	Schema  string          `json:"schema"`
	Run     string          `json:"newest_run"`
	Runs    int             `json:"runs"` // good ones that show the noise, with the newest
	Figures []PlannedFigure `json:"figures"`
	// Recipe is the cheapest that decides every figure that any decides; null: none decides one.
	Recipe *Recipe `json:"recipe"`
}

type Recipe struct {
	BaseRuns  int     `json:"base_runs"`
	Repeats   int     `json:"repeats"`
	DurationS float64 `json:"duration_s"` // of a repeat's window; in Plan.Recipe the median of its points
}

type PlannedFigure struct {
	Point     string               `json:"point"`
	Class     string               `json:"class,omitempty"`
	Metric    string               `json:"metric"`
	Threshold experiment.Threshold `json:"threshold"`
	Why       string               `json:"why,omitempty"` // why nothing is planned; absent: the rest is there

	// Standard deviations as shares of the figure; of shares, shares themselves.
	NightSD    float64 `json:"night_sd"`    // between runs: their repeats share it
	RepeatSD   float64 `json:"repeat_sd"`   // between repeats of a run, beyond their samples
	SamplingSD float64 `json:"sampling_sd"` // of a repeat, from its requests; ~ 1/√duration
	DF         float64 `json:"degrees_of_freedom"`

	Present Recipe  `json:"present"`
	Quiet   float64 `json:"quiet_pass"` // probability of PASS if nothing changed
	Found15 float64 `json:"found_1_5"`  // of FAIL if the figure is worse by 1.5 thresholds
	Found20 float64 `json:"found_2"`    // by 2 thresholds
	Decides bool    `json:"decides"`    // quiet_pass and found_2 are at least 0.9
	// the cheapest that decides; null: none up to 20 runs of 20 repeats of 4 durations
	Needs *Recipe `json:"needs"`
	Least float64 `json:"smallest_threshold"` // that the present recipe decides; 0: none up to 0.9

	noise  stats.RunNoise
	power  stats.GatePower
	figure figure
	level  float64
}

const (
	planned     = 0.9 // least probability of the right verdict
	MostRepeats = 20  // largest number of repeats in a recipe
	MostLonger  = 4   // largest duration in a recipe, times the present one
)

var (
	basesTried     = []int{5, 10, 20}
	durationsTried = []float64{1, 2, MostLonger}
)

// NewPlan plans the gate of a run from the runs of its base and those before, in order of time.
func NewPlan(newest Run, b *Base, gate experiment.Gate) *Plan {
	runs := slices.Concat(b.Earlier, b.Runs)
	if newest.GateError == "" && notGood(&newest, newest.Gate, nil) == "" {
		runs = append(runs, newest)
	}
	p := &Plan{Schema: SchemaPlan, Run: newest.Manifest.Run, Runs: len(runs), Figures: []PlannedFigure{}}
	found, _ := points(Side{Runs: runs})
	own, order := points(Side{Runs: []Run{newest}})
	for _, name := range order {
		all := pair{name: name, base: sameWorkload(found[name], own[name][0]), changed: own[name]}
		p.add(all, "", gate)
		for _, class := range all.classes() {
			p.add(all.class(class), class, gate)
		}
	}
	p.decide()
	return p
}

func sameWorkload(samples []sample, one sample) []sample {
	key := workloadKey(&one.row.Spec)
	return slices.DeleteFunc(slices.Clone(samples), func(s sample) bool {
		return workloadKey(&s.row.Spec) != key || s.row.PromptForm != one.row.PromptForm
	})
}

func (p *Plan) add(all pair, class string, gate experiment.Gate) {
	for _, t := range gate.Thresholds {
		f := newFigure(t.Metric)
		now, _ := f.having(all.changed)
		if len(now) == 0 {
			continue
		}
		with, values := f.having(slices.DeleteFunc(slices.Clone(all.base),
			func(s sample) bool { return len(f.touching(s.row, record.Invalid)) > 0 }))
		x := PlannedFigure{Point: all.name, Class: class, Metric: t.Metric, Threshold: t, figure: f,
			Present: Recipe{basesTried[0], len(now), now[0].row.Summary.DurationS}}
		if x.Why = f.noRatio([2][]float64{values}); x.Why == "" {
			x.setNoise(with)
		}
		p.Figures = append(p.Figures, x)
	}
}

func (x *PlannedFigure) setNoise(with []sample) {
	duration := 0.0
	for _, s := range with {
		duration += s.row.Summary.DurationS / float64(len(with))
	}
	runs := pair{}.byRun(with, x.figure.scaled(with))
	x.noise = stats.NoiseOfRuns(runs, x.Present.BaseRuns, duration)
	if x.noise.DF < leastPlanDF {
		x.Why = fmt.Sprintf("good runs with the figure: %d; the spread between runs needs %d", len(runs), leastPlanDF+1)
		return
	}
	x.power = stats.NewGatePower(x.noise.DF)
	x.NightSD, x.RepeatSD, x.SamplingSD, x.DF = x.noise.Night, x.noise.Repeat, x.noise.Sampling, x.noise.DF
}

const leastPlanDF = 4

// decide fills what depends on the number of gated figures, as they share the risk of a false alarm.
func (p *Plan) decide() {
	var open []*PlannedFigure
	for i := range p.Figures {
		if x := &p.Figures[i]; x.Why == "" {
			open = append(open, x)
		}
	}
	var decidable []*PlannedFigure
	var durations []float64
	for _, x := range open {
		x.level = risk / float64(len(open))
		x.Quiet, x.Found15, x.Found20 = x.odds(x.Present, x.Threshold.Worse)
		x.Decides = x.decides(x.Present, x.Threshold.Worse)
		x.Least = x.leastThreshold()
		x.Needs = cheapest([]*PlannedFigure{x})
		if x.Needs != nil {
			decidable, durations = append(decidable, x), append(durations, x.Present.DurationS)
		}
	}
	if len(decidable) > 0 {
		p.Recipe = cheapest(decidable)
	}
	if p.Recipe != nil {
		slices.Sort(durations)
		p.Recipe.DurationS *= stats.Quantile(durations, 0.5) / decidable[0].Present.DurationS
	}
}

// odds are the probabilities of PASS if nothing changed, and of FAIL if it is worse by 1.5 or 2 thresholds.
func (x *PlannedFigure) odds(r Recipe, threshold float64) (quiet, found15, found20 float64) {
	power, limit := x.power, x.distance(threshold)
	power.SE = x.noise.SE(r.BaseRuns, r.Repeats, r.DurationS)
	return power.Passes(0, limit, confidence), power.Fails(x.distance(1.5*threshold), limit, x.level),
		power.Fails(x.distance(2*threshold), limit, x.level)
}

func (x *PlannedFigure) decides(r Recipe, threshold float64) bool {
	quiet, _, found := x.odds(r, threshold)
	return quiet >= planned && found >= planned
}

// distance is a change for the worse on the scale of comparison.
func (x *PlannedFigure) distance(change float64) float64 {
	switch {
	case x.figure.absolute():
		return change
	case experiment.MoreIsBetter(x.Metric):
		return -math.Log1p(-min(change, 0.99))
	}
	return math.Log1p(change)
}

// cheapest has the shortest measurement; of equal ones the smallest base, then the longest repeats; nil: none. Its
// duration is in terms of the first figure's.
func cheapest(figures []*PlannedFigure) *Recipe {
	var best *Recipe
	cost := math.Inf(1)
	for _, base := range basesTried {
		for _, longer := range durationsTried {
			for repeats := 1; repeats <= MostRepeats && float64(repeats)*longer < cost; repeats++ {
				fits := func(x *PlannedFigure) bool {
					return x.decides(Recipe{base, repeats, longer * x.Present.DurationS}, x.Threshold.Worse)
				}
				if !slices.ContainsFunc(figures, func(x *PlannedFigure) bool { return !fits(x) }) {
					cost = float64(repeats) * longer
					best = &Recipe{base, repeats, longer * figures[0].Present.DurationS}
				}
			}
		}
	}
	return best
}

func (x *PlannedFigure) leastThreshold() float64 {
	lo, hi := 0.0, 0.9
	if !x.decides(x.Present, hi) {
		return 0
	}
	for range 40 {
		middle := (lo + hi) / 2
		if x.decides(x.Present, middle) {
			hi = middle
		} else {
			lo = middle
		}
	}
	step := math.Pow(10, math.Floor(math.Log10(max(hi, 1e-6)))-1)
	return math.Round(math.Ceil(hi/step-1e-6)*step*1e9) / 1e9
}
