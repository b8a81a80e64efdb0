package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"bench/experiment/metric"
	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/stats"
	"bench/experiment/unit"
	"bench/experiment/verdict"
)

// pointColumn is a column of points.
type pointColumn struct {
	Column
	rank int // columns of a low rank are shown first; always: whatever the width
	cell func(s *series.Series, p *series.Point) Cell
}

// ofPoint has a head as column reads it.
func ofPoint(head string, rank int, cell func(p *series.Point) Cell) pointColumn {
	return pointColumn{column(head), rank, func(_ *series.Series, p *series.Point) Cell { return cell(p) }}
}

const (
	always   = 0
	unranked = -1 // not shown, unless the SLO limits it
)

// numbersHead is of the column with the numbers of the findings.
const numbersHead = "findings"

// textTable is every point with the columns that fit a terminal. Curves have a line with their name.
func textTable(o *Analysis, width int, footnotes map[string]int) Table {
	all := textColumns(o, footnotes)
	t := tableOf("", "", all)
	for i := range o.Series {
		s := &o.Series[i]
		t.addPoints(s, all, func(int) bool { return true })
	}
	return t.keep(fitting(&t, all, width))
}

// addPoints adds the shown points of a series, below the name of one with several points.
func (t *Table) addPoints(s *series.Series, all []pointColumn, shown func(point int) bool) {
	named := len(s.Points) == 1
	for j := range s.Points {
		if !shown(j) {
			continue
		}
		if !named {
			t.Add(TextCell(s.Label()))
			named = true
		}
		t.addPoint(s, &s.Points[j], all)
	}
}

func tableOf(id, caption string, columns []pointColumn) Table {
	t := newTable(id, caption)
	for _, c := range columns {
		t.Columns = append(t.Columns, c.Column)
	}
	return t
}

// addPoint adds a point, and the classes of a mix after it, if one has an SLO of its own.
func (t *Table) addPoint(s *series.Series, p *series.Point, columns []pointColumn) {
	row := make([]Cell, len(columns))
	for i, c := range columns {
		row[i] = c.cell(s, p)
	}
	t.Add(row...)
	for i := range p.Classes {
		t.addPoint(s, &p.Classes[i], columns)
	}
}

// fitting takes the columns of a low rank first, and none without any figure.
func fitting(t *Table, all []pointColumn, width int) []int {
	byRank := make([]int, len(all))
	for i := range all {
		byRank[i] = i
	}
	slices.SortStableFunc(byRank, func(a, b int) int { return all[a].rank - all[b].rank })
	var kept []int
	for _, i := range byRank {
		empty := !slices.ContainsFunc(t.Rows, func(row []Cell) bool {
			return len(row) > 1 && row[i].Text != Absent().Text
		})
		if all[i].rank != always && empty {
			continue
		}
		more := slices.Sorted(slices.Values(append(kept[:len(kept):len(kept)], i)))
		natural := t.keep(more)
		widths := natural.naturalWidths()
		widths[0] = min(widths[0], usualName(width))
		if all[i].rank == always || widthOf(widths) <= width {
			kept = more
		}
	}
	return kept
}

func (t Table) keep(columns []int) Table {
	out := t
	out.Columns, out.Rows = nil, nil
	for _, i := range columns {
		out.Columns = append(out.Columns, t.Columns[i])
	}
	for _, row := range t.Rows {
		if len(row) == 1 {
			out.Add(row...)
			continue
		}
		var kept []Cell
		for _, i := range columns {
			kept = append(kept, row[i])
		}
		out.Add(kept...)
	}
	return out
}

func textColumns(o *Analysis, footnotes map[string]int) []pointColumn {
	e2e := 12
	if !o.streams() { // it is the only latency
		e2e = 3
	}
	var answers []pointColumn
	if o.answers() {
		answers = latencyColumns(o, "ttfo", 3, 1)
	}
	return slices.Concat([]pointColumn{
		{Column{Head: "point"}, always, textName},
		ofPoint("output|tok/s #", 2, outputCell), ofPoint("|tok/s/GPU #", 6, moreGPUsCell),
		ofPoint("|tok/s/user #", 8, perUserCell), ofPoint("|req/s #", 9, requestsCell),
		ofPoint("goodput|req/s #", 15, goodputCell),
	}, latencyColumns(o, "ttft", 3, 1), answers, latencyColumns(o, "tpot", 2, 7),
		latencyColumns(o, "itl", 18, 10), latencyColumns(o, "e2e", 16, e2e), otherLimited(o, limitedColumns),
		[]pointColumn{
			ofPoint("cost|USD/M #", 14, costCell), ofPoint("energy|J/token #", 14, energyCell),
			ofPoint("n #", 4, completed), ofPoint("failed #", 11, failures), ofPoint("SLO", always, o.statusCell),
			ofPoint("limit", 13, decidingCell),
			ofPoint(numbersHead, 5, func(p *series.Point) Cell { return footnoteCell(p, footnotes) }),
		})
}

// streams reports whether every point has a TTFT.
func (o *Analysis) streams() bool {
	return !o.any(func(p *series.Point) bool { return len(p.TTFT) == 0 })
}

// latencyColumns are the percentiles of a latency: those that the SLO limits, the median and one at the tail with
// their ranks, and p99.
func latencyColumns(o *Analysis, latency string, median, tail int) []pointColumn {
	ranks := map[string]int{"p50": median}
	if median != unranked {
		ranks["p99"] = 17
	}
	ranks[tailOf(o, latency)] = tail
	var all []pointColumn
	for _, name := range metric.Percentiles {
		rank, shown := ranks[name]
		shown = shown && rank != unranked
		if o.limits(latency, name) {
			rank, shown = always, true
		}
		if shown {
			all = append(all, latencyColumn(latency, name, rank))
		}
	}
	return all
}

func latencyColumn(latency, name string, rank int) pointColumn {
	c := ofPoint(metric.Words(latency)+"|"+name+" ms #", rank,
		func(p *series.Point) Cell { return limitedPercentile(p, latency, name) })
	c.Stat = name
	return c
}

// limitedColumns are columns that no narrow screen drops.
func limitedColumns(latency string, names ...string) (out []pointColumn) {
	for _, name := range names {
		out = append(out, latencyColumn(latency, name, always))
	}
	return out
}

// otherLimited are columns of the means that a limit is on, and of the percentiles beside metric.Shown.
func otherLimited(o *Analysis, columns func(latency string, names ...string) []pointColumn) (out []pointColumn) {
	for _, latency := range metric.Latencies {
		if !slices.Contains(metric.Shown, latency) {
			out = append(out, columns(latency, o.limitedOr("", latency)...)...)
		}
		if o.limits(latency, "mean") {
			out = append(out, columns(latency, "mean")...)
		}
	}
	return out
}

// tailOf is the percentile of a latency beside its median: the highest that the SLO limits, else p99 or p95 if
// at least half of the points have enough requests for it, else p90.
func tailOf(o *Analysis, latency string) string {
	for _, name := range slices.Backward(metric.Percentiles[1:]) {
		if o.limits(latency, name) {
			return name
		}
	}
	for _, name := range []string{"p99", "p95"} {
		if carries(o, latency, name) {
			return name
		}
	}
	return "p90"
}

// carries reports whether at least half of the points have enough requests for a percentile of a latency.
func carries(o *Analysis, metric, name string) bool {
	enough, points := 0, 0
	o.Each(func(_ *series.Series, p *series.Point) {
		if x, ok := p.Latency(metric).Get(name); ok {
			points++
			if x.Grade != stats.NoBound {
				enough++
			}
		}
	})
	return points > 0 && 2*enough >= points
}

func (o *Analysis) limits(metric, name string) bool {
	limits := func(v record.Verdict) bool { return v.Metric == metric+"_"+name }
	return o.any(func(p *series.Point) bool {
		return slices.ContainsFunc(p.Rows, func(r *record.Row) bool { return slices.ContainsFunc(r.SLO, limits) })
	})
}

func textName(s *series.Series, p *series.Point) Cell {
	return TextCell(briefName(s, p) + map[bool]string{true: " †"}[s.Closed && p.Class == ""])
}

func briefName(s *series.Series, p *series.Point) string {
	if p.Class != "" {
		return map[bool]string{true: "    ", false: "  "}[len(s.Points) > 1] + p.Class
	}
	name := s.PointName(p)
	if len(s.Points) > 1 {
		name = "  " + p.Load
	}
	return name + ofAllClasses(p)
}

func median(r record.Repeats) Cell {
	if len(r.Values) == 0 {
		return Absent()
	}
	return TextCell(unit.Digits(r.Median))
}

func requestsCell(p *series.Point) Cell { return median(p.RequestsPerS) }

func perUserCell(p *series.Point) Cell { return median(p.PerUserTokensPerS) }

func perGPUCell(p *series.Point) Cell {
	return median(*cmp.Or(p.OutputTokensPerSPerGPU, &record.Repeats{}))
}

// moreGPUsCell is absent for one GPU: it is the output then.
func moreGPUsCell(p *series.Point) Cell {
	if per := p.OutputTokensPerSPerGPU; per != nil && per.Median != p.OutputTokensPerS.Median {
		return perGPUCell(p)
	}
	return Absent()
}

func goodputCell(p *series.Point) Cell {
	var good []float64
	for _, r := range p.Rows {
		if g := r.Summary.Goodput; g != nil {
			good = append(good, g.RequestsPerS)
		}
	}
	return median(record.RepeatsOf(good))
}

func costCell(p *series.Point) Cell {
	if c := series.MedianCost(p.Rows); c != nil {
		return TextCell(unit.Digits(c.USDPerMillion))
	}
	return Absent()
}

func energyCell(p *series.Point) Cell { return median(*cmp.Or(p.EnergyPerToken, &record.Repeats{})) }

func decidingCell(p *series.Point) Cell {
	v, ok := verdict.Deciding(p.Rows...)
	if !ok {
		return Absent()
	}
	return TextCell(verdict.ShortReason(v))
}

// footnote is the key of a finding in footnotes: a code can have two severities.
func footnote(s record.Severity, code string) string { return string(s) + " " + code }

func footnotes(o *Analysis) map[string]int {
	numbers := map[string]int{}
	for _, d := range o.Findings {
		if d.Severity != record.Note {
			numbers[footnote(d.Severity, d.Code)] = len(numbers) + 1
		}
	}
	return numbers
}

func footnoteCell(p *series.Point, footnotes map[string]int) Cell {
	var numbers []int
	for _, key := range disturbances(p) {
		numbers = append(numbers, footnotes[key])
	}
	slices.Sort(numbers)
	return findingsCell(p, strings.Trim(fmt.Sprint(numbers), "[]"))
}

func findingsCell(p *series.Point, text string) Cell {
	switch {
	case len(disturbances(p)) == 0:
		return Absent()
	case !p.Valid:
		return Cell{Text: text, Kind: Failed}
	}
	return Cell{Text: text, Kind: Undecided}
}

// disturbances are the footnotes' keys of a point's findings that are no notes, each once.
func disturbances(p *series.Point) []string {
	findings := slices.Clone(p.Findings)
	for _, r := range p.Rows {
		findings = append(findings, r.Findings...)
	}
	var keys []string
	for _, d := range findings {
		if key := footnote(d.Severity, d.Code); d.Severity != record.Note && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

func outputCell(p *series.Point) Cell { return TextCell(unit.Digits(p.OutputTokensPerS.Median)) }
