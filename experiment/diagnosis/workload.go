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
	"bench/experiment/verdict"
)

const (
	LeadShip = "SHIP" // the operating point is known
	// no point is known to meet the SLO, but all of them together estimate the highest load that does
	LeadLikely = "LIKELY"
	// no point is known to meet the SLO; more requests or another run can show one
	LeadNotYet   = "NOT YET"
	LeadNone     = "NO POINT MEETS THE SLO" // the lowest load misses it, or every point does
	LeadMeasured = "MEASURED"               // no SLO
	LeadMet      = "SLO MET"                // by live traffic, or by a setting that another one beats
	leadMissed   = "SLO MISSED"             // by live traffic
	// a single user meets the SLO: what the healthy server does, not a load to ship
	LeadBaseline = "BASELINE"
)

// Workload is the answer of one series.
type Workload struct {
	Series int    `json:"series"` // index in the run's series
	Name   string `json:"name"`

	Simulated bool `json:"simulated"`           // measured against a simulated server
	Predicted bool `json:"predicted,omitempty"` // not measured

	// Verdict is PASS with an operating point, FAIL if no point below the first that misses the SLO by its load can
	// meet it, else UNDECIDED; empty: no SLO.
	Verdict stats.Verdict `json:"verdict"`
	// SHIP, SLO MET, BASELINE, LIKELY, NOT YET, NO POINT MEETS THE SLO, MEASURED
	Lead string `json:"lead"`
	// of the quoted point: the operating point, else the one that the text is about
	Load string `json:"load"`
	// how far the SLO is met and what ends it, or why no point meets it
	Text      string          `json:"text"`
	Operating *OperatingPoint `json:"operating_point"` // null: no point is known to meet the SLO
	// what keeps higher loads from the SLO; null: nothing measured does
	Limit *Limit     `json:"limited_by"`
	Next  *NextSweep `json:"next"` // what to run next; null: nothing
	// of the highest load that meets the SLO; null: the points show none
	Estimate *Estimate `json:"estimate"`
	Ruler    *Ruler    `json:"ruler"` // null: one load alone, or no SLO
	// of the best setting of a race: it over the default; empty: another workload
	Tuned string `json:"tuned,omitempty"`

	Quoted int `json:"quoted"` // index of the quoted point in the series' points
	// of the quoted point: throughputs, percentiles with intervals, cost, n; an invalid one has none but its load
	Figures []Fact        `json:"figures"`
	Points  []PointStatus `json:"points"` // of the series' points, in the same order

	// of the quoted point; absent: no class of a mix has an SLO of its own
	Classes []ClassAnswer `json:"classes,omitempty"`
	// of the quoted point; absent: no class has headers or a key, or ran alone
	Tenants *Tenants `json:"tenants,omitempty"`
}

// Limit is the lowest load above the operating point that misses the SLO; without an operating point the lowest
// load that misses it.
type Limit struct {
	Point      int        `json:"point"` // index in the series' points
	Load       string     `json:"load"`
	Metric     string     `json:"metric"`               // of the SLO: ttft_p95
	Bottleneck Bottleneck `json:"bottleneck,omitempty"` // empty: unknown
	Text       string     `json:"text"`                 // "concurrency 48 misses TTFT p95 2.04 s > 500 ms (queueing)"
}

type Status string

const (
	Ship    Status = "ship"      // the operating point
	Meets   Status = "meets"     // meets the SLO at another load
	Misses  Status = "misses"    // misses a limit
	Open    Status = "undecided" // no limit is missed, one is undecided
	Likely  Status = "likely"    // of a part of the ruler: estimated to meet the SLO
	Invalid Status = "invalid"   // left out of every answer
	NoSLO   Status = "no_slo"
)

type PointStatus struct {
	Status Status `json:"status"`
	Text   string `json:"text"` // "misses TTFT p95 2.04 s > 500 ms"; empty: it meets the SLO, or has none
}

func (w *Workload) point(s *series.Series) *series.Point { return &s.Points[w.Quoted] }

func (w *Workload) Headline() string {
	text := w.Lead + ": " + w.Name
	if w.Predicted && w.Lead == LeadMeasured {
		text = w.Name
	}
	switch {
	case w.Tuned != "":
		text = w.Lead + " " + w.Tuned
	case w.Estimate != nil:
		text = fmt.Sprintf("%s %s: %s", w.Lead, w.Name, w.Estimate.Text)
	case w.Lead == LeadShip:
		text = fmt.Sprintf("%s %s at %s", w.Lead, w.Name, w.Load)
	}
	switch {
	case w.Predicted:
		text += " (predicted)"
	case w.Simulated:
		text += " (simulated)"
	}
	return text
}

type answering struct {
	Workload
	s          *series.Series
	diagnoses  []Diagnosis
	unfinished bool          // planned rows of the same name have no result
	search     *record.Found // nil: no search for the SLO
}

func newWorkload(m *record.Manifest, all []series.Series, i int, diagnoses []Diagnosis, unfinished bool) Workload {
	s := &all[i]
	a := &answering{Workload: Workload{Series: i, Name: s.Label(), Simulated: m.Target.Simulated ||
		s.Points[0].Rows[0].Simulated, Predicted: m.Predicted != nil}, s: s, diagnoses: diagnoses,
		unfinished: unfinished, search: searchOf(m, s, experiment.GoalSLO)}
	for j := range s.Points {
		a.Points = append(a.Points, statusOf(&s.Points[j]))
	}
	peak := searchOf(m, s, experiment.GoalSaturation)
	switch operating := a.operating(); {
	case peak != nil && s.Points[*s.Headline].Valid:
		a.saturation(peak)
	case operating != nil:
		a.ship(m, *operating)
	case s.Points[*s.Headline].Valid && !slices.ContainsFunc(s.Points,
		func(p series.Point) bool { return p.SLO != "" }):
		a.measured()
	default:
		a.withhold()
	}
	if f := a.search; f != nil {
		a.Text = strings.TrimPrefix(f.Text, a.Name+": ")
		if n := a.nextOfSearch(f); n != nil || a.Operating != nil {
			a.Next = n
		}
	}
	switch {
	case a.Lead == LeadShip && Baseline(s):
		a.baseline()
	case a.Verdict != "" && !s.Points[0].Rows[0].Observed:
		a.Estimate = a.estimate(m)
		if e := a.Estimate; e != nil && e.Best != nil && (a.Lead == LeadNotYet || e.Extrapolated > 0) {
			a.Lead = LeadLikely
		}
		if f := a.search; f != nil && f.Best != nil && a.Estimate != nil && (f.State == "found" ||
			f.State == "budget" || f.State == "unprobed") {
			a.Text = series.EffortText(f, a.rows()) // the headline has the load
		}
		a.Ruler = a.newRuler(m)
		a.explainBelow()
	}
	if r := s.Points[a.Quoted].Rows[0].Rotations; r != nil {
		if a.Text = a.Text + "; " + r.Answer(); a.Verdict == "" { // the cache is the question
			a.Text, a.Next = r.Answer(), nil
		}
	}
	if s.Points[0].Rows[0].Observed {
		a.observed(m)
	}
	if p := a.point(s); p.Valid {
		a.Figures = figures(p)
		a.Classes, a.Tenants = classesOf(p), tenantsOf(all, p)
	}
	if a.Lead != LeadShip {
		load := s.Points[a.Quoted].LoadParts
		a.Figures = append([]Fact{figure("load", load[0], load[1])}, a.Figures...)
	}
	return a.Workload
}

// operating is the index of the operating point. Of a search it is the highest probe that passed below the first
// that misses the SLO: what all probes show together is the estimate.
func (a *answering) operating() *int {
	if a.search == nil {
		return a.s.MaxLoadWithinSLO.Point
	}
	var best *int
	for j := range a.Points[:a.firstMiss(0)] {
		if a.Points[j].Status == Meets {
			best = &j
		}
	}
	return best
}

// searchOf is the search that the series are the probes of; nil: none of this goal.
func searchOf(m *record.Manifest, s *series.Series, goal string) *record.Found {
	for i := range m.Searches {
		if f := &m.Searches[i]; f.Search.Goal == goal && f.Probed(&s.Points[0].Rows[0].Spec) {
			return f
		}
	}
	return nil
}

func statusOf(p *series.Point) PointStatus {
	switch {
	case p.MissesSLO():
		return PointStatus{Misses, "misses " + verdict.MissText(worst(p))}
	case !p.Valid:
		return PointStatus{Invalid, "invalid: " + strings.Join(record.Codes(findings(p), record.Invalid), ", ")}
	case p.SLO == stats.Pass:
		return PointStatus{Status: Meets}
	case p.SLO == stats.Undecided:
		return PointStatus{Open, "undecided: " + openText(p)}
	}
	return PointStatus{Status: NoSLO}
}

// explainBelow says of a load that is undecided by itself that a higher one meets the SLO, as the ruler has it.
func (a *answering) explainBelow() {
	if EasierByLoad(a.s) {
		return
	}
	below := a.Points[:a.firstMiss(0)]
	passes := func(p PointStatus) bool { return p.Status == Ship || p.Status == Meets }
	for j := range below {
		if above := slices.IndexFunc(below[j:], passes); below[j].Status == Open && above > 0 {
			a.Points[j].Text += "; " + a.s.Points[j+above].Load + " above it meets the SLO"
		}
	}
}

func worst(p *series.Point) *record.Verdict {
	v, _ := verdict.Deciding(p.Rows...)
	return &v
}

func openText(p *series.Point) string {
	v := worst(p)
	name := verdict.LimitName(v.Metric, v.Class)
	if p.Need > 0 {
		if verdict.Beyond(v) {
			name = verdict.MissText(v)
		}
		return fmt.Sprintf("%s on %s; %s more decide it", name, unit.Plural(v.Observed, "request"), unit.Count(p.Need))
	}
	return name + " (" + v.Why + ")"
}

func (a *answering) quote(point int) { a.Quoted, a.Load = point, a.s.Points[point].Load }

func looksFine(p *series.Point) bool {
	for _, r := range p.Rows {
		if slices.ContainsFunc(r.SLO, func(v record.Verdict) bool { return verdict.Beyond(&v) || v.Value == nil }) {
			return false
		}
	}
	return p.Need > 0
}

func (a *answering) limitAt(j int) *Limit {
	p := &a.s.Points[j]
	l := &Limit{Point: j, Load: p.Load, Metric: worst(p).Metric, Text: p.Load + " " + a.Points[j].Text}
	if d := firstAt(a.diagnoses, a.Series, j); d != nil && d.Bottleneck != unknownBottleneck &&
		d.Bottleneck != noBottleneck {
		l.Bottleneck = d.Bottleneck
		l.Text += " (" + d.Bottleneck.Name() + ")"
	}
	return l
}

func findings(p *series.Point) []record.Finding {
	all := []record.Finding{}
	for _, r := range p.Rows {
		all = append(all, r.Findings...)
	}
	all = append(all, p.Findings...)
	record.SortFindings(all)
	return all
}

func firstAt(diagnoses []Diagnosis, s, p int) *Diagnosis {
	at := slices.IndexFunc(diagnoses, func(d Diagnosis) bool { return d.Series == s && d.Point == p })
	if at < 0 {
		return nil
	}
	return &diagnoses[at]
}
