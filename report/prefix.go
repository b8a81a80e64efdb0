package report

import (
	"cmp"
	"fmt"
	"slices"

	"bench/experiment"
	"bench/experiment/diagnosis"
	"bench/experiment/metric"
	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/unit"
)

// PrefixSet is the points that differ only in the state of their prefix.
type PrefixSet struct {
	Name   string
	States []string
	Points []*series.Point
}

// PrefixSets are the sets of rows with the prefix as an axis, one for each load.
func (o *Analysis) PrefixSets() []PrefixSet {
	var sets []PrefixSet
	o.Each(func(s *series.Series, p *series.Point) {
		isPrefix := func(a experiment.Axis) bool { return a.Key == "prefix" || a.Key == "prefix.state" }
		spec := p.Rows[0].Spec
		if spec.Prefix == nil || !slices.ContainsFunc(s.OtherAxes, isPrefix) {
			return
		}
		rest := series.Series{Name: s.Name, OtherAxes: slices.DeleteFunc(slices.Clone(s.OtherAxes), isPrefix)}
		name := rest.Label() + ", " + p.Load
		i := slices.IndexFunc(sets, func(x PrefixSet) bool { return x.Name == name })
		if i < 0 {
			i = len(sets)
			sets = append(sets, PrefixSet{Name: name})
		}
		sets[i].States = append(sets[i].States, cmp.Or(spec.Prefix.State, "shared"))
		sets[i].Points = append(sets[i].Points, p)
	})
	return sets
}

func (o *Analysis) prefixTable(u Units) Table {
	t := Table{ID: "prefix", Caption: "Prefix cold and warm", Columns: []Column{
		{Head: "point"}, {Head: "prefix"}, {Head: "prompt tokens cached", Unit: "%", Num: true},
		u.column("TTFT p50"), u.column("TTFT p99"), u.column("TPOT p50"),
		{Head: "output", Unit: "tok/s", Num: true, Help: "throughput"},
		{Head: "TTFT p50 saved [95 %]", Num: true, Help: "percentile"},
	}}
	for _, set := range o.PrefixSets() {
		for i, p := range set.Points {
			t.Add(TextCell(set.Name), TextCell(set.States[i]), cachedCell(p),
				u.Percentile(p.TTFT, "p50"), u.Percentile(p.TTFT, "p99"), u.Percentile(p.TPOT, "p50"),
				TextCell(unit.Digits(p.OutputTokensPerS.Median)), gainCell(set.Points, set.States[i]))
		}
	}
	return t
}

func gainCell(points []*series.Point, state string) Cell {
	var rows []record.Row
	for _, p := range points {
		for _, r := range p.Rows {
			rows = append(rows, *r)
		}
	}
	for _, g := range series.PrefixGains(rows) {
		if g.State != state || g.Metric != "ttft" {
			continue
		}
		c := TextCell(InCell.ms(g.SavedMs) + " [" + interval(g.CI95) + "]")
		if !g.Certain() {
			c.Tag = "inconclusive"
		}
		return c
	}
	return Absent()
}

func cachedCell(p *series.Point) Cell {
	cached, prompt := 0, 0
	for _, r := range p.Rows {
		switch u := r.Reuse; {
		case r.Summary.Tokens.Cached != nil:
			cached, prompt = cached+*r.Summary.Tokens.Cached, prompt+r.Summary.Tokens.Prompt
		case u != nil: // by the server's counters
			cached, prompt = cached+u.CachedTokens, prompt+u.PromptTokens
		default:
			return Cell{Text: "not reported", Kind: Faint, Title: "the server does not report cached prompt tokens"}
		}
	}
	if prompt == 0 {
		return Absent()
	}
	return TextCell(unit.Digits(100 * float64(cached) / float64(prompt)))
}

func (r *Run) interferenceTable(u Units) Table {
	t := Table{ID: "interference", Caption: "Classes alone and in the mix", Columns: []Column{
		{Head: "point"}, {Head: "class"}, {Head: "latency"},
		{Head: "p95 alone", Unit: u.head(), Num: true, Help: "percentile"},
		{Head: "p95 in the mix", Unit: u.head(), Num: true, Help: "percentile"},
		{Head: "change [95 %]", Num: true, Help: "percentile"},
	}}
	for _, x := range series.Interferences(r.Rows) {
		name := (&experiment.Spec{Name: x.Name, Point: x.Point}).Label()
		change := diagnosis.Slowdown(&x)
		t.Add(TextCell(name), TextCell(x.Class), TextCell(metric.Words(x.Metric)), TextCell(u.ms(x.Alone)),
			TextCell(u.ms(x.Together)), TextCell(change.Text()))
	}
	return t
}

func (r *Run) serviceTable() Table {
	t := Table{ID: "service", Caption: "Shares of the tokens", Columns: []Column{
		{Head: "row"}, {Head: "class"}, {Head: "all tokens [95 %]", Unit: "%", Num: true},
		{Head: "output tokens [95 %]", Unit: "%", Num: true}, {Head: "of its fair share", Unit: "%", Num: true},
		{Head: "Jain's index [95 %]", Num: true}},
		Note: "A fair share is as much as any other class gets, or all that the class asks for."}
	for _, row := range r.Live() {
		if row.Service == nil {
			continue
		}
		for i, c := range row.Service.Classes {
			fair, jain := Absent(), Absent()
			if c.OfFair != nil {
				fair = TextCell(unit.PercentDigits(*c.OfFair))
			}
			if j := row.Service.Jain; j != nil && i == 0 {
				jain = with95(&j.Value, &j.CI95, unit.Digits)
			}
			t.Add(TextCell(row.ID), TextCell(c.Class), with95(&c.Tokens.Value, &c.Tokens.CI95, unit.PercentDigits),
				with95(&c.Output.Value, &c.Output.CI95, unit.PercentDigits), fair, jain)
		}
	}
	return t
}

// reuseTable compares the prefix-cache hits that the plan makes possible with those that the server reports.
func (r *Run) reuseTable() Table {
	t := Table{ID: "reuse", Caption: "Prefix-cache hits",
		Columns: []Column{{Head: "row"}, {Head: "prompt tokens", Num: true},
			{Head: "possible hit rate", Num: true, Help: "reuse"},
			{Head: "reported hit rate", Num: true, Help: "reuse"},
			{Head: "reported ÷ possible", Num: true}, {Head: "requests", Num: true},
			{Head: "block", Unit: "tok", Num: true}, {Head: "reported by"}}}
	for _, row := range r.Live() {
		u := row.Reuse
		if u == nil {
			continue
		}
		share := Absent()
		if u.PossibleTokens > 0 {
			share = TextCell(unit.Format(float64(u.CachedTokens)/float64(u.PossibleTokens), "share"))
		}
		t.Add(TextCell(row.ID), count(u.PromptTokens), TextCell(unit.Format(u.PossibleRate, "share")),
			TextCell(unit.Format(u.CachedRate, "share")), share, count(u.Requests), blockCell(&row.Server),
			TextCell(u.Source))
	}
	return t
}

func blockCell(s *record.ServerState) Cell {
	c := count(s.BlockTokens())
	if s.Block == nil {
		c.Tag = "assumed"
	}
	return c
}

func (r *Run) coldTable() Table {
	t := Table{ID: "cold", Caption: "Cold starts",
		Columns: []Column{{Head: "row"}, {Head: "idle before each", Num: true},
			{Head: "server ready after", Num: true}, {Head: "first token after", Num: true}, InCell.column("TTFT p50"),
			{Head: "n", Num: true}}}
	for _, row := range r.Live() {
		c := row.ColdStart
		if c == nil {
			continue
		}
		ready, token := Cell{Text: "already running", Kind: Faint}, Absent()
		if c.Server != nil {
			ready, token = TextCell(unit.Format(c.Server.ReadyMs, "ms")), optional(c.Server.FirstTokenMs,
				func(ms float64) string { return unit.Format(ms, "ms") })
		}
		t.Add(TextCell(row.ID), TextCell(fmt.Sprint(c.IdleS)), ready, token,
			InCell.Percentile(record.PercentilesOf(row.Summary.TTFT), "p50"), count(row.Summary.Requests.Completed))
	}
	return t
}
