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

func prefixTable(o *Analysis) Table {
	t := newTable("prefix", "Prefix cold and warm", "point", "prefix", "prompt tokens cached|% #",
		"TTFT p50|ms # ?ttft", "TTFT p99|ms # ?ttft", "TPOT p50|ms # ?tpot", "output|tok/s # ?throughput",
		"TTFT p50 saved [95 %] # ?percentile")
	for _, set := range o.PrefixSets() {
		for i, p := range set.Points {
			t.Add(TextCell(set.Name), TextCell(set.States[i]), cachedCell(p), msCell(p.TTFT, "p50"),
				msCell(p.TTFT, "p99"), msCell(p.TPOT, "p50"), outputCell(p), gainCell(set.Points, set.States[i]))
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
		c := Cell{Text: formatMs(g.SavedMs), Within: "[" + interval(g.CI95, formatMs) + "]"}
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

func interferenceTable(r *Run) Table {
	t := newTable("interference", "Classes alone and in the mix", "point", "class", "latency",
		"p95 alone|ms # ?percentile", "p95 in the mix|ms # ?percentile", "change [95 %] # ?percentile")
	for _, x := range series.Interferences(r.Rows) {
		name := (&experiment.Spec{Name: x.Name, Point: x.Point}).Label()
		change := diagnosis.Slowdown(&x)
		t.Add(TextCell(name), TextCell(x.Class), TextCell(metric.Words(x.Metric)), TextCell(unit.Digits(x.Alone)),
			TextCell(unit.Digits(x.Together)), slowdownCell(&change))
	}
	return t
}

func slowdownCell(c *diagnosis.Change) Cell {
	if c.Result == diagnosis.Inconclusive {
		return TextCell(c.Text())
	}
	text, within := c.Parts()
	return Cell{Text: text, Within: within}
}

func serviceTable(r *Run) Table {
	t := newTable("service", "Shares of the tokens", "row", "class", "all tokens [95 %]|% #",
		"output tokens [95 %]|% #", "of its fair share|% #", "Jain's index [95 %] #")
	t.Note = "A fair share is as much as any other class gets, or all that the class asks for."
	for _, row := range r.Live() {
		if row.Service == nil {
			continue
		}
		for i, c := range row.Service.Classes {
			jain := Absent()
			if j := row.Service.Jain; j != nil && i == 0 {
				jain = with95(&j.Value, &j.CI95, unit.Digits)
			}
			t.Add(TextCell(row.ID), TextCell(c.Class), with95(&c.Tokens.Value, &c.Tokens.CI95, unit.PercentDigits),
				with95(&c.Output.Value, &c.Output.CI95, unit.PercentDigits), optional(c.OfFair, unit.PercentDigits),
				jain)
		}
	}
	return t
}

// reuseTable compares the prefix-cache hits that the plan makes possible with those that the server reports.
func reuseTable(r *Run) Table {
	t := newTable("reuse", "Prefix-cache hits", "row", "prompt tokens #", "possible hit rate # ?reuse",
		"reported hit rate # ?reuse", "reported ÷ possible #", "requests #", "block|tok #", "reported by")
	for _, row := range r.Live() {
		u := row.Reuse
		if u == nil {
			continue
		}
		of, block := Absent(), count(row.Server.BlockTokens())
		if u.PossibleTokens > 0 {
			of = TextCell(share(float64(u.CachedTokens) / float64(u.PossibleTokens)))
		}
		if row.Server.Block == nil {
			block.Tag = "assumed"
		}
		t.Add(TextCell(row.ID), count(u.PromptTokens), TextCell(share(u.PossibleRate)), TextCell(share(u.CachedRate)),
			of, count(u.Requests), block, TextCell(u.Source))
	}
	return t
}

func coldTable(r *Run) Table {
	t := newTable("cold", "Cold starts", "row", "idle before each #", "TTFT p50 # ?ttft", "n #")
	for _, row := range r.Live() {
		c := row.ColdStart
		if c == nil {
			continue
		}
		t.Add(TextCell(row.ID), TextCell(fmt.Sprint(c.IdleS)),
			LatencyCell(record.PercentilesOf(row.Summary.TTFT), "p50"), count(row.Summary.Requests.Completed))
	}
	return t
}
