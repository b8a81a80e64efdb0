package page

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"bench/experiment"
	"bench/experiment/diagnosis"
	"bench/experiment/metric"
	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/stats"
	"bench/experiment/text"
	"bench/experiment/verdict"
	"bench/report"
)

// curveSLO is the SLO of a workload, whose limits on latencies the reader can change: slo.js judges the points again by
// their steps.
type curveSLO struct {
	Workload int        `json:"workload"` // index in the answers
	Limits   []ownLimit `json:"limits"`   // on latencies
	Rest     string     `json:"rest"`     // other limits, as --slo takes them; empty: none
	Baseline bool       `json:"baseline"` // no load of it ships
	Easy     bool       `json:"easy"`     // a PASS shows nothing of lower loads
	Command  string     `json:"command"`  // that shows the report under other limits, without them
}

type ownLimit struct {
	Key   string  `json:"key"`   // ttft_p95
	Title string  `json:"title"` // TTFT p95
	Ms    float64 `json:"ms"`
}

// markSLO is what judges a point under other limits.
type markSLO struct {
	// by key: FAIL below the first limit, PASS from the second on; null: +Inf
	Steps map[string][2]*float64 `json:"steps"`
	Rest  stats.Verdict          `json:"rest,omitempty"`  // by the other limits; empty: there are none
	Easy  bool                   `json:"easy,omitempty"`  // a higher load can meet the other limits that fail
	Valid bool                   `json:"valid"`           // else the point can only miss the SLO
	Lost  bool                   `json:"lost,omitempty"`  // nor can it miss it: what it shows is not its load
	At    float64                `json:"at"`              // percent of the ruler
	Words string                 `json:"words,omitempty"` // what the load brings
}

// addSLO makes the limits of a workload changeable, if the records of all its rows are at hand and it has one SLO.
func (c *curve) addSLO(o *report.Analysis, i int, e evidence, run *report.Run) {
	s := &o.Series[i]
	spec := &s.Points[0].Rows[0].Spec
	changeable, rest, ok := changeableLimits(spec)
	if !ok || len(c.Points) != len(s.Points) {
		return
	}
	var marks []markSLO
	for j := range s.Points {
		m, ok := newMarkSLO(&s.Points[j], changeable, e)
		if !ok {
			return
		}
		if r := o.Answer.Workloads[i].Ruler; r != nil {
			load, _ := diagnosis.RulerLoad(s, &s.Points[j])
			m.At = short(100 * load / r.End)
		}
		m.Words = diagnosis.BringsText(&run.Manifest, s, &s.Points[j])
		marks = append(marks, m)
	}
	for _, l := range changeable {
		passBelow(s.Points, marks, l.Key, e)
	}
	for j := range marks {
		c.Points[j].SLO = &marks[j]
	}
	c.SLO = &curveSLO{Workload: i, Limits: changeable, Rest: strings.Join(rest, ","),
		Baseline: diagnosis.Baseline(s), Easy: diagnosis.EasierByLoad(s),
		Command: text.ShellWords([]string{"bench", "report", run.Named(), "--slo"})}
}

// changeableLimits are those on latencies, beside the text of the others. ok is false without one, and where another
// limit depends on them.
func changeableLimits(s *experiment.Spec) (own []ownLimit, rest []string, ok bool) {
	text := func(key string, x float64) { rest = append(rest, key+"="+strconv.FormatFloat(x, 'f', -1, 64)) }
	for _, l := range s.SLO.Limits {
		switch {
		case l.Metric == metric.E2EPerToken || strings.HasPrefix(l.Key, "min_goodput") && len(s.SLO.Each) == 0:
			return nil, nil, false
		case l.Unit == "ms":
			own = append(own, ownLimit{l.Key, verdict.LimitName(l.Key, ""), l.Value})
		default:
			text(l.Key, l.Value)
		}
	}
	for _, l := range s.SLO.Each {
		rest = append(rest, "each."+l.Key+"="+strconv.FormatFloat(l.Value, 'f', -1, 64)+"ms")
	}
	if s.SLO.Confidence > 0 {
		text("confidence", s.SLO.Confidence)
	}
	for _, c := range s.Mix {
		if len(c.SLO) > 0 {
			return nil, nil, false
		}
	}
	slices.SortStableFunc(own, func(a, b ownLimit) int { return cmp.Compare(latencyOrder(a.Key), latencyOrder(b.Key)) })
	return own, rest, len(own) > 0
}

func latencyOrder(key string) int {
	name, _ := metric.Cut(key)
	return metric.Order(name)
}

// newMarkSLO joins the steps of the repeats: the worst one counts, and a longer repeat decides what a shorter one
// leaves open.
func newMarkSLO(p *series.Point, limits []ownLimit, e evidence) (m markSLO, ok bool) {
	m = markSLO{Valid: p.Valid, Steps: map[string][2]*float64{}}
	for _, l := range limits {
		fail, pass := 0.0, 0.0
		for _, r := range p.Rows {
			step, ok := e.step(r, l.Key)
			if !ok {
				return m, false
			}
			fail = max(fail, step.FailBelow)
			if !slices.ContainsFunc(p.Rows, func(o *record.Row) bool { return o.Spec.Added > r.Spec.Added }) {
				pass = max(pass, step.PassFrom)
			}
		}
		m.Steps[l.Key] = [2]*float64{finite(fail), finite(pass)}
	}
	rest := restOf(p, limits)
	m.Rest, _ = verdict.OfRows(rest.Rows...)
	m.Easy = m.Rest == stats.Fail && !rest.FailsByLoad()
	rest.SLO = stats.Fail
	m.Lost = !rest.MissesSLO()
	return m, true
}

// passBelow lowers the limit from which points pass to where a higher load passes, as series.Narrow does.
func passBelow(points []series.Point, marks []markSLO, key string, e evidence) {
	for i := range marks {
		pass := 0.0
		for _, r := range points[i].Shown() {
			step, _ := e.step(r, key)
			pass = max(pass, min(step.PassFrom, passOfHigher(verdictOn(r, key), points[i+1:], key, e)))
		}
		marks[i].Steps[key] = [2]*float64{marks[i].Steps[key][0], finite(pass)}
	}
}

func passOfHigher(v *record.Verdict, higher []series.Point, key string, e evidence) float64 {
	from, fail := math.Inf(1), 0.0
	if v == nil || v.Value == nil || len(v.OpenedBy) > 0 {
		return from
	}
	for i := range higher {
		pass, agrees := *v.Value, true
		for _, r := range higher[i].Rows {
			if !r.Valid() {
				return from
			}
			step, _ := e.step(r, key)
			fail = max(fail, step.FailBelow)
		}
		for _, r := range higher[i].Shown() {
			step, _ := e.step(r, key)
			pass, agrees = max(pass, step.PassFrom), agrees && *v.Value <= step.PassFrom
		}
		if agrees {
			from = min(from, max(pass, fail))
		}
	}
	return from
}

func verdictOn(r *record.Row, key string) *record.Verdict {
	for k := range r.SLO {
		if v := &r.SLO[k]; v.Metric == key && v.Class == "" {
			return v
		}
	}
	return nil
}

func finite(x float64) *float64 {
	if math.IsInf(x, 1) {
		return nil
	}
	return &x
}

// restOf is the point under its other limits alone.
func restOf(p *series.Point, limits []ownLimit) series.Point {
	out := series.Point{Valid: p.Valid}
	for _, r := range p.Rows {
		row := *r
		row.SLO = slices.DeleteFunc(slices.Clone(r.SLO), func(v record.Verdict) bool {
			return slices.ContainsFunc(limits, func(l ownLimit) bool { return l.Key == v.Metric })
		})
		out.Rows = append(out.Rows, &row)
	}
	return out
}

func (e *evidence) step(r *record.Row, key string) (verdict.Step, bool) {
	i := slices.IndexFunc(e.rows, func(o observed) bool { return o.row == r })
	if i < 0 {
		return verdict.Step{}, false
	}
	k := slices.IndexFunc(e.rows[i].steps, func(s verdict.Step) bool { return s.Key == key })
	if k < 0 {
		return verdict.Step{}, false
	}
	return e.rows[i].steps[k], true
}
