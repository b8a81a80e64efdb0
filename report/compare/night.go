package compare

import (
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"bench/experiment/metric"
	"bench/experiment/record"
	"bench/experiment/stats"
)

type Night struct {
	Dir       string       `json:"dir"`   // relative to the root; of another tool's result, its file
	Stamp     string       `json:"stamp"` // hash of its files' names, sizes, modes and times
	Error     string       `json:"error,omitempty"`
	Run       string       `json:"run"`
	StartedAt time.Time    `json:"started_at"`
	Group     GroupKey     `json:"group"`
	Facts     []Fact       `json:"facts,omitempty"`
	Points    []NightPoint `json:"points,omitempty"`
	Gate      *NightGate   `json:"gate,omitempty"`       // absent: the run has no readable gate.json
	GateError string       `json:"gate_error,omitempty"` // why its gate.json is unreadable
	Headline  *Headline    `json:"headline,omitempty"`   // absent = the run could not be read
}

type NightGate struct {
	Verdict     stats.Verdict `json:"verdict"`
	Regressions []Regression  `json:"regressions"`
	Line        string        `json:"line,omitempty"` // as in GateRecord
}

type GroupKey struct {
	Matrix    string `json:"matrix"`
	Model     string `json:"model"`
	Hardware  string `json:"hardware"`
	GPUs      int    `json:"gpus"`
	Precision string `json:"precision"`
	Vantage   string `json:"vantage"`
	Simulated bool   `json:"simulated"`
}

type Fact struct {
	What  string `json:"what"`
	Value string `json:"value"`

	key string // as in Difference
}

type NightPoint struct {
	Name     string           `json:"point"`
	Workload string           `json:"workload"` // hash: another workload is another trend
	Figures  map[string]Value `json:"figures"`
}

// Value is one figure of one night: the geometric mean of its repeats; of a share, the arithmetic one. A repeat
// with an invalid finding that touches the figure is left out, if others have none.
type Value struct {
	X float64 `json:"x"`
	// from the spread of the repeats; of a single one, from the variance within it
	CI95     stats.Interval `json:"ci95"`
	Repeats  int            `json:"n"`
	LeftOut  int            `json:"left_out,omitempty"` // number of invalid repeats
	Invalid  []string       `json:"invalid,omitempty"`  // codes of the findings, if every repeat is invalid
	Cautions []string       `json:"cautions,omitempty"` // codes of the cautions that touch the figure
}

var trended = []string{"ttft_p50", "ttft_p99", "tpot_p50", "e2e_p50", "e2e_p99", "output_tokens_per_s",
	metric.ErrorRate, "session_time_p50", metric.Interactivity, metric.AnswersValid, metric.AnswersCorrect,
	metric.AcceptanceLength}

// fill reads a run; classes of mixes are points too, if asked for.
func (n *Night) fill(r *Run, figures []string, classes bool) {
	t := r.Manifest.Target
	n.Run, n.StartedAt, n.Headline = r.Manifest.Run, r.Manifest.StartedAt, r.Headline
	n.Group = GroupKey{Matrix: r.Manifest.Matrix, Model: t.Model, Hardware: t.Hardware, GPUs: t.GPUs,
		Precision: t.Precision, Vantage: t.Vantage.Place, Simulated: t.Simulated}
	for _, f := range r.facts() {
		if f.Value != "" && f.key != "client" { // which is that of the group
			n.Facts = append(n.Facts, f)
		}
	}
	n.GateError = r.GateError
	if r.Gate != nil {
		n.Gate = &NightGate{r.Gate.Verdict, r.Gate.Regressions, r.Gate.Line}
	}
	found, order := points(Side{Runs: []Run{*r}})
	for _, name := range order {
		n.Points = append(n.Points, nightPoint(name, found[name], figures))
		if !classes {
			continue
		}
		for _, class := range (pair{base: found[name]}).classes() {
			if samples := ofClass(found[name], class); len(samples) > 0 {
				n.Points = append(n.Points, nightPoint(OfClass(name, class), samples, figures))
			}
		}
	}
}

func nightPoint(name string, samples []sample, figures []string) NightPoint {
	h := fnv.New64a()
	fmt.Fprint(h, workloadKey(&samples[0].row.Spec), samples[0].row.PromptForm)
	p := NightPoint{Name: name, Workload: fmt.Sprintf("%06x", h.Sum64()>>40), Figures: map[string]Value{}}
	for _, name := range figures {
		f := newFigure(name)
		with, values := f.having(samples)
		if len(values) > 0 && f.noRatio([2][]float64{values}) == "" {
			p.Figures[name] = f.value(with)
		}
	}
	return p
}

func (f figure) value(samples []sample) Value {
	var out Value
	valid := slices.DeleteFunc(slices.Clone(samples),
		func(s sample) bool { return len(f.touching(s.row, record.Invalid)) > 0 })
	if len(valid) == 0 {
		valid = samples
		out.Invalid = f.codes(samples, record.Invalid)
	}
	out.LeftOut, out.Cautions = len(samples)-len(valid), f.codes(valid, record.Caution)
	mean, within := stats.RepeatsInterval(f.scaled(valid), Confidence)
	out.X, out.Repeats = f.unscale(mean), len(valid)
	out.CI95 = stats.Interval{Lo: f.unscale(within.Lo), Hi: f.unscale(within.Hi)}
	return out
}

func (f figure) codes(samples []sample, s record.Severity) (codes []string) {
	for _, x := range samples {
		codes = union(codes, f.touching(x.row, s))
	}
	return codes
}

// touching are the codes of the row's findings of one severity that touch the figure. An invalid one without stated
// effects touches all, but not the share that it is about. What moves e2e moves the times of sessions.
func (f figure) touching(row *record.Row, s record.Severity) (codes []string) {
	ofSessions := f.Name == metric.SessionTime || f.Name == metric.Interactivity
	for i := range row.Findings {
		x := &row.Findings[i]
		touches := x.Touches(record.TouchedMetric(f.key)) || ofSessions && x.Touches("e2e")
		if s == record.Invalid && len(x.Effects) == 0 {
			touches = !slices.Contains(about[f.key], x.Code)
		}
		if x.Severity == s && touches {
			codes = union(codes, []string{x.Code})
		}
	}
	return codes
}

var about = map[string][]string{
	metric.ErrorRate:      {"errors"},
	metric.AnswersValid:   {"answers"},
	metric.AnswersCorrect: {"answers"},
}
