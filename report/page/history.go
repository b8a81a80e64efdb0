package page

import (
	_ "embed"
	"fmt"
	"io"

	"bench/report"
	"bench/report/compare"
)

//go:embed history.html
var historyHTML string

var historyTemplate = derived("history", historyHTML)

type historyView struct {
	frame
	Title  string
	Legend string
	Groups []groupView
	Unread *figure // nil: every run was read
}

type groupView struct {
	Title  string
	Answer report.GroupAnswer
	Tables []figure
	Points []pointTrends
	Trends figure // every figure as a table
}

type pointTrends struct {
	Name   string
	Charts []chart
}

const historyLegend = "A mark is a night: the mean of its repeats, with its 95 % interval. " +
	"Diamond: with cautions. Hollow: invalid, not tested. " +
	"Triangle: beyond the scale. Vertical line: the level changed. Dashed: median. Arrow: alarm. " +
	"Ring: the gate found a regression."

func History(w io.Writer, h *compare.History) error {
	v := historyView{frame: newFrame(true), Title: report.HistoryTitle(h), Legend: historyLegend}
	for i := range h.Groups {
		v.Groups = append(v.Groups, newGroupView(&h.Groups[i], fmt.Sprintf("g%d", i)))
	}
	if t := report.UnreadTable(h); len(t.Rows) > 0 {
		v.Unread = new(tableFigure("s", t, false))
	}
	return write(w, historyTemplate(), v)
}

func tableFigure(prefix string, t report.Table, folded bool) figure {
	view := newTableView(prefix, t)
	view.Folded = view.Folded || folded
	return figure{Table: view, Paper: true}
}

func newGroupView(g *compare.Group, id string) groupView {
	v := groupView{Title: report.GroupTitle(g), Answer: report.AnswerGroup(g),
		Trends: tableFigure(id, report.TrendsTable(g), true)}
	for _, t := range report.GroupTables(g) {
		if len(t.Rows) > 0 {
			v.Tables = append(v.Tables, tableFigure(id, t, t.ID == report.UnwatchedID))
		}
	}
	at := map[string]int{}
	var ended []pointTrends
	for i := range g.Trends {
		t := &g.Trends[i]
		c := trendChart(g, t, fmt.Sprintf("%s-t%d", id, i))
		if t.Unwatched == compare.TrendEnded {
			ended = append(ended, pointTrends{t.Point + ", " + t.Metric + ": ended", []chart{c}})
			continue
		}
		k, known := at[t.Point]
		if !known {
			k = len(v.Points)
			at[t.Point] = k
			v.Points = append(v.Points, pointTrends{Name: t.Point})
		}
		v.Points[k].Charts = append(v.Points[k].Charts, c)
	}
	v.Points = append(v.Points, ended...)
	return v
}
