package series

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"bench/experiment"
	"bench/experiment/metric"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/twin"
	"bench/experiment/unit"
)

// Ask finds the highest load that meets the limits, and somewhat beyond a search's range.
func (t *Twin) Ask(k *experiment.Search) {
	const beyond = 1.5
	t.search = k
	least, most := k.Min, k.Max
	if k.Open {
		least, most = t.around(k)
	}
	q := twin.Question{Limits: t.limits, Min: least / beyond, Max: most * beyond, Whole: k.Axis == "concurrency",
		Source: t.source, Requests: twin.Fine,
		Changed: t.changed, Beyond: k.Gentle}
	if q.Whole {
		q.Min = max(1, math.Floor(q.Min))
	}
	if k.Gentle {
		t.model = *t.model.Crowded()
	}
	t.answer = t.model.Operating(t.trials, q)
	t.answer.Outside = cmp.Or(t.nearFull(t.answer.Best), t.answer.Outside)
	if !k.Gentle {
		return
	}
	// This widens an answer beyond the probes: at low loads nobody sees whether a large batch shares the compute with
	// its prompts, as the model has it, and where the KV cache is full.
	if t.model.Step != nil {
		apart := t.model
		apart.Step = nil
		t.answer.High = max(t.answer.High, apart.Highest(q))
	}
	t.answer.Outside = cmp.Or(t.answer.Outside, t.fullCache(q))
}

// nearFull is why the twin knows nothing at a load; empty: it does.
func (t *Twin) nearFull(load float64) string {
	const near = 0.9
	if t.full == 0 || load <= near*t.full {
		return ""
	}
	return fmt.Sprintf("from %s on %s", LoadText(t.search, t.full), preempted)
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

// bracket is the twin's answer, or why it is none. A verdict of a row contradicts it: a PASS above its upper end, a
// FAIL below its lower one.
func (t *Twin) bracket(k *experiment.Search, verdicts stats.Bracket) (b stats.Bracket, why string) {
	if t == nil {
		return b, "no twin"
	}
	a, s := &t.answer, k.Algorithm()
	switch {
	case t.loads() < 2:
		return b, "the rows have one load alone"
	case a.Rejected != "" || a.Outside != "":
		return b, cmp.Or(a.Rejected, a.Outside)
	case verdicts.Low != nil && *verdicts.Low > a.High:
		return b, fmt.Sprintf("its limit, up to %s, contradicts the PASS at %s", LoadText(k, a.High),
			LoadText(k, *verdicts.Low))
	case verdicts.High != nil && (*verdicts.High < a.Low || s.Whole && *verdicts.High <= a.Low):
		return b, fmt.Sprintf("its limit, from %s, contradicts the FAIL at %s", LoadText(k, a.Low),
			LoadText(k, *verdicts.High))
	}
	b = verdicts // at the ends of the range, which the twin alone does not decide
	b.Best = nil
	// of a closed loop verdicts hardly depend on chance, as those of many probes near a rate's limit do
	if a.Low >= s.Min && a.Low < s.Max && !(s.Whole && verdicts.Low != nil && *verdicts.Low > a.Low) {
		b.Low = new(roundIn(s, a.Low))
	}
	if a.High <= s.Max && a.High > s.Min && !(s.Whole && verdicts.High != nil && *verdicts.High < a.High) {
		if b.High = new(s.Round(a.High, true)); s.Whole {
			*b.High = math.Floor(a.High) + 1
		}
	}
	if b.Bounds() {
		if b.Best = t.best(k); b.Best != nil && s.Whole {
			b.Best = new(min(max(*b.Best, *b.Low), *b.High-1))
		}
	}
	return b, ""
}

func (t *Twin) loads() int {
	seen := map[float64]bool{}
	for i := range t.trials {
		seen[t.trials[i].Load] = true
	}
	return len(seen)
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

// Twins are those of the workloads of a run that have several loads and limits of latencies. A row without requests, or
// a server that no model fits, is no error: the answers then rest on the verdicts alone. fitted has models by ID of a
// row; those of other rows are fitted and added. known are the twins that this program made of the rows under other
// limits.
func Twins(rows []record.Row, slots int, read Requests, fitted map[string]*Twin,
	known []record.Twin) (out []record.Twin) {
	all := FromRows(rows)
	AddTwins(all, known)
	for i := range all {
		s := &all[i]
		k, probes := s.asSearch(false)
		if k == nil || k.Goal != experiment.GoalSLO {
			continue
		}
		mine := s.Rows()
		t := fitted[mine[0].ID]
		if t == nil {
			var err error
			if t, err = FitTwin(mine, slots, read, s.Twin); err != nil {
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
	if d.Bracket, why = t.bracket(k, verdicts); why == "" {
		d.Operating = &stats.Interval{Lo: t.answer.Low, Hi: t.answer.High}
	} else if d.Outside == "" {
		d.Rejected = why
	}
	d.Residuals = t.residuals()
	if d.Rejected == "" {
		d.Curve = t.curve(k.Axis == "concurrency", d.Best)
	}
	return d
}

func (t *Twin) residuals() (out []record.TwinResidual) {
	for i, all := range t.model.Residuals(t.trials, t.limits...) {
		for _, r := range all {
			out = append(out, record.TwinResidual{Metric: t.keys[i], Residual: r})
		}
	}
	return out
}

// curve is the latencies from the lowest to the highest measured load, at these and at the estimate, too, up to where
// the twin keeps up.
func (t *Twin) curve(whole bool, best *float64) (out []record.TwinPoint) {
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
	at = slices.Compact(at)
	points := t.latencies(slices.DeleteFunc(slices.Clone(at), func(load float64) bool {
		return slices.ContainsFunc(t.known, func(p record.TwinPoint) bool { return p.Load == load })
	}), whole, requests)
	for _, p := range t.known {
		points[p.Load] = append(points[p.Load], p)
	}
	for _, load := range at {
		if points[load] == nil { // the twin does not keep up with it
			break
		}
		out = append(out, points[load]...)
	}
	return out
}

// PercentileLimits are limits of 1 s, of all latencies that a twin knows, with their keys: to ask for percentiles.
func PercentileLimits(percentiles ...string) (limits []twin.Limit, keys []string) {
	for _, latency := range []string{metric.TTFT, metric.TPOT, metric.E2E} {
		for _, name := range percentiles {
			p, _ := metric.Stat(name).P()
			limits, keys = append(limits, twin.Limit{Metric: latency, P: p, Value: 1}), append(keys, latency+"_"+name)
		}
	}
	return limits, keys
}

// latencies are all of them, by load and by long runs, where the twin keeps up.
func (t *Twin) latencies(loads []float64, whole bool, requests int) map[float64][]record.TwinPoint {
	byLoad := map[float64][]record.TwinPoint{}
	q := twin.Question{Whole: whole, Source: t.source, Requests: requests, Changed: t.changed, Fleet: t.fleet,
		Beyond: t.search != nil && t.search.Gentle}
	shown := metric.Percentiles[:4] // a p999 takes longer runs
	var names []string
	q.Limits, names = PercentileLimits(shown...)
	for i, at := range t.model.Latencies(t.trials, q, loads) {
		var out []record.TwinPoint
		for j, l := range at {
			p := record.TwinPoint{Load: loads[i], Metric: names[j], Ms: 1000 * l.Value, Low: 1000 * l.Low,
				High: 1000 * l.High}
			// corrections of their own could turn the order of percentiles, and of first and last token
			if j%len(shown) > 0 {
				atLeast(&p, &out[j-1])
			}
			if first := j - 2*len(shown); first >= 0 {
				atLeast(&p, &out[first])
			}
			out = append(out, p)
		}
		byLoad[loads[i]] = out
	}
	return byLoad
}

func atLeast(p, least *record.TwinPoint) {
	p.Ms, p.Low, p.High = max(p.Ms, least.Ms), max(p.Low, least.Low), max(p.High, least.High)
}

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

// ServerText is the server as the twin has it, with standard errors: "step 9.01 ± 0.05 ms, + 250 ± 3 µs a sequence".
func ServerText(t *record.Twin) string {
	part := func(value, err, scale float64, unitName string) string {
		text := unit.Brief(scale*value, 3)
		if err > 0 {
			text += " ± " + unit.Brief(scale*err, 2)
		}
		return text + " " + unitName
	}
	m, e := &t.Model, &t.Model.Errors
	text := "step " + part(m.Base, e.Base, 1e3, "ms")
	text += ", + " + part(m.PerSequence, e.PerSequence, 1e6, "µs a sequence")
	if m.PerContextToken > 0 {
		text += ", + " + part(m.PerContextToken, e.PerContextToken, 1e9, "ns a token of context")
	}
	text += ", + " + part(m.PerPrefillToken, e.PerPrefillToken, 1e6, "µs a prompt token")
	if m.FreePrefillTokens > 0 {
		text += fmt.Sprintf(" after %d", m.FreePrefillTokens)
	}
	text += ", front end " + part(m.FrontEnd, e.FrontEnd, 1e3, "ms")
	switch {
	case m.MaxSequences == 0:
		return text + fmt.Sprintf("; sequences at most not known, at least %d: no row filled them", m.MostRunning)
	case m.SequencesReported:
		return text + fmt.Sprintf("; %d sequences at most, as reported", m.MaxSequences)
	}
	return text + fmt.Sprintf("; %d sequences at most, by the queue", m.MaxSequences)
}

// LargestResidual is that of the latency near the estimate that a twin misses most, and as a share of the twin's; nil:
// none.
func LargestResidual(t *record.Twin) (of *record.TwinResidual, share float64) {
	const near = 0.4 // of ln(load)
	for i, r := range t.Residuals {
		if miss := math.Abs(math.Expm1(r.Log)); miss > share && (t.Best == nil ||
			math.Abs(math.Log(r.Load / *t.Best)) <= near) {
			of, share = &t.Residuals[i], miss
		}
	}
	return of, share
}
