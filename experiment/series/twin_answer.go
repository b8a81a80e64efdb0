package series

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"bench/experiment"
	"bench/experiment/metric"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/twin"
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
	if k.Gentle {
		t.goBeyond(q)
	}
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
	case verdicts.High != nil && *verdicts.High < a.Low:
		return b, fmt.Sprintf("its limit, from %s, contradicts the FAIL at %s", LoadText(k, a.Low),
			LoadText(k, *verdicts.High))
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
// row; those of other rows are fitted and added.
func Twins(rows []record.Row, slots int, read Requests, fitted map[string]*Twin) (out []record.Twin) {
	all := FromRows(rows)
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

// curve is the latencies from the lowest to the highest measured load, at these and at the estimate, too, up to where
// the twin keeps up.
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

// latencies are all of them at loads, by long runs, up to the first load that the twin does not keep up with.
func (t *Twin) latencies(loads []float64, whole bool, requests int) (out []record.TwinPoint) {
	q := twin.Question{Whole: whole, Source: t.source, Requests: requests, Changed: t.changed, Fleet: t.fleet,
		Beyond: t.search != nil && t.search.Gentle}
	shown := metric.Percentiles[:4] // a p999 takes longer runs
	var names []string
	q.Limits, names = PercentileLimits(shown...)
	for i, at := range t.model.Latencies(t.trials, q, loads) {
		if at == nil {
			return out
		}
		for j, l := range at {
			p := record.TwinPoint{Load: loads[i], Metric: names[j], Ms: 1000 * l.Value, Low: 1000 * l.Low,
				High: 1000 * l.High}
			if j%len(shown) > 0 { // corrections of their own could turn the order of percentiles
				before := out[len(out)-1]
				p.Ms, p.Low, p.High = max(p.Ms, before.Ms), max(p.Low, before.Low), max(p.High, before.High)
			}
			out = append(out, p)
		}
	}
	return out
}
