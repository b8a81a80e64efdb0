// Package why divides the difference of a figure of two runs among its causes: what was sent, and what the server made
// of it. Each side has a twin; a cause's share is its Shapley value, the mean of what the figure changes by if one
// side's part replaces the other's, over all orders of the parts (Shapley, "A Value for n-Person Games", 1953). The
// twins run on the very arrivals of both sides, so what they leave unexplained is small, and is stated.
package why

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"gonum.org/v1/gonum/stat"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/stats"
	"bench/experiment/twin"
	"bench/report/parallel"
)

// Schema of a Result.
const Schema = "bench/why/v1"

// Result is why the rows of run B differ from those of run A.
type Result struct {
	Schema  string          `json:"schema"`
	A       string          `json:"a"`
	B       string          `json:"b"`
	Rows    []Row           `json:"rows"`
	LeftOut []string        `json:"left_out,omitempty"` // rows without an answer, and why
	Facts   []record.Change `json:"facts,omitempty"`    // of the servers, that differ
	GPUs    []GPUChange     `json:"gpus,omitempty"`
}

// Row is a point that both runs have.
type Row struct {
	Name    string   `json:"name"`
	Point   string   `json:"-"` // the name without the repeat
	Figures []Figure `json:"figures"`
}

// Figure is one figure of both sides.
type Figure struct {
	Metric string  `json:"metric"`
	A      float64 `json:"a_ms"`
	B      float64 `json:"b_ms"`
	Change Part    `json:"change"`
	// Parts add up to the change, the largest first; those that the runs have in common are left out.
	Parts    []Part `json:"parts"`
	Rejected string `json:"rejected,omitempty"` // why a twin cannot tell the parts; empty: it can
}

// Part is what a cause changes a figure by: the share of A, with an interval of 95 % of the fit alone (benchmarks/why).
type Part struct {
	Cause string  `json:"cause"`
	Share float64 `json:"share"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// The causes.
const (
	Arrivals    = "arrivals"
	Prompts     = "prompt lengths"
	Outputs     = "response lengths"
	CacheHits   = "cache hits"
	StepTime    = "step time at equal batch"
	Prefill     = "prefill time of a token"
	FrontEnd    = "front end"
	Batching    = "limits of the batch"
	Client      = "client lag"
	Unexplained = "unexplained"
)

// causes are those that one side can take from the other.
var causes = []string{Arrivals, Prompts, Outputs, CacheHits, StepTime, Prefill, FrontEnd, Batching}

var figures = []struct {
	name  string
	limit twin.Limit
}{
	{"ttft_p50", twin.Limit{Metric: "ttft", P: 0.5, Value: 1}},
	{"ttft_p95", twin.Limit{Metric: "ttft", P: 0.95, Value: 1}},
	{"tpot_p50", twin.Limit{Metric: "tpot", P: 0.5, Value: 1}},
	{"tpot_p95", twin.Limit{Metric: "tpot", P: 0.95, Value: 1}},
	{"e2e_p50", twin.Limit{Metric: "e2e", P: 0.5, Value: 1}}, {"e2e_p95", twin.Limit{Metric: "e2e", P: 0.95, Value: 1}},
}

func limits() (out []twin.Limit) {
	for _, f := range figures {
		out = append(out, f.limit)
	}
	return out
}

// Side is one run: its rows that can be explained, each with its requests, and its twin.
type Side struct {
	Model  twin.Model
	Trials []Trial
}

// Trial is a row as the twin sees it.
type Trial struct {
	twin.Trial
	Name  string
	Point string             // the name without the repeat
	Lag   map[string]float64 // by figure: ln(from the intended arrival ÷ from sending)
}

func (s *Side) trials() (out []twin.Trial) {
	for i := range s.Trials {
		out = append(out, s.Trials[i].Trial)
	}
	return out
}

// onlyHere are the asked-for rows that the other side lacks.
func (s *Side) onlyHere(side string, other *Side, asked func(point string) bool) (out []string) {
	for i := range s.Trials {
		same := func(t Trial) bool { return t.Name == s.Trials[i].Name }
		if asked(s.Trials[i].Point) && !slices.ContainsFunc(other.Trials, same) {
			out = append(out, fmt.Sprintf("%s: only in %s", s.Trials[i].Name, side))
		}
	}
	return out
}

const (
	sections = 4     // of a run are left out in turn, to see how sure the parts are
	most     = 3_000 // requests of a row that are served again
	fewest   = 40    // requests of a figure
)

// Explain divides the differences of the points that both sides have and that are asked for.
func Explain(a, b *Side, asked func(point string) bool) (rows []Row, leftOut []string) {
	knownLimits(a, b)
	knownLimits(b, a)
	models := pairOfModels{a.Model, b.Model}
	var again []pairOfModels
	if m, same := sameServer(a, b); same {
		models = pairOfModels{m, m}
	} else {
		again = jackknife(a, b)
	}
	type found struct {
		row *Row
		err error
	}
	var pairs [][2]*Trial
	for i := range a.Trials {
		for k := range b.Trials {
			if a.Trials[i].Name == b.Trials[k].Name && asked(a.Trials[i].Point) {
				pairs = append(pairs, [2]*Trial{&a.Trials[i], &b.Trials[k]})
			}
		}
	}
	leftOut = slices.Concat(a.onlyHere("A", b, asked), b.onlyHere("B", a, asked))
	out := make([]found, len(pairs))
	parallel.Do(len(pairs), nil, func(i int) {
		out[i].row, out[i].err = explain(models, pairs[i][0], pairs[i][1], again)
	})
	for i, f := range out {
		if f.err != nil {
			leftOut = append(leftOut, pairs[i][0].Name+": "+f.err.Error())
			continue
		}
		f.row.Name, f.row.Point = pairs[i][0].Name, pairs[i][0].Point
		rows = append(rows, *f.row)
	}
	return rows, leftOut
}

// knownLimits: a side whose requests reached no limit of the batch can have the other's.
func knownLimits(a, b *Side) {
	if a.Model.MaxSequences == 0 && twin.MostRunning(a.trials()) <= b.Model.MaxSequences {
		a.Model.MaxSequences = b.Model.MaxSequences
	}
	if a.Model.MaxStepTokens == 0 {
		a.Model.MaxStepTokens = b.Model.MaxStepTokens
	}
}

// pairOfModels is the models of both sides.
type pairOfModels [2]twin.Model

// sameServer is the model of both sides together, if it has no other error on one than on the other: with other lengths
// two fits differ where their server does not.
func sameServer(a, b *Side) (twin.Model, bool) {
	const least, deviations = 0.015, 2
	x, y := a.trials(), b.trials()
	m, err := twin.Fit(slices.Concat(x, y), max(a.Model.MaxSequences, b.Model.MaxSequences))
	if err != nil || a.Model.MaxSequences != b.Model.MaxSequences && a.Model.MaxSequences*b.Model.MaxSequences > 0 {
		return m, false
	}
	medians := []twin.Limit{figures[0].limit, figures[2].limit}
	before, after := m.Residuals(x, medians...), m.Residuals(y, medians...)
	for i := range medians {
		meanA, errA := weighted(before[i])
		meanB, errB := weighted(after[i])
		if math.Abs(meanA-meanB) > max(least, deviations*math.Hypot(errA, errB)) {
			return m, false
		}
	}
	return m, true
}

// weighted is the mean of residuals by their errors, with its own.
func weighted(residuals []twin.Residual) (mean, err float64) {
	sum := 0.0
	for _, r := range residuals {
		w := 1 / (r.Error * r.Error)
		mean, sum = mean+w*r.Log, sum+w
	}
	if sum == 0 {
		return 0, math.Inf(1)
	}
	return mean / sum, math.Sqrt(1 / sum)
}

// jackknife fits each side again, without one of its sections.
func jackknife(a, b *Side) (out []pairOfModels) {
	for i := range sections {
		x, errX := a.without(i)
		y, errY := b.without(i)
		if errX == nil && errY == nil {
			out = append(out, pairOfModels{x, b.Model}, pairOfModels{a.Model, y})
		}
	}
	return out
}

func (s *Side) without(section int) (twin.Model, error) {
	rest := s.trials()
	for i := range rest {
		n := len(rest[i].Requests)
		rest[i].Requests = slices.Delete(slices.Clone(rest[i].Requests), section*n/sections, (section+1)*n/sections)
	}
	m, err := twin.Fit(rest, s.Model.MaxSequences)
	m.MaxSequences, m.MaxStepTokens = s.Model.MaxSequences, s.Model.MaxStepTokens
	return m, err
}

func explain(models pairOfModels, x, y *Trial, again []pairOfModels) (*Row, error) {
	if (x.Workers > 0) != (y.Workers > 0) {
		return nil, errors.New("one side is an open loop, the other a closed one")
	}
	parts, used := shapley(models, x, y)
	var resampled [][][]float64 // by refit, cause and figure
	for _, m := range again {
		own, _ := shapley(m, x, y)
		resampled = append(resampled, own)
	}
	row := &Row{}
	before := models[0].Residuals([]twin.Trial{x.Trial}, limits()...)
	after := models[1].Residuals([]twin.Trial{y.Trial}, limits()...)
	for i := range figures {
		if len(before[i]) == 0 || len(after[i]) == 0 || min(before[i][0].N, after[i][0].N) < fewest {
			continue
		}
		row.Figures = append(row.Figures, figure(i, x, y, parts, used, resampled, before[i][0], after[i][0]))
	}
	if len(row.Figures) == 0 {
		return nil, errors.New("too few requests")
	}
	return row, nil
}

const mostResidual = 0.15 // of ln(percentile): a twin that is further off explains nothing

func figure(i int, x, y *Trial, parts [][]float64, used []bool, resampled [][][]float64,
	before, after twin.Residual) Figure {
	name := figures[i].name
	f := Figure{Metric: name}
	la, lb := x.Lag[name], y.Lag[name]
	f.A, f.B = 1000*before.Measured*math.Exp(la), 1000*after.Measured*math.Exp(lb)
	_, errA := x.Measured(figures[i].limit)
	_, errB := y.Measured(figures[i].limit)
	f.Change = part("", math.Log(f.B/f.A), math.Hypot(errA, errB))
	rest := f.Change.Share
	for k, cause := range causes {
		if !used[k] {
			continue
		}
		var own []float64
		for _, r := range resampled {
			own = append(own, r[k][i])
		}
		// of both sides: each refit leaves one section of one side out
		err := 0.0
		if n := float64(len(own)) / 2; n >= 2 {
			err = math.Sqrt(2 * (n - 1) * stat.PopVariance(own, nil))
		}
		f.Parts = append(f.Parts, part(cause, parts[k][i], err))
		rest -= parts[k][i]
	}
	if lb != la {
		f.Parts = append(f.Parts, part(Client, lb-la, 0))
		rest -= lb - la
	}
	slices.SortStableFunc(f.Parts, func(p, q Part) int { return cmp.Compare(math.Abs(q.Share), math.Abs(p.Share)) })
	err := math.Hypot(before.Error, after.Error)
	f.Parts = append(f.Parts, part(Unexplained, rest, err))
	for _, r := range []float64{before.Log, after.Log, rest} {
		if math.Abs(r) > mostResidual+2*err {
			f.Rejected = fmt.Sprintf("the twins are off by %.0f %%", 100*math.Abs(math.Expm1(r)))
		}
	}
	f.scale()
	return f
}

// part is of logarithms, until scale makes shares of them.
func part(cause string, log, err float64) Part {
	const wide = 1.96
	return Part{cause, log, log - wide*err, log + wide*err}
}

// scale makes shares of logarithms: those of the parts so that they add up to the whole.
func (f *Figure) scale() {
	total := f.Change.Share
	factor := 1.0
	if math.Abs(total) > 1e-9 {
		factor = math.Expm1(total) / total
	}
	for i := range f.Parts {
		p := &f.Parts[i]
		p.Share, p.Low, p.High = factor*p.Share, factor*p.Low, factor*p.High
	}
	c := &f.Change
	c.Share, c.Low, c.High = math.Expm1(c.Share), math.Expm1(c.Low), math.Expm1(c.High)
}

// shapley are the causes' parts of ln(B ÷ A) of each figure, and which causes differ between the sides.
func shapley(models pairOfModels, x, y *Trial) (parts [][]float64, used []bool) {
	n := min(len(x.Requests), len(y.Requests), most)
	var differ []int // causes
	used = make([]bool, len(causes))
	for k := range causes {
		if used[k] = differs(k, models, x, y, n); used[k] {
			differ = append(differ, k)
		}
	}
	worth := make([][]float64, 1<<len(differ)) // by the set of causes that are B's
	for set := range worth {
		mask := 0
		for bit, k := range differ {
			if set>>bit&1 == 1 {
				mask |= 1 << k
			}
		}
		model, trial := mixed(mask, models, x, y, n)
		for _, v := range model.Percentiles(&trial, limits()) {
			worth[set] = append(worth[set], math.Log(v))
		}
	}
	parts = make([][]float64, len(causes))
	for k := range parts {
		parts[k] = make([]float64, len(figures))
	}
	for bit, k := range differ {
		for set := range worth {
			if set>>bit&1 == 1 {
				continue
			}
			weight := shapleyWeight(bits.OnesCount(uint(set)), len(differ))
			for i := range figures {
				parts[k][i] += weight * (worth[set|1<<bit][i] - worth[set][i])
			}
		}
	}
	return parts, used
}

// shapleyWeight is the share of the orders of n causes in which a given set of some of them comes first, then one more.
func shapleyWeight(set, n int) float64 {
	weight := 1 / float64(n)
	for i := range set {
		weight *= float64(i+1) / float64(n-1-i)
	}
	return weight
}

// differs reports whether a cause is another one in B.
func differs(cause int, m pairOfModels, x, y *Trial, n int) bool {
	modelA, a := mixed(0, m, x, y, n)
	modelB, b := mixed(1<<cause, m, x, y, n)
	modelA.SpeedError, modelB.SpeedError = 0, 0
	if modelA.Parameters() != modelB.Parameters() || a.Workers != b.Workers {
		return true
	}
	for i := range a.Requests {
		p, q := &a.Requests[i], &b.Requests[i]
		const still = 1e-3 // s: of arrivals
		if p.Prompt != q.Prompt || p.Output != q.Output || p.Cached != q.Cached || p.Steps != q.Steps ||
			a.Workers == 0 && math.Abs(p.Arrival-q.Arrival) > still {
			return true
		}
	}
	return false
}

// mixed is a server and its first n requests, of which the set's causes are B's and the others A's.
func mixed(set int, m pairOfModels, x, y *Trial, n int) (twin.Model, twin.Trial) {
	of := func(cause string) int { return set >> slices.Index(causes, cause) & 1 }
	sides := [2]*Trial{x, y}
	step, prefill, batch := &m[of(StepTime)], &m[of(Prefill)], &m[of(Batching)]
	model := twin.Model{
		Base: step.Base, PerSequence: step.PerSequence, PerContextToken: step.PerContextToken,
		PerPrefillToken: prefill.PerPrefillToken, FreePrefillTokens: prefill.FreePrefillTokens,
		FrontEnd: m[of(FrontEnd)].FrontEnd, MaxSequences: batch.MaxSequences, MaxStepTokens: batch.MaxStepTokens,
	}
	arrivals, prompts := sides[of(Arrivals)], sides[of(Prompts)]
	outputs, cached := sides[of(Outputs)], sides[of(CacheHits)]
	trial := twin.Trial{Load: arrivals.Load, Workers: arrivals.Workers}
	for i := range n {
		p, o, c := &prompts.Requests[i], &outputs.Requests[i], &cached.Requests[i]
		trial.Requests = append(trial.Requests, twin.Request{
			Arrival: arrivals.Requests[i].Arrival, Prompt: p.Prompt,
			Cached: c.Cached * p.Prompt / max(1, c.Prompt), Output: o.Output, Steps: max(len(o.Events), o.Steps),
			Window: x.Requests[i].Window && y.Requests[i].Window,
		})
	}
	return model, trial
}

// SideOf fits the twin of a series of a run. It needs no SLO: any limit of a latency does for a fit.
func SideOf(s *series.Series, slots int, read series.Requests) (*Side, error) {
	rows := s.Rows()
	for i, r := range rows {
		own := *r
		own.Spec.SLO = experiment.SLO{Limits: []experiment.Limit{{Key: "ttft_p95", Metric: "ttft", Stat: "p95",
			Value: 1}}}
		own.Spec.Mix = slices.Clone(own.Spec.Mix)
		for k := range own.Spec.Mix {
			own.Spec.Mix[k].SLO = nil
		}
		rows[i] = &own
	}
	fitted, err := series.FitTwin(rows, slots, read)
	if err != nil {
		return nil, err
	}
	side := &Side{Model: fitted.Model()}
	for row, t := range fitted.Each {
		own := Trial{Trial: *t, Name: row.Spec.Label(), Point: row.Spec.Label()}
		if row.Spec.Repeat > 1 {
			own.Name += fmt.Sprintf(", repeat %d", row.Spec.Repeat)
		}
		if t.Workers == 0 { // the arrivals of a closed loop are when a worker was free
			records, err := read(row)
			if err != nil {
				return nil, err
			}
			own.Lag = lags(records)
		}
		side.Trials = append(side.Trials, own)
	}
	return side, nil
}

// lags are what the client's own delay adds to each figure.
func lags(records []*record.Record) map[string]float64 {
	out := map[string]float64{}
	for _, f := range figures {
		if f.limit.Metric == "tpot" {
			continue
		}
		var arrival, sent []float64
		for _, x := range records {
			end := x.First
			if f.limit.Metric == "e2e" {
				end = x.Last
			}
			if x.Phase == record.PhaseWindow && x.OK() && !x.First.IsZero() && !x.Sent.IsZero() &&
				end.Us() > x.Sent.Us() {
				arrival = append(arrival, float64(end.Us()-x.Arrival.Us()))
				sent = append(sent, float64(end.Us()-x.Sent.Us()))
			}
		}
		if len(sent) > 0 {
			slices.Sort(arrival)
			slices.Sort(sent)
			out[f.name] = math.Log(stats.Quantile(arrival, f.limit.P) / stats.Quantile(sent, f.limit.P))
		}
	}
	return out
}
