package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

// sloTable is every limit of every row, judged.
func (r *Run) sloTable() table {
	t := table{id: "slo", caption: "The SLO, judged", columns: []column{
		{head: "row"}, {head: "limit"}, {head: "value", num: true}, {head: "verdict", help: "slo"},
		{head: "need", unit: "requests", num: true, help: "slo"}, {head: "why"},
	}}
	for _, row := range r.Live() {
		for _, v := range row.SLO {
			need := absent()
			if v.Need > 0 {
				need = count(v.Need)
			}
			t.rows = append(t.rows, []cell{text(row.ID), text(limitText(v)), measuredCell(v),
				verdictCell(stats.Verdict(v.Verdict), v.Need), need, text(v.Why)})
		}
	}
	return t
}

// measuredCell is what was measured under a limit. A percentile shows whether its requests can carry
// it; means and figures of the whole window have no such grade.
func measuredCell(v record.Verdict) cell {
	if v.Value == nil {
		return cell{text: "no value", kind: faint, title: "not measured, or without a bound, as failed requests rank there"}
	}
	c := text(quantity(*v.Value, v.Unit))
	p, ok := experiment.Limit{Stat: v.Metric[strings.LastIndexByte(v.Metric, '_')+1:]}.P()
	if !ok {
		return c
	}
	grade, n := stats.GradeOf(v.Observed, p), "n="+unit.Count(v.Observed)
	c.title = n + ", " + gradeWords(grade)
	switch grade {
	case stats.NoBound:
		c.text, c.kind = c.text+", "+n+": no bound", noBound
	case stats.Thin:
		c.text, c.kind = "~"+c.text, thin
	}
	return c
}

// limitText is a limit as people read it: "ttft_p95 ≤ 1 s (class chat)".
func limitText(v record.Verdict) string {
	metric, sign := v.Metric, "≤"
	if rest, ok := strings.CutPrefix(v.Metric, "min_"); ok {
		metric, sign = rest, "≥"
	}
	s := fmt.Sprintf("%s %s %s", metric, sign, exactly(v.Limit, v.Unit))
	if v.Class != "" {
		s += " (class " + v.Class + ")"
	}
	return s
}

// quantity is a measured figure, to three significant digits.
func quantity(x float64, u string) string { return unit.Format(x, unitWords(u)) }

// exactly is a figure as somebody stated it, with all its digits.
func exactly(x float64, unit string) string {
	switch {
	case unit == "ms" && x >= 1000:
		x, unit = x/1000, "s"
	case unit == "share":
		x, unit = x*100, "%"
	}
	return strconv.FormatFloat(x, 'g', 12, 64) + " " + unitWords(unit)
}

func unitWords(unit string) string {
	switch unit {
	case "1/s":
		return "req/s"
	case "tokens/s":
		return "tok/s"
	}
	return unit
}

// doubtsTable is every finding of every row; the hint says what to do about it.
func (o *Outcome) findingsTable() table {
	t := table{id: "findings", caption: "Findings", columns: []column{{head: "finding"}, {head: "row"}, {head: "what"}, {head: "what to do"}}}
	for _, d := range o.Findings {
		for _, c := range d.Cases {
			t.rows = append(t.rows, []cell{text(d.Code), text(c.Row), text(c.Text), text(c.Hint)})
		}
	}
	return t
}

// expectTable is what was expected of each row beside what came.
func (o *Outcome) expectTable() table {
	t := table{id: "expectations", caption: "Expected, and what happened",
		note: "bench does not judge prose: read both.", columns: []column{{head: "row"}, {head: "expected"}, {head: "happened"}}}
	for i := range o.Series {
		s := &o.Series[i]
		if expect := s.Points[0].Rows[0].Spec.Expect; expect != "" {
			t.rows = append(t.rows, []cell{text(s.Label()), text(expect), text(s.Sentence)})
		}
	}
	return t
}

// prefixSet is the points that differ only in the state of their prefix.
type prefixSet struct {
	name   string
	states []string
	points []*series.SeriesPoint
}

// prefixSets finds the rows that have the prefix as an axis, each load apart.
func (o *Outcome) prefixSets() []prefixSet {
	var sets []prefixSet
	o.each(func(s *series.Series, p *series.SeriesPoint) {
		isPrefix := func(a experiment.Axis) bool { return a.Key == "prefix" || a.Key == "prefix.state" }
		spec := p.Rows[0].Spec
		if spec.Prefix == nil || !slices.ContainsFunc(s.Others, isPrefix) {
			return
		}
		rest := series.Series{Name: s.Name, Others: slices.DeleteFunc(slices.Clone(s.Others), isPrefix)}
		name := rest.Label() + ", " + p.Load
		i := slices.IndexFunc(sets, func(x prefixSet) bool { return x.name == name })
		if i < 0 {
			i = len(sets)
			sets = append(sets, prefixSet{name: name})
		}
		sets[i].states = append(sets[i].states, or(spec.Prefix.State, "shared"))
		sets[i].points = append(sets[i].points, p)
	})
	return sets
}

// prefixTable sets cold and warm beside each other.
func (o *Outcome) prefixTable(u units) table {
	t := table{id: "prefix", caption: "Prefix cold and warm", columns: []column{
		{head: "point"}, {head: "prefix"}, {head: "prompt tokens cached", unit: "%", num: true},
		{head: "TTFT p50", unit: u.head(), num: true, help: "ttft"}, {head: "TTFT p99", unit: u.head(), num: true, help: "ttft"},
		{head: "TPOT p50", unit: u.head(), num: true, help: "tpot"}, {head: "output", unit: "tok/s", num: true, help: "throughput"},
		{head: "TTFT p50 saved [95 %]", num: true, help: "percentile"},
	}}
	for _, set := range o.prefixSets() {
		for i, p := range set.points {
			t.rows = append(t.rows, []cell{text(set.name), text(set.states[i]), cachedCell(p),
				u.percentile(p.TTFT, "p50"), u.percentile(p.TTFT, "p99"), u.percentile(p.TPOT, "p50"),
				text(unit.Digits(p.OutputTokensPerS.Median)), gainCell(set.points, set.states[i])})
		}
	}
	return t
}

// interferenceTable sets the classes of mixes beside themselves alone.
func (r *Run) interferenceTable(u units) table {
	t := table{id: "interference", caption: "Classes in the mix, and alone", columns: []column{
		{head: "point"}, {head: "class"}, {head: "latency"}, {head: "p99 alone", unit: u.head(), num: true, help: "percentile"},
		{head: "p99 in the mix", unit: u.head(), num: true, help: "percentile"}, {head: "difference [95 %]", num: true, help: "percentile"},
	}}
	for _, x := range series.InterferenceOf(r.Rows) {
		name := (&experiment.Spec{Name: x.Name, Point: x.Point}).Pretty()
		alone, together := text(u.ms(x.Alone)), text(u.ms(x.Together))
		difference := text(inCell.ms(x.DifferenceMs) + " [" + interval(x.CI95) + "]")
		switch {
		case math.IsInf(x.CI95.Lo, 0) || math.IsInf(x.CI95.Hi, 0):
			few := cell{text: "too few", kind: faint, title: "too few requests for a bound of p99"}
			alone, together, difference = few, few, few
		case x.CI95.Lo <= 0 && x.CI95.Hi >= 0:
			difference.tag = "can't tell"
		}
		t.rows = append(t.rows, []cell{text(name), text(x.Class), text(x.Metric), alone, together, difference})
	}
	return t
}

// gainCell is what a prefix of that state saves of the time to the first token, beside the cold one among the points.
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
			c.tag = "can't tell"
		}
		return c
	}
	return absent()
}

func cachedCell(p *series.SeriesPoint) cell {
	cached, prompt := 0, 0
	for _, r := range p.Rows {
		if r.Summary.Tokens.Cached == nil {
			return cell{text: "not told", kind: faint, title: "the server does not say how many prompt tokens it had cached"}
		}
		cached += *r.Summary.Tokens.Cached
		prompt += r.Summary.Tokens.Prompt
	}
	if prompt == 0 {
		return absent()
	}
	return text(unit.Digits(100 * float64(cached) / float64(prompt)))
}

// missingTable is what was planned and has no result, and what has one but is no longer planned.
func (r *Run) missingTable() table {
	t := table{id: "missing", caption: "Rows without a result, and removed rows", columns: []column{{head: "row"}, {head: "state"}, {head: "why"}}}
	for _, id := range r.Missing {
		i := slices.IndexFunc(r.Manifest.Plan, func(p record.Planned) bool { return p.ID == id })
		p := r.Manifest.Plan[i]
		t.rows = append(t.rows, []cell{text(id), text(p.State), text(or(p.Error, "no result yet; go on with bench sweep --resume"))})
	}
	for _, row := range r.Rows {
		if r.Removed(row.ID) {
			t.rows = append(t.rows, []cell{text(row.ID), text("removed"), text("no longer in the matrix; counts for nothing here")})
		}
	}
	return t
}

// definitions are the metrics in the words of the manual; id is the anchor that column heads name.
var definitions = []struct{ ID, Word, Text string }{
	{"ttft", "TTFT", "Time to first token: intended arrival to first token-bearing event. In a closed loop the intended arrival is the moment the slot became free: figures are marked \"from slot\"."},
	{"tpot", "TPOT", "Time per output token: (last token − first token) / (output tokens − 1), per request, for two output tokens or more."},
	{"e2e", "e2e", "Intended arrival to last token-bearing event; without streaming, to the last byte."},
	{"throughput", "Throughput", "Tokens and requests that came inside the measured window, of any request, over its length. Offered: intended arrivals of the window over its length."},
	{"percentile", "Percentiles", "Exact order statistics with linear interpolation (Hyndman–Fan type 7), over the completed requests of the window; 95 % intervals from order statistics, without assuming a distribution. Plain: sound. ~: thin, few requests lie beyond it. ≥: too few requests for an upper bound; the figure is the lower end of the interval. With repeats: the median of the repeats' percentiles, and the hull of their intervals; n is that of the smallest repeat."},
	{"failures", "n, failed", "n: completed requests (ok and short). Failed: all others of the window, unfinished ones included. Shown percentiles are over completed requests; under an SLO failed requests rank as infinitely slow."},
	{"slo", "SLO", "PASS and FAIL are certain to 99 % by the number of requests; UNDECIDED says how many more would decide, if the share over the limit stays. A point's verdict is the worst of its limits and repeats."},
	{"validity", "Validity", "Checks of the measurement itself. A check that could not be made is not a passed one, so its count is said: VALID, 9 of 11 checked."},
	{"bound", "Bound", "Floor: at the peak bandwidth and compute of the hardware; faster is impossible without a cache or speculation. Expected: at the usual efficiencies. Both for the batch and context that were observed."},
	{"lag", "Lag", "The client's own lateness: from the moment a request was ready to go to its first byte in the kernel. Read late by: from the kernel's receipt of a token to the return of the read, on average; it is not in the latencies where the kernel stamps them."},
	{"steady", "Steadiness", "Trends of a metric through the window, as a share of its median, with the chance that none is there; MSER-5: how many requests at its start differ from the rest so much that their mean would be surer without them. Little's law: requests in flight = rate at which they end × how long they stay; where it does not hold, a queue grows or drains."},
	{"reuse", "Possible and found hits", "Possible: prompt tokens that a cache without a bound would hold, from the plan alone. Found: what the server's usage told as cached."},
	{"cost", "Cost", "The stated price of the GPUs over the window, on its output tokens."},
	{"peruser", "Interactivity", "Output tokens/s that one user sees: 1 / TPOT p50. Against output tokens/s per GPU it shows what a faster answer costs in throughput."},
	{"knee", "Knees and frontier", "SLO knee: the highest load that is valid and meets the SLO. Geometric knee: the load after which throughput bends (Kneedle). Saturation: the first load that the server does not keep up with (below 95 % of the offered requests/s, beyond chance; in a closed loop, a slot that brings less than a tenth of the first ones). Frontier: points that no other point of the series beats in both output throughput and p99 latency, as they are drawn: a point whose p99 has no bound is ranked by the lower end of its interval (\"at least\"), so more requests can take it off."},
}
