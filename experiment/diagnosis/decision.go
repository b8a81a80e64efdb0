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

// Decision is the decision record of a run: what was tested, which point is accepted and why the others are not, and what to
// measure next. It holds no figure that is not in the rows.
type Decision struct {
	Target []Stated `json:"target"` // what was tested, as declared and as the server said
	SLO    []string `json:"slo"`    // the limits; empty: none is stated

	Accepted *Operating `json:"accepted"` // null: no point is valid and meets its SLO
	Rejected []Rejected `json:"rejected"`

	Walk   []Step     `json:"walk"`   // validity, TTFT, TPOT, throughput, cost; it ends at the first that fails
	Advice string     `json:"advice"` // what to do now, in one sentence
	Next   *NextSweep `json:"next"`   // null: there is nothing to sweep, as advice says

	Expected    []Expectation `json:"expected"`     // of the hypothesis and of each row that says what it expects
	NotMeasured []string      `json:"not_measured"` // what a reader could take for measured, and is not
}

// Stated is a fact with its name.
type Stated struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Operating is the accepted point: where to run, with which settings, and what comes of it.
type Operating struct {
	Series int    `json:"series"`
	Point  int    `json:"point"`
	Name   string `json:"name"`

	Flags   []Stated         `json:"flags"`   // the load and what the server was started with
	Figures []Stated         `json:"figures"` // throughputs, and percentiles with their intervals
	Cost    *record.Cost     `json:"cost"`    // null: see no_cost
	NoCost  string           `json:"no_cost,omitempty"`
	Notes   []record.Finding `json:"notes"` // on how to read it; a doubted point is not accepted
}

// Rejected is a point that is not run at.
type Rejected struct {
	Series int    `json:"series"`
	Point  int    `json:"point"`
	Name   string `json:"name"`
	Why    string `json:"why"`
	Regime Regime `json:"regime,omitempty"` // what decides its latency; empty: it was not diagnosed
}

// Step is one stage of the walk from TTFT to cost.
type Step struct {
	Stage   string        `json:"stage"`   // validity, ttft, tpot, throughput, cost
	Verdict stats.Verdict `json:"verdict"` // empty: the SLO has no such limit
	Name    string        `json:"name,omitempty"`
	Why     string        `json:"why"`
}

// NextSweep is the one thing to change next; all else stays.
type NextSweep struct {
	Variable string   `json:"variable"` // a key of the row, or a knob of the server
	Values   []string `json:"values"`   // as they stand in a matrix; empty: change it by hand, and measure the same again
	TOML     string   `json:"toml"`     // what to put into the matrix; empty: nothing
	Why      string   `json:"why"`
	Regime   Regime   `json:"regime,omitempty"` // that speaks for it
}

// Expectation is what somebody wrote down beforehand, beside what came. Prose is not judged.
type Expectation struct {
	Of       string   `json:"of"` // the row; empty: the run's hypothesis
	Expected string   `json:"expected"`
	Happened string   `json:"happened"`
	Regimes  []string `json:"regimes"` // of its points, by ascending load
}

// Decide makes the record of a run from its series and what was found at their points. missing are the planned rows without a
// result.
func Decide(m *record.Manifest, series []series.Series, found []Diagnosis, missing []string) Decision {
	d := Decision{Target: stated(m), SLO: []string{}, Rejected: []Rejected{}, Walk: []Step{}, Expected: expectations(m, series, found), NotMeasured: unmeasured(m, series, missing)}
	for i := range series {
		for _, l := range series[i].Points[0].Rows[0].Spec.SLO.Limits {
			if text := l.String(); !slices.Contains(d.SLO, text) {
				d.SLO = append(d.SLO, text)
			}
		}
	}
	s, p, ok := Accept(series)
	if ok {
		d.Accepted = operating(m, series, s, p)
	}
	for i := range series {
		for j := range series[i].Points {
			if !ok || i != s || j != p {
				d.Rejected = append(d.Rejected, rejected(series, i, j, found))
			}
		}
	}
	d.evaluateStages(m, series, found, missing)
	return d
}

// Accept is the point of the highest output throughput of all that are valid and meet their SLO; ok is false where there is
// none.
func Accept(series []series.Series) (s, p int, ok bool) {
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

// stated is what was tested.
func stated(m *record.Manifest) []Stated {
	t := m.Target
	out := []Stated{}
	add := func(name, value string) {
		if value != "" {
			out = append(out, Stated{name, value})
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
		add("version", unit.Clip(fmt.Sprint(t.Version), 200))
	}
	for _, name := range experiment.WantedFacts {
		add(name, m.Facts[name])
	}
	return out
}

func operating(m *record.Manifest, curves []series.Series, i, j int) *Operating {
	s := &curves[i]
	p := &s.Points[j]
	spec := &p.Rows[0].Spec
	o := &Operating{Series: i, Point: j, Name: s.PointName(p), Flags: flags(m, s, p), Notes: append([]record.Finding{}, p.Rows[0].Notes...), NoCost: p.Rows[0].NoCost}
	if o.Cost = series.MedianCost(p.Rows); o.Cost != nil {
		o.NoCost = ""
	}
	o.Figures = append(o.Figures, Stated{"output", repeatsText(p.OutputTokensPerS, "output tok/s")}, Stated{"requests", repeatsText(p.RequestsPerS, "requests/s")})
	if p.OutputTokensPerSPerGPU != nil {
		o.Figures = append(o.Figures, Stated{"output per GPU", repeatsText(*p.OutputTokensPerSPerGPU, "tok/s")})
	}
	for _, metric := range []string{"ttft", "tpot", "e2e"} {
		for _, name := range []string{"p50", "p95", "p99"} {
			if l, ok := p.Latency(metric).Get(name); ok {
				o.Figures = append(o.Figures, Stated{metric + " " + name, l.Quoted()})
			}
		}
	}
	if spec.Rate == 0 && !slices.ContainsFunc(o.Notes, func(n record.Finding) bool { return n.Code == "closed_loop" }) { // which says the same of a limit
		o.Notes = append(o.Notes, record.Finding{Code: "from_slot", Text: "a closed loop: latencies count from the slot", Hint: "judge users' latency in a row with a rate"})
	}
	return o
}

// of is a figure of repeats with their spread: "1,250 tok/s (1,240 to 1,260 in 3 repeats)".
func repeatsText(r record.Repeats, u string) string {
	text := unit.Format(r.Median, u)
	if r.Spread != nil {
		text += fmt.Sprintf(" (%s to %s in %d repeats)", unit.Digits(r.Spread.Min), unit.Digits(r.Spread.Max), len(r.Values))
	}
	return text
}

// flags are the settings at which the point was measured.
func flags(m *record.Manifest, s *series.Series, p *series.SeriesPoint) []Stated {
	out := []Stated{{"load", p.Load}}
	spec := &p.Rows[0].Spec
	for _, a := range s.Others {
		out = append(out, Stated{a.Key, a.Value})
	}
	for _, start := range slices.Backward(m.Servers) {
		if start.Variant == spec.Variant && start.Command != nil && start.ReadyS > 0 {
			return append(out, Stated{"server", strings.Join(start.Command, " ")})
		}
	}
	if text := m.Facts["server_flags"]; text != "" {
		out = append(out, Stated{"server_flags, as stated", text})
	}
	return out
}

func rejected(series []series.Series, i, j int, found []Diagnosis) Rejected {
	s := &series[i]
	p := &s.Points[j]
	r := Rejected{Series: i, Point: j, Name: s.PointName(p), Why: strings.TrimPrefix(p.Short(), p.Load+" ")}
	if d := firstAt(found, i, j); d != nil {
		r.Regime = d.Regime
	}
	switch codes := findingCodes(p); {
	case len(codes) > 0 && p.SLO == stats.Pass:
		r.Why = "meets the SLO, but is doubted: " + strings.Join(codes, ", ")
	case len(codes) > 0:
		r.Why += "; doubted: " + strings.Join(codes, ", ")
	case p.SLO == stats.Pass:
		r.Why = "meets the SLO, with less output than the accepted point"
	}
	return r
}

// findings are the codes of what is held against the point or one of its repeats.
func findingCodes(p *series.SeriesPoint) []string {
	var codes []string
	add := func(findings []record.Finding) {
		for _, d := range findings {
			if !slices.Contains(codes, d.Code) {
				codes = append(codes, d.Code)
			}
		}
	}
	for _, r := range p.Rows {
		add(r.Findings)
	}
	add(p.Findings)
	return codes
}

// firstAt is the diagnosis to act on at a point; nil: there is none.
func firstAt(found []Diagnosis, s, p int) *Diagnosis {
	at := slices.IndexFunc(found, func(d Diagnosis) bool { return d.Series == s && d.Point == p })
	if at < 0 {
		return nil
	}
	return &found[at]
}
