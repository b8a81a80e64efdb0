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
func ShadowAnswer(c *compare.ShadowComparison) ShadowView {
	v := ShadowView{Lead: "B: no pair to compare", Kind: Undecided, Text: shadowState(c)}
	var parts []string
	kinds := map[compare.Verdict]Kind{compare.Worse: Failed, compare.Inconclusive: Undecided}
	kind := Passed
	for _, verdict := range []compare.Verdict{compare.Worse, compare.Better, compare.Inconclusive, compare.NoChange} {
		for i := range c.Figures {
			if f := &c.Figures[i]; f.Gated && f.Verdict == verdict && c.Pairs > 0 {
				parts = append(parts, shadowWords(f))
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
	for i := range c.Findings {
		if f := &c.Findings[i]; f.Severity == record.Caution {
			v.Cautions = append(v.Cautions, f.Text)
		}
	}
	return v
}

// shadowWords is a figure with its verdict: "TPOT +4.1 % [+3.2, +5.0] worse".
func shadowWords(f *compare.ShadowFigure) string {
	name, m := metricWords(f.Name), f.Metric()
	if f.Verdict == compare.NoChange || f.Verdict == compare.Inconclusive {
		return name + " " + comparedCell(m, false).Text
	}
	return name + " " + changeText(m) + " " + string(f.Verdict)
}

func shadowState(c *compare.ShadowComparison) string {
	text := fmt.Sprintf("A: the recorded server; B: the candidate; %s of the conversations copied to B; requests paired, conversations as wholes", unit.Format(c.Share, "share"))
	if c.Stopped != "" {
		text += "; copying stopped: " + c.Stopped
	}
	return text
}

func ShadowForest(c *compare.ShadowComparison) Forest {
	var lines []ForestLine
	for i := range c.Figures {
		f := &c.Figures[i]
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

func shadowTable(c *compare.ShadowComparison) Table {
	t := newTable("shadow", "Candidate B beside A", "figure", "turns", "pairs #", "A #", "B #", "change #",
		"verdict")
	t.Note = "TTFT and E2E from send. A false alarm over all figures: at most 5 %. Tests: benchmarks/statistics.md#shadow."
	for i := range c.Figures {
		f := &c.Figures[i]
		m := f.Metric()
		base, changed := sideCells(m)
		verdict := TextCell("no verdict")
		verdict.Kind, verdict.Title = Faint, f.Why
		if f.Verdict != "" {
			verdict = comparedCell(m, false)
			verdict.Title = f.Why
		}
		turns := f.Turns
		if turns == "" {
			turns = "all"
		}
		t.Add(TextCell(metric.Words(f.Name)), TextCell(turns), TextCell(unit.Count(f.Pairs)), base, changed,
			TextCell(changeText(m)), verdict)
	}
	if slices.ContainsFunc(c.Figures, func(f compare.ShadowFigure) bool { return f.Verdict == "" }) {
		t.Note += " Later turns: B must prefill A's earlier answers, which A has in its cache."
	}
	return t
}

func shadowLoadTable(c *compare.ShadowComparison) Table {
	t := newTable("shadow-load", "Load of A and B", "server", "requests/s #", "in flight, mean #",
		"hit rate of the copied #")
	t.Note = "From the first copy to the last."
	if c.Copies.Sent == 0 {
		return t
	}
	for side, name := range []string{"A", "B"} {
		x := c.Load[side]
		rate := Absent()
		if x.HitRate != nil {
			rate = TextCell(unit.Format(*x.HitRate, "share"))
		}
		t.Add(TextCell(name), TextCell(unit.Digits(x.RequestsPerS)), TextCell(unit.Digits(x.InFlight)), rate)
	}
	return t.withoutEmpty()
}

var leftOutWords = map[string]string{
	compare.ShadowWarmup:  "sent in B's warm-up",
	compare.ShadowLeft:    "the caller left, or the copy was cancelled",
	compare.ShadowUnread:  "an answer has an encoding that is not read, or is too large",
	compare.ShadowCut:     "cut: in flight when copying was stopped, or at the end",
	compare.ShadowLate:    "sent more than 1 s after A's request",
	compare.ShadowTooMany: "more pairs than memory for them",
	compare.ShadowFailed:  "failed on a side: in the error rate only",
	compare.ShadowBlocked: "the caller read A's answer slowly: in the error rate only",
}

func shadowLeftOutTable(c *compare.ShadowComparison) Table {
	t := newTable("shadow-left-out", "Copies left out", "reason", "copies #")
	for _, x := range c.LeftOut {
		t.Add(TextCell(leftOutWords[x.Reason]), TextCell(unit.Count(x.Copies)))
	}
	if n := c.Copies.Dropped; n > 0 {
		t.Add(TextCell("not sent: the queue to B was full"), TextCell(unit.Count(n)))
	}
	return t
}

func shadowFindingsTable(c *compare.ShadowComparison) Table {
	t := newTable("shadow-findings", "Cautions", "severity", "what", "do")
	for _, f := range c.Findings {
		severity := TextCell(string(f.Severity))
		severity.Kind = severityKind(f.Severity)
		t.Add(severity, TextCell(f.Text), TextCell(f.Hint))
	}
	return t
}

func (r *Run) candidateTab() Tab {
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

func (p *printer) shadowAnswer(c *compare.ShadowComparison) {
	v := ShadowAnswer(c)
	p.wrap("", p.paint(v.Kind, v.Lead))
	p.wrap("  ", v.Text)
	for _, text := range v.Cautions {
		p.wrap("  caution ", text)
	}
}
