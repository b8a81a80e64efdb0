package diagnosis

import (
	"fmt"
	"slices"
	"strings"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

// Decision is the decision record of a run: what was tested, the operating point, why the other points are
// rejected, and what to do next. All its figures are in the rows.
type Decision struct {
	Target []Fact   `json:"target"` // what was tested: as specified in the matrix and as the server reported
	SLO    []string `json:"slo"`    // the limits; empty: no SLO

	Operating *OperatingPoint `json:"operating_point"` // null: no point is valid and meets the SLO
	Rejected  []Rejected      `json:"rejected"`

	Stages []Step     `json:"stages"` // validity, TTFT, TPOT, throughput, cost, up to the first that fails
	Advice string     `json:"advice"` // what to do now, in one sentence
	Next   *NextSweep `json:"next"`   // null: nothing to sweep; see advice

	Expected    []Expectation `json:"expected"`     // the hypothesis, and each row with an expectation
	NotMeasured []string      `json:"not_measured"` // what a reader could assume to be measured
}

// Fact is a named value for display.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// OperatingPoint is the point to ship: its settings and its figures.
type OperatingPoint struct {
	Series int    `json:"series"` // index in the run's series
	Point  int    `json:"point"`  // index in the series' points
	Name   string `json:"name"`

	Flags   []Fact       `json:"flags"`   // the load, and the command of the server
	Figures []Fact       `json:"figures"` // throughputs, and percentiles with their intervals
	Cost    *record.Cost `json:"cost"`    // null: see no_cost
	NoCost  string       `json:"no_cost,omitempty"`
	// Findings are the cautions and notes of its repeats, one per code, the most severe first.
	Findings []record.Finding `json:"findings"`
}

// Rejected is a point that is not the operating point.
type Rejected struct {
	Series     int        `json:"series"`
	Point      int        `json:"point"`
	Name       string     `json:"name"`
	Why        string     `json:"why"`
	Bottleneck Bottleneck `json:"bottleneck,omitempty"`
}

// Step is the result of one stage of the decision.
type Step struct {
	Stage   string        `json:"stage"`   // validity, ttft, tpot, throughput, cost
	Verdict stats.Verdict `json:"verdict"` // empty: the SLO has no such limit
	Name    string        `json:"name,omitempty"`
	Why     string        `json:"why"`
}

// NextSweep is the one thing to change next; all else stays.
type NextSweep struct {
	Variable   string     `json:"variable"` // a key of the row, or a knob of the server
	Values     []string   `json:"values"`   // as in a matrix; empty: change it by hand and measure the same again
	TOML       string     `json:"toml"`     // for the matrix; empty: nothing to add
	Why        string     `json:"why"`
	Bottleneck Bottleneck `json:"bottleneck,omitempty"` // the reason for the change
}

// Expectation is a text of the matrix beside the result. It gets no verdict.
type Expectation struct {
	Of          string   `json:"of"` // the row; empty: the run's hypothesis
	Expected    string   `json:"expected"`
	Happened    string   `json:"happened"`
	Bottlenecks []string `json:"bottlenecks"` // of the row's points, by ascending load
}

// NewDecision makes the decision record of a run. missing are the planned rows without a result.
func NewDecision(m *record.Manifest, series []series.Series, diagnoses []Diagnosis, missing []string) Decision {
	d := Decision{Target: target(m), SLO: []string{}, Rejected: []Rejected{}, Stages: []Step{},
		Expected: expectations(m, series, diagnoses), NotMeasured: notMeasured(m, series, missing)}
	for i := range series {
		for _, l := range series[i].Points[0].Rows[0].Spec.SLO.Limits {
			if text := l.String(); !slices.Contains(d.SLO, text) {
				d.SLO = append(d.SLO, text)
			}
		}
	}
	s, p, ok := FindOperatingPoint(series)
	if ok {
		d.Operating = operatingPoint(m, series, s, p)
	}
	for i := range series {
		for j := range series[i].Points {
			if !ok || i != s || j != p {
				d.Rejected = append(d.Rejected, rejected(series, i, j, diagnoses))
			}
		}
	}
	d.evaluateStages(series, diagnoses, missing)
	return d
}

// FindOperatingPoint finds the operating point: the highest output throughput of the valid points that meet
// the SLO. s and p are indexes; ok is false if there is no such point.
func FindOperatingPoint(series []series.Series) (s, p int, ok bool) {
	best := 0.0
	for i := range series {
		for j := range series[i].Points {
			x := &series[i].Points[j]
			if x.SLO == stats.Pass && x.Valid && (!ok || x.OutputTokensPerS.Median > best) {
				s, p, ok, best = i, j, true, x.OutputTokensPerS.Median
			}
		}
	}
	return s, p, ok
}

func target(m *record.Manifest) []Fact {
	t := m.Target
	out := []Fact{}
	add := func(name, value string) {
		if value != "" {
			out = append(out, Fact{name, value})
		}
	}
	add("model", t.Model)
	add("endpoint", t.Endpoint)
	add("simulated", t.Simulator)
	if t.Hardware != "" && t.GPUs > 0 {
		add("hardware", fmt.Sprintf("%d × %s", t.GPUs, t.Hardware))
	}
	add("precision", t.Precision)
	if t.Version != nil {
		add("version", unit.ClipBytes(fmt.Sprint(t.Version), 200))
	}
	for _, name := range experiment.ExpectedFacts {
		add(name, m.Facts[name])
	}
	return out
}

func operatingPoint(m *record.Manifest, curves []series.Series, i, j int) *OperatingPoint {
	s := &curves[i]
	p := &s.Points[j]
	first := p.Rows[0]
	o := &OperatingPoint{Series: i, Point: j, Name: s.PointName(p), Flags: flags(m, s, p), Findings: oncePerCode(findings(p))}
	if o.Cost = series.MedianCost(p.Rows); o.Cost == nil {
		o.NoCost = first.NoCost
	}
	throughput := func(name string, r record.Repeats, u string) {
		text := unit.Format(r.Median, u)
		if r.Spread != nil {
			text += fmt.Sprintf(" (%s to %s in %d repeats)", unit.Digits(r.Spread.Min), unit.Digits(r.Spread.Max), len(r.Values))
		}
		o.Figures = append(o.Figures, Fact{name, text})
	}
	throughput("output", p.OutputTokensPerS, "output tok/s")
	throughput("requests", p.RequestsPerS, "requests/s")
	if p.OutputTokensPerSPerGPU != nil {
		throughput("output per GPU", *p.OutputTokensPerSPerGPU, "tok/s")
	}
	for _, metric := range []string{"ttft", "tpot", "e2e"} {
		for _, name := range []string{"p50", "p95", "p99"} {
			if l, ok := p.Latency(metric).Get(name); ok {
				o.Figures = append(o.Figures, Fact{metric + " " + name, l.WithIntervalAndN()})
			}
		}
	}
	noted := slices.ContainsFunc(o.Findings, func(n record.Finding) bool { return n.Code == "closed_loop" })
	if first.Spec.Rate == 0 && !noted {
		o.Findings = append(o.Findings, record.Finding{Code: "closed_loop_latency", Severity: record.Note, Text: "closed loop: latency starts when a worker becomes free", Hint: "measure users' latency in a row with a rate"})
	}
	return o
}

// flags are the settings of a point.
func flags(m *record.Manifest, s *series.Series, p *series.Point) []Fact {
	out := []Fact{{"load", p.Load}}
	for _, a := range s.OtherAxes {
		out = append(out, Fact{a.Key, a.Value})
	}
	for _, start := range slices.Backward(m.Servers) {
		if start.Variant == p.Rows[0].Spec.Variant && start.Command != nil && start.ReadyS > 0 {
			return append(out, Fact{"server", strings.Join(start.Command, " ")})
		}
	}
	if text := m.Facts["server_flags"]; text != "" {
		out = append(out, Fact{"server_flags, as specified", text})
	}
	return out
}

func rejected(series []series.Series, i, j int, diagnoses []Diagnosis) Rejected {
	s := &series[i]
	p := &s.Points[j]
	r := Rejected{Series: i, Point: j, Name: s.PointName(p), Why: strings.TrimPrefix(p.SLOStatus(), p.Load+" ")}
	if d := firstAt(diagnoses, i, j); d != nil {
		r.Bottleneck = d.Bottleneck
	}
	switch codes := record.Codes(findings(p), record.Invalid); {
	case len(codes) > 0 && p.SLO == stats.Pass:
		r.Why = "meets the SLO, but is invalid: " + strings.Join(codes, ", ")
	case len(codes) > 0:
		r.Why += "; invalid: " + strings.Join(codes, ", ")
	case p.SLO == stats.Pass:
		r.Why = "meets the SLO, with less output than the operating point"
	}
	return r
}

// findings of the repeats and between the repeats, the most severe first.
func findings(p *series.Point) []record.Finding {
	all := []record.Finding{}
	for _, r := range p.Rows {
		all = append(all, r.Findings...)
	}
	all = append(all, p.Findings...)
	record.SortFindings(all)
	return all
}

// oncePerCode keeps the first finding of each code.
func oncePerCode(all []record.Finding) []record.Finding {
	out := []record.Finding{}
	for _, f := range all {
		if !slices.ContainsFunc(out, func(g record.Finding) bool { return g.Code == f.Code }) {
			out = append(out, f)
		}
	}
	return out
}

// firstAt is the diagnosis to act on at a point; nil: it has none.
func firstAt(diagnoses []Diagnosis, s, p int) *Diagnosis {
	at := slices.IndexFunc(diagnoses, func(d Diagnosis) bool { return d.Series == s && d.Point == p })
	if at < 0 {
		return nil
	}
	return &diagnoses[at]
}
