package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"bench/experiment"
	"bench/experiment/stats"
	"bench/experiment/unit"
	"bench/experiment/workload"
	"bench/sweep"
)

// planTable is what --dry-run prints: each point with its load, its requests, its time, and the
// highest percentile that so many requests carry. room is what the simulated server's KV cache holds, in tokens; 0 = there is none.
func planTable(m *sweep.Matrix, only []string, room int) (string, error) {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Options = table.OptionsNoBordersAndSeparators
	t.Style().Format.Header = text.FormatDefault
	t.AppendHeader(table.Row{"row", "point", "repeat", "prompt tok", "output tok", "load", "requests", "time", "percentiles up to"})
	var total estimate
	var points []*experiment.Spec
	for i := range m.Points {
		s := &m.Points[i]
		ok, err := sweep.Match(s, only)
		if err != nil {
			return "", usage("--only: %w", err)
		}
		if !ok {
			continue
		}
		points = append(points, s)
		time := timeOf(s)
		if s.Search != nil {
			time = searchTime(s)
		}
		total.add(time)
		var point []string
		for _, a := range s.Point {
			point = append(point, a.Key+"="+a.Value)
		}
		n := plannedRequests(s)
		input, output := shapes(s)
		t.AppendRow(table.Row{s.Name, strings.Join(point, " "), s.Repeat, input, output, loadText(s), countText(n), time, reach(n)})
	}
	if len(points) == 0 {
		return "", noMatch(m, only)
	}
	sum := fmt.Sprintf("\n%s, %s", count(len(points), "row"), total)
	if n := m.Starts(); n > 0 && m.Order != "interleaved" {
		sum += ", and " + count(n, "start") + " of the server"
	}
	if total.open {
		sum += ": a number of requests takes as long as the server needs"
	}
	return t.Render() + hitsText(points, room) + sum + orderText(m) + "\nnothing was sent\n", nil
}

// orderText states the order of execution unless it is as written, and what alternating servers costs.
func orderText(m *sweep.Matrix) string {
	if m.Order == "" || m.Order == "listed" {
		return ""
	}
	text := "\norder: " + m.OrderText()
	if n := m.Starts(); n > 0 && m.Order == "interleaved" {
		text += fmt.Sprintf(": %s of the server, as written %d", count(n, "start"), len(m.Variants))
	}
	return text
}

// noMatch is the error of --only patterns that pick nothing.
func noMatch(m *sweep.Matrix, only []string) error {
	var names []string
	for i := range m.Points {
		if name := m.Points[i].Name; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return usage("no row matches --only %s\nhint: the rows are %s", strings.Join(only, " "), strings.Join(names, ", "))
}

// searchTime is that of as many probes as the search expects, each at its lowest load, where a number of requests takes longest.
func searchTime(s *experiment.Spec) estimate {
	e := timeOf(s)
	e.time *= time.Duration(s.Search.Runs())
	if budget := time.Duration(s.Search.Budget); budget > 0 && e.time > budget {
		e.time, e.open = budget, false
	}
	e.most = true
	return e
}

// estimate is how long something takes.
type estimate struct {
	time time.Duration
	most bool // it may be less
	open bool // and more, as the server answers
}

func timeOf(s *experiment.Spec) estimate {
	d, known := s.Expected()
	e := estimate{time: d + perRow}
	if !known {
		e.most = s.Duration > 0
		e.open = s.Duration == 0 || s.Warmup.Requests > 0
	}
	return e
}

func (e *estimate) add(o estimate) {
	e.time += o.time
	e.most = e.most || o.most
	e.open = e.open || o.open
}

func (e estimate) String() string {
	text := e.time.Round(time.Second).String()
	switch {
	case e.most && e.open:
		return "about " + text
	case e.most:
		return "up to " + text
	case e.open:
		return text + " and more"
	}
	return text
}

func shapes(s *experiment.Spec) (input, output string) {
	classes := s.Classes()
	if len(s.Mix) == 0 {
		if t := s.Trace; t != nil {
			return fmt.Sprintf("%s p50 %.0f", t, t.Head.InputP50), fmt.Sprintf("trace p50 %.0f", t.Head.OutputP50)
		}
		return classes[0].Input.String(), classes[0].Output.String()
	}
	var in, out []string
	for _, c := range classes {
		in = append(in, c.Name+": "+c.Input.String())
		out = append(out, c.Name+": "+c.Output.String())
	}
	return strings.Join(in, "\n"), strings.Join(out, "\n")
}

func loadText(s *experiment.Spec) string {
	switch {
	case s.Search != nil:
		return fmt.Sprintf("%s, up to %s", s.Search, count(s.Search.Runs(), "probe"))
	case s.Cold():
		return "cold starts"
	case s.Rate.IsInf() && s.Concurrency > 0:
		return fmt.Sprintf("all at once, cap %d", s.Concurrency)
	case s.Rate.IsInf():
		return "all at once"
	case s.Rate > 0 && s.Concurrency > 0:
		return fmt.Sprintf("%s, cap %d", rateText(s), s.Concurrency)
	case s.Rate > 0:
		return rateText(s)
	}
	if s.Converses() {
		return count(s.Concurrency, "user")
	}
	return count(s.Concurrency, "slot")
}

// rateText is the rate, and the process where that says more.
func rateText(s *experiment.Spec) string {
	switch s.Arrival.Process {
	case "", "poisson":
		return fmt.Sprintf("%s/s", unit.Brief(float64(s.Rate), 6))
	case "ramp", "step":
		return s.Arrival.String()
	}
	return fmt.Sprintf("%s/s, %s", unit.Brief(float64(s.Rate), 6), &s.Arrival)
}

// plannedRequests of the window; 0 = it depends on how fast the server answers.
func plannedRequests(s *experiment.Spec) int {
	if s.Arrival.Process == "trace" {
		return tracedRequests(s)
	}
	byTime := int(math.Round(s.InWindow()))
	if most, _, ends := s.AtMost(); ends && (byTime == 0 || most < byTime) {
		byTime = most
	}
	switch {
	case s.Requests == 0:
		return byTime
	case byTime == 0:
		return s.Requests
	}
	return min(byTime, s.Requests)
}

// tracedRequests counts the rows of a trace that come in the window, at their own times.
func tracedRequests(s *experiment.Spec) int {
	start, n, i := time.Duration(s.Warmup.Time), 0, 0
	for at := range workload.NewPlan(s.Workload, s.Seed, "").Arrivals {
		if i++; i <= s.Warmup.Requests || at < start {
			continue
		}
		if i == s.Warmup.Requests+1 && s.Warmup.Requests > 0 {
			start = at
		}
		if s.Duration > 0 && at >= start+time.Duration(s.Duration) {
			break
		}
		if n++; n == s.Requests {
			break
		}
	}
	return n
}

func countText(n int) string {
	if n == 0 {
		return "as answered"
	}
	return fmt.Sprint(n)
}

// reach is the highest percentile that n requests carry: with a finite interval, and soundly.
func reach(n int) string {
	if n == 0 {
		return "depends"
	}
	out := "none"
	for _, p := range []struct {
		name string
		p    float64
	}{{"p50", 0.5}, {"p90", 0.9}, {"p95", 0.95}, {"p99", 0.99}, {"p999", 0.999}} {
		switch stats.GradeOf(n, p.p) {
		case stats.Sound:
			out = p.name
		case stats.Thin:
			out = p.name + " (thin)"
		}
	}
	return out
}
