package why

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"bench/experiment/metric"
	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/text"
	"bench/experiment/unit"
	"bench/experiment/verdict"
	"bench/report"
	"bench/report/compare"
)

func All(string) bool { return true }

// Of explains the points that two runs have in common and that are asked for, workload by workload.
func Of(a, b *report.Run, asked func(point string) bool) *Result {
	r := &Result{Schema: Schema, A: a.Dir, B: b.Dir, Rows: []Row{}}
	if a.Manifest.Target.Facts() != nil {
		r.Facts = b.Manifest.Target.Changes(&a.Manifest.Target)
	}
	r.Facts = append(r.Facts, b.Manifest.Target.SurroundingChanges(&a.Manifest.Target)...)
	r.GPUs = gpuChanges(a, b, asked)
	others := map[string]*series.Series{}
	all := series.FromRows(b.Live())
	for i := range all {
		others[all[i].Label()] = &all[i]
	}
	for _, mine := range series.FromRows(a.Live()) {
		name := mine.Label()
		other := others[name]
		delete(others, name)
		if !slices.ContainsFunc(mine.Rows(), func(r *record.Row) bool { return asked(r.Spec.Label()) }) {
			continue
		}
		if other == nil {
			r.LeftOut = append(r.LeftOut, fmt.Sprintf("%s: only in %s", name, a.Dir))
			continue
		}
		x, errA := sideOf(&mine, a.Manifest.Slots(), a.Requests)
		y, errB := sideOf(other, b.Manifest.Slots(), b.Requests)
		for _, err := range []error{errA, errB} {
			if err != nil {
				r.LeftOut = append(r.LeftOut, fmt.Sprintf("%s: no twin: %v", name, err))
			}
		}
		if errA == nil && errB == nil {
			rows, leftOut := Explain(x, y, asked)
			r.Rows, r.LeftOut = append(r.Rows, rows...), append(r.LeftOut, leftOut...)
			if len(rows)+len(leftOut) == 0 {
				r.LeftOut = append(r.LeftOut, name+": the runs have no load in common")
			}
		}
	}
	for i := range all {
		if name := all[i].Label(); others[name] != nil {
			r.LeftOut = append(r.LeftOut, fmt.Sprintf("%s: only in %s", name, b.Dir))
		}
	}
	return r
}

const (
	mostSentences = 3
	mostParts     = 3 // of a sentence, beside the rest
)

// Sentences are the causes of the latencies that a comparison found better or worse, a sentence each, from the last
// run of each side: "TPOT p50 of chat rate=2 +18 %: step time at equal batch +9 %, response lengths +5 %, …". A
// comparison whose runs cannot be explained has none.
func Sentences(c *compare.Comparison) []string {
	changed := changedFigures(c)
	base, latest := lastRun(&c.Sides[0]), lastRun(&c.Sides[1])
	if c.Refused || len(changed) == 0 || base == nil || latest == nil {
		return nil
	}
	r := Of(base, latest, func(point string) bool { return changed[point] != nil })
	said := map[string]bool{} // a point has a row for each repeat
	var out []string
	for i := range r.Rows {
		row := &r.Rows[i]
		for k := range row.Figures {
			f := &row.Figures[k]
			latency, _ := metric.Cut(f.Metric)
			median := latency + "_p50"
			key := row.Point + " " + f.Metric
			if !f.explained() || said[key] || said[row.Point+" "+median] ||
				changed[row.Point][f.Metric]*f.Change.Share <= 0 || !f.changed() {
				continue
			}
			said[key] = true
			out = append(out, f.sentence(row.Point, r.GPUs))
		}
	}
	if n := len(out) - mostSentences; n > 0 {
		out = append(out[:mostSentences], fmt.Sprintf("%s: bench why", unit.Plural(n, "more change")))
	}
	return out
}

// changedFigures are the changes of figures that are better or worse, by point. Last runs that changed the other way
// than all runs together do not say why.
func changedFigures(c *compare.Comparison) map[string]map[string]float64 {
	out := map[string]map[string]float64{}
	for i := range c.Points {
		p := &c.Points[i]
		for k := range p.Metrics {
			m := &p.Metrics[k]
			if m.Change == nil || m.Verdict != compare.Better && m.Verdict != compare.Worse {
				continue
			}
			if out[p.Name] == nil {
				out[p.Name] = map[string]float64{}
			}
			out[p.Name][m.Name] = *m.Change
		}
	}
	return out
}

func lastRun(s *compare.Side) *report.Run {
	if len(s.Runs) == 0 || s.Runs[len(s.Runs)-1].Whole == nil {
		return nil
	}
	last := s.Runs[len(s.Runs)-1]
	last.Records = last.Whole
	return &report.Run{Dir: last.Name, Run: last.Run}
}

func (p *Part) sure() bool { return p.Cause != Unexplained && (p.Low > 0 || p.High < 0) }

// explained reports whether causes that are sure are the change, but for a third of it.
func (f *Figure) explained() bool {
	sum := 0.0
	for i := range f.Parts {
		if p := &f.Parts[i]; p.sure() {
			sum += p.Share
		}
	}
	return f.Rejected == "" && math.Abs(f.Change.Share-sum) < math.Abs(f.Change.Share)/3
}

func (f *Figure) sentence(point string, gpus []GPUChange) string {
	var parts []string
	rest := f.Change.Share
	for i := range f.Parts {
		p := &f.Parts[i]
		if p.sure() && len(parts) < mostParts && math.Abs(p.Share) >= smallestPart {
			parts = append(parts, p.Cause+" "+p.short()+beside(p, gpus))
			rest -= p.Share
		}
	}
	parts = append(parts, "rest "+(&Part{Share: rest}).short())
	return text.Escape(fmt.Sprintf("%s of %s %s: %s", verdict.LimitName(f.Metric, ""), point, f.Change.short(),
		strings.Join(parts, ", ")))
}
