package series

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"bench/experiment"
	"bench/experiment/metric"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/twin"
	"bench/experiment/unit"
	"bench/experiment/workload"
)

// Requests reads the requests of a row.
type Requests func(*record.Row) ([]*record.Record, error)

// Twin is the model of the server behind the rows of one workload, fitted to their requests.
type Twin struct {
	model  twin.Model
	trials []twin.Trial
	rows   []*record.Row // of each trial
	limits []twin.Limit
	keys   []string // of each limit
	source twin.Source
	search *experiment.Search // that it was asked for
	answer twin.Operating

	slots int // requests that the server reports to run at most; 0 = not known

	changed float64 // error of the step times for other requests than the rows', as a share

	disturbed []record.Disturbed // rows that it leaves out
}

// FitTwin fits a model to rows that differ in their load alone. The error says why these rows have none. slots is
// record.TargetInfo.Slots.
func FitTwin(rows []*record.Row, slots int, read Requests) (*Twin, error) {
	if len(rows) == 0 {
		return nil, errors.New("no row has requests")
	}
	rows = slices.SortedStableFunc(slices.Values(rows), func(a, b *record.Row) int { // a search has them in the order of its probes
		x, y := &a.Spec, &b.Spec
		return cmp.Or(cmp.Compare(x.Rate, y.Rate), cmp.Compare(x.Concurrency, y.Concurrency), cmp.Compare(x.Repeat, y.Repeat))
	})
	spec := &rows[0].Spec
	if why := untwinned(spec); why != "" {
		return nil, errors.New("it has no " + why)
	}
	t := &Twin{slots: slots}
	if spec.Variant != "" { // the slots are those of one of its servers
		t.slots = 0
	}
	if err := t.addLimits(spec); err != nil {
		return nil, err
	}
	room := int64(mostRecords)
	for _, r := range rows {
		size := r.RecordBytes()
		if size > room || disturbed(r) != "" || untwinned(&r.Spec) != "" {
			continue
		}
		room -= size
		records, err := read(r)
		if err != nil {
			return nil, err
		}
		if trial, ok := TrialOf(r, records); ok {
			t.trials, t.rows = append(t.trials, trial), append(t.rows, r)
		}
	}
	if len(t.trials) == 0 {
		return nil, errors.New("no row has requests")
	}
	var err error
	if t.model, err = twin.Fit(t.trials, t.slots); err != nil {
		return nil, err
	}
	t.leaveOutDisturbed()
	t.source = sourceOf(spec, t.trials)
	return t, nil
}

// mostRecords bounds the memory for the requests of rows: others are left out.
const mostRecords = 512 << 20 // bytes

// leaveOutDisturbed leaves out rows that were far slower than the others' twin makes them, though one at a higher load was
// not: that is no property of the server at that load.
func (t *Twin) leaveOutDisturbed() {
	const fewest, far, deviations = 3, math.Ln2, 6
	for most := len(t.trials) / 4; len(t.trials) > fewest && len(t.disturbed) < max(1, most); {
		worst, slowest := -1, record.Disturbed{}
		least, own := far, t.model
		for i := range t.trials {
			if t.slower(&t.model, i).log < far/2 || !t.higher(i) {
				continue
			}
			m, err := twin.Fit(slices.Delete(slices.Clone(t.trials), i, i+1), t.slots)
			if err != nil {
				continue
			}
			rest := 0.0
			for j := range t.trials {
				if j != i && !t.trials[j].Cut {
					rest = max(rest, t.slower(&m, j).log)
				}
			}
			x := t.slower(&m, i)
			if limit := max(least, 3*rest, deviations*x.err); x.log > limit {
				least, worst, own = x.log, i, m
				slowest = record.Disturbed{Row: t.rows[i].ID, Metric: x.metric, Ms: 1000 * x.measured, TwinMs: 1000 * x.twin}
			}
		}
		if worst < 0 {
			return
		}
		t.disturbed = append(t.disturbed, slowest)
		t.trials, t.rows = slices.Delete(t.trials, worst, worst+1), slices.Delete(t.rows, worst, worst+1)
		t.model = own
	}
}

type slowness struct {
	metric         string
	measured, twin float64
	log, err       float64
}

// slower is by how much the median of a trial is above that of its twin: of TTFT or TPOT, the larger.
func (t *Twin) slower(m *twin.Model, i int) (worst slowness) {
	medians := []twin.Limit{{Metric: "ttft", P: 0.5, Value: 1}, {Metric: "tpot", P: 0.5, Value: 1}}
	for j, all := range m.Residuals(t.trials[i:i+1], medians...) {
		for _, r := range all {
			if r.Log > worst.log {
				worst = slowness{medians[j].Metric, r.Measured, r.Twin, r.Log, r.Error}
			}
		}
	}
	return worst
}

func (t *Twin) higher(i int) bool {
	return slices.ContainsFunc(t.trials, func(x twin.Trial) bool { return x.Load > t.trials[i].Load })
}

// untwinned is what a row has that the model lacks; empty: nothing.
func untwinned(s *experiment.Spec) string {
	switch {
	case !s.Streams():
		return "responses that are not streamed"
	case s.HasConversations() || s.Trace != nil:
		return "conversations or a trace"
	case s.Tile != nil || s.IsColdStart() || s.UntilInterrupted() || s.Idle > 0:
		return "cold starts, pauses or rotations"
	case s.HasLeavers():
		return "users who leave"
	case s.HasModels() || s.HasEndpoints():
		return "several models or endpoints"
	case s.Rate.IsInf() || s.Open() && (!s.Arrival.IsSteady() || s.Concurrency > 0):
		return "arrivals that are not steady"
	}
	return ""
}

// addLimits adds the limits of latencies. The twin knows no failures, so an error rate is no limit of its own; and no
// class apart from others.
func (t *Twin) addLimits(s *experiment.Spec) error {
	for _, c := range s.Mix {
		if len(c.SLO) > 0 {
			return errors.New("it has no classes with limits of their own")
		}
	}
	for _, l := range s.SLO.Limits {
		if l.EasierByLoad() {
			continue
		}
		p := 0.0
		if l.Stat != "mean" {
			p, _ = l.P()
		}
		switch l.Metric {
		case "ttft", "tpot", "e2e":
			t.limits = append(t.limits, twin.Limit{Metric: l.Metric, P: p, Value: l.Value / 1000})
			t.keys = append(t.keys, l.Key)
		case "error_rate":
		default:
			return errors.New("it has no " + l.Key)
		}
	}
	if len(t.limits) == 0 {
		return errors.New("no latency is limited")
	}
	return nil
}

// TrialOf is a row as the twin sees it. ok is false without a request.
func TrialOf(r *record.Row, records []*record.Record) (t twin.Trial, ok bool) {
	t.Load, t.Workers = float64(r.Spec.Rate), 0
	if r.Spec.Closed() {
		t.Load, t.Workers = float64(r.Spec.Concurrency), r.Spec.Concurrency
	}
	t.Cut, t.Filling = r.Summary.Requests.Unfinished > 0, r.Spec.Open() && r.Little != nil && !flowOf(r).Steady()
	records = slices.DeleteFunc(slices.Clone(records), func(x *record.Record) bool { return x.Arrival.IsZero() })
	arrival := func(x *record.Record) record.Micros { // at the server: the client's own delay is none of it
		if t.Workers == 0 && !x.Sent.IsZero() {
			return x.Sent
		}
		return x.Arrival
	}
	slices.SortStableFunc(records, func(a, b *record.Record) int { return cmp.Compare(arrival(a).Us(), arrival(b).Us()) })
	const most = 20_000 // requests: a longer row is cut there, and so is its twin
	s := func(x record.Micros) float64 { return float64(x.Us()) / 1e6 }
	for _, x := range records[:min(most, len(records))] {
		q := twin.Request{Arrival: s(arrival(x)), First: s(x.First), Last: s(x.Last), Prompt: x.PromptRequested, Output: x.OutputTokens,
			Window: x.Phase == record.PhaseWindow, Failed: !x.OK() || x.First.IsZero()}
		if x.PromptTokens != nil {
			q.Prompt = *x.PromptTokens
		}
		if x.CachedTokens != nil {
			q.Cached = min(*x.CachedTokens, q.Prompt)
		}
		if q.Failed {
			q.Output = x.OutputRequested
			t.Requests = append(t.Requests, q)
			continue
		}
		at := x.First.Us()
		q.Events = make([]float64, 0, x.Gaps.Len())
		for gap := range x.Gaps.All() {
			at += gap
			q.Events = append(q.Events, float64(at)/1e6)
		}
		t.Requests = append(t.Requests, q)
	}
	return t, len(t.Requests) > 0
}

// sourceOf makes the requests of a long run: by the row's plan, so that rare long ones are as frequent as they are. Lengths
// that files or the server decide are drawn from the measured ones.
func sourceOf(spec *experiment.Spec, trials []twin.Trial) twin.Source {
	var seen []twin.Request
	var cached, prompt, steps, tokens float64
	for i := range trials {
		for _, r := range trials[i].Requests {
			if !r.Failed {
				seen = append(seen, r)
				cached, prompt = cached+float64(r.Cached), prompt+float64(r.Prompt)
				steps, tokens = steps+float64(len(r.Events)), tokens+float64(r.Output-1)
			}
		}
	}
	var all []twin.Request
	if w := spec.Workload; spec.IgnoresEOS() && !fromFiles(&w) {
		if w.Open() {
			w.Rate = 1
		}
		plan := workload.NewPlan(w, spec.Seed, "twin")
		for range twin.Fine {
			q := plan.Next()
			all = append(all, twin.Request{Arrival: q.At.Seconds(), Prompt: q.Input, Output: q.Output})
		}
	} else {
		plan := workload.NewPlan(workload.Workload{Rate: 1, Arrival: w.Arrival, Burstiness: w.Burstiness}, spec.Seed, "twin")
		rng := rand.New(rand.NewPCG(spec.Seed, twin.Fine))
		for at := range plan.Arrivals {
			x := seen[rng.IntN(len(seen))]
			if all = append(all, twin.Request{Arrival: at.Seconds(), Prompt: x.Prompt, Output: x.Output}); len(all) == twin.Fine {
				break
			}
		}
	}
	const settling = 800 // requests before the window
	for i := range all {
		r := &all[i]
		r.Window = i >= settling
		r.Cached = int(cached / max(1, prompt) * float64(r.Prompt))
		if n := int(math.Round(steps / max(1, tokens) * float64(r.Output-1))); n < r.Output-1 {
			r.Steps = max(1, n)
		}
	}
	return func(load float64, n int) []twin.Request {
		out := slices.Clone(all[:n])
		for i := range out {
			out[i].Arrival /= load
		}
		return out
	}
}

func fromFiles(w *workload.Workload) bool {
	return slices.ContainsFunc(w.Classes(), func(c workload.Class) bool {
		return c.Prompts != nil || c.Pairs != nil || c.Input.File != nil || c.Output.File != nil
	})
}

// Ask finds the highest load that meets the limits, and somewhat beyond a search's range.
func (t *Twin) Ask(k *experiment.Search) {
	const beyond = 1.5
	t.search = k
	least, most := k.Min, k.Max
	if k.Open {
		least, most = t.around(k)
	}
	q := twin.Question{Limits: t.limits, Min: least / beyond, Max: most * beyond, Whole: k.Axis == "concurrency", Source: t.source, Requests: twin.Fine,
		Changed: t.changed}
	if q.Whole {
		q.Min = max(1, math.Floor(q.Min))
	}
	t.answer = t.model.Operating(t.trials, q)
}

// around is the part of an open range that the trials can say something about.
func (t *Twin) around(k *experiment.Search) (least, most float64) {
	const wide = 16 // times
	least, most = math.Inf(1), 0
	for i := range t.trials {
		least, most = min(least, t.trials[i].Load), max(most, t.trials[i].Load)
	}
	return max(k.Min, least/wide), min(k.Max, most*wide)
}

// bracket is the twin's answer, or why it is none. A verdict of a row contradicts it: a PASS above its upper end, a FAIL
// below its lower one.
func (t *Twin) bracket(k *experiment.Search, verdicts stats.Bracket) (b stats.Bracket, why string) {
	if t == nil {
		return b, "no twin"
	}
	a, s := &t.answer, k.Algorithm()
	switch {
	case a.Rejected != "" || a.Outside != "":
		return b, cmp.Or(a.Rejected, a.Outside)
	case verdicts.Low != nil && *verdicts.Low > a.High:
		return b, fmt.Sprintf("its limit, up to %s, contradicts the PASS at %s", loadText(k, a.High), loadText(k, *verdicts.Low))
	case verdicts.High != nil && *verdicts.High < a.Low:
		return b, fmt.Sprintf("its limit, from %s, contradicts the FAIL at %s", loadText(k, a.Low), loadText(k, *verdicts.High))
	}
	b = verdicts // at the ends of the range, which the twin alone does not decide
	b.Best = nil
	if a.Low >= s.Min && a.Low < s.Max {
		b.Low = new(roundIn(s, a.Low))
	}
	if a.High <= s.Max && a.High > s.Min {
		if b.High = new(s.Round(a.High, true)); s.Whole {
			*b.High = math.Floor(a.High) + 1
		}
	}
	if b.Bounds() {
		b.Best = t.best(k)
	}
	return b, ""
}

// roundIn rounds down: the highest whole number that meets the limits is an integer.
func roundIn(s stats.Search, load float64) float64 {
	if s.Whole {
		return math.Floor(load)
	}
	return s.Round(load, false)
}

// best is the likeliest load, or the end of the range that is nearest to it; nil = unknown.
func (t *Twin) best(k *experiment.Search) *float64 {
	if t.answer.Best == 0 {
		return nil
	}
	s := k.Algorithm()
	return new(min(max(roundIn(s, min(t.answer.Best, s.Max)), s.Min), s.Max))
}

// Twins are those of the workloads of a run that have several loads and limits of latencies. A row without requests, or a
// server that no model fits, is no error: the answers then rest on the verdicts alone. fitted has models by ID of a row;
// those of other rows are fitted and added.
func Twins(rows []record.Row, slots int, read Requests, fitted map[string]*Twin) (out []record.Twin) {
	all := FromRows(rows)
	for i := range all {
		s := &all[i]
		k, probes := s.asSearch(false)
		if k == nil || k.Goal != experiment.GoalSLO {
			continue
		}
		var mine []*record.Row
		for j := range s.Points {
			mine = append(mine, s.Points[j].Rows...)
		}
		t := fitted[mine[0].ID]
		if t == nil {
			var err error
			if t, err = FitTwin(mine, slots, read); err != nil {
				out = append(out, record.Twin{Name: s.Name, Others: s.OtherAxes, Axis: s.Axis, Rejected: err.Error()})
				continue
			}
			t.Ask(k)
			for _, r := range mine {
				fitted[r.ID] = t
			}
		}
		out = append(out, t.data(s, t.search, t.search.Algorithm().Between(probes)))
	}
	return out
}

func (t *Twin) data(s *Series, k *experiment.Search, verdicts stats.Bracket) record.Twin {
	d := record.Twin{Name: s.Name, Others: s.OtherAxes, Axis: s.Axis, Model: t.model, Disturbed: t.disturbed}
	d.Rejected, d.Outside = t.answer.Rejected, t.answer.Outside
	var why string
	if d.Bracket, why = t.bracket(k, verdicts); why != "" && d.Outside == "" {
		d.Rejected = why
	}
	for i, all := range t.model.Residuals(t.trials, t.limits...) {
		for _, r := range all {
			d.Residuals = append(d.Residuals, record.TwinResidual{Metric: t.keys[i], Residual: r})
		}
	}
	if d.Rejected == "" {
		d.Curve = t.curve(k.Axis == "concurrency", d.Best)
	}
	return d
}

// curve is the latencies from the lowest to the highest measured load, at these and at the estimate, too, up to where the
// twin keeps up.
func (t *Twin) curve(whole bool, best *float64) []record.TwinPoint {
	const loads, requests = 8, 15_000
	var at []float64
	for _, trial := range t.trials {
		at = append(at, trial.Load)
	}
	least, most := slices.Min(at), slices.Max(at)
	if best != nil {
		at = append(at, *best)
	}
	for i := range loads {
		load := least * math.Pow(most/least, float64(i)/(loads-1))
		if whole {
			load = math.Round(load)
		}
		at = append(at, load)
	}
	slices.Sort(at)
	return t.latencies(slices.Compact(at), whole, requests)
}

// latencies are all of them at loads, by long runs, up to the first load that the twin does not keep up with.
func (t *Twin) latencies(loads []float64, whole bool, requests int) (out []record.TwinPoint) {
	q := twin.Question{Whole: whole, Source: t.source, Requests: requests, Changed: t.changed}
	var names []string
	for _, latency := range []string{"ttft", "tpot", "e2e"} {
		for _, name := range metric.Percentiles[:4] { // a p999 takes longer runs
			p, _ := experiment.Limit{Metric: latency, Stat: name}.P()
			q.Limits, names = append(q.Limits, twin.Limit{Metric: latency, P: p, Value: 1}), append(names, latency+"_"+name)
		}
	}
	for i, at := range t.model.Latencies(t.trials, q, loads) {
		if at == nil {
			return out
		}
		for j, l := range at {
			p := record.TwinPoint{Load: loads[i], Metric: names[j], Ms: 1000 * l.Value, Low: 1000 * l.Low, High: 1000 * l.High}
			if j%4 > 0 { // corrections of their own could turn the order of percentiles
				before := out[len(out)-1]
				p.Ms, p.Low, p.High = max(p.Ms, before.Ms), max(p.Low, before.Low), max(p.High, before.High)
			}
			out = append(out, p)
		}
	}
	return out
}

// AddTwins gives each series its twin.
func AddTwins(all []Series, twins []record.Twin) {
	for i := range all {
		s := &all[i]
		for j := range twins {
			if t := &twins[j]; t.Name == s.Name && t.Axis == s.Axis && slices.Equal(t.Others, s.OtherAxes) {
				s.Twin = t
				s.addDisturbed()
			}
		}
	}
}

func (s *Series) addDisturbed() {
	for _, d := range s.Twin.Disturbed {
		for i := range s.Points {
			p := &s.Points[i]
			if slices.ContainsFunc(p.Rows, func(r *record.Row) bool { return r.ID == d.Row }) {
				p.Findings = append(p.Findings, record.Finding{Code: "disturbed", Severity: record.Caution,
					Text: fmt.Sprintf("median %s %s; the twin of its neighbours has %s", strings.ToUpper(d.Metric),
						unit.Format(d.Ms, "ms"), unit.Format(d.TwinMs, "ms")),
					Hint: "the host or another client may have slowed this row: repeat it on a quiet machine",
				})
			}
		}
	}
}

// TwinText says what an answer rests on.
func TwinText(t *record.Twin) string {
	if t.Rejected != "" {
		return "rejected: " + t.Rejected
	}
	_, largest := LargestResidual(t)
	text := fmt.Sprintf("accepted, residuals up to %.0f %%", 100*largest)
	if t.Outside != "" {
		text += "; no estimate: " + t.Outside
	}
	return text
}

// LargestResidual is that of the latency near the estimate that a twin misses most, and as a share of the twin's; nil: none.
func LargestResidual(t *record.Twin) (of *record.TwinResidual, share float64) {
	const near = 0.4 // of ln(load)
	for i, r := range t.Residuals {
		if miss := math.Abs(math.Expm1(r.Log)); miss > share && (t.Best == nil || math.Abs(math.Log(r.Load / *t.Best)) <= near) {
			of, share = &t.Residuals[i], miss
		}
	}
	return of, share
}
