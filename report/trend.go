package report

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"

	"bench/experiment/stats"
	"bench/experiment/unit"
	"bench/report/compare"
)

// HistoryText writes what a history says for a terminal: alarms, changes, and where each figure stands.
func HistoryText(w io.Writer, h *compare.History, color bool) error {
	p := &printer{color: color}
	for i := range h.Groups {
		g := &h.Groups[i]
		if i > 0 {
			p.line("")
		}
		p.wrap("", groupTitle(g))
		alarms, changes := alarmTable(g), changeTable(g, inText)
		if len(alarms.rows) == 0 {
			p.line("no alarm")
		}
		for _, t := range []table{unwatchedTable(g), alarms, changes} {
			if len(t.rows) > 0 {
				p.line("")
				p.line(t.caption)
				p.list(t)
			}
		}
	}
	for _, n := range h.Unread {
		p.wrap("not read: ", n.Dir+": "+n.Error)
	}
	if _, err := io.WriteString(w, p.b.String()); err != nil {
		return fmt.Errorf("writing the history: %w", err)
	}
	return nil
}

// HistoryMarkdown writes the same as Markdown.
func HistoryMarkdown(w io.Writer, h *compare.History) error {
	m := &markdown{}
	for i := range h.Groups {
		g := &h.Groups[i]
		m.line("# " + escapeMarkdown(groupTitle(g)))
		m.table(unwatchedTable(g))
		m.table(alarmTable(g))
		m.table(changeTable(g, inPage))
		m.table(standingTable(g))
	}
	m.table(unreadTable(h))
	if _, err := io.WriteString(w, m.b.String()); err != nil {
		return fmt.Errorf("writing Markdown: %w", err)
	}
	return nil
}

// HistoryJSON writes a history as data.
func HistoryJSON(w io.Writer, h *compare.History) error { return writeJSON(w, h) }

// HistoryHTML writes the trend page: a chart for each figure of each point, with intervals, changes and alarms.
func HistoryHTML(w io.Writer, h *compare.History) error {
	v := sheetView{Kind: "bench history", Title: "History", Lead: []string{historyLegend}}
	for i := range h.Groups {
		g := &h.Groups[i]
		id := fmt.Sprintf("g%d-", i)
		for _, t := range []table{unwatchedTable(g), alarmTable(g), changeTable(g, inPage)} {
			t.id, t.caption = id+t.id, groupTitle(g)+": "+t.caption
			if err := v.add(t, false); err != nil {
				return err
			}
		}
		trends, err := trendCharts(g, id)
		if err != nil {
			return err
		}
		t := standingTable(g)
		t.id, t.caption = id+t.id, groupTitle(g)
		if err := v.add(t, true, trends...); err != nil {
			return err
		}
	}
	if err := v.add(unreadTable(h), false); err != nil {
		return err
	}
	return v.write(w, nil) // its nights are in the charts; as data they would be as long again
}

const historyLegend = "A mark is a night: the mean of its repeats, with its 95 % interval as dashed lines; hollow: a row was not valid, and the night is not judged by. " +
	"A vertical line is a change-point (E-divisive means, permutation test at 0.1 %); an arrow is an alarm: the last night, or the last two together, lie outside of what the nights before predict."

func groupTitle(g *compare.Group) string {
	s := fmt.Sprintf("%s, %s, %s", or(g.Matrix, "no matrix"), or(g.Model, "model not stated"), or(g.Hardware, "hardware not stated"))
	if g.GPUs > 0 {
		s += fmt.Sprintf(" × %d", g.GPUs)
	}
	for _, part := range []string{g.Precision, g.Vantage} {
		if part != "" {
			s += ", " + part
		}
	}
	if g.Simulated {
		s += ", SIMULATED"
	}
	return s + ": " + plural(len(g.Nights), "night", "nights")
}

func day(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") }

// unwatchedTable is the figures of whose last night no alarm can speak, by the reason: without it "no alarm" would say more than is
// known. The probes of a search have it in common that they are new each night.
func unwatchedTable(g *compare.Group) table {
	t := table{id: "unwatched", caption: "Not watched", columns: []column{{head: "what"}, {head: "why"}}}
	figures, points, whys := map[[2]string][]string{}, map[string][]string{}, []string{}
	for i := range g.Trends {
		tr := &g.Trends[i]
		if tr.Unwatched == "" || tr.Unwatched == compare.Over {
			continue
		}
		if points[tr.Unwatched] == nil {
			whys = append(whys, tr.Unwatched)
		}
		k := [2]string{tr.Unwatched, tr.Point}
		if figures[k] == nil {
			points[tr.Unwatched] = append(points[tr.Unwatched], tr.Point)
		}
		figures[k] = append(figures[k], tr.Metric)
	}
	for _, why := range whys {
		var parts []string
		for _, p := range points[why] {
			parts = append(parts, p+" ("+strings.Join(figures[[2]string{why, p}], ", ")+")")
		}
		const shown = 3
		what := strings.Join(parts[:min(shown, len(parts))], "; ")
		if more := len(parts) - shown; more > 0 {
			what += "; and " + plural(more, "more point", "more points")
		}
		t.rows = append(t.rows, []cell{text(what), text(why)})
	}
	return t
}

func worseCell(size float64, worse bool) cell {
	if worse {
		return cell{text: compare.Percent(size, true) + " worse", kind: failed}
	}
	return cell{text: compare.Percent(size, true) + " better", kind: passed}
}

func alarmTable(g *compare.Group) table {
	t := table{id: "alarms", caption: "Alarms", columns: []column{{head: "point"}, {head: "figure"}, {head: "change"}, {head: "value", num: true}, {head: "expected"}, {head: "over"}}}
	for i := range g.Trends {
		tr := &g.Trends[i]
		if a := tr.Alarm; a != nil {
			t.rows = append(t.rows, []cell{text(tr.Point), text(tr.Metric), worseCell(a.Size, a.Worse), text(quantity(a.X, tr.Unit)),
				text(quantity(a.Expected.Lo, tr.Unit) + " to " + quantity(a.Expected.Hi, tr.Unit)), text(plural(a.Nights, "night", "nights"))})
		}
	}
	return t
}

// Where a change is told: a page has room for what else changed, a terminal for the first of it.
const (
	inText = false
	inPage = true
)

func changeTable(g *compare.Group, all bool) table {
	t := table{id: "changes", caption: "Changes", columns: []column{{head: "point"}, {head: "figure"}, {head: "since"}, {head: "change"}, {head: "what else changed"}}}
	if all {
		t.columns = append(t.columns, column{head: "before", num: true}, column{head: "after", num: true}, column{head: "p", num: true})
	}
	for i := range g.Trends {
		tr := &g.Trends[i]
		for _, c := range tr.Changes {
			row := []cell{text(tr.Point), text(tr.Metric), text(day(c.Date)), worseCell(c.Size, c.Worse), text(suspects(c, all))}
			if all {
				row = append(row, text(quantity(c.Before, tr.Unit)), text(quantity(c.After, tr.Unit)), text(unit.Digits(c.P)))
			}
			t.rows = append(t.rows, row)
		}
	}
	return t
}

func suspects(c compare.Change, all bool) string {
	s := ""
	for i, x := range c.Suspects {
		switch {
		case i > 0 && !all:
			return s + fmt.Sprintf(" and %d more", len(c.Suspects)-i)
		case i > 0:
			s += "; "
		}
		s += x.What + ": " + x.Was + " → " + x.Value
		if !x.Date.Equal(c.Date) {
			s += " (" + day(x.Date) + ")"
		}
	}
	return or(s, "nothing that was recorded")
}

// standingTable is every figure's last night beside the nights since the last change.
func standingTable(g *compare.Group) table {
	t := table{id: "trends", caption: "Where figures stand", columns: []column{{head: "point"}, {head: "figure"}, {head: "last night", num: true}, {head: "95 % interval"}, {head: "nights", num: true}, {head: "last change"}}}
	for i := range g.Trends {
		tr := &g.Trends[i]
		last := tr.Nights[len(tr.Nights)-1]
		changed := cell{text: "none", kind: faint}
		if n := len(tr.Changes); n > 0 {
			changed = text(day(tr.Changes[n-1].Date))
		}
		t.rows = append(t.rows, []cell{text(tr.Point), text(tr.Metric), text(quantity(last.X, tr.Unit)), text(bounds(last.CI95, tr.Unit)), count(len(tr.Nights)), changed})
	}
	return t
}

func bounds(iv stats.Interval, unit string) string {
	if math.IsInf(iv.Hi, 1) {
		return "not known"
	}
	return quantity(iv.Lo, unit) + " to " + quantity(iv.Hi, unit)
}

func unreadTable(h *compare.History) table {
	t := table{id: "unread", caption: "Runs that could not be read", columns: []column{{head: "run"}, {head: "why"}}}
	for _, n := range h.Unread {
		t.rows = append(t.rows, []cell{text(n.Dir), text(n.Error)})
	}
	return t
}

func trendCharts(g *compare.Group, id string) ([]chart, error) {
	var out []chart
	for i := range g.Trends {
		c, err := trendChart(&g.Trends[i], fmt.Sprintf("%st%d", id, i))
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

// trendChart draws a figure night by night. Nights are evenly spaced: what matters is their order.
func trendChart(t *compare.Trend, id string) (chart, error) {
	name := t.Metric + ", " + t.Point
	c := chart{ID: id, Title: name, Height: 260, UnitY: unitOfAxis(t.Unit),
		Alt: name + ", night by night, with intervals and change-points. Where each stands is in the table below."}
	line := newPlot(opts.XAxis{Type: "value", Name: "night", Min: 0}, opts.YAxis{Type: "value", Name: unitWords(t.Unit), Scale: opts.Bool(true)})
	var marks, low, high, alarms []datum
	for i, n := range t.Nights {
		tip := fmt.Sprintf("%s\n%s: %s (%s)\n%s", day(n.At), t.Metric, quantity(n.X, t.Unit), bounds(n.CI95, t.Unit), plural(n.Repeats, "repeat", "repeats"))
		d := datum{x: i, y: n.X, tip: tip}
		if !n.Valid {
			d.grade, d.tip = stats.Thin, tip+"\nnot valid"
		}
		marks = append(marks, d)
		if !math.IsInf(n.CI95.Hi, 1) {
			low, high = append(low, datum{x: i, y: n.CI95.Lo, tip: tip}), append(high, datum{x: i, y: n.CI95.Hi, tip: tip})
		}
	}
	addLine(line, 0, t.Metric, marks)
	addBand(line, low, high)
	if a := t.Alarm; a != nil {
		alarms = append(alarms, datum{x: len(t.Nights) - 1, y: t.Nights[len(t.Nights)-1].X, tip: fmt.Sprintf("alarm: %s", compare.Percent(a.Size, true))})
	}
	addMarks(line, "alarm", "arrow", vermilion, 20, alarms)
	addChanges(line, t)
	var err error
	c.Option, err = option(line)
	return c, err
}

func unitOfAxis(unit string) string {
	if unit == "ms" {
		return unit
	}
	return ""
}

// addBand draws the ends of the intervals as thin lines without marks.
func addBand(line *charts.Line, low, high []datum) {
	for _, ends := range [][]datum{low, high} {
		items := make([]opts.LineData, len(ends))
		for i, d := range ends {
			items[i] = opts.LineData{Value: d.value(), Symbol: "none"}
		}
		line.AddSeries("95 % interval", items, charts.WithItemStyleOpts(opts.ItemStyle{Color: palette[4]}),
			charts.WithLineStyleOpts(opts.LineStyle{Color: palette[4], Width: 1, Type: "dashed"}),
			charts.WithLineChartOpts(opts.LineChart{ShowSymbol: opts.Bool(false)}))
	}
}

func addChanges(line *charts.Line, t *compare.Trend) {
	if len(t.Changes) == 0 {
		return
	}
	var items []opts.MarkLineNameXAxisItem
	for _, c := range t.Changes {
		items = append(items, opts.MarkLineNameXAxisItem{Name: compare.Percent(c.Size, true), XAxis: float64(c.At) - 0.5})
	}
	line.AddSeries("change", nil,
		charts.WithItemStyleOpts(opts.ItemStyle{Color: vermilion}), charts.WithLineStyleOpts(opts.LineStyle{Color: vermilion}),
		charts.WithMarkLineNameXAxisItemOpts(items...),
		charts.WithMarkLineStyleOpts(opts.MarkLineStyle{Symbol: []string{"none", "none"},
			Label:     &opts.Label{Show: opts.Bool(true), Position: "insideEndTop", Formatter: "{b}", Color: vermilion},
			LineStyle: &opts.LineStyle{Color: vermilion, Type: "solid"}}))
}
