package forecast

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"bench/experiment"
	"bench/experiment/prompts"
	"bench/experiment/stats"
	"bench/experiment/unit"
	"bench/experiment/workload"
	"bench/sweep"
	"bench/sweep/matrix"
)

type Plan struct {
	Rows []Row
	// Short are the rows that are too short for a limit, whose searches have a budget too small for their tolerance, or
	// whose trace can end within the warm-up, a line each.
	Short []string

	Changed []string // finished rows of a resumed run that the matrix describes otherwise, a line each reason

	count, done   int    // rows, with repeats
	again         int    // of those to run: the resumed run has another result of them
	order, starts string // texts
	race          string // of [tune]: instead of all of them; empty = there is none
	durations     *durations
	budget, spent time.Duration // 0 = no budget
	time          Span
}

// Row is one point of the plan with its repeats, its cells as text.
type Row struct {
	Row, Point         string // the name in the matrix, and the point of it
	Repeats            int
	Shapes             []Shape // one for each class of a mix, else one
	Load               string
	Requests           string // of one repeat
	Time               string // of all repeats
	HighestPercentiles string // that the number of requests supports

	axes        []experiment.Axis
	done, again int // repeats
	time        Span
}

type Shape struct {
	Class         string // empty: not a mix
	Input, Output string // prompt and output tokens
}

// NewPlan lists the rows that match a glob of only; none = all. k is what a resumed run keeps.
func NewPlan(m *matrix.Matrix, only []string, k sweep.Kept) (*Plan, error) {
	p := &Plan{durations: newDurations(m), budget: time.Duration(m.Budget), spent: k.Spent, Changed: k.Changed.Lines()}
	points := m.Points
	if m.Tune != nil {
		points, p.race = points[:1], raceText(m)
	}
	for i := range points {
		s := &points[i]
		if ok, err := matrix.Match(s, only); err != nil {
			return nil, err
		} else if !ok {
			continue
		}
		p.add(s, &k)
		if k.Done[matrix.ID(s)] {
			continue
		}
		for _, text := range append(undecidable(m, s), traceEndText(s)) {
			if text != "" && !slices.Contains(p.Short, text) {
				p.Short = append(p.Short, text)
			}
		}
	}
	if m.Order != "" && m.Order != matrix.OrderListed {
		p.order = "order: " + m.OrderText()
	}
	if n := m.Starts(); n > 0 && m.Tune == nil {
		p.starts = ", and " + unit.Plural(n, "start") + " of the server"
		if written := len(m.Variants); n > written {
			p.order += fmt.Sprintf(", which costs %s more than as written", unit.Plural(n-written, "start"))
		}
	}
	odd := func(s experiment.Spec) bool { return max(s.Repeats, 1)%2 == 1 }
	if m.Order == matrix.OrderInterleaved && slices.ContainsFunc(m.Points, odd) {
		p.order += "\nwith an even number of repeats linear drift cancels for each point"
	}
	return p, nil
}

func (p *Plan) add(s *experiment.Spec, k *sweep.Kept) {
	takes := p.durations.of(s)
	done := k.Done[matrix.ID(s)]
	if done {
		p.done++
	} else {
		p.time.Add(takes)
	}
	p.count++
	r := p.row(s)
	r.Repeats++
	if done {
		r.done++
	} else {
		r.time.Add(takes)
	}
	if k.Changed.Again[matrix.ID(s)] {
		p.again++
		r.again++
	}
	r.Time = r.timeText()
}

// timeText is the time of the repeats to run, behind what a resumed run has of the point.
func (r *Row) timeText() string {
	switch {
	case r.done == r.Repeats:
		return "kept"
	case r.again == r.Repeats:
		return "again, " + r.time.String()
	case r.done > 0:
		return fmt.Sprintf("%d kept, %s", r.done, r.time.String())
	case r.again > 0:
		return fmt.Sprintf("%d again, %s", r.again, r.time.String())
	}
	return r.time.String()
}

// row is the plan's row of a point. The points of a row stand together, whatever the order of execution.
func (p *Plan) row(s *experiment.Spec) *Row {
	point := strings.TrimPrefix(s.Label(), s.Name+" ")
	at := len(p.Rows)
	for i := range p.Rows {
		r := &p.Rows[i]
		if r.Row != s.Name {
			continue
		}
		if r.Point == point {
			return r
		}
		if at = i + 1; before(s.Point, r.axes) {
			at = i
			break
		}
	}
	n, about := planned(s)
	p.Rows = slices.Insert(p.Rows, at, Row{Row: s.Name, Point: point, Shapes: shapes(s), Load: loadText(s),
		Requests: countText(n, about), HighestPercentiles: percentile(n), axes: s.Point})
	return &p.Rows[at]
}

// before reports whether the first value that two points of a row differ in is a smaller number in a.
func before(a, b []experiment.Axis) bool {
	for i := range min(len(a), len(b)) {
		if a[i].Value == b[i].Value {
			continue
		}
		x, errX := strconv.ParseFloat(a[i].Value, 64)
		y, errY := strconv.ParseFloat(b[i].Value, 64)
		return errX == nil && errY == nil && x < y
	}
	return false
}

func shapes(s *experiment.Spec) []Shape {
	if t := s.Trace; t != nil && len(s.Mix) == 0 {
		return []Shape{{Input: fmt.Sprintf("%s p50 %.0f", t, t.Head.InputP50),
			Output: fmt.Sprintf("trace p50 %.0f", t.Head.OutputP50)}}
	}
	var out []Shape
	for _, c := range s.Classes() {
		shape := Shape{Input: c.Input.String(), Output: c.Output.String()}
		if c.Prompts != nil {
			shape = promptShape(c.Prompts, c.Output.String())
		}
		if len(s.Mix) > 0 {
			shape.Class = c.Name
		}
		out = append(out, shape)
	}
	return out
}

func loadText(s *experiment.Spec) string {
	switch {
	case s.Search != nil:
		return s.Search.String()
	case s.IsColdStart():
		return "cold starts"
	case s.Rate.IsInf() && s.Concurrency > 0:
		return fmt.Sprintf("all at once, cap %d", s.Concurrency)
	case s.Rate.IsInf():
		return "all at once"
	case s.Open() && s.Concurrency > 0:
		return fmt.Sprintf("%s, cap %d", rateText(s), s.Concurrency)
	case s.Open():
		return rateText(s)
	case s.ReplaysSessions():
		return unit.Plural(s.Concurrency, "session")
	case s.HasConversations():
		return unit.Plural(s.Concurrency, "user")
	}
	return "concurrency " + unit.Count(s.Concurrency)
}

// rateText is the rate, with the arrival process unless it is Poisson.
func rateText(s *experiment.Spec) string {
	per := "/s"
	if s.ReplaysSessions() {
		per = " sessions/s"
	}
	switch s.Arrival.Process {
	case "", "poisson":
		return unit.Brief(float64(s.Rate), 6) + per
	case "ramp", "step":
		return s.Arrival.String()
	}
	return fmt.Sprintf("%s%s, %s", unit.Brief(float64(s.Rate), 6), per, &s.Arrival)
}

// planned is the number of requests in a row's window, or about that; 0 = the server's speed decides.
func planned(s *experiment.Spec) (n int, about bool) {
	n = plannedRequests(s)
	return n, n > 0 && s.Open() && s.ReplaysSessions()
}

// plannedRequests of the window; 0 = the server's speed decides.
func plannedRequests(s *experiment.Spec) int {
	if s.Search != nil { // it chooses the lengths of its probes
		return 0
	}
	if s.Arrival.Process == "trace" {
		return tracedRequests(s)
	}
	byTime := int(math.Round(s.ExpectedRequests()))
	if _, _, ends := s.AtMost(); ends {
		left, known := s.LeftByWarmup()
		if !known {
			return 0
		}
		if byTime == 0 || left < byTime {
			byTime = left
		}
	}
	switch {
	case s.Requests == 0:
		return byTime
	case byTime == 0:
		return s.Requests
	}
	return min(byTime, s.Requests)
}

// tracedRequests counts the requests of a trace that arrive in the window, at their own times. A trace's sessions that
// arrive in the window count with their mean number of requests.
func tracedRequests(s *experiment.Spec) int {
	per := s.RequestsPerSession()
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
		if n++; s.Requests > 0 && float64(n)*per >= float64(s.Requests) {
			return s.Requests
		}
	}
	return int(math.Round(float64(n) * per))
}

func countText(n int, about bool) string {
	switch {
	case n == 0:
		return "as answered"
	case about:
		return "about " + unit.Count(n)
	}
	return unit.Count(n)
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

func promptShape(p *prompts.Source, output string) Shape {
	s := Shape{Input: unit.Plural(p.Drawn(), "prompt"), Output: output}
	if p.Head.OwnOutput == p.Head.Prompts {
		s.Output = "max_tokens"
	} else if p.Head.OwnOutput > 0 {
		s.Output = "max_tokens, " + output
	}
	return s
}

// Total sums up the rows, their time, the starts of servers and the order, in one or two lines.
func (p *Plan) Total() string {
	if p.race != "" {
		return p.race
	}
	text := unit.Plural(p.count, "row")
	switch {
	case p.again > 0:
		text += fmt.Sprintf(" (%d kept, %d again, %d new)", p.done, p.again, p.count-p.done-p.again)
	case p.done > 0:
		text += fmt.Sprintf(" (%d kept, %d to run)", p.done, p.count-p.done)
	}
	if p.done < p.count {
		text += ", " + p.time.String()
	}
	text += p.starts
	if p.time.Open {
		text += "; the server's speed decides the rest"
	}
	if p.order != "" {
		text += "\n" + p.order
	}
	if p.budget > 0 {
		text += "\n" + p.BudgetText()
	}
	return text
}

// raceText is what the race of the settings takes, without the starts of their servers: each has one row or search.
func raceText(m *matrix.Matrix) string {
	least, most := m.RaceTrials()
	first := &m.Points[0]
	own := newDurations(m).of(first)
	if k := first.Search; k != nil {
		own = Span{Least: time.Duration(first.Warmup.Time) + time.Duration(k.Pace().Least*float64(time.Second)),
			Most: time.Duration(k.MaxTime())}
	}
	all := Span{Least: time.Duration(least) * own.Least, Most: time.Duration(most) * own.Most, Open: own.Open}
	if b := time.Duration(m.Tune.Budget); b > 0 {
		all = Span{Least: min(all.Least, b), Most: min(all.Most, b)}
	}
	return fmt.Sprintf("a race of %s: %d to %s of the server; their time without the starts: %s",
		unit.Plural(len(m.Variants), "setting"), least, unit.Plural(most, "start"), all)
}

func (p *Plan) BudgetText() string {
	text, left := "budget "+unit.Clock(p.budget), p.budget-p.spent
	if p.spent > 0 {
		text += fmt.Sprintf(" (%s spent)", unit.Clock(p.spent))
	}
	switch {
	case p.time.Least > left:
		return text + fmt.Sprintf(": too short for every row, %s", p.time)
	case p.time.Open || p.time.Most > left:
		return text + ": what the rows leave of it goes to undecided points"
	}
	return text + fmt.Sprintf(": at least %s left for undecided points", unit.Clock(left-p.time.Most))
}
