package page

import (
	"fmt"
	"slices"

	"github.com/go-echarts/go-echarts/v2/opts"

	"bench/experiment/record"
	"bench/experiment/unit"
)

func rotationsOf(row *record.Row, records []*record.Record, most int) []record.RotationSpan {
	if row.Spec.Tile == nil {
		return nil
	}
	return record.RotationSpans(records, row.Spec.Tile.Contexts, most)
}

var rotationLines = []struct {
	name  string
	panel int
	of    func(record.Rotation) *float64
}{
	{"TTFT mean", 0, func(r record.Rotation) *float64 { return r.TTFTMeanMs }},
	{"TTFT p50", 0, func(r record.Rotation) *float64 { return r.TTFTP50Ms }},
	{"hit rate", 1, func(r record.Rotation) *float64 { return r.CachedRate }},
}

func tilingChart(rows []observed, first string) chart {
	c := chart{ID: "rotations", Title: "TTFT and hit rate by rotation", Table: "tiling", UnitsY: []string{"ms"},
		Alt: "Mean and median TTFT of each rotation over all contexts, and the share of its prompt tokens from cache. The first rotation can't hit. The table below has the figures of the first and of all later rotations."}
	rows = slices.DeleteFunc(slices.Clone(rows), func(row observed) bool { return len(row.rotations) == 0 })
	names := choice{Name: "row"}
	for _, row := range rows {
		view := row.row.ID
		if len(rows) == 1 {
			view = "" // nothing to choose
		}
		series := rotationSeries(row.rotations)
		c.view(view, newLines(), series...)
		if names.Values = append(names.Values, view); view == first || names.First == "" {
			names.First = view
		}
		if slices.ContainsFunc(series, func(s map[string]any) bool { return s["yAxisIndex"] == 1 }) {
			c.UnitsY = []string{"ms", "share"}
		}
	}
	if len(rows) == 0 {
		return c
	}
	if len(rows) > 1 {
		c.Choices = []choice{names}
	}
	c.Height = panelTop + len(c.UnitsY)*(panelTall+panelSpace)
	line := panelAxes(panelTop, []string{"TTFT", "hit rate"}[:len(c.UnitsY)], "rotation",
		func(k int, x *opts.XAxis, y *opts.YAxis) {
			x.Min, x.MinInterval = 1, 1
			if k > 0 {
				y.Max, y.SplitNumber = 1, 2 // a share: 0, 50, 100 %
			}
		})
	return c.setAxes(line, len(c.UnitsY))
}

func rotationSeries(spans []record.RotationSpan) []map[string]any {
	var out []map[string]any
	for i, l := range rotationLines {
		var data []any
		for _, span := range spans {
			if y := l.of(span.Rotation); y != nil {
				data = append(data, []any{short(float64(span.From+span.To) / 2), short(*y), rotationTip(span)})
			}
		}
		if len(data) > 0 {
			out = append(out, map[string]any{"type": "line", "name": l.name, "xAxisIndex": l.panel,
				"yAxisIndex": l.panel, "data": data, "symbol": shapes[i], "symbolSize": 6,
				"itemStyle": map[string]any{"color": palette[i]},
				"lineStyle": map[string]any{"color": palette[i], "width": 1.5, "type": dashes[i]}})
		}
	}
	return out
}

func rotationTip(s record.RotationSpan) string {
	tip := fmt.Sprintf("rotation %d", s.From)
	if s.To > s.From {
		tip = fmt.Sprintf("rotations %d to %d", s.From, s.To)
	}
	tip += ", " + unit.Plural(s.Requests, "request")
	if s.TTFTMeanMs != nil {
		tip += fmt.Sprintf("\nTTFT mean %s, p50 %s", unit.Format(*s.TTFTMeanMs, "ms"), unit.Format(*s.TTFTP50Ms, "ms"))
	}
	if s.CachedRate != nil {
		tip += "\nhit rate " + unit.Percent(*s.CachedRate)
	}
	return tip
}
