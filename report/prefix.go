package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/unit"
)

// PrefixSet is the points that differ only in the state of their prefix.
type PrefixSet struct {
	Name   string
	States []string
	Points []*series.SeriesPoint
}

// PrefixSets are the sets of rows with the prefix as an axis, one for each load.
func (o *Outcome) PrefixSets() []PrefixSet {
	var sets []PrefixSet
	o.Each(func(s *series.Series, p *series.SeriesPoint) {
		isPrefix := func(a experiment.Axis) bool { return a.Key == "prefix" || a.Key == "prefix.state" }
		spec := p.Rows[0].Spec
		if spec.Prefix == nil || !slices.ContainsFunc(s.Others, isPrefix) {
			return
		}
		rest := series.Series{Name: s.Name, Others: slices.DeleteFunc(slices.Clone(s.Others), isPrefix)}
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

// prefixTable compares cold and warm prefixes.
func (o *Outcome) prefixTable(u units) table {
	t := table{id: "prefix", caption: "Prefix cold and warm", columns: []column{
		{head: "point"}, {head: "prefix"}, {head: "prompt tokens cached", unit: "%", num: true},
		u.column("TTFT p50"), u.column("TTFT p99"), u.column("TPOT p50"), {head: "output", unit: "tok/s", num: true, help: "throughput"},
		{head: "TTFT p50 saved [95 %]", num: true, help: "percentile"},
	}}
	for _, set := range o.PrefixSets() {
		for i, p := range set.Points {
			t.add(text(set.Name), text(set.States[i]), cachedCell(p),
				u.percentile(p.TTFT, "p50"), u.percentile(p.TTFT, "p99"), u.percentile(p.TPOT, "p50"),
				text(unit.Digits(p.OutputTokensPerS.Median)), gainCell(set.Points, set.States[i]))
		}
	}
	return t
}

// gainCell is the TTFT that a prefix state saves against the cold prefix of the same points.
func gainCell(points []*series.SeriesPoint, state string) cell {
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
		c := text(inCell.ms(g.SavedMs) + " [" + interval(g.CI95) + "]")
		if !g.Certain() {
			c.tag = "inconclusive"
		}
		return c
	}
	return absent()
}

func cachedCell(p *series.SeriesPoint) cell {
	cached, prompt := 0, 0
	for _, r := range p.Rows {
		if r.Summary.Tokens.Cached == nil {
			return cell{text: "not reported", kind: faint, title: "the server does not report cached prompt tokens"}
		}
		cached += *r.Summary.Tokens.Cached
		prompt += r.Summary.Tokens.Prompt
	}
	if prompt == 0 {
		return absent()
	}
	return text(unit.Digits(100 * float64(cached) / float64(prompt)))
}

// interferenceTable compares the classes of mixes with the same classes alone.
func (r *Run) interferenceTable(u units) table {
	t := table{id: "interference", caption: "Classes alone and in the mix", columns: []column{
		{head: "point"}, {head: "class"}, {head: "latency"}, {head: "p99 alone", unit: u.head(), num: true, help: "percentile"},
		{head: "p99 in the mix", unit: u.head(), num: true, help: "percentile"}, {head: "difference [95 %]", num: true, help: "percentile"},
	}}
	for _, x := range series.InterferenceOf(r.Rows) {
		name := (&experiment.Spec{Name: x.Name, Point: x.Point}).Pretty()
		alone, together := text(u.ms(x.Alone)), text(u.ms(x.Together))
		difference := text(inCell.ms(x.DifferenceMs) + " [" + interval(x.CI95) + "]")
		switch {
		case math.IsInf(x.CI95.Lo, 0) || math.IsInf(x.CI95.Hi, 0):
			few := cell{text: "n too small", kind: faint, title: "too few requests for an upper bound of p99"}
			alone, together, difference = few, few, few
		case x.CI95.Lo <= 0 && x.CI95.Hi >= 0:
			difference.tag = "inconclusive"
		}
		t.add(text(name), text(x.Class), text(MetricName(x.Metric)), alone, together, difference)
	}
	return t
}

// reuseTable compares the prefix-cache hits that the plan makes possible with those that the server reports.
func (r *Run) reuseTable() table {
	t := table{id: "reuse", caption: "Prefix-cache hits", columns: []column{{head: "row"}, {head: "prompt tokens", num: true},
		{head: "possible hit rate", num: true, help: "reuse"}, {head: "reported hit rate", num: true, help: "reuse"},
		{head: "reported ÷ possible", num: true}, {head: "requests", num: true}}}
	for _, row := range r.Live() {
		u := row.Reuse
		if u == nil {
			continue
		}
		share := absent()
		if u.PossibleTokens > 0 {
			share = text(unit.Format(float64(u.CachedTokens)/float64(u.PossibleTokens), "share"))
		}
		t.add(text(row.ID), count(u.PromptTokens), text(unit.Format(u.PossibleRate, "share")),
			text(unit.Format(u.CachedRate, "share")), share, count(u.Requests))
	}
	return t
}

// coldTable is the time from an idle or a stopped server to the first token.
func (r *Run) coldTable() table {
	t := table{id: "cold", caption: "Cold starts", columns: []column{{head: "row"}, {head: "idle before each", num: true},
		{head: "server ready after", num: true}, {head: "first token after", num: true}, inCell.column("TTFT p50"), {head: "n", num: true}}}
	for _, row := range r.Live() {
		c := row.ColdStart
		if c == nil {
			continue
		}
		ready, token := cell{text: "already running", kind: faint}, absent()
		if c.Server != nil {
			ready, token = text(unit.Format(c.Server.ReadyMs, "ms")), known(c.Server.FirstTokenMs, "ms")
		}
		t.add(text(row.ID), text(fmt.Sprint(c.IdleS)), ready, token,
			inCell.percentile(record.PercentilesOf(row.Summary.TTFT), "p50"), count(row.Summary.Requests.Completed))
	}
	return t
}
