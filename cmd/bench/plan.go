package main

import (
	"bytes"
	"strconv"
	"strings"

	"bench/experiment/text"
	"bench/report"
	"bench/sweep/forecast"
)

func (in *sweepInput) planText(screen report.Screen) (string, error) {
	p, err := forecast.NewPlan(in.m, in.only, in.kept)
	if err != nil {
		return "", usage("--only: %w", err)
	}
	var b bytes.Buffer
	if err := report.WriteTable(&b, planTable(p), screen); err != nil {
		return "", err
	}
	last := append(strings.Split(p.Total(), "\n"), "enough for a percentile at best: requests that share a queue "+
		"or a batch count for fewer", "nothing was sent")
	for _, lines := range [][]string{p.Short, p.Changed, last} {
		if len(lines) > 0 {
			b.WriteString("\n")
		}
		for _, s := range lines {
			lead := s[:max(0, len(s)-len(strings.TrimLeft(s, " "))-1)] // Wrap adds a space
			for _, line := range text.Wrap(lead, text.Escape(s), lead+"   ", screen.Columns()) {
				b.WriteString(line + "\n")
			}
		}
	}
	return b.String(), nil
}

// planTable has a line for each point; the points of a row and the classes of its mix stand below its name.
func planTable(p *forecast.Plan) report.Table {
	t := report.Table{Columns: []report.Column{{Head: "point"}, {Head: "prompt", Unit: "tok"},
		{Head: "output", Unit: "tok"},
		{Head: "load"}, {Head: "requests"}, {Head: "time"}, {Head: "enough", Unit: "for"}}}
	for i, r := range p.Rows {
		first := i == 0 || p.Rows[i-1].Row != r.Row
		several := !first || i+1 < len(p.Rows) && p.Rows[i+1].Row == r.Row
		name := r.Row
		if several {
			name = "  " + r.Point
		}
		if first && several {
			t.Add(report.TextCell(r.Row))
			addClasses(&t, r.Shapes)
		}
		shape, requests := r.Shapes[0], r.Requests
		if shape.Class != "" {
			shape = forecast.Shape{Input: "mix", Output: "mix"}
		}
		if r.Repeats > 1 {
			requests = strconv.Itoa(r.Repeats) + " × " + requests
		}
		addTexts(&t, name, shape.Input, shape.Output, r.Load, requests, r.Time, r.HighestPercentiles)
		if !several {
			addClasses(&t, r.Shapes)
		}
	}
	return t
}

func addClasses(t *report.Table, shapes []forecast.Shape) {
	for _, s := range shapes {
		if s.Class != "" {
			addTexts(t, "  "+s.Class, s.Input, s.Output, "", "", "", "")
		}
	}
}

func addTexts(t *report.Table, texts ...string) {
	row := make([]report.Cell, len(texts))
	for i, text := range texts {
		row[i] = report.TextCell(text)
	}
	t.Add(row...)
}
