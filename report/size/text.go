package size

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"bench/experiment/text"
	"bench/experiment/unit"
	"bench/report"
)

const mostLeading = 3 // plans of the first line

// Text writes the answer first, then a table of the plans, then what they rest on.
func (r *Result) Text(w io.Writer, s report.Screen) error {
	var b strings.Builder
	b.WriteString(text.Lines([]string{r.answer()}, "  ", s.Columns()) + "\n")
	for _, t := range append([]report.Table{r.table()}, r.days()...) {
		if err := report.WriteTable(&b, t, s); err != nil {
			return err
		}
		b.WriteString("\n")
	}
	b.WriteString(text.Lines(r.notes(), "  ", s.Columns()))
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Result) answer() string {
	var leading []string
	for i := range r.Plans {
		if p := &r.Plans[i]; p.Refused == "" && len(leading) < mostLeading {
			leading = append(leading, p.String())
		}
	}
	what := fmt.Sprintf("%s/s within %s", unit.Brief(r.Rate, 4), strings.Join(r.SLO, ", "))
	if len(leading) == 0 {
		return "no fleet of these servers for " + what
	}
	verb := "carry "
	if len(leading) == 1 && r.Plans[0].Replicas == (Number{1, 1, 1}) {
		verb = "carries "
	}
	return strings.Join(leading, " or ") + " " + verb + what
}

// String is "5 × h200-sxm [5, 6]", with the GPUs where a replica has several.
func (p *Plan) String() string {
	n := p.Replicas
	fleet := fmt.Sprintf("%d × %s", n.Best, p.Name)
	if p.AtMost && n.Low > 1 && n.Low < n.Best {
		return fmt.Sprintf("%d to %s", n.Low, fleet)
	}
	if p.AtMost {
		return "at most " + fleet
	}
	return fleet + n.interval()
}

func (n Number) interval() string {
	switch {
	case n.High == 0:
		return fmt.Sprintf(" [%d, –]", n.Low)
	case n.Low == n.High:
		return ""
	}
	return fmt.Sprintf(" [%d, %d]", n.Low, n.High)
}

func (r *Result) table() report.Table {
	t := report.Table{ID: "size", Caption: "Fleets", Columns: []report.Column{{Head: "server"}, {Head: "replicas"},
		{Head: "GPUs"}, {Head: "with one lost"}, {Head: "req/s each", Num: true}, {Head: "margin", Num: true},
		{Head: "USD/M output", Num: true}, {Head: "USD/month", Num: true}, {Head: "limited by"}}}
	several := slices.ContainsFunc(r.Plans, func(p Plan) bool { return p.GPUsEach > 1 })
	if !several { // they are the replicas
		t.Columns = slices.Delete(t.Columns, 2, 3)
	}
	add := func(cells ...report.Cell) {
		if !several {
			cells = slices.Delete(cells, 2, 3)
		}
		t.Add(cells...)
	}
	optional := func(x *float64, text func(float64) string) report.Cell {
		if x == nil {
			return report.Absent()
		}
		return report.TextCell(text(*x))
	}
	for i := range r.Plans {
		p := &r.Plans[i]
		name := p.Name
		if p.Basis == Scaled {
			name += " (scaled)"
		}
		if none := report.Absent(); p.Refused != "" {
			add(report.TextCell(name), none, none, none, none, none, none, none, report.TextCell(p.Refused))
			continue
		}
		number := func(n Number) report.Cell {
			if p.AtMost {
				return report.TextCell("≤ " + fmt.Sprint(n.Best))
			}
			return report.TextCell(fmt.Sprint(n.Best) + strings.ReplaceAll(n.interval(), ", ", "–"))
		}
		most := map[bool]string{true: "≤ "}[p.AtMost]
		add(report.TextCell(name), number(p.Replicas), number(p.gpus(p.Replicas)), number(p.Spare),
			report.TextCell(unit.Brief(p.LoadEach, 3)),
			optional(p.Margin, func(x float64) string { return fmt.Sprintf("%.0f %%", 100*x) }),
			optional(p.USDPerMillion, func(x float64) string { return most + unit.Digits(x) }),
			optional(p.USDPerMonth, func(x float64) string { return most + unit.Count(int(x)) }),
			report.TextCell(p.LimitedBy))
	}
	return t
}

// days has a table for each plan with a day of traffic.
func (r *Result) days() (out []report.Table) {
	for i := range r.Plans {
		d := r.Plans[i].Day
		if d == nil {
			continue
		}
		t := report.Table{ID: "day", Columns: []report.Column{{Head: r.Plans[i].Name},
			{Head: "replicas, most", Num: true}, {Head: "GPU-hours", Num: true}, {Head: "over the SLO", Num: true},
			{Head: "USD", Num: true}}}
		for _, f := range []struct {
			name string
			*Fleet
		}{
			{"fixed", &d.Fixed}, {"perfect autoscaler", &d.Perfect},
			{fmt.Sprintf("autoscaler, fills %.0f %%, starts in %.0f s", 100*d.Target, d.StartUp), &d.Policy},
		} {
			usd := report.Absent()
			if f.USD != nil {
				usd = report.TextCell(unit.Digits(*f.USD))
			}
			t.Add(report.TextCell(f.name), report.TextCell(fmt.Sprint(f.Most)),
				report.TextCell(unit.Brief(f.GPUHours, 3)), report.TextCell(fmt.Sprintf("%.0f s", f.OverS)), usd)
		}
		out = append(out, t)
	}
	return out
}

func (r *Result) notes() []string {
	lines := []string{fmt.Sprintf("traffic: %s, on average %.0f prompt and %.0f output tokens; router: %s; "+
		"intervals of 90 %%", r.Traffic, r.Prompt, r.Output, r.Router)}
	predicted := ""
	if r.Predicted {
		predicted = " (PREDICTED: no server was)"
	}
	used := map[Basis]bool{}
	for _, p := range r.Plans {
		used[p.Basis] = true
	}
	for _, x := range []struct {
		basis Basis
		text  string
	}{
		{Measured, "measured" + predicted + ": the twin of the measured server"},
		{Scaled, "scaled: that twin, its step times changed by the ratio of the rooflines; of published pairs of " +
			"figures 95 % lie within a factor of 1.7 across devices, 1.4 across numbers of GPUs"},
		{Roofline, "no measurement: the roofline with the range of published figures (90 %); measure one replica to " +
			"narrow it"},
	} {
		if used[x.basis] {
			lines = append(lines, x.text)
		}
	}
	if len(r.Ignored) > 0 {
		lines = append(lines, "not a limit here: "+strings.Join(r.Ignored, ", "))
	}
	for _, p := range r.Plans {
		if p.AtMost {
			lines = append(lines, "≤: that number is enough, as one replica was seen to carry its part; fewer may be. "+
				"Measure nearer to the limit: "+p.without)
			break
		}
	}
	if b := r.Backtest; b != nil {
		lines = append(lines, fmt.Sprintf("backtest: %d windows predicted from the %d before: median error %.0f %%, "+
			"%.0f %% of %d figures within their interval of 95 %%; one server had %s to %s/s", b.Tested, b.Fitted,
			100*b.Error, 100*b.Covered, len(b.Points), unit.Brief(b.Least, 3), unit.Brief(b.Most, 3)))
	}
	return lines
}
