// Package series turns the rows of a run into curves. FromRows groups the rows of one name that differ only in load
// and repeat, joins the repeats of each load into a point, and finds the frontier, the highest load within the SLO,
// the saturation and the knee, each with its certainty over resampled repeats. Beside that: searches, costs, times
// of a step, published figures, and comparisons of rows that differ in one axis.
//
// It judges no row (package verdict does), finds no cause (package diagnosis does), and formats no table.
package series

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"bench/experiment"
	"bench/experiment/metric"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/unit"
	"bench/experiment/workload"
)

// Series is the rows of one name that differ only in their load and repeat.
type Series struct {
	Name      string            `json:"name"`           // of the row
	OtherAxes []experiment.Axis `json:"axes,omitempty"` // values of the axes other than the load
	Axis      string            `json:"axis"`           // rate, concurrency
	// latency starts when a worker becomes free, not at a scheduled arrival
	Closed bool   `json:"closed_loop"`
	Prompt string `json:"prompt_form"` // token_ids, text, mixed: other forms are another series
	// limits of comparability: cold starts, conversations, natural EOS
	Marks []string `json:"marks,omitempty"`
	// latency on the frontier against output tokens/s, at p99: ttft; e2e without streaming
	Cost string `json:"frontier_latency"`

	Points  []Point  `json:"points"`                // by ascending load
	Skipped []string `json:"skipped,omitempty"`     // loads above a certain FAIL, which did not run
	Beyond  string   `json:"skipped_why,omitempty"` // "beyond the FAIL at rate 16/s"
	// index in points: the highest load within the SLO, else the highest valid throughput
	Headline *int `json:"headline"`
	// Points that no other point beats in both latency and throughput, by ascending latency; without invalid
	// points and points whose n is too small for a p99.
	Frontier []int `json:"frontier"`

	Frontiers []Frontier `json:"frontiers"` // one for each pair of figures

	MaxLoadWithinSLO LoadLimit `json:"max_load_within_slo"` // the highest load that meets the SLO
	Knee             LoadLimit `json:"knee"`                // where the gain in throughput falls off, by Kneedle
	Saturation       LoadLimit `json:"saturation"`          // the first load that the server does not keep up with
	Sentence         string    `json:"sentence"`            // the headline point in one sentence

	Twin *record.Twin `json:"-"` // nil: none was fitted
}

const promptForm = "prompt_form"

func (s *Series) Label() string {
	return (&experiment.Spec{Name: s.Name, Point: s.OtherAxes}).Label()
}

// PointName is a point's name for display: "D-saturation, concurrency 8"; without the load if the row has one only.
func (s *Series) PointName(p *Point) string {
	listed := slices.ContainsFunc(p.Rows, func(r *record.Row) bool { return r.Spec.Varies(s.Axis) })
	name := s.Label()
	if len(s.Points) > 1 || listed {
		name += ", " + p.Load
	}
	if p.Class != "" {
		name += " (class " + p.Class + ")"
	}
	return name
}

// FromRows groups rows into series, in the order of their first rows. The points keep pointers into rows.
func FromRows(rows []record.Row) []Series {
	order, groups := grouped(rows, workloadOf)
	series := make([]Series, len(order))
	labels := map[string]int{}
	for i, key := range order {
		series[i] = newSeries(groups[key])
		labels[series[i].Label()]++
	}
	for i := range series {
		if labels[series[i].Label()] > 1 { // they differ in the form of their prompts
			series[i].OtherAxes = append(series[i].OtherAxes, experiment.Axis{Key: promptForm, Value: series[i].Prompt})
		}
	}
	return series
}

// workloadOf is equal for rows that differ in their load and repeat alone.
func workloadOf(r *record.Row) string {
	axis, others := experiment.LoadAxis(&r.Spec)
	return fmt.Sprintf("%q %q %q %q", r.Spec.Name, axis, others, r.PromptForm)
}

// grouped are the rows of each key, and the keys in the order of their first rows.
func grouped[K comparable](rows []record.Row, keyOf func(*record.Row) K) (order []K, groups map[K][]*record.Row) {
	groups = map[K][]*record.Row{}
	for i := range rows {
		key := keyOf(&rows[i])
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], &rows[i])
	}
	return order, groups
}

func newSeries(rows []*record.Row) Series {
	spec := &rows[0].Spec
	s := Series{Name: spec.Name, Closed: spec.Closed(), Prompt: rows[0].PromptForm, Cost: "e2e",
		Marks: marksOf(rows[0])}
	s.Axis, s.OtherAxes = experiment.LoadAxis(spec)
	if spec.Streams() {
		s.Cost = "ttft"
	}
	byLoad := map[float64][]*record.Row{}
	for _, r := range rows {
		load := loadOn(s.Axis, &r.Spec)
		byLoad[load] = append(byLoad[load], r)
	}
	for _, repeats := range byLoad {
		s.Points = append(s.Points, pointOf(s.Axis, repeats))
	}
	slices.SortFunc(s.Points, func(a, b Point) int { return cmp.Compare(a.LoadValue, b.LoadValue) })
	for i := range s.Points {
		s.Points[i].Classes = s.classesOf(&s.Points[i])
	}
	s.Frontier, s.Frontiers = s.frontierAgainst(s.Cost, "p99"), s.frontiers()
	s.MaxLoadWithinSLO, s.Knee, s.Saturation = s.findMaxLoad(), s.findKnee(), s.findSaturation()
	s.resample()
	s.Headline = s.headline()
	s.Sentence = s.sentence()
	s.addPublished()
	return s
}

func loadOn(axis string, s *experiment.Spec) float64 {
	return (&experiment.Search{Axis: axis}).LoadOf(s)
}

func loadName(axis string, load float64) string {
	switch {
	case load == 0: // of another tool's file
		return "load not reported"
	case math.IsInf(load, 1):
		return axis + " inf"
	case axis == "rate":
		return axis + " " + strconv.FormatFloat(load, 'g', 4, 64) + "/s"
	}
	return axis + " " + strconv.FormatFloat(load, 'g', -1, 64)
}

// headline is the highest load within the SLO, else the valid point of the highest throughput, else of all.
func (s *Series) headline() *int {
	// No limit has a say in a search for saturation.
	search := s.Points[0].Rows[0].Spec.Search
	if s.MaxLoadWithinSLO.Point != nil && (search == nil || search.Goal != experiment.GoalSaturation) {
		return s.MaxLoadWithinSLO.Point
	}
	var best *int
	for i := range s.Points {
		p := &s.Points[i]
		if best == nil || (p.Valid && !s.Points[*best].Valid) ||
			(p.Valid == s.Points[*best].Valid && p.OutputTokensPerS.Median > s.Points[*best].OutputTokensPerS.Median) {
			best = &i
		}
	}
	return best
}

func (s *Series) sentence() string {
	p := &s.Points[*s.Headline]
	if !p.Valid {
		return "no point is valid"
	}
	text := unit.Format(p.OutputTokensPerS.Median, "output tok/s")
	if p.OutputTokensPerSPerGPU != nil {
		text += fmt.Sprintf(" (%s per GPU)", unit.Digits(p.OutputTokensPerSPerGPU.Median))
	}
	text += " at " + p.Load
	if len(p.Classes) > 0 { // the latency of no class
		return text
	}
	name, limit := s.limit(p)
	l, ok := p.Latency(s.Cost).Get(name)
	if !ok {
		return text + ", no request completed"
	}
	return text + fmt.Sprintf(", %s %s %s%s", s.Cost, name, l.WithIntervalAndN(), limit)
}

func (s *Series) limit(p *Point) (name, text string) {
	name = "p99"
	for i := len(metric.Percentiles) - 1; i >= 0; i-- {
		q := metric.Percentiles[i]
		for _, v := range p.Rows[0].SLO {
			if v.Class != "" || v.Metric != s.Cost+"_"+q || text != "" && q != "p99" {
				continue
			}
			sign := map[stats.Verdict]string{stats.Pass: "<", stats.Fail: ">"}[v.Verdict]
			limit := fmt.Sprintf("%g ms", v.Limit) // as written in the matrix, not rounded
			if v.Limit >= 1000 {
				limit = fmt.Sprintf("%g s", v.Limit/1000)
			}
			if name, text = q, " "+sign+" "+limit; sign == "" {
				text = ", undecided against " + limit
			}
		}
	}
	return name, text
}

func marksOf(r *record.Row) []string {
	s := &r.Spec
	var out []string
	if s.IsColdStart() {
		out = append(out, fmt.Sprintf("cold starts: one request at a time on a new connection, %v idle in between",
			time.Duration(s.EffectiveLoad().Idle)))
	}
	if s.ReplaysSessions() {
		out = append(out, "sessions of "+s.Trace.String()+": "+s.Trace.Describe())
	} else if s.HasConversations() {
		in := s.ClassesWhere(func(c workload.Class) bool { return c.Conversations() })
		out = append(out, "conversations"+in+": each later turn contains the server's earlier answers")
	}
	for _, c := range s.Classes() {
		sum, in := &r.Summary, ""
		if own, ok := r.Classes[c.Name]; ok && c.Name != "" {
			sum, in = &own, " in "+c.Name
		}
		if n := sum.Requests.Completed; !s.ClassIgnoresEOS(c.Name) && n > 0 {
			out = append(out, fmt.Sprintf("natural EOS%s: answers have %s tokens on average", in,
				unit.Digits(float64(sum.Tokens.Output)/float64(n))))
		}
	}
	return out
}

// classesOf are the classes of a mix as points of their own, if one has an SLO of its own: the percentiles of the whole
// mix then describe no class, and no limit.
func (s *Series) classesOf(p *Point) []Point {
	mix := p.Rows[0].Spec.Mix
	if !slices.ContainsFunc(mix, func(c workload.Class) bool { return len(c.SLO) > 0 }) {
		return nil
	}
	var out []Point
	for _, c := range mix {
		var rows []*record.Row
		for _, r := range p.Rows {
			if _, ok := r.Classes[c.Name]; ok {
				rows = append(rows, rowOfClass(r, c.Name))
			}
		}
		if len(rows) == 0 {
			continue
		}
		own := pointOf(s.Axis, rows)
		own.Class, own.Load, own.LoadValue, own.Valid, own.Findings = c.Name, p.Load, p.LoadValue, p.Valid, nil
		out = append(out, own)
	}
	return out
}

// rowOfClass is a row with the figures and the limits of one class. Its findings are the whole row's.
func rowOfClass(r *record.Row, class string) *record.Row {
	own := *r
	own.Summary, own.Classes, own.Findings, own.Checks, own.Cost = r.Classes[class], nil, nil, record.Checks{}, nil
	own.Energy = nil // it is of all classes
	own.SLO = slices.DeleteFunc(slices.Clone(r.SLO), func(v record.Verdict) bool { return v.Class != class })
	return &own
}
