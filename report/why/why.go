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
	"slices"

	"gonum.org/v1/gonum/stat"

	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/twin"
	"bench/report/parallel"
)

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
var causes = []string{Arrivals, Prompts, Outputs, CacheHits, StepTime, Prefill, FrontEnd, Batching, Client}

var figures = []string{"ttft_p50", "ttft_p95", "tpot_p50", "tpot_p95", "e2e_p50", "e2e_p95"}

// limits are those of the figures.
func limits() []twin.Limit {
	all, _ := series.PercentileLimits("p50", "p95")
	return all
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
	Point string // the name without the repeat

	// cached tokens are a share of the prompt; false: a prefix, whatever follows it
	hitRate bool
}

// planned is a trial whose requests are in the order of the plan: the client's lag can change it.
func (t *Trial) planned() *Trial {
	own := *t
	own.Requests = slices.Clone(t.Requests)
	slices.SortStableFunc(own.Requests, func(p, q twin.Request) int {
		return cmp.Compare(p.Arrival-p.Lag, q.Arrival-q.Lag)
	})
	own.Requests = own.Requests[:min(most, len(own.Requests))]
	var tokens, shares []float64
	for i := range own.Requests {
		if r := &own.Requests[i]; r.Cached > 0 {
			tokens, shares = append(tokens, float64(r.Cached)), append(shares, float64(r.Cached)/float64(r.Prompt))
		}
	}
	own.hitRate = len(tokens) > 1 && stat.StdDev(shares, nil)*stat.Mean(tokens, nil) <
		stat.StdDev(tokens, nil)*stat.Mean(shares, nil)
	return &own
}

func (s *Side) trials() (out []twin.Trial) {
	for i := range s.Trials {
		out = append(out, s.Trials[i].Trial)
	}
	return out
}

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
	shortSteps(a, b)
	shortSteps(b, a)
	knownLimits(a, b)
	knownLimits(b, a)
	models := pairOfModels{a.Model, b.Model}
	var again []pairOfModels
	if m, same := sameServer(a, b); same {
		models = pairOfModels{m, m}
	} else {
		again = jackknife(a, b)
		common := commonParts(a, b)
		models = common.of(models)
		for i := range again {
			again[i] = common.of(again[i])
		}
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
	found, errs := make([]*Row, len(pairs)), make([]error, len(pairs))
	parallel.Do(len(pairs), nil, func(i int) { found[i], errs[i] = explain(models, pairs[i][0], pairs[i][1], again) })
	for i, err := range errs {
		if err != nil {
			leftOut = append(leftOut, pairs[i][0].Name+": "+err.Error())
			continue
		}
		found[i].Name, found[i].Point = pairs[i][0].Name, pairs[i][0].Point
		rows = append(rows, *found[i])
	}
	return rows, leftOut
}

// still is the time, in seconds, by which arrivals of one plan differ at most, on average.
const still = 1e-4

// lengthen: the load runs on until the window's last response. The same plan is longer where that ended later.
func lengthen(short, long *Trial) {
	n := len(short.Requests)
	if short.Workers > 0 || n >= len(long.Requests) || long.Requests[n].Window {
		return
	}
	moved := 0.0
	for i := range short.Requests {
		p, q := &short.Requests[i], &long.Requests[i]
		moved += math.Abs(p.Arrival - p.Lag - q.Arrival + q.Lag)
	}
	if moved <= still*float64(n) {
		short.Requests = append(short.Requests, long.Requests[n:]...)
	}
}

func explain(models pairOfModels, x, y *Trial, again []pairOfModels) (*Row, error) {
	if (x.Workers > 0) != (y.Workers > 0) {
		return nil, errors.New("one side is an open loop, the other a closed one")
	}
	plans := [2]*Trial{x.planned(), y.planned()}
	lengthen(plans[0], plans[1])
	lengthen(plans[1], plans[0])
	parts, used := shapley(models, plans)
	var resampled [][][]float64 // by refit, cause and figure
	for _, m := range again {
		own, _ := shapley(m, plans)
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
	f := Figure{Metric: figures[i]}
	valueA, errA := x.Measured(limits()[i])
	valueB, errB := y.Measured(limits()[i])
	f.A, f.B = 1000*valueA, 1000*valueB
	f.Change = part("", math.Log(f.B/f.A), math.Hypot(errA, errB))
	rest, all := f.Change.Share, 0.0
	for k := range causes {
		rest, all = rest-parts[k][i], all+math.Abs(parts[k][i])
	}
	luck := math.Hypot(before.Error, after.Error)
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
		// what the twins leave unexplained is of all parts, the larger ones more
		weight := math.Abs(parts[k][i]) / max(all, 1e-9)
		f.Parts = append(f.Parts, part(cause, parts[k][i], math.Hypot(err, weight*math.Hypot(luck, rest))))
	}
	slices.SortStableFunc(f.Parts, func(p, q Part) int { return cmp.Compare(math.Abs(q.Share), math.Abs(p.Share)) })
	f.Parts = append(f.Parts, part(Unexplained, rest, luck))
	for _, r := range []float64{before.Log, after.Log, rest} {
		if math.Abs(r) > mostResidual+2*luck {
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

func sideOf(s *series.Series, slots int, read series.Requests) (*Side, error) {
	fitted, err := series.FitServer(s.Rows(), slots, read, nil)
	if err != nil {
		return nil, err
	}
	side := &Side{}
	for row, t := range fitted.Each {
		own := Trial{Trial: *t, Name: row.Spec.Label(), Point: row.Spec.Label()}
		if row.Spec.Repeat > 1 {
			own.Name += fmt.Sprintf(", repeat %d", row.Spec.Repeat)
		}
		side.Trials = append(side.Trials, own)
	}
	side.Model = fitted.Model()
	side.Model.FrontEnd = side.Model.MeanFrontEnd(side.trials())
	return side, nil
}
