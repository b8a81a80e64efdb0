package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"bench/experiment/diagnosis"
	"bench/experiment/metric"
	"bench/experiment/series"
	"bench/experiment/stats"
	"bench/experiment/tune"
	"bench/experiment/unit"
)

// settingsTable has the changes from the first setting of each comparison.
func settingsTable(o *Analysis) Table {
	t := newTable("settings", "Settings", "setting", "SLO ?slo", "load", "|tok/s # ?throughput")
	first := len(t.Columns)
	var names []string
	each := func(f func(g *diagnosis.Settings, x *diagnosis.Setting)) {
		for i := range o.Answer.Settings {
			for j := range o.Answer.Settings[i].Settings {
				f(&o.Answer.Settings[i], &o.Answer.Settings[i].Settings[j])
			}
		}
	}
	each(func(_ *diagnosis.Settings, x *diagnosis.Setting) {
		for _, c := range x.Changes {
			if !slices.Contains(names, c.Name()) {
				names = append(names, c.Name())
				t.Columns = append(t.Columns, Column{Head: c.Name(), Unit: "change", Num: true})
			}
		}
	})
	each(func(g *diagnosis.Settings, x *diagnosis.Setting) {
		w := &o.Answer.Workloads[x.Workload]
		p := &o.Series[w.Series].Points[x.Point]
		if !g.OfServer && len(x.Changes) == 0 { // the first value of an axis
			return
		}
		name := Cell{Text: w.Name, Title: "compared with " + g.First}
		if x.Name == g.Best {
			name.Tag = "best"
		}
		row := append([]Cell{name, o.statusCell(p), TextCell(x.Load), TextCell(unit.Digits(p.OutputTokensPerS.Median))},
			slices.Repeat([]Cell{Absent()}, len(t.Columns)-first)...)
		for i := range x.Changes {
			row[first+slices.Index(names, x.Changes[i].Name())] = changedCell(&x.Changes[i], g.Basis)
		}
		t.Add(row...)
	})
	var basis []string
	for _, g := range o.Answer.Settings {
		if g.OfServer && !slices.Contains(basis, g.Basis) {
			basis = append(basis, g.Basis)
		}
	}
	t.Note = strings.Join(basis, "; ")
	return t
}

// changedCell leaves to its interval that a change is inconclusive, and to its mark that n is too small.
func changedCell(c *diagnosis.Change, basis string) Cell {
	text, within := c.Parts()
	if within == "" {
		text = "~" + text
	}
	kind := map[diagnosis.Result]Kind{diagnosis.Better: Passed, diagnosis.Worse: Failed,
		diagnosis.Inconclusive: Faint}[c.Result]
	return Cell{Text: text, Within: within, Title: string(c.Result) + "; " + basis, Kind: kind}
}

const mostSettingLines = 8

// settingsLines are the comparison that a workload is part of: its conclusion, then each setting that is not in it.
func settingsLines(o *Analysis, w *diagnosis.Workload) []string {
	if w.Tuned != "" {
		return append([]string{o.Answer.Tune.Certificate}, o.Answer.Tune.Notes...)
	}
	for _, g := range o.Answer.Settings {
		if !slices.ContainsFunc(g.Settings,
			func(x diagnosis.Setting) bool { return &o.Answer.Workloads[x.Workload] == w }) {
			continue
		}
		var out []string
		for _, x := range g.Settings {
			if x.Name != g.Best || g.Best == g.First {
				out = append(out, x.Text)
			}
		}
		if more := len(out) - mostSettingLines; more > 0 {
			out = append(out[:mostSettingLines], "and "+unit.Plural(more, "more setting"))
		}
		return append([]string{g.Text}, out...)
	}
	return nil
}

// racedTable has every setting of a race, and why it was left; empty: there is no race.
func racedTable(o *Analysis) Table {
	t := o.Answer.Tune
	if t == nil {
		return Table{}
	}
	goal := metric.Words(t.Goal)
	if t.Goal == tune.MaxLoad {
		goal = "highest load"
	}
	out := newTable("settings", "Settings", strings.Join(t.Knobs, "/"), "state", goal+" #", "95 %",
		"server time #", "why")
	for _, s := range t.Settings {
		name, state := TextCell(strings.Join(s.Values, "/")), Cell{Text: strings.ReplaceAll(s.State, "_", " ")}
		if s.Variant == t.Best {
			name.Tag, state.Kind = "best", Passed
		}
		figure, ends, cost := optional(s.Estimate, t.Value), TextCell(t.Ends(s.Interval)), Absent()
		if s.Bound != nil { // the estimate is a rough one
			figure = Cell{Text: "≈ " + figure.Text, Kind: Faint}
			ends = Cell{Text: "not " + t.Value(*s.Bound), Kind: Faint}
		}
		if s.AtMax {
			ends = TextCell("or above")
		}
		if s.CostS > 0 {
			cost = TextCell(clock(s.CostS))
		}
		out.Add(name, state, figure, ends, cost, TextCell(s.Reason))
	}
	return out
}

func variantsTable(r *Run, o *Analysis) Table {
	t := newTable("variants", "Servers and knobs", "variant", "operating point", "output|tok/s # ?throughput",
		"TTFT p99 # ?ttft", "TPOT p99 # ?tpot", "ready after #", "first answer #", "command or error")
	for _, start := range r.Manifest.Servers {
		ready, first := Absent(), optional(start.FirstAnswerS, func(s float64) string { return formatMs(1000 * s) })
		if start.ReadyS > 0 {
			ready = TextCell(formatMs(1000 * start.ReadyS))
		}
		command := TextCell(strings.Join(start.Command, " "))
		if start.Error != "" {
			command = Cell{Text: start.Error, Kind: Failed}
		}
		row := []Cell{TextCell(fmt.Sprintf("%d. %s", start.N, cmp.Or(start.Variant, "no knobs"))),
			{Text: "none", Kind: Faint}, Absent(), Absent(), Absent(), ready, first, command}
		if s, p := bestOf(o, start.Variant); p != nil {
			row[1], row[2] = TextCell(s.PointName(p)), outputCell(p)
			row[3], row[4] = LatencyCell(p.TTFT, "p99"), LatencyCell(p.TPOT, "p99")
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func bestOf(o *Analysis, variant string) (curve *series.Series, best *series.Point) {
	o.Each(func(s *series.Series, p *series.Point) {
		if p.SLO == stats.Pass && p.Valid && p.Rows[0].Spec.Variant == variant && (best == nil ||
			p.OutputTokensPerS.Median > best.OutputTokensPerS.Median) {
			curve, best = s, p
		}
	})
	return curve, best
}
