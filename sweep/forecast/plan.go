package forecast

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"bench/experiment"
	"bench/experiment/stats"
	"bench/experiment/unit"
	"bench/experiment/workload"
	"bench/sweep"
)

// Plan is what a sweep is going to send.
type Plan struct {
	Rows []Row
	Hits []string // possible prefix-cache hits, a line for each point with shared prefixes
	// Short are the rows that are too short for a limit, or whose searches have probes too short for their tolerance,
	// a line each.
	Short []string

	order, starts string // texts
	time          estimate
}

// Row is one row of the plan, its cells as text.
type Row struct {
	Name, Point        string
	Repeat             int
	Input, Output      string // prompt and output tokens; of a mix a line for each class
	Load               string
	Requests           string
	Time               string
	HighestPercentiles string // that the number of requests supports
}

// NewPlan lists the rows that match only. room is the KV cache of the simulated server in tokens; 0 = not
// known.
func NewPlan(m *sweep.Matrix, only []string, room int) (*Plan, error) {
	p := &Plan{}
	for i := range m.Points {
		s := &m.Points[i]
		if ok, err := sweep.Match(s, only); err != nil {
			return nil, err
		} else if !ok {
			continue
		}
		p.add(s)
		if text := hitsText(s, room); text != "" {
			p.Hits = append(p.Hits, text)
		}
		for _, text := range []string{shortText(s), undecidableText(s)} {
			if text != "" && !slices.Contains(p.Short, text) {
				p.Short = append(p.Short, text)
			}
		}
	}
	if m.Order != "" && m.Order != sweep.OrderListed {
		p.order = "order: " + m.OrderText()
	}
	if n := m.Starts(); n > 0 {
		p.starts = ", and " + unit.Plural(n, "start") + " of the server"
		if written := len(m.Variants); n > written {
			p.order += fmt.Sprintf(", which costs %s more than as written", unit.Plural(n-written, "start"))
		}
	}
	odd := func(s experiment.Spec) bool { return max(s.Repeats, 1)%2 == 1 }
	if m.Order == sweep.OrderInterleaved && slices.ContainsFunc(m.Points, odd) {
		p.order += "\nwith an even number of repeats linear drift cancels for each point"
	}
	return p, nil
}

func (p *Plan) add(s *experiment.Spec) {
	time := timeOf(s)
	if s.Search != nil {
		time = searchTime(s)
	}
	p.time.add(time)
	var point []string
	for _, a := range s.Point {
		point = append(point, a.Key+"="+a.Value)
	}
	n := plannedRequests(s)
	input, output := shapes(s)
	p.Rows = append(p.Rows, Row{
		s.Name, strings.Join(point, " "), s.Repeat, input, output, loadText(s), countText(n), time.String(), percentile(n),
	})
}

// Total sums up the rows, their time, the starts of servers and the order, in one or two lines.
func (p *Plan) Total() string {
	text := unit.Plural(len(p.Rows), "row") + ", " + p.time.String() + p.starts
	if p.time.open {
		text += ": a number of requests takes as long as the server needs"
	}
	if p.order != "" {
		text += "\n" + p.order
	}
	return text
}

// searchTime is the time of as many probes as the search expects, each at its lowest load, where a number of
// requests takes longest.
func searchTime(s *experiment.Spec) estimate {
	e := timeOf(s)
	e.time *= time.Duration(s.Search.ExpectedProbes())
	if budget := time.Duration(s.Search.Budget); budget > 0 && e.time > budget {
		e.time, e.open = budget, false
	}
	e.most = true
	return e
}

// estimate is the duration of a row before anything has run.
type estimate struct {
	time time.Duration
	most bool // it can be shorter
	open bool // it can be longer: the server's speed decides
}

func timeOf(s *experiment.Spec) estimate {
	d, known := s.ExpectedDuration()
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

// String implements fmt.Stringer.
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
		return fmt.Sprintf("%s, up to %s", s.Search, unit.Plural(s.Search.ExpectedProbes(), "probe"))
	case s.IsColdStart():
		return "cold starts"
	case s.Rate.IsInf() && s.Concurrency > 0:
		return fmt.Sprintf("all at once, cap %d", s.Concurrency)
	case s.Rate.IsInf():
		return "all at once"
	case s.Rate > 0 && s.Concurrency > 0:
		return fmt.Sprintf("%s, cap %d", rateText(s), s.Concurrency)
	case s.Rate > 0:
		return rateText(s)
	case s.HasConversations():
		return unit.Plural(s.Concurrency, "user")
	}
	return unit.Plural(s.Concurrency, "worker")
}

// rateText is the rate, with the arrival process unless it is Poisson.
func rateText(s *experiment.Spec) string {
	switch s.Arrival.Process {
	case "", "poisson":
		return fmt.Sprintf("%s/s", unit.Brief(float64(s.Rate), 6))
	case "ramp", "step":
		return s.Arrival.String()
	}
	return fmt.Sprintf("%s/s, %s", unit.Brief(float64(s.Rate), 6), &s.Arrival)
}

// plannedRequests of the window; 0 = the server's speed decides.
func plannedRequests(s *experiment.Spec) int {
	if s.Arrival.Process == "trace" {
		return tracedRequests(s)
	}
	byTime := int(math.Round(s.ExpectedRequests()))
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

// tracedRequests counts the requests of a trace that arrive in the window, at their own times.
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

// percentile is the highest percentile with a sound, finite interval over n requests, if they do not depend on
// each other; 0 = not known.
func percentile(n int) string {
	if n == 0 {
		return "depends"
	}
	out := "none"
	for _, p := range []struct {
		name string
		p    float64
	}{{"p50", 0.5}, {"p90", 0.9}, {"p95", 0.95}, {"p99", 0.99}, {"p999", 0.999}} {
		switch stats.GradeAtBest(n, p.p) {
		case stats.Sound:
			out = p.name
		case stats.Thin:
			out = p.name + " (thin)"
		}
	}
	return out
}
