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

	"bench/experiment/record"
	"bench/experiment/series"
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
var causes = []string{Arrivals, Prompts, Outputs, CacheHits, StepTime, Prefill, FrontEnd, Batching, Client}

type figureOf struct {
	name  string
	limit twin.Limit
}

var figures = []figureOf{
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

// knownLimits: a side whose requests reached no limit of the batch can have the other's, unless it fits worse with it.
func knownLimits(a, b *Side) {
	adopt := func(limit func(*twin.Model) *int) {
		m := a.Model
		if *limit(&m) > 0 {
			return
		}
		if *limit(&m) = *limit(&b.Model); a.fits(&m) {
			a.Model = m
		}
	}
	if twin.MostRunning(a.trials()) <= b.Model.MaxSequences {
		adopt(func(m *twin.Model) *int { return &m.MaxSequences })
	}
	adopt(func(m *twin.Model) *int { return &m.MaxStepTokens })
}

// shortSteps: steps of few tokens delay first tokens as a longer front end does, by steps. A side has them if it then
// fits with the front end of the other.
func shortSteps(a, b *Side) {
	if a.Model.FrontEnd <= b.Model.FrontEnd+a.Model.Base/2 {
		return
	}
	trials := a.trials()
	best, least := a.Model, math.Inf(1)
	for _, tokens := range []int{128, 256, 512} {
		m := a.Model
		m.MaxStepTokens, m.FrontEnd = tokens, b.Model.FrontEnd
		if loss := m.Misfit(trials); m.MaxSequences < tokens && loss < least {
			best, least = m, loss
		}
	}
	const good = 0.015 // of a trial, so that no other delay is taken for them
	if least < good*float64(len(trials)) {
		a.Model = best
	}
}

// fits reports whether a model is about as near to each percentile of the side as the side's own.
func (s *Side) fits(m *twin.Model) bool { return s.fitting()(m) }

// fitting is fits for several models.
func (s *Side) fitting() func(*twin.Model) bool {
	const exact, doubtful = 0.005, 0.25 // of ln(measured ÷ twin): is none; of its error
	trials := s.trials()
	own := s.Model.Residuals(trials, limits()...)
	return func(m *twin.Model) bool {
		other := m.Residuals(trials, limits()...)
		for i := range own {
			for k, r := range own[i] {
				if k < len(other[i]) && math.Abs(other[i][k].Log) > math.Abs(r.Log)+exact+doubtful*r.Error {
					return false
				}
			}
		}
		return true
	}
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

// pairOfModels is the models of both sides.
type pairOfModels [2]twin.Model

// sameServer is the model of both sides together, if it has no other error on one than on the other: with other lengths
// two fits differ where their server does not.
func sameServer(a, b *Side) (twin.Model, bool) {
	const least, deviations = 0.015, 2
	x, y := a.trials(), b.trials()
	m, err := fit(slices.Concat(x, y), max(a.Model.MaxSequences, b.Model.MaxSequences))
	if err != nil || a.Model.MaxSequences != b.Model.MaxSequences || a.Model.MaxStepTokens != b.Model.MaxStepTokens ||
		!a.fits(&m) || !b.fits(&m) {
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

// common are parts of the server that one side can have from the other.
type common struct {
	parts []string
	from  int // the side that gives them
}

// commonParts: most parts of two servers are equal, and fits tell some of them apart badly. So as few of them as do for
// the requests of a side differ.
func commonParts(a, b *Side) common {
	parts := []string{StepTime, Prefill, FrontEnd, Batching}
	fits := [2]func(*twin.Model) bool{a.fitting(), b.fitting()}
	best, most := common{}, 0
	for set := range 1 << len(parts) {
		c := common{}
		for i, name := range parts {
			if set>>i&1 == 1 {
				c.parts = append(c.parts, name)
			}
		}
		for c.from = range fits {
			models := c.of(pairOfModels{a.Model, b.Model})
			if to := 1 - c.from; len(c.parts) > most && fits[to](&models[to]) {
				best, most = c, len(c.parts)
			}
		}
	}
	return best
}

// of are models with the common parts.
func (c common) of(m pairOfModels) pairOfModels {
	to := 1 - c.from
	own := [2]*twin.Model{&m[c.from], &m[to]}
	at := func(name string) *twin.Model {
		if slices.Contains(c.parts, name) {
			return own[0]
		}
		return own[1]
	}
	m[to] = assembled(at)
	return m
}

// assembled is a server whose parts are those of several.
func assembled(of func(cause string) *twin.Model) twin.Model {
	step, prefill, batch := of(StepTime), of(Prefill), of(Batching)
	return twin.Model{
		Base: step.Base, PerSequence: step.PerSequence, PerContextToken: step.PerContextToken,
		PerPrefillToken: prefill.PerPrefillToken, FreePrefillTokens: prefill.FreePrefillTokens,
		FrontEnd: of(FrontEnd).FrontEnd, MaxSequences: batch.MaxSequences, MaxStepTokens: batch.MaxStepTokens,
	}
}

// fit is twin.Fit with a mean front end.
func fit(trials []twin.Trial, sequences int) (twin.Model, error) {
	m, err := twin.Fit(trials, sequences)
	if err == nil {
		m.FrontEnd = m.MeanFrontEnd(trials)
	}
	return m, err
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
	if err == nil {
		m.MaxSequences, m.MaxStepTokens = s.Model.MaxSequences, s.Model.MaxStepTokens
		m.FrontEnd = m.MeanFrontEnd(rest)
	}
	return m, err
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
	name := figures[i].name
	f := Figure{Metric: name}
	valueA, errA := x.Measured(figures[i].limit)
	valueB, errB := y.Measured(figures[i].limit)
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

// shapley are the causes' parts of ln(B ÷ A) of each figure, and which causes differ between the sides.
func shapley(models pairOfModels, plans [2]*Trial) (parts [][]float64, used []bool) {
	var differ []int // causes
	used = make([]bool, len(causes))
	for k := range causes {
		if used[k] = differs(k, models, plans); used[k] {
			differ = append(differ, k)
		}
	}
	worth := make([][]float64, 1<<len(differ)) // by the set of causes that are B's
	for set := range worth {
		mask := maskOf(set, differ)
		model, trial := mixed(mask, models, plans)
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

// maskOf are the causes that are B's if a set of those that differ is: the others go with the arrivals, whose plan they
// are of.
func maskOf(set int, differ []int) (mask int) {
	for bit, k := range differ {
		if set>>bit&1 == 1 {
			mask |= 1 << k
		}
	}
	if mask>>slices.Index(causes, Arrivals)&1 == 1 {
		for k := range causes {
			if !slices.Contains(differ, k) {
				mask |= 1 << k
			}
		}
	}
	return mask
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
func differs(cause int, m pairOfModels, plans [2]*Trial) bool {
	modelA, a := mixed(0, m, plans)
	modelB, b := mixed(1<<cause, m, plans)
	if modelA.Parameters() != modelB.Parameters() || a.Workers != b.Workers || len(a.Requests) != len(b.Requests) {
		return true
	}
	moved := 0.0
	for i := range a.Requests {
		p, q := &a.Requests[i], &b.Requests[i]
		if p.Prompt != q.Prompt || p.Output != q.Output || p.Cached != q.Cached || p.Steps != q.Steps {
			return true
		}
		moved += math.Abs(p.Arrival - q.Arrival)
	}
	return a.Workers == 0 && moved > still*float64(len(a.Requests))
}

// mixed is a server and its requests, of which the set's causes are B's and the others A's. The plan of the arrivals
// has the number of requests: a side that has fewer begins again.
func mixed(set int, m pairOfModels, plans [2]*Trial) (twin.Model, twin.Trial) {
	of := func(cause string) int { return set >> slices.Index(causes, cause) & 1 }
	model := assembled(func(cause string) *twin.Model { return &m[of(cause)] })
	arrivals := plans[of(Arrivals)]
	trial := twin.Trial{Load: arrivals.Load, Workers: arrivals.Workers}
	for i := range arrivals.Requests {
		request := func(cause string) *twin.Request {
			requests := plans[of(cause)].Requests
			return &requests[i%len(requests)]
		}
		a, p, o, c := &arrivals.Requests[i], request(Prompts), request(Outputs), request(CacheHits)
		lag := request(Client).Lag
		cached := min(c.Cached, p.Prompt)
		if plans[of(CacheHits)].hitRate {
			cached = c.Cached * p.Prompt / max(1, c.Prompt)
		}
		trial.Requests = append(trial.Requests, twin.Request{
			Arrival: a.Arrival - a.Lag + lag, Lag: lag, Prompt: p.Prompt, Cached: cached, Output: o.Output,
			Steps: cmp.Or(max(len(o.Events), o.Steps), o.Output-1), Window: a.Window,
		})
	}
	slices.SortStableFunc(trial.Requests, func(p, q twin.Request) int { return cmp.Compare(p.Arrival, q.Arrival) })
	return model, trial
}

// SideOf fits the twin of a series of a run.
func SideOf(s *series.Series, slots int, read series.Requests) (*Side, error) {
	fitted, err := series.FitServer(s.Rows(), slots, read)
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
