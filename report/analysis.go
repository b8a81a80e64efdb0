package report

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"bench/experiment/diagnosis"
	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/unit"
)

type Analysis struct {
	Answer    diagnosis.Answer      `json:"answer"`    // operating points, verdicts, what to run next
	Findings  []Finding             `json:"findings"`  // by severity, the most severe first, and code
	Series    []series.Series       `json:"series"`    // the points, by workload
	Diagnoses []diagnosis.Diagnosis `json:"diagnoses"` // of every point, the most urgent first
	Time      TimeSpent             `json:"time"`      // of the run, and of each workload

	searches []record.Found // with the PASSes that the report decides
	Behind   *Analysis      `json:"-"` // of the prediction behind the run; nil: none

	// Imported is shown in place of answers for another tool's file without an SLO; empty: any other run.
	Imported string `json:"-"`
}

// Finding is one code of findings of one severity with the rows that have it.
type Finding struct {
	Code     string          `json:"code"`
	Severity record.Severity `json:"severity"`
	Cases    []Flagged       `json:"cases"` // the worst first: it can have moved its row the most
}

func (f *Finding) add(x Flagged) {
	if n := len(f.Cases); n > 0 && f.Cases[n-1].Row == x.Row {
		last := &f.Cases[n-1]
		last.Text += "; " + x.Text
		last.moved = max(last.moved, x.moved)
		if x.Hint != "" && !strings.Contains(last.Hint, x.Hint) {
			last.Hint = strings.TrimPrefix(last.Hint+"; "+x.Hint, "; ")
		}
		return
	}
	f.Cases = append(f.Cases, x)
}

// text is the finding on one line.
func (f *Finding) text() string {
	if n := len(f.Cases); n > 1 {
		return fmt.Sprintf("%s (%s): %s", f.Code, unit.Plural(n, "row"), f.Cases[0].Text)
	}
	return fmt.Sprintf("%s: %s (%s)", f.Code, f.Cases[0].Text, f.Cases[0].Row)
}

// notes are the codes of the findings that are notes.
func (o *Analysis) notes() string {
	var notes []string
	for _, d := range o.Findings {
		if d.Severity == record.Note {
			notes = append(notes, fmt.Sprintf("%s (%s)", d.Code, unit.Plural(len(d.Cases), "row")))
		}
	}
	return strings.Join(notes, ", ")
}

type Flagged struct {
	Row  string `json:"row"` // its id; for repeats that differ, the name of the point
	Text string `json:"text"`
	Hint string `json:"hint"`

	moved float64
}

// moved ranks how far a finding can have moved a row: by a factor before some requests, before ms.
func moved(f *record.Finding, failed float64) float64 {
	most := failed
	for _, x := range f.Effects {
		by := math.Inf(1)
		if x.Bound != nil {
			weights := map[string]float64{record.UnitFactor: 1e12, record.UnitRequests: 1e6, record.UnitMs: 1}
			by = *x.Bound * weights[x.Unit]
		}
		most = max(most, by)
	}
	return most
}

// Analyze derives the analysis from the rows. Removed rows do not count.
func (r *Run) Analyze() Analysis {
	rows := r.Live()
	o := Analysis{Series: series.FromRows(rows), Findings: []Finding{}}
	series.AddSkipped(o.Series, r.Manifest.Plan)
	series.AddTwins(o.Series, r.Manifest.Twins)
	o.collectFindings(rows)
	o.Diagnoses = diagnosis.Diagnose(o.Series)
	m := r.Manifest
	m.Searches = series.Confirmed(m.Searches, rows)
	o.searches = m.Searches
	o.Answer = diagnosis.NewAnswer(&m, o.Series, o.Diagnoses, r.Missing)
	typeNext(r, &o.Answer)
	o.Time = timeSpent(r, &o)
	if c := r.Manifest.Client; c.Tool != "" && len(o.Answer.SLO) == 0 {
		o.Imported = fmt.Sprintf("measured by %s; not reported: %s",
			strings.TrimSpace(c.Tool+" "+c.Version), strings.Join(r.Manifest.Unspecified, ", "))
		o.Answer.Text, o.Diagnoses = o.Imported, []diagnosis.Diagnosis{}
	}
	if r.Prediction != nil {
		o.Behind = new(r.Prediction.Analyze())
	}
	return o
}

func (o *Analysis) Predicted(s *series.Series) int {
	if o.Behind == nil {
		return -1
	}
	return slices.IndexFunc(o.Behind.Series, func(x series.Series) bool {
		return x.Label() == s.Label() && x.Axis == s.Axis
	})
}

// Met is an error with a line for each row that is not valid or misses its SLO. UNDECIDED and invalid count as missed,
// a caution does not. The probes of a search may fail: its result counts instead.
func (r *Run) Met() error {
	missed := r.Analyze().Answer.NotMet
	if len(missed) == 0 {
		return nil
	}
	text := "SLO not met by every row:"
	for _, n := range missed {
		text += "\n  " + n.String()
	}
	return errors.New(text)
}

func (o *Analysis) Each(f func(s *series.Series, p *series.Point)) {
	for i := range o.Series {
		for j := range o.Series[i].Points {
			f(&o.Series[i], &o.Series[i].Points[j])
		}
	}
}

func (o *Analysis) any(is func(p *series.Point) bool) (found bool) {
	o.Each(func(_ *series.Series, p *series.Point) { found = found || is(p) })
	return found
}

func (o *Analysis) First() (*diagnosis.Workload, *series.Series) {
	if o.Answer.First == nil {
		return nil, nil
	}
	w := &o.Answer.Workloads[*o.Answer.First]
	return w, &o.Series[w.Series]
}

// AnswerRow is the label of the series that the answer is of; empty: there is none.
func (r *Run) AnswerRow() string {
	o := r.Analyze()
	if _, first := o.First(); first != nil {
		return first.Label()
	}
	return ""
}

// Curves are the series of the run's own rows, that with a label first.
func (r *Run) Curves(first string) []series.Series {
	all := series.FromRows(r.Live())
	if i := slices.IndexFunc(all, func(s series.Series) bool { return s.Label() == first }); i > 0 {
		all = slices.Concat(all[i:i+1], all[:i], all[i+1:])
	}
	return all
}

func (o *Analysis) HeadlinePoint() (*series.Series, *series.Point) {
	w, s := o.First()
	if w == nil {
		return nil, nil
	}
	return s, &s.Points[w.Quoted]
}

func (o *Analysis) StatusOf(p *series.Point) diagnosis.PointStatus {
	for i := range o.Answer.Workloads {
		w := &o.Answer.Workloads[i]
		for j := range w.Points {
			if &o.Series[w.Series].Points[j] == p {
				return w.Points[j]
			}
		}
	}
	return diagnosis.PointStatus{Status: diagnosis.NoSLO}
}

func (o *Analysis) collectFindings(rows []record.Row) {
	for _, severity := range []record.Severity{record.Invalid, record.Caution, record.Note} {
		first := len(o.Findings)
		add := func(row string, findings []record.Finding, failed float64) {
			for _, d := range findings {
				if d.Severity != severity {
					continue
				}
				i := slices.IndexFunc(o.Findings[first:], func(x Finding) bool { return x.Code == d.Code })
				if i < 0 {
					i = len(o.Findings) - first
					o.Findings = append(o.Findings, Finding{Code: d.Code, Severity: severity})
				}
				o.Findings[first+i].add(Flagged{row, d.Text, d.Hint, moved(&d, failed)})
			}
		}
		for _, r := range rows {
			add(r.ID, r.Findings, r.Summary.FailedShare())
		}
		o.Each(func(s *series.Series, p *series.Point) { add(s.PointName(p), p.Findings, 0) })
		for _, f := range o.Findings[first:] {
			slices.SortStableFunc(f.Cases, func(a, b Flagged) int { return cmp.Compare(b.moved, a.moved) })
		}
	}
}
