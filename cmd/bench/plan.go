package main

import (
	"slices"
	"strconv"
	"strings"

	"bench/experiment/columns"
	"bench/sweep"
	"bench/sweep/forecast"
)

// planTable is what --dry-run prints. room is the KV cache of the simulated server in tokens; 0 = there is
// none.
func planTable(m *sweep.Matrix, only []string, room int) (string, error) {
	p, err := forecast.NewPlan(m, only, room)
	if err != nil {
		return "", usage("--only: %w", err)
	}
	if len(p.Rows) == 0 {
		return "", noMatch(m, only)
	}
	t := [][]string{{"row", "point", "repeat", "prompt tok", "output tok", "load", "requests", "time", "percentiles up to"}}
	for _, r := range p.Rows {
		t = append(t, []string{r.Name, r.Point, strconv.Itoa(r.Repeat), r.Input, r.Output, r.Load, r.Requests, r.Time, r.HighestPercentiles})
	}
	out := columns.Table(t, 2)
	if len(p.Hits) > 0 {
		out += "\npossible prefix-cache hits, in an unbounded cache:\n  " + strings.Join(p.Hits, "\n  ") + "\n"
	}
	if len(p.Short) > 0 {
		out += "\n" + strings.Join(p.Short, "\n") + "\n"
	}
	return out + "\n" + p.Total() + "\npercentiles: at best; requests that share a queue or a batch count for fewer\nnothing was sent\n", nil
}

// noMatch is the error of --only patterns that match no row.
func noMatch(m *sweep.Matrix, only []string) error {
	var names []string
	for i := range m.Points {
		if name := m.Points[i].Name; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return usage("no row matches --only %s\nhint: the rows are %s", strings.Join(only, " "), strings.Join(names, ", "))
}
