package page

import (
	"cmp"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"

	"bench/experiment/diagnosis"
	"bench/experiment/metric"
	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/stats"
	"bench/report"
)

// curveSet is the figures of all charts of curves, once: curves.js composes the series of each view from them.
type curveSet struct {
	ID      string   `json:"-"`       // of its element in the page
	Groups  []string `json:"groups"`  // workloads to choose from, in the order of the run
	First   string   `json:"first"`   // chosen at first
	Opens   opening  `json:"opens"`   // of workloads whose SLO limits no latency
	Singles string   `json:"singles"` // the group of the workloads with one load
	Output  string   `json:"output"`  // unit of the throughputs: tok/s/GPU; tok/s if a number of GPUs is not specified
	Curves  []curve  `json:"curves"`
}

const singles = "single loads"

type curve struct {
	Name   string               `json:"name"`
	Full   string               `json:"full,omitempty"` // the name beside other workloads; empty: the same
	Group  string               `json:"group"`
	Axis   string               `json:"axis"` // of the load: concurrency, rate
	Color  string               `json:"color"`
	Shape  string               `json:"shape"`            // beside other curves
	Limits map[string][]float64 `json:"limits,omitempty"` // ms, of the SLO by latency and percentile: ttft_p95
	// the limited latency that the chart of latencies begins with; nil: none
	Opens  *opening  `json:"opens,omitempty"`
	Points []mark    `json:"points"`
	SLO    *curveSLO `json:"slo,omitempty"` // nil: the reader can't change it

	// Twin is the curve of the fitted model by latency and percentile: load, estimate, lower and upper end, ms.
	Twin      map[string][]figures `json:"twin,omitempty"`
	Published []publishedMark      `json:"published,omitempty"`
	Predicted bool                 `json:"predicted,omitempty"` // lies pale behind the measured curve
}

type opening [2]string

// mark is one point. A figure is an array: estimate; lower and upper end of its interval, null: no bound;
// grade, 0 to 2 for n too small, thin, sound. Ends and grade can be absent.
type mark struct {
	Name       string              `json:"name"`
	Label      string              `json:"label"` // c32; 20/s
	State      diagnosis.Status    `json:"state"`
	Status     string              `json:"status"`             // the state in words
	Load       *float64            `json:"load"`               // null: "inf"
	Output     figures             `json:"output"`             // tok/s, or tok/s/GPU; with the spread of the repeats
	PerUser    figures             `json:"per_user,omitempty"` // tok/s/user
	N          map[string]int      `json:"n"`                  // by latency; of ITL the gaps
	Latency    map[string]estimate `json:"latency"`            // by latency, in the order of metric.Percentiles
	Floor      map[string]float64  `json:"floor,omitempty"`    // ms, roofline by latency
	Ceiling    figures             `json:"ceiling,omitempty"`  // by the roofline at this batch: tok/s/user, output
	Frontier   bool                `json:"frontier,omitempty"` // of throughput against interactivity
	Knee       string              `json:"knee,omitempty"`     // why; empty: not here
	Saturation string              `json:"saturation,omitempty"`
	SLO        *markSLO            `json:"slo,omitempty"`
}

type estimate []figures

func newCurveSet(o *report.Analysis, e evidence, run *report.Run) *curveSet {
	set := &curveSet{Singles: singles, Output: outputUnit(o)}
	for i := range o.Series {
		set.addPredicted(o, &o.Series[i], lookOf(i, i))
		at := len(set.Curves)
		set.add(o, i, lookOf(i, i), "")
		if at < len(set.Curves) {
			set.Curves[at].addSLO(o, i, e, run)
		}
	}
	if s, _ := o.HeadlinePoint(); s != nil {
		set.First = groupOf(s)
	}
	return set.ready()
}

// add adds a workload, of a named run if there are several.
func (set *curveSet) add(o *report.Analysis, i int, l look, run string) {
	s := &o.Series[i]
	c := curve{Name: cmp.Or(run, s.Label()), Group: groupOf(s), Axis: s.Axis, Color: l.color, Shape: l.shape,
		Limits: map[string][]float64{}, Published: publishedMarks(s)}
	if run != "" {
		c.Full = run + ", " + s.Label()
	}
	for j := range s.Points {
		c.Points = append(c.Points, set.mark(o, s, j, run))
		addLimits(c.Limits, s.Points[j].Rows[0].SLO, "")
	}
	deciding := decidingLimit(o, i)
	c.Opens, c.Twin = c.limited(deciding), twinOf(s)
	set.Curves = append(set.Curves, c)
	if run == "" {
		set.addClasses(o, s, &c, deciding)
	}
}

func twinOf(s *series.Series) map[string][]figures {
	if s.Twin == nil || len(s.Twin.Curve) == 0 {
		return nil
	}
	out := map[string][]figures{}
	for _, p := range s.Twin.Curve {
		out[p.Metric] = append(out[p.Metric], figures{short(p.Load), short(p.Ms), short(p.Low), short(p.High)})
	}
	return out
}

func (set *curveSet) addPredicted(o *report.Analysis, s *series.Series, l look) {
	i := o.Predicted(s)
	if i < 0 {
		return
	}
	set.add(o.Behind, i, l, "")
	c := &set.Curves[len(set.Curves)-1]
	c.Predicted, c.Name, c.Full, c.Group = true, "predicted", "predicted, "+c.Name, groupOf(s)
	c.Limits, c.Opens, c.Published = nil, nil, nil
	for j := range c.Points {
		c.Points[j].Name = "PREDICTED " + c.Points[j].Name
		c.Points[j].Floor = nil
	}
}

// ready lists the groups. A single workload of one load needs no group of its kind.
func (set *curveSet) ready() *curveSet {
	for _, c := range set.Curves {
		if !slices.Contains(set.Groups, c.Group) && c.Group != singles {
			set.Groups = append(set.Groups, c.Group)
		}
	}
	if slices.ContainsFunc(set.Curves, func(c curve) bool { return c.Group == singles }) {
		set.Groups = append(set.Groups, singles)
	}
	if !slices.Contains(set.Groups, set.First) && len(set.Groups) > 0 {
		set.First = set.Groups[0]
	}
	if metrics := set.latencies(); len(metrics) > 0 {
		set.Opens = opening{metric.Words(metrics[0]), "p95"}
	}
	return set
}

func groupOf(s *series.Series) string {
	if len(s.Points) < 2 {
		return singles
	}
	return s.Label()
}

func outputUnit(outcomes ...*report.Analysis) string {
	if slices.ContainsFunc(outcomes, func(o *report.Analysis) bool { return !o.PerGPU() }) {
		return "tok/s"
	}
	return "tok/s/GPU"
}

func (set *curveSet) mark(o *report.Analysis, s *series.Series, j int, run string) mark {
	p := &s.Points[j]
	m := mark{Name: strings.TrimSpace(run + "\n" + s.PointName(p)), Label: loadLabel(s, p), Floor: map[string]float64{}}
	at := o.StatusOf(p)
	m.State, m.Status = at.Status, cmp.Or(at.Text, statusWords[at.Status])
	if x, ok := p.FiniteLoad(); ok {
		m.Load = new(short(x))
	}
	output := &p.OutputTokensPerS
	if set.Output == "tok/s/GPU" {
		output = p.OutputTokensPerSPerGPU
	}
	m.Output = figures{output.Median}
	if s := output.Spread; s != nil {
		m.Output = append(m.Output, s.Min, s.Max)
	}
	if l, ok := p.TPOT.Get("p50"); ok && len(p.PerUserTokensPerS.Values) > 0 {
		m.PerUser = figures{p.PerUserTokensPerS.Median, perUserEnd(l.CI95.Hi), perUserEnd(l.CI95.Lo),
			gradeNumber(l.Grade)}
	}
	m.setLatencies(o, p)
	if b := p.Rows[0].Roofline; b != nil {
		m.Floor = map[string]float64{"ttft": short(b.TTFT.FloorMs), "tpot": short(b.TPOT.FloorMs)}
		m.Ceiling = ceilingOf(b, set.Output)
	}
	for _, f := range s.Frontiers {
		m.Frontier = m.Frontier || f.Cost == "per_user_tokens_per_s" && len(s.Points) > 1 &&
			slices.Contains(f.Points, j)
	}
	m.Knee, m.Saturation = whyAt(s.Knee, j), whyAt(s.Saturation, j)
	return m
}

func (m *mark) setLatencies(o *report.Analysis, p *series.Point) {
	m.N, m.Latency = map[string]int{}, map[string]estimate{}
	for _, latency := range o.Latencies() {
		if ps := p.Latency(latency); len(ps) > 0 {
			m.N[latency], m.Latency[latency] = ps[0].N, estimatesOf(ps)
		}
	}
}

func ceilingOf(b *record.Roofline, output string) figures {
	floor := b.TPOT.FloorMs
	if b.Loaded != nil {
		floor = b.Loaded.FloorMs
	}
	if !(floor > 0) || !(b.Batch > 0) {
		return nil
	}
	perUser, gpus := 1e3/floor, 1.0
	if output == "tok/s/GPU" {
		gpus = float64(max(1, b.GPUs))
	}
	return figures{perUser, perUser * b.Batch / gpus}
}

func perUserEnd(tpotMs float64) float64 {
	if !(tpotMs > 0) || math.IsInf(tpotMs, 1) {
		return math.NaN()
	}
	return 1e3 / tpotMs
}

// loadLabel is the load beside a mark, as it was requested: c32, 20/s. The tooltip has the measured concurrency.
func loadLabel(s *series.Series, p *series.Point) string {
	load, ok := p.FiniteLoad()
	if requested := p.Rows[0].Spec.Concurrency; s.Axis == "concurrency" && requested > 0 {
		load = float64(requested)
	}
	switch text := strconv.FormatFloat(short(load), 'g', 4, 64); {
	case !ok:
		return "inf"
	case s.Axis == "rate":
		return text + "/s"
	default:
		return "c" + text
	}
}

var statusWords = map[diagnosis.Status]string{diagnosis.Ship: "ship: the operating point",
	diagnosis.Meets: "meets the SLO", diagnosis.NoSLO: "no SLO"}

func whyAt(k series.LoadLimit, j int) string {
	if k.Point == nil || *k.Point != j {
		return ""
	}
	return k.Why
}

func estimatesOf(ps record.Percentiles) estimate {
	var out estimate
	for _, name := range metric.Percentiles {
		l, ok := ps.Get(name)
		if !ok {
			out = append(out, nil)
			continue
		}
		out = append(out, figures{l.Median, l.CI95.Lo, l.CI95.Hi, gradeNumber(l.Grade)})
	}
	return out
}

func gradeNumber(g stats.Grade) float64 {
	return map[stats.Grade]float64{stats.Thin: 1, stats.Sound: 2}[g]
}

// addLimits adds the limits on latencies of a row, or of one of its classes.
func addLimits(to map[string][]float64, limits []record.Verdict, class string) {
	for _, v := range limits {
		_, stat := metric.Cut(v.Metric)
		if _, percentile := stat.P(); percentile && v.Unit == "ms" && v.Class == class && v.Limit > 0 &&
			!slices.Contains(to[v.Metric], v.Limit) {
			to[v.Metric] = append(to[v.Metric], v.Limit)
		}
	}
}

// Data is the set for curves.js.
func (set *curveSet) Data() (template.JS, error) { return escaped(set) }
