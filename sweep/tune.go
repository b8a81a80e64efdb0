package sweep

import (
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"bench/experiment"
	"bench/experiment/metric"
	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/server"
	"bench/experiment/stats"
	"bench/experiment/tune"
	"bench/experiment/verdict"
	"bench/sweep/matrix"
)

// A matrix with [tune] has one row, and one point of it for each setting of its server. A run does not take them in
// order: after each one, tune.Race says which to run next. The race is followed from the rows that are there, so that a
// resumed run comes to the same decisions.

// pointOf is the point of a setting; nil: a prediction has left it out.
func pointOf(m *matrix.Matrix, setting int) *experiment.Spec {
	of := m.Variants[setting].Name
	if i := slices.IndexFunc(m.Points, func(s experiment.Spec) bool { return s.Variant == of }); i >= 0 {
		return &m.Points[i]
	}
	return nil
}

// racing is the race of a run: which setting is next, by what its rows show.
type racing struct {
	*run
	race       *tune.Race
	action     tune.Action                 // the next one
	points     map[[2]int]*experiment.Spec // by setting and round
	challenges map[*experiment.Spec]*searching
	failed     map[string]string // by ID of a point: why its server does not run
}

// newRace begins the race anew, with what is known of settings that do not run.
func newRace(r *run, failed map[string]string, before *record.Tune) *racing {
	x := &racing{run: r, points: map[[2]int]*experiment.Spec{}, challenges: map[*experiment.Spec]*searching{},
		failed: failed}
	x.race = tune.New(tune.Space{Knobs: r.m.KnobSizes(), Order: r.m.Tune.Order, Seed: r.m.Seed,
		Budget: time.Duration(r.m.Tune.Budget).Seconds(), Prior: r.Prior})
	if before != nil {
		for _, s := range before.Settings {
			at := slices.IndexFunc(r.m.Points, func(p experiment.Spec) bool { return p.Variant == s.Variant })
			if s.State == tune.Infeasible && at >= 0 {
				failed[matrix.ID(&r.m.Points[at])] = s.Reason
			}
		}
	}
	return x
}

// tune runs one setting after the other, each on a fresh server.
func (r *run) tune(ctx context.Context) error {
	if ok, err := matrix.Match(&r.m.Points[0], r.Only); err != nil || !ok {
		return errors.Join(err, noRow(r.Only))
	}
	r.racing = newRace(r, map[string]string{}, r.manifest.Tune)
	if err := r.racing.follow(false); err != nil {
		return err
	}
	var without []error
	for x := r.racing; x.action.Done == "" || !r.begun; x = r.racing {
		if x.action.Done == tune.NothingRuns {
			return errors.Join(append(without, errors.New("no setting of the server runs"))...)
		}
		s := x.raced(x.action)
		err := r.onServer(ctx, r.m.Variant(s.Variant))
		if failed, died := new(startError), new(server.DiedError); ctx.Err() == nil &&
			(errors.As(err, &failed) || errors.As(err, &died)) {
			r.racing.settingFailed(s, err)
			without, err = append(without, err), nil
		}
		if err != nil {
			return err
		}
		if err := r.racing.follow(r.begun); err != nil {
			return err
		}
		if r.begun {
			r.manifest.Servers = r.servers
			if err := r.writeManifest(); err != nil {
				return err
			}
		}
	}
	return nil
}

// settingFailed takes a setting whose server did not start or died from the plan: that is an answer about it.
func (x *racing) settingFailed(s *experiment.Spec, err error) {
	why, _, _ := strings.Cut(err.Error(), "\n")    // its last output follows
	if _, own, ok := strings.Cut(why, "): "); ok { // the setting is named beside it
		why = own
	}
	x.failed[matrix.ID(s)] = x.hide(strings.TrimSuffix(why, "; last output:"))
	planned := func(p record.Planned) bool {
		of := x.specs[p.ID]
		return p.State == "planned" && of != nil && of.Variant == s.Variant
	}
	x.manifest.Plan = slices.DeleteFunc(x.manifest.Plan, planned)
	x.todo = slices.DeleteFunc(x.todo, planned)
	x.next = min(x.next, len(x.todo))
}

// raced is the point of an action. A confirmation has requests of its own.
func (x *racing) raced(a tune.Action) *experiment.Spec {
	key := [2]int{a.Setting, a.Round}
	if s := x.points[key]; s != nil {
		return s
	}
	s := *pointOf(x.m, a.Setting)
	if s.Search != nil {
		s.Search = new(*s.Search)
	}
	if a.Round > 0 {
		const apart = 1_000_003
		s.Seed += apart * uint64(a.Round)
		s.Point = append(slices.Clone(s.Point), experiment.Axis{Key: "confirm", Value: strconv.Itoa(a.Round)})
		if t := x.race.Standing(a.Setting).Trial; s.Search != nil && t != nil {
			const below = 0.9 // of the estimate
			s.Search.Scout = &experiment.Scout{Load: s.Search.Algorithm().Round(below*math.Exp(t.Log), false)}
		}
	}
	x.points[key] = &s
	return &s
}

// follow takes into the race what the rows show. With plan it plans them, and the next one.
func (x *racing) follow(plan bool) error {
	for x.action = x.race.Next(); x.action.Done == ""; x.action = x.race.Next() {
		t, rows, ended, err := x.trial(x.action)
		if err != nil {
			return err
		}
		if plan && len(rows) > 0 {
			x.planTrial(x.raced(x.action), rows)
		}
		if !ended {
			break
		}
		x.race.Add(t)
	}
	if plan {
		x.manifest.Tune, x.manifest.Searches = x.tuned(), x.found()
	}
	return nil
}

func (x *racing) planTrial(s *experiment.Spec, rows []experiment.Spec) {
	for i := range rows {
		p := &rows[i]
		id := matrix.ID(p)
		x.specs[id] = p
		if k := x.challenges[s]; k != nil {
			x.searches[id] = k
		}
		if x.indexOf(id) < 0 {
			x.planPoint(p, true, nil)
		}
	}
}

// trial is what the rows of a setting show, with these rows; of one that has not ended the last row is to run.
func (x *racing) trial(a tune.Action) (t tune.Trial, rows []experiment.Spec, ended bool, err error) {
	t = tune.Trial{Setting: a.Setting, Round: a.Round}
	if pointOf(x.m, a.Setting) == nil {
		t.Failed = "the simulated engine has no such setting"
		return t, nil, true, nil
	}
	s := x.raced(a)
	if why := x.failed[matrix.ID(s)]; why != "" {
		t.Failed = why
		for _, start := range x.servers {
			if start.Variant == s.Variant && start.Error != "" {
				t.Cost += start.EndedAt.Sub(start.StartedAt).Seconds()
			}
		}
		return t, nil, true, nil
	}
	if s.Search == nil {
		row, ok := x.dir.row(matrix.ID(s))
		if ended = ok && row.SpecHash == x.dir.hash(s) && !row.ServerLost; ended {
			err = x.measured(&t, row, x.m.Tune.Goal)
			t.Cost = x.cost(row)
		}
		return t, []experiment.Spec{*s}, ended, err
	}
	k, err := x.challenge(s, a.Beat)
	if err != nil {
		return t, nil, false, err
	}
	for _, row := range k.rows {
		rows = append(rows, s.ProbeAt(s.Search.ProbeOf(&row.Spec), row.Spec.Repeat))
	}
	if next, more := k.next(); more {
		return t, append(rows, next), false, nil
	}
	k.searched(&t)
	t.Cost = x.cost(k.rows...)
	return t, rows, true, nil
}

// challenge is the search of a setting that is to exceed a load, ln; -Inf = any.
func (x *racing) challenge(s *experiment.Spec, beat float64) (*searching, error) {
	if k := x.challenges[s]; k != nil {
		return k, nil
	}
	rows, err := x.reusableProbes(s, x.begun)
	if err != nil {
		return nil, err
	}
	const rounding = 1e-9 // of the logarithm: a FAIL at this very load ends the search
	k := &searching{first: s, rows: rows, picked: true, run: x.run, beat: math.Exp(beat) * (1 + rounding)}
	x.challenges[s] = k
	return k, nil
}

// cost is the server time of rows, with the starts of their servers.
func (x *racing) cost(rows ...*record.Row) (sum float64) {
	starts := map[int]bool{}
	for _, row := range rows {
		sum += row.Took().Seconds()
		if n := row.Server.Start; n > 0 && n <= len(x.servers) && !starts[n] {
			starts[n] = true
			sum += x.servers[n-1].ReadyS
		}
	}
	return sum
}

const (
	normal95   = 1.96
	fromStarts = 0.02 // by which two starts of a server differ
	roughError = 0.15 // of what one probe beyond the limit says of it
	leaning    = 0.05 // of a search whose probes lean to both sides of the limit, near it
	openError  = 0.3  // of a search that found one end or none, and of a figure without an interval
)

// searched is what a search shows that has ended. Where it ends as the load to beat is out of reach, what the server
// completed there is a rough estimate.
func (k *searching) searched(t *tune.Trial) {
	f := k.found()
	likely := series.Likely(k.first.Search, k.rows)
	switch {
	case f.State == "beaten":
		t.Out, t.Bound = true, math.Log(*f.High)
		t.Log, t.Error = math.Log(atLeast(k.first.Search, k.rows)), roughError
	case f.State == "above":
		t.Log, t.Error, t.Above = math.Log(*f.Low), fromStarts, true
	case f.Best != nil && f.Low != nil && f.High != nil:
		t.Log, t.Error = math.Log(*f.Best), math.Hypot(fromStarts, math.Log(*f.High / *f.Low)/2/normal95)
	case likely.Best != nil:
		t.Log, t.Error = math.Log(*likely.Best), math.Hypot(leaning, math.Log(*likely.High / *likely.Low)/4)
	case likely.Low != nil:
		t.Log, t.Error, t.Above = math.Log(*likely.Low), openError, *likely.Low >= k.first.Search.Max
	default:
		t.Log, t.Error = math.Log(atLeast(k.first.Search, k.rows)), openError
	}
}

// atLeast is the least that a server completed of the rates that it was offered, or the least load.
func atLeast(k *experiment.Search, rows []*record.Row) float64 {
	least := math.Inf(1)
	for _, row := range rows {
		load := k.LoadOf(&row.Spec)
		if x := row.Summary.Throughput.RequestsPerS; k.Axis == "rate" && x > 0 {
			load = min(load, x)
		}
		least = min(least, load)
	}
	return least
}

// measured is the goal's figure of a row at a fixed load.
func (x *racing) measured(t *tune.Trial, row *record.Row, key string) error {
	value, ends, ok, err := x.figureOf(row, key)
	switch {
	case row.AllFailed():
		t.Failed = "no request was answered"
	case !ok || !(value > 0):
		t.Failed = key + " is not measured"
	default:
		t.Log, t.Error = math.Log(value), openError
		if ends.Lo > 0 && !math.IsInf(ends.Hi, 1) {
			t.Error = math.Hypot(fromStarts, math.Log(ends.Hi/ends.Lo)/2/normal95)
		}
		if !moreIsBetter(key) {
			t.Log = -t.Log
		}
	}
	return err
}

func moreIsBetter(key string) bool {
	name, _ := metric.Cut(key)
	return key == tune.MaxLoad || metric.ByName(name).MoreIsBetter
}

// figureOf is a figure with its interval at 95 %; one without an end: nothing shows how far it is off.
func (x *racing) figureOf(row *record.Row, key string) (value float64, ends stats.Interval, ok bool, err error) {
	value, ok = row.Figure(key)
	if key == metric.Price && row.Cost != nil {
		value, ok = row.Cost.USDPerMillion, true
	}
	if name, stat := metric.Cut(key); !ok {
		return 0, ends, false, nil
	} else if stat != "" {
		return value, row.Values(name).CI95[string(stat)], true, nil
	}
	records, err := x.dir.requests(row)
	return value, verdict.FigureInterval(row, records, key, value), true, err
}

// tuned is the state of the race for run.json.
func (x *racing) tuned() *record.Tune {
	race, goal := x.race, x.m.Tune.Goal
	c := race.Certify()
	out := &record.Tune{Goal: goal, Order: x.m.Tune.Order, BudgetS: time.Duration(x.m.Tune.Budget).Seconds(),
		SpentS: race.Spent(), Starts: len(x.servers), Default: x.m.Variants[0].Name, State: x.action.Done,
		Confirmed: c.Confirmed, Distrusted: race.Distrusts(), Settings: []record.TunedSetting{}}
	if out.State == "" {
		out.State = map[bool]string{true: "confirming", false: "racing"}[x.action.Round > 0]
	}
	if s := x.m.Points[0].Search; s != nil {
		out.Axis = s.Axis
	}
	for _, a := range x.m.Variants[0].Axes {
		out.Knobs = append(out.Knobs, a.Key)
	}
	if p, seen := race.Interaction(); seen {
		knobs := x.m.Variants[0].Settings
		out.Interaction = []string{knobs[p[0]].Knob, knobs[p[1]].Knob}
	}
	for i := range x.m.Variants {
		out.Settings = append(out.Settings, x.tunedSetting(i))
	}
	if c.Best < 0 {
		return out
	}
	out.Best = x.m.Variants[c.Best].Name
	out.Estimate, out.Interval = inUnit(goal, c.Log, c.Error)
	if c.RatioSD > 0 {
		out.Ratio, out.RatioInterval = inUnit(tune.MaxLoad, c.Ratio, c.RatioSD)
	}
	if out.AtMax = c.Above; c.Above {
		if out.Interval = nil; c.RatioSD > 0 {
			out.RatioInterval.Hi = math.Inf(1)
		}
	}
	if !math.IsInf(c.Excess, 1) {
		out.Excess = new(math.Expm1(c.Excess))
	}
	return out
}

// inUnit is a goal that is a logarithm in its unit, with its interval.
func inUnit(goal string, log, sd float64) (*float64, *stats.Interval) {
	at := func(x float64) float64 {
		if !moreIsBetter(goal) {
			x = -x
		}
		return math.Exp(x)
	}
	a, b := at(log-normal95*sd), at(log+normal95*sd)
	return new(at(log)), &stats.Interval{Lo: min(a, b), Hi: max(a, b)}
}

func (x *racing) tunedSetting(i int) record.TunedSetting {
	race, goal := x.race, x.m.Tune.Goal
	v, s := x.m.Variants[i], race.Standing(i)
	out := record.TunedSetting{Variant: v.Name, State: s.State}
	for _, a := range v.Axes {
		out.Values = append(out.Values, a.Value)
	}
	switch t := s.Trial; {
	case t == nil && s.State == tune.Predicted:
		out.Estimate, _ = inUnit(goal, s.Mean, 0)
		out.Bound, _ = inUnit(goal, s.Bound, 0)
		out.Reason = "the main effects of its knobs leave it below the best"
	case t == nil:
	case t.Failed != "":
		out.Reason, out.CostS = t.Failed, t.Cost
	default:
		out.CostS = t.Cost
		if out.Estimate, out.Interval = inUnit(goal, t.Log, t.Error); t.Out {
			out.Bound, _ = inUnit(goal, t.Bound, 0)
			out.Reason = "misses the SLO at " + series.LoadText(x.m.Points[0].Search, *out.Bound)
		}
		if out.AtMax = t.Above; t.Above {
			out.Interval, out.Reason = nil, "within the limits up to the search's max"
		}
	}
	return out
}
