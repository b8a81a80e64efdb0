package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/unit"
)

type Beside struct {
	Run       string            `json:"run"`       // the prediction's
	Predicted record.Prediction `json:"predicted"` // what it stands for
	// Differs is what the two runs state differently; absent = nothing
	Differs   []string         `json:"differs,omitempty"`
	Points    []BesidePoint    `json:"points"`    // that both have
	Workloads []BesideWorkload `json:"workloads"` // that both have
}

type BesidePoint struct {
	Point           string `json:"point"`
	TTFTMs          *Pair  `json:"ttft_p50_ms,omitempty"`
	TPOTMs          *Pair  `json:"tpot_p50_ms,omitempty"`
	OutputTokensPer *Pair  `json:"output_tokens_per_s,omitempty"`
}

type Pair struct {
	Measured  float64 `json:"measured"`
	Predicted float64 `json:"predicted"`
	Ratio     float64 `json:"measured_over_predicted"`
}

type BesideWorkload struct {
	Workload  string `json:"workload"`
	Operating Loads  `json:"operating_point"`
	Knee      Loads  `json:"knee"`
	Peak      Loads  `json:"saturation"`
}

// Loads are a load, measured and predicted: "concurrency 16"; absent: nowhere in the range.
type Loads struct {
	Measured  string `json:"measured,omitempty"`
	Predicted string `json:"predicted,omitempty"`
}

// LayBehind takes the predictions out of runs, and lays each behind the measured runs that have points of it. A
// prediction of none, or without a measured run, stays in the list.
func LayBehind(runs []*Run) []*Run {
	var rest []*Run
	for _, p := range runs {
		laid := false
		for _, m := range runs {
			if p.Manifest.Predicted != nil && m.Manifest.Predicted == nil && m.Prediction == nil &&
				m.Manifest.Matrix == p.Manifest.Matrix && sharesPoint(m, p) {
				m.Prediction, laid = p, true
			}
		}
		if !laid {
			rest = append(rest, p)
		}
	}
	return rest
}

// sharesPoint goes by the points with a row; probes of a search have the load that it chose.
func sharesPoint(r *Run, other *Run) bool {
	own := map[string]bool{}
	for _, row := range r.Live() {
		own[row.Spec.Label()] = true
	}
	return slices.ContainsFunc(other.Live(), func(row record.Row) bool { return own[row.Spec.Label()] })
}

func (r *Run) beside(o *Analysis) *Beside {
	if r.Prediction == nil {
		return nil
	}
	b := &Beside{
		Run: r.Prediction.Manifest.Run, Predicted: *r.Prediction.Manifest.Predicted,
		Differs: differsFrom(r, r.Prediction),
		Points:  []BesidePoint{}, Workloads: []BesideWorkload{},
	}
	p := o.Behind
	for i := range o.Series {
		s := &o.Series[i]
		j := o.Predicted(s)
		if j < 0 {
			continue
		}
		other := &p.Series[j]
		b.Points = append(b.Points, besidePoints(s, other)...)
		b.Workloads = append(b.Workloads, BesideWorkload{
			Workload:  s.Label(),
			Operating: Loads{operatingLoad(o, i), operatingLoad(p, j)},
			Knee:      Loads{limitLoad(s, s.Knee), limitLoad(other, other.Knee)},
			Peak:      Loads{limitLoad(s, s.Saturation), limitLoad(other, other.Saturation)},
		})
	}
	return b
}

// differsFrom is what the run states otherwise than its prediction: "hardware l4, predicted h100-sxm".
func differsFrom(r *Run, prediction *Run) (differences []string) {
	p, t := prediction.Manifest.Predicted, r.Manifest.Target
	is := record.Roofline{Model: t.Model, Hardware: t.Hardware, GPUs: t.GPUs, Weights: t.Precision}
	engine := ""
	for _, row := range r.Live() {
		if m := row.Server.Metrics; m != nil {
			engine = cmp.Or(engine, m.Engine)
		}
		if row.Roofline != nil && is.Context == 0 { // has the names of the tables, as predictions have
			is = *row.Roofline
		}
	}
	number := func(n int) string { // empty: not known
		if n == 0 {
			return ""
		}
		return strconv.Itoa(n)
	}
	for _, x := range []struct{ name, measured, predicted string }{
		{"model", is.Model, p.Model}, {"hardware", is.Hardware, p.Hardware},
		{"GPUs", number(is.GPUs), number(p.GPUs)},
		{"precision", cmp.Or(is.Weights, is.Precision), p.Precision},
		{"engine", engine, p.Engine}, {"matrix text", r.Manifest.MatrixHash, prediction.Manifest.MatrixHash},
	} {
		if x.measured != x.predicted && x.measured != "" && x.predicted != "" {
			differences = append(differences, fmt.Sprintf("%s %s, predicted %s", x.name, x.measured, x.predicted))
		}
	}
	if is.Hardware == "" {
		differences = append(differences, "hardware not specified, predicted "+p.Hardware)
	}
	return differences
}

func operatingLoad(o *Analysis, i int) string {
	for _, w := range o.Answer.Workloads {
		if w.Series == i && w.Operating != nil {
			return w.Load
		}
	}
	return ""
}

func limitLoad(s *series.Series, l series.LoadLimit) string {
	if l.Point == nil {
		return ""
	}
	return s.Points[*l.Point].Load
}

func besidePoints(s, other *series.Series) (out []BesidePoint) {
	for i := range s.Points {
		p := &s.Points[i]
		j := slices.IndexFunc(other.Points, func(x series.Point) bool { return x.Load == p.Load })
		if j < 0 {
			continue
		}
		q := &other.Points[j]
		p50 := func(measured, predicted record.Percentiles) *Pair {
			m, ok := measured.Get("p50")
			p, also := predicted.Get("p50")
			return newPair(m.Repeats, p.Repeats, ok && also)
		}
		a, b := p.OutputTokensPerS, q.OutputTokensPerS
		out = append(out, BesidePoint{s.PointName(p), p50(p.TTFT, q.TTFT), p50(p.TPOT, q.TPOT),
			newPair(a, b, len(a.Values) > 0 && len(b.Values) > 0)})
	}
	return out
}

// newPair is nil if nothing can be divided by the prediction.
func newPair(measured, predicted record.Repeats, known bool) *Pair {
	if !known || !(predicted.Median > 0) {
		return nil
	}
	return &Pair{measured.Median, predicted.Median, measured.Median / predicted.Median}
}

func besideTables(r *Run, o *Analysis) (points, workloads Table) {
	points = newTable("predicted-points", "Measured and predicted", "point", "TTFT p50|ms #", "predicted #", "÷ #",
		"TPOT p50|ms #", "predicted #", "÷ #", "output|tok/s #", "predicted #", "÷ #")
	workloads = newTable("predicted-workloads", "Measured and predicted limits", "workload", "limit",
		"measured", "predicted")
	b := r.beside(o)
	if b == nil {
		return points, workloads
	}
	points.Note = fmt.Sprintf("Predicted, not measured: %s (run %s).", b.Predicted.Text(), b.Run)
	if len(b.Differs) > 0 {
		points.Note += " Not the same setup: " + strings.Join(b.Differs, "; ") + "."
	}
	for _, p := range b.Points {
		cells := []Cell{TextCell(p.Point)}
		for _, x := range []*Pair{p.TTFTMs, p.TPOTMs, p.OutputTokensPer} {
			if x == nil {
				cells = append(cells, Absent(), Absent(), Absent())
				continue
			}
			cells = append(cells, TextCell(unit.Digits(x.Measured)), TextCell(unit.Digits(x.Predicted)),
				TextCell(unit.Digits(x.Ratio)))
		}
		points.Add(cells...)
	}
	for _, w := range b.Workloads {
		for _, limit := range []struct {
			name  string
			loads Loads
		}{{"operating point", w.Operating}, {"saturation", w.Peak}, {"knee", w.Knee}} {
			if limit.loads != (Loads{}) {
				workloads.Add(TextCell(w.Workload), TextCell(limit.name),
					cmp.Or(TextCell(limit.loads.Measured), Absent()),
					cmp.Or(TextCell(limit.loads.Predicted), Absent()))
			}
		}
	}
	return points, workloads
}

func (p *printer) beside(run *Run, o *Analysis) {
	points, workloads := besideTables(run, o)
	p.captioned(points, p.table)
	p.captioned(workloads, p.table)
}
