package diagnosis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"bench/experiment"
	"bench/experiment/metric"
	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/stats"
	"bench/experiment/unit"
	"bench/experiment/verdict"
)

// Answer is what a run answers: the operating point of each workload, what keeps higher loads from the SLO, how
// sure that is, and what to run next. It is made once; terminal, JSON, HTML, Markdown and exit code print it and
// decide nothing themselves. A workload is a series: the rows of one name that differ only in their load.
type Answer struct {
	Target []Fact   `json:"target"` // what was tested: as specified in the matrix and as the server reported
	SLO    []string `json:"slo"`    // the limits; empty: no SLO

	// Verdict is PASS if every workload with an SLO has an operating point, FAIL if one workload has FAIL, else
	// UNDECIDED; empty: no SLO.
	Verdict stats.Verdict `json:"verdict"`
	Text    string        `json:"text"` // the verdicts of the workloads in one sentence
	// index in workloads of the one to read first; null: nothing was measured
	First     *int       `json:"first"`
	Workloads []Workload `json:"workloads"` // one for each series, in the same order

	// each row with several settings of the server, or values of another axis; absent: none
	Settings []Settings `json:"settings,omitempty"`
	Tune     *Tuned     `json:"tune,omitempty"` // the race of settings; absent: there is none

	Trust Trust `json:"trust"`
	// NotMet is what a strict reading asks for (--enforce): every row that is not valid or does not meet its SLO,
	// every planned row without a result, every search without a load that qualifies. Empty: every row meets it.
	NotMet []NotMet `json:"not_met"`

	Expected    []Expectation `json:"expected"`     // the hypothesis, and each row with an expectation
	NotMeasured []string      `json:"not_measured"` // what a reader could assume to be measured
}

type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	// Short and Rest are the parts of a value that has more than a figure and its unit: "45.1 ms" and "[43, 60]".
	Short   string `json:"-"`
	Rest    string `json:"-"`
	Latency bool   `json:"-"` // a percentile of requests
}

type NotMet struct {
	Name string `json:"name"` // id of the row; empty: the text names the search
	Why  string `json:"why"`
}

func (n NotMet) String() string { return strings.TrimPrefix(n.Name+": "+n.Why, ": ") }

func NewAnswer(m *record.Manifest, series []series.Series, diagnoses []Diagnosis, missing []string) Answer {
	a := Answer{Target: target(m), Workloads: []Workload{}, NotMet: notMet(m, series, missing),
		Trust:    newTrust(series, missing),
		Expected: expectations(m, series, diagnoses), NotMeasured: notMeasured(m, series, missing)}
	for i := range series {
		w := newWorkload(m, series, i, diagnoses, slices.ContainsFunc(m.Plan, func(p record.Planned) bool {
			return p.Name == series[i].Name && slices.Contains(missing, p.ID)
		}))
		a.Workloads = append(a.Workloads, w)
	}
	a.SLO = LimitsOf(series)
	a.First = firstOf(a.Workloads, series)
	a.compareSettings(m, series)
	a.tune(m, series)
	a.Verdict, a.Text = a.conclude(lostRows(m, series, missing))
	return a
}

// LimitsOf are the limits of all series, with the rows that have them unless all do.
func LimitsOf(all []series.Series) []string {
	var limits []record.Verdict
	rows := map[string]bool{} // with an SLO
	of := map[string][]string{}
	for i := range all {
		name := all[i].Name
		for _, v := range all[i].Points[0].Rows[0].SLO {
			text := verdict.LimitText(&v)
			if of[text] == nil {
				limits = append(limits, v)
			}
			if rows[name] = true; !slices.Contains(of[text], name) {
				of[text] = append(of[text], name)
			}
		}
	}
	rank := func(v record.Verdict) int {
		name, _ := metric.Cut(v.Metric)
		return metric.Order(name)
	}
	slices.SortStableFunc(limits, func(a, b record.Verdict) int { return cmp.Compare(rank(a), rank(b)) })
	out := []string{}
	for _, v := range limits {
		text := verdict.LimitText(&v)
		if names := of[text]; len(names) < len(rows) {
			text += " (" + unit.Some(names) + ")"
		}
		out = append(out, text)
	}
	return out
}

// firstOf prefers a mix to its classes alone, what ships to what is undecided, several loads to one, and arrivals on
// their own schedule, as in production, to workers in a closed loop; then more output. Of the workloads of one row it
// takes the one with the lowest load: a load to ship carries each of them.
func firstOf(workloads []Workload, all []series.Series) *int {
	var first *int
	var best []float64
	one := map[bool]float64{true: 1}
	for i := range workloads {
		w, s := &workloads[i], &all[workloads[i].Series]
		if slices.ContainsFunc(workloads, func(o Workload) bool { return w.easierThan(s, &o, &all[o.Series]) }) {
			continue
		}
		rank := []float64{one[s.Points[0].Rows[0].Spec.Alone == ""],
			map[stats.Verdict]float64{stats.Pass: 3, stats.Undecided: 2, stats.Fail: 1}[w.Verdict],
			one[w.Lead != LeadBaseline], one[len(s.Points) > 1], one[!s.Closed], 0}
		if p := w.point(s); p.Valid {
			rank[5] = p.OutputTokensPerS.Median
		}
		if first == nil || slices.Compare(rank, best) > 0 {
			first, best = &i, rank
		}
	}
	return first
}

// easierThan reports whether another workload of the row, of the same setting of the server, ends at a lower load,
// or stands before it.
func (w *Workload) easierThan(s *series.Series, o *Workload, of *series.Series) bool {
	x, y := &s.Points[0].Rows[0].Spec, &of.Points[0].Rows[0].Spec
	alike := x.Name == y.Name && x.Variant == y.Variant && x.Alone == y.Alone && s.Axis == of.Axis &&
		w.Verdict == o.Verdict && w.Lead == o.Lead && len(s.Points) > 1 == (len(of.Points) > 1)
	lower := cmp.Compare(o.highest(of), w.highest(s))
	return alike && (lower < 0 || lower == 0 && o.Series < w.Series)
}

// highest is the estimate, else the load of the quoted point.
func (w *Workload) highest(s *series.Series) float64 {
	if e := w.Estimate; e != nil && e.Best != nil {
		return *e.Best
	}
	return requested(s, w.point(s))
}

func lostRows(m *record.Manifest, all []series.Series, missing []string) []string {
	var out []string
	for _, p := range m.Plan {
		measured := slices.ContainsFunc(all, func(s series.Series) bool { return s.Name == p.Name })
		if slices.Contains(missing, p.ID) && !measured && !slices.Contains(out, p.Name) {
			out = append(out, p.Name)
		}
	}
	return out
}

func (a *Answer) conclude(lost []string) (v stats.Verdict, text string) {
	if a.Tune != nil && a.First != nil {
		return a.Workloads[*a.First].Verdict, a.Tune.Text + "; " + a.Tune.Certificate
	}
	var met, failed, open, baselines []string
	for _, w := range a.Workloads {
		switch {
		case w.Lead == LeadBaseline:
			baselines = append(baselines, w.Name)
		case w.Verdict == stats.Pass:
			met = append(met, w.Name)
		case w.Verdict == stats.Fail:
			failed = append(failed, w.Name)
		case w.Verdict == stats.Undecided:
			open = append(open, w.Name)
		}
	}
	for _, name := range lost {
		open = append(open, name+" (no result)")
	}
	total := len(met) + len(failed) + len(open)
	switch {
	case len(a.Workloads) == 0:
		return "", "no row has a result"
	case total == 0 && len(baselines) > 0:
		return stats.Pass, "a single user meets the SLO; no load to ship was measured"
	case total == len(lost) && len(baselines) == 0:
		return "", "no SLO is specified"
	}
	switch v = stats.Pass; {
	case len(failed) > 0:
		v = stats.Fail
	case len(open) > 0 || a.Trust.Missing > 0:
		v = stats.Undecided
	}
	text = fmt.Sprintf("%d of %s have an operating point", len(met), unit.Plural(total, "workload"))
	if total == 1 {
		text = map[bool]string{true: "the workload has an operating point",
			false: "the workload has no operating point"}[len(met) == 1]
	}
	if len(failed) > 0 {
		text += "; no point meets the SLO in " + unit.Some(failed)
	}
	if len(open) > 0 {
		text += "; undecided: " + unit.Some(open)
	}
	return v, text
}

func (a *Answer) Others() string {
	if a.Tune != nil { // it has a table of them
		return ""
	}
	var groups []string
	for _, lead := range []string{LeadShip, LeadMet, LeadLikely, LeadNotYet, LeadNone, LeadMeasured, LeadBaseline} {
		var names []string
		for i := range a.Workloads {
			if w := &a.Workloads[i]; w.Lead == lead && i != *a.First {
				names = append(names, fmt.Sprintf("%s (%s)", w.Name, w.Load))
			}
		}
		if len(names) > 0 {
			groups = append(groups, lead+": "+strings.Join(names, ", "))
		}
	}
	return strings.Join(groups, "; ")
}

func target(m *record.Manifest) []Fact {
	t := m.Target
	out := []Fact{}
	add := func(name, value string) {
		if value != "" {
			out = append(out, Fact{Name: name, Value: value})
		}
	}
	add("model", t.Model)
	add("endpoint", t.Endpoint)
	add("simulated", t.Simulator)
	if t.Hardware != "" && t.GPUs > 0 {
		add("hardware", fmt.Sprintf("%d × %s", t.GPUs, t.Hardware))
	}
	add("precision", t.Precision)
	add("version", unit.ClipBytes(t.ServerVersion(), 200))
	for _, name := range experiment.ExpectedFacts {
		add(name, m.Facts[name])
	}
	return out
}

func eachRow(all []series.Series, f func(p *series.Point, r *record.Row)) {
	for i := range all {
		for j := range all[i].Points {
			for _, r := range all[i].Points[j].Rows {
				f(&all[i].Points[j], r)
			}
		}
	}
}

func notMet(m *record.Manifest, all []series.Series, missing []string) []NotMet {
	out := []NotMet{}
	eachRow(all, func(p *series.Point, r *record.Row) {
		switch v, _ := verdict.OfRows(r); {
		case r.Spec.Search != nil: // its probes may fail: its result counts
		case v == stats.Undecided && p.SLO == stats.Pass && r.Valid(): // a longer repeat decided
		case v != "" && v != stats.Pass:
			out = append(out, NotMet{r.ID, "SLO " + string(v)})
		case !r.Valid():
			out = append(out, NotMet{r.ID, "invalid (" + strings.Join(r.Codes(record.Invalid), ", ") + ")"})
		case len(r.Checks.Passed) == 0:
			out = append(out, NotMet{r.ID, "unchecked: no check was possible"})
		}
	})
	for _, id := range missing {
		out = append(out, NotMet{id, "no result"})
	}
	for i := range m.Searches {
		if f := &m.Searches[i]; !f.Met() && f.State != "beaten" {
			out = append(out, NotMet{Why: f.Text})
		}
	}
	if len(all) == 0 && len(out) == 0 {
		out = append(out, NotMet{Why: "no row has a result"})
	}
	return out
}
