package report

import (
	"cmp"
	"strings"

	"bench/experiment/record"
	"bench/report/compare"
	"bench/report/shadow"
)

const SchemaDocument = "bench/report/v2"

// Document is the answers of runs as data: the page carries it under bench-data, and --format json writes
// it.
type Document struct {
	Schema string        `json:"schema"`
	Runs   []DocumentRun `json:"runs"` // in the order of the arguments
	// Systems are several runs side by side; absent = one run, or no workload with an SLO in common.
	Systems *Systems `json:"systems,omitempty"`
}

type DocumentRun struct {
	Run    string `json:"run"`    // start time in UTC
	Matrix string `json:"matrix"` // name of the matrix
	// Evaluated is how the answer differs from the run's files; absent = it does not.
	Evaluated *Evaluated `json:"evaluated_again,omitempty"`
	// WithoutRecords are rows whose file of requests is missing; absent = none.
	WithoutRecords []string `json:"rows_without_records,omitempty"`
	// Altered are files that were changed after the run, or cannot be read; absent = none.
	Altered []string `json:"altered_files,omitempty"`
	// Predicted marks a prediction: nothing was measured; absent = a measured run.
	Predicted *record.Prediction `json:"predicted,omitempty"`
	// Searches are their answers, as in run.json or, evaluated again, under other limits; absent = none.
	Searches []record.Found `json:"searches,omitempty"`
	Beside   *Beside        `json:"beside_prediction,omitempty"` // absent = no prediction was given
	// Shadow compares the recorded server with a candidate; absent = there was none.
	Shadow *shadow.Comparison `json:"shadow,omitempty"`
	Analysis
}

func NewDocument() Document { return Document{Schema: SchemaDocument, Runs: []DocumentRun{}} }

func (d *Document) Add(r *Run, o Analysis) {
	d.Runs = append(d.Runs, DocumentRun{r.Manifest.Run, r.Manifest.Matrix, r.Evaluated, r.WithoutRecords, r.Altered,
		r.Manifest.Predicted, o.searches, r.beside(&o), r.Shadow, o})
}

func (r *Run) Headline() *compare.Headline {
	o := r.Analyze()
	rows, trust := len(r.Stored()), o.Answer.Trust
	h := &compare.Headline{State: r.Manifest.State, Rows: rows, Planned: rows + len(r.Missing),
		Server: cmp.Or(strings.ToLower(r.Tag()), engine(r)), Workloads: len(o.Answer.Workloads),
		Verdict: string(o.Answer.Verdict), Invalid: trust.Invalid, Cautions: trust.Cautions, Trust: trust.Text}
	if a := o.Time.Answer; a != nil {
		h.GPUSeconds = a.GPUSeconds
	}
	s, p := o.HeadlinePoint()
	if p == nil {
		return h
	}
	first, _ := o.First()
	h.Answer, h.Point = first.Lead, s.PointName(p)
	if !p.Valid {
		return h
	}
	if e := first.Estimate; e != nil && e.Best != nil && e.Passed == nil { // LIKELY: no probe is the answer
		h.Point = s.Label() + ", " + first.Ruler.Load
		h.OutputTokensPerS, h.PerGPU = *cmp.Or(e.OutputTokensPerS, new(float64)), e.OutputTokensPerSPerGPU
		return h
	}
	h.OutputTokensPerS = p.OutputTokensPerS.Median
	if g := p.OutputTokensPerSPerGPU; g != nil {
		h.PerGPU = &g.Median
	}
	if len(p.Classes) > 0 { // those of all classes describe none
		return h
	}
	percentile := func(ps record.Percentiles, stat string) *compare.Percentile {
		p, measured := ps.Get(stat)
		mark, ms, bounded := p.Mark()
		if !measured || !bounded {
			return nil
		}
		return &compare.Percentile{Stat: stat, Text: mark + formatMs(ms), Ms: ms}
	}
	h.TTFT, h.TPOT = percentile(p.TTFT, o.limitedStat("ttft")), percentile(p.TPOT, o.limitedStat("tpot"))
	return h
}
