package sweep

import (
	"context"
	"errors"
	"fmt"
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
)

// A matrix with [tune] has one row, and one point of it for each setting of its server. A run does not take them in
// order: after each one, tune.Race says which to run next. The race is followed from the rows that are there, so that a
// resumed run comes to the same decisions.

func (r *reader) checkTune(points []experiment.Spec) {
	m := r.m
	if m.Tune == nil {
		return
	}
	one := "write one row with one value of each key: the settings of the server are what varies"
	switch {
	case !m.Server.Runs():
		r.bad("tune", "there is no [server] whose knobs could be tuned", "write [server] and [server.knobs]")
		return
	case len(m.Variants) == 0: // for a mistake that is reported
		return
	case len(points) == 0 || len(points) > len(m.Variants):
		r.bad("tune", "a race needs one row with one point", one)
		return
	case points[0].Search != nil && points[0].Search.Gentle:
		r.bad("tune", "a race compares measured loads, and the row's search is gentle", "remove gentle")
	case m.Order != "" && m.Order != OrderListed:
		r.bad("order", "the race decides the order", "remove order, and write the order of the knobs in [tune]")
	case m.Budget != 0:
		r.bad("budget", "the race has a budget of its own", "write budget in [tune]")
	}
	search := points[0].Search != nil && points[0].Search.Goal == experiment.GoalSLO
	unknown := m.Tune.Goal != "" && m.Tune.Goal != tune.MaxLoad && !isFigure(m.Tune.Goal)
	m.Tune.Check(m.knobSizes(), search && !unknown, r.under("tune"))
	if g := m.Tune.Goal; unknown {
		r.bad("tune.goal", fmt.Sprintf("unknown goal %q", g),
			`write "max_load", or a figure: "ttft_p95", "output_tokens_per_s", "usd_per_million_output_tokens"`)
	}
}

func isFigure(key string) bool {
	name, stat := metric.Cut(key)
	m := metric.ByName(name)
	return m.Words != "" && (m.Of == metric.Window) == (stat == "") && !strings.HasPrefix(key, "min_")
}

func (m *Matrix) knobSizes() (sizes []int) {
	for _, s := range m.Variants[0].Settings {
		sizes = append(sizes, len(m.Server.Knobs.Values[s.Knob]))
	}
	return sizes
}

// RaceTrials are how many settings a race starts, with the confirmation.
func (m *Matrix) RaceTrials() (least, most int) {
	least, most = (&tune.Space{Knobs: m.knobSizes(), Order: m.Tune.Order}).Trials()
	return least + 2, most + 4
}

// pointOf is the point of a setting; nil: a prediction has left it out.
func (m *Matrix) pointOf(setting int) *experiment.Spec {
	of := m.Variants[setting].Name
	if i := slices.IndexFunc(m.Points, func(s experiment.Spec) bool { return s.Variant == of }); i >= 0 {
		return &m.Points[i]
	}
	return nil
}

type racing struct {
	race     *tune.Race
	next     tune.Action
	specs    map[[2]int]*experiment.Spec // by setting and round
	searches map[*experiment.Spec]*searching
	failed   map[string]string // by ID of a spec: why its server does not run
}

// newRace begins the race anew, with what is known of settings that do not run.
func (r *run) newRace(failed map[string]string, before *record.Tune) {
	x := &racing{specs: map[[2]int]*experiment.Spec{}, searches: map[*experiment.Spec]*searching{}, failed: failed}
	x.race = tune.New(tune.Space{Knobs: r.m.knobSizes(), Order: r.m.Tune.Order, Seed: r.m.Seed,
		Budget: time.Duration(r.m.Tune.Budget).Seconds(), Prior: r.Prior})
	if before != nil {
		for _, s := range before.Settings {
			at := slices.IndexFunc(r.m.Points, func(p experiment.Spec) bool { return p.Variant == s.Variant })
			if s.State == tune.Infeasible && at >= 0 {
				failed[ID(&r.m.Points[at])] = s.Reason
			}
		}
	}
	r.racing = x
}

// tune runs one setting after the other, each on a fresh server.
func (r *run) tune(ctx context.Context) error {
	if ok, err := Match(&r.m.Points[0], r.Only); err != nil || !ok {
		return errors.Join(err, r.noRow())
	}
	r.newRace(map[string]string{}, r.manifest.Tune)
	if err := r.follow(false); err != nil {
		return err
	}
	var without []error
	for x := r.racing; x.next.Done == "" || !r.begun; x = r.racing {
		if x.next.Done == tune.NothingRuns {
			return errors.Join(append(without, errors.New("no setting of the server runs"))...)
		}
		s := r.raced(x.next)
		err := r.withServer(ctx, r.m.variant(s.Variant), func(ctx context.Context) error {
			if err := r.accept(); err != nil {
				return err
			}
			return r.rows(ctx)
		})
		if failed, died := new(startError), new(server.DiedError); ctx.Err() == nil &&
			(errors.As(err, &failed) || errors.As(err, &died)) {
			r.settingFailed(s, err)
			without, err = append(without, err), nil
		}
		if err != nil {
			return err
		}
		if err := r.follow(r.begun); err != nil {
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
func (r *run) settingFailed(s *experiment.Spec, err error) {
	why, _, _ := strings.Cut(err.Error(), "\n")    // its last output follows
	if _, own, ok := strings.Cut(why, "): "); ok { // the setting is named beside it
		why = own
	}
	r.racing.failed[ID(s)] = r.hide(strings.TrimSuffix(why, "; last output:"))
	planned := func(p record.Planned) bool {
		of := r.specs[p.ID]
		return p.State == "planned" && of != nil && of.Variant == s.Variant
	}
	r.manifest.Plan = slices.DeleteFunc(r.manifest.Plan, planned)
	r.todo = slices.DeleteFunc(r.todo, planned)
	r.next = min(r.next, len(r.todo))
}

// raced is the point of an action. A confirmation has requests of its own.
func (r *run) raced(a tune.Action) *experiment.Spec {
	key := [2]int{a.Setting, a.Round}
	if s := r.racing.specs[key]; s != nil {
		return s
	}
	s := *r.m.pointOf(a.Setting)
	if s.Search != nil {
		s.Search = new(*s.Search)
	}
	if a.Round > 0 {
		const apart = 1_000_003
		s.Seed += apart * uint64(a.Round)
		s.Point = append(slices.Clone(s.Point), experiment.Axis{Key: "confirm", Value: strconv.Itoa(a.Round)})
		if t := r.racing.race.Standing(a.Setting).Trial; s.Search != nil && t != nil {
			const below = 0.9 // of the estimate
			s.Search.Scout = &experiment.Scout{Load: s.Search.Algorithm().Round(below*math.Exp(t.Log), false)}
		}
	}
	r.racing.specs[key] = &s
	return &s
}

// follow takes into the race what the rows show. With plan it plans them, and the next one.
func (r *run) follow(plan bool) error {
	x := r.racing
	for x.next = x.race.Next(); x.next.Done == ""; x.next = x.race.Next() {
		t, rows, ended, err := r.trial(x.next)
		if err != nil {
			return err
		}
		if plan && len(rows) > 0 {
			r.planTrial(r.raced(x.next), rows)
		}
		if !ended {
			break
		}
		x.race.Add(t)
	}
	if plan {
		r.manifest.Tune, r.manifest.Searches = r.tuned(), r.found()
	}
	return nil
}

func (r *run) planTrial(s *experiment.Spec, rows []experiment.Spec) {
	for i := range rows {
		p := &rows[i]
		id := ID(p)
		r.specs[id] = p
		if k := r.racing.searches[s]; k != nil {
			r.searches[id] = k
		}
		if !slices.ContainsFunc(r.manifest.Plan, func(q record.Planned) bool { return q.ID == id }) {
			r.planPoint(p, true, nil)
		}
	}
}

// trial is what the rows of a setting show, with these rows; of one that has not ended the last row is to run.
func (r *run) trial(a tune.Action) (t tune.Trial, rows []experiment.Spec, ended bool, err error) {
	t = tune.Trial{Setting: a.Setting, Round: a.Round}
	if r.m.pointOf(a.Setting) == nil {
		t.Failed = "the simulated engine has no such setting"
		return t, nil, true, nil
	}
	s := r.raced(a)
	if why := r.racing.failed[ID(s)]; why != "" {
		t.Failed = why
		for _, start := range r.servers {
			if start.Variant == s.Variant && start.Error != "" {
				t.Cost += start.EndedAt.Sub(start.StartedAt).Seconds()
			}
		}
		return t, nil, true, nil
	}
	if s.Search == nil {
		row, ok := r.dir.row(ID(s))
		if ended = ok && row.SpecHash == r.hash(s) && !row.ServerLost; ended {
			err = r.measured(&t, row, r.m.Tune.Goal)
			t.Cost = r.cost(row)
		}
		return t, []experiment.Spec{*s}, ended, err
	}
	k, err := r.challenge(s, a.Beat)
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
	t.Cost = r.cost(k.rows...)
	return t, rows, true, nil
}

// challenge is the search of a setting that is to exceed a load, ln; -Inf = any.
func (r *run) challenge(s *experiment.Spec, beat float64) (*searching, error) {
	if k := r.racing.searches[s]; k != nil {
		return k, nil
	}
	rows, err := r.reusableProbes(s, r.begun)
	if err != nil {
		return nil, err
	}
	const rounding = 1e-9 // of the logarithm: a FAIL at this very load ends the search
	k := &searching{first: s, rows: rows, picked: true, run: r, beat: math.Exp(beat) * (1 + rounding)}
	r.racing.searches[s] = k
	return k, nil
}

// cost is the server time of rows, with the starts of their servers.
func (r *run) cost(rows ...*record.Row) (sum float64) {
	starts := map[int]bool{}
	for _, row := range rows {
		sum += row.Took().Seconds()
		if n := row.Server.Start; n > 0 && n <= len(r.servers) && !starts[n] {
			starts[n] = true
			sum += r.servers[n-1].ReadyS
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
func (r *run) measured(t *tune.Trial, row *record.Row, key string) error {
	x, ends, ok, err := r.figureOf(row, key)
	switch {
	case row.AllFailed():
		t.Failed = "no request was answered"
	case !ok || !(x > 0):
		t.Failed = key + " is not measured"
	default:
		t.Log, t.Error = math.Log(x), openError
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
func (r *run) figureOf(row *record.Row, key string) (x float64, ends stats.Interval, ok bool, err error) {
	x, ok = row.Figure(key)
	if key == metric.Price && row.Cost != nil {
		x, ok = row.Cost.USDPerMillion, true
	}
	if name, stat := metric.Cut(key); !ok {
		return 0, ends, false, nil
	} else if stat != "" {
		return x, row.Values(name).CI95[string(stat)], true, nil
	}
	records, err := r.dir.requests(row)
	return x, verdict.FigureInterval(row, records, key, x), true, err
}

// tuned is the state of the race for run.json.
func (r *run) tuned() *record.Tune {
	race, goal := r.racing.race, r.m.Tune.Goal
	c := race.Certify()
	out := &record.Tune{Goal: goal, Order: r.m.Tune.Order, BudgetS: time.Duration(r.m.Tune.Budget).Seconds(),
		SpentS: race.Spent(), Starts: len(r.servers), Default: r.m.Variants[0].Name, State: r.racing.next.Done,
		Confirmed: c.Confirmed, Distrusted: race.Distrusts(), Settings: []record.TunedSetting{}}
	if out.State == "" {
		out.State = map[bool]string{true: "confirming", false: "racing"}[r.racing.next.Round > 0]
	}
	if s := r.m.Points[0].Search; s != nil {
		out.Axis = s.Axis
	}
	for _, a := range r.m.Variants[0].axes {
		out.Knobs = append(out.Knobs, a.Key)
	}
	if p, seen := race.Interaction(); seen {
		knobs := r.m.Variants[0].Settings
		out.Interaction = []string{knobs[p[0]].Knob, knobs[p[1]].Knob}
	}
	for i := range r.m.Variants {
		out.Settings = append(out.Settings, r.tunedSetting(i))
	}
	if c.Best < 0 {
		return out
	}
	out.Best = r.m.Variants[c.Best].Name
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

func (r *run) tunedSetting(i int) record.TunedSetting {
	race, goal := r.racing.race, r.m.Tune.Goal
	v, s := r.m.Variants[i], race.Standing(i)
	out := record.TunedSetting{Variant: v.Name, State: s.State}
	for _, a := range v.axes {
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
			out.Reason = "misses the SLO at " + series.LoadText(r.m.Points[0].Search, *out.Bound)
		}
		if out.AtMax = t.Above; t.Above {
			out.Interval, out.Reason = nil, "within the limits up to the search's max"
		}
	}
	return out
}
