package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"bench/experiment/diagnosis"
	"bench/experiment/metric"
	"bench/experiment/record"
	"bench/experiment/unit"
	"bench/report/compare"
	"bench/report/shadow"
)

const TabCandidate = "candidate"

type ShadowView struct {
	Lead     string
	Kind     Kind
	Text     string // what it is a comparison of
	Counts   []diagnosis.Fact
	Cautions []string
}

// ShadowAnswer puts a comparison into words: the verdicts on the gated figures come first.
func ShadowAnswer(c *shadow.Comparison) ShadowView {
	v := ShadowView{Lead: "B: no pair to compare", Kind: Undecided, Text: fmt.Sprintf("A: the recorded server; "+
		"B: the candidate; %s of the conversations copied to B; requests paired, conversations as wholes",
		unit.Format(c.Share, "share"))}
	if c.Stopped != "" {
		v.Text += "; copying stopped: " + c.Stopped
	}
	var parts []string
	kinds := map[compare.Verdict]Kind{compare.Worse: Failed, compare.Inconclusive: Undecided}
	kind := Passed
	for _, verdict := range []compare.Verdict{compare.Worse, compare.Better, compare.Inconclusive, compare.NoChange} {
		for _, f := range c.Figures {
			if f.Gated && f.Verdict == verdict && c.Pairs > 0 {
				parts = append(parts, shadowWords(&f))
				if kind != Failed {
					kind = cmp.Or(kinds[verdict], kind)
				}
			}
		}
	}
	if len(parts) > 0 {
		v.Lead, v.Kind = "B: "+strings.Join(parts, ", "), kind
	}
	v.Counts = []diagnosis.Fact{
		{Name: "pairs", Value: unit.Count(c.Pairs)}, {Name: "conversations", Value: unit.Count(c.Sessions)},
		{Name: "copied", Value: unit.Count(c.Copies.Sent)}, {Name: "dropped", Value: unit.Count(c.Copies.Dropped)},
	}
	if c.LateP99 != nil {
		v.Counts = append(v.Counts, diagnosis.Fact{Name: "copy delay p99", Value: unit.Format(*c.LateP99, "ms")})
	}
	for _, f := range c.Findings {
		if f.Severity == record.Caution {
			v.Cautions = append(v.Cautions, f.Text)
		}
	}
	return v
}

// shadowWords is a figure with its verdict: "TPOT +4.1 % [+3.2, +5.0] worse".
func shadowWords(f *shadow.Figure) string {
	name, _ := metric.Cut(f.Name)
	name, m := metric.Words(name), f.Metric()
	if f.Verdict == compare.NoChange || f.Verdict == compare.Inconclusive {
		return name + " " + comparedCell(m, false).Text
	}
	return name + " " + changeCell(m).Full() + " " + string(f.Verdict)
}

func ShadowForest(c *shadow.Comparison) Forest {
	var lines []ForestLine
	for _, f := range c.Figures {
		if f.Verdict == "" || f.Change == nil {
			continue
		}
		if l, ok := newForestLine("B", f.Metric()); ok {
			if f.Turns != "" {
				l.Figure += ", " + f.Turns + " turns"
			}
			lines = append(lines, l)
		}
	}
	return Forest{Main: lines, Reach: reachOf(lines)}
}

func shadowTable(c *shadow.Comparison) Table {
	t := newTable("shadow", "Candidate B beside A", "figure", "turns", "pairs #", "A #", "B #", "change #", "verdict")
	t.Note = "TTFT and E2E from send. A false alarm over all figures: at most 5 %. " +
		"Tests: benchmarks/statistics.md#shadow."
	for _, f := range c.Figures {
		m := f.Metric()
		base, changed := sideCells(m)
		verdict := Cell{Text: "no verdict", Kind: Faint}
		if f.Verdict != "" {
			verdict = comparedCell(m, false)
		}
		verdict.Title = f.Why
		t.Add(TextCell(metric.Words(f.Name)), TextCell(cmp.Or(f.Turns, "all")), count(f.Pairs), base, changed,
			changeCell(m), verdict)
	}
	if slices.ContainsFunc(c.Figures, func(f shadow.Figure) bool { return f.Verdict == "" }) {
		t.Note += " Later turns: B must prefill A's earlier answers, which A has in its cache."
	}
	return t
}

func shadowLoadTable(c *shadow.Comparison) Table {
	t := newTable("shadow-load", "Load of A and B", "server", "requests/s #", "in flight, mean #",
		"hit rate of the copied #")
	t.Note = "From the first copy to the last."
	if c.Copies.Sent == 0 {
		return t
	}
	for side, name := range []string{"A", "B"} {
		x := c.Load[side]
		t.Add(TextCell(name), TextCell(unit.Digits(x.RequestsPerS)), TextCell(unit.Digits(x.InFlight)),
			optional(x.HitRate, share))
	}
	return t.withoutEmpty()
}

var leftOutWords = map[string]string{
	shadow.Warmup:  "sent in B's warm-up",
	shadow.Left:    "the caller left, or the copy was cancelled",
	shadow.Unread:  "an answer has an encoding that is not read, or is too large",
	shadow.Cut:     "cut: in flight when copying was stopped, or at the end",
	shadow.Late:    "sent more than 1 s after A's request",
	shadow.TooMany: "more pairs than memory for them",
	shadow.Failed:  "failed on a side: in the error rate only",
	shadow.Blocked: "the caller read A's answer slowly: in the error rate only",
}

func shadowLeftOutTable(c *shadow.Comparison) Table {
	t := newTable("shadow-left-out", "Copies left out", "reason", "copies #")
	for _, x := range c.LeftOut {
		t.Add(TextCell(leftOutWords[x.Reason]), TextCell(unit.Count(x.Copies)))
	}
	if n := c.Copies.Dropped; n > 0 {
		t.Add(TextCell("not sent: the queue to B was full"), TextCell(unit.Count(n)))
	}
	return t
}

func shadowFindingsTable(c *shadow.Comparison) Table {
	t := newTable("shadow-findings", "Cautions", "severity", "what", "do")
	for _, f := range c.Findings {
		t.Add(severityCell(f.Severity), TextCell(f.Text), TextCell(f.Hint))
	}
	return t
}

func candidateTab(r *Run) Tab {
	t := Tab{TabCandidate, "Candidate", true, nil}
	if c := r.Shadow; c != nil {
		t.Sections = append(onPaper(shadowFindingsTable(c), shadowTable(c), shadowLoadTable(c)),
			Sections(shadowLeftOutTable(c))...)
	}
	return t
}

func (p *printer) shadow(run *Run) {
	c := run.Shadow
	if c == nil {
		return
	}
	f := ShadowForest(c)
	p.forest(&f)
	if more := len(f.Main) - mostLinesOf; more > 0 {
		p.wrap("  ", unit.Plural(more, "more figure")+" in the tables below")
	}
	for _, t := range []Table{shadowTable(c), shadowLoadTable(c), shadowLeftOutTable(c)} {
		p.captioned(t, p.table)
	}
}

func (p *printer) shadowAnswer(c *shadow.Comparison) {
	v := ShadowAnswer(c)
	p.wrap("", p.paint(v.Kind, v.Lead))
	p.wrap("  ", v.Text)
	p.wraps("  caution ", v.Cautions...)
}
