package twin

import (
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// Trial is one row: what it sent, and what a client saw.
type Trial struct {
	Load     float64 // requests/s, or requests in flight
	Workers  int     // of a closed loop; 0 = an open one
	Requests []Request
	Cut      bool // the row ended before all of its requests: its percentiles are lower bounds
	Filling  bool // its window is too short to show the load's steady state
}

const fewestResponses = 30

// Fit finds the model that serves the requests of the trials as they were served, without failed ones. sequences is the
// number that the engine reports to run at most; 0 = unknown.
func Fit(trials []Trial, sequences int) (Model, error) {
	works := make([]*work, len(trials))
	for i := range trials {
		works[i] = workOf(trials[i].Requests)
	}
	var best Model
	var ratios []float64
	var fitted []decoding
	var until []int
	least, beside := math.Inf(1), 0.0
	for _, free := range []int{0, 64, 128, 256, 512, 1024} {
		var rows []decoding
		ends := make([]int, len(trials))
		for i := range trials {
			rows = append(rows, works[i].decodings(trials[i].Requests, free)...)
			ends[i] = len(rows)
		}
		if len(rows) < fewestResponses {
			return Model{}, errors.New("too few responses of several tokens")
		}
		if free == 0 {
			beside = besidePrompts(rows)
		}
		if m, loss := stepTimes(rows); loss < clearly*least {
			m.FreePrefillTokens = free
			best, least, ratios = m, loss, m.speeds(rows, ends)
			fitted, until = rows, ends
		}
	}
	if best.Base+best.PerSequence+best.PerContextToken <= 0 {
		return Model{}, errors.New("decoding takes no time") // as where responses arrive all at once
	}
	best.SpeedError = speedError(ratios)
	parts := best.withoutTenths(fitted, until)
	best.Errors = errorsOf(parts)
	alone := beside < fewestBeside && best.prefillAlone(trials)
	best = best.limits(trials, sequences)
	if !alone { // else the parts lack the time of a prompt token
		best.Errors.FrontEnd = best.frontEndError(trials, parts)
	}
	return best, nil
}

const fewestBeside = 0.1 // of the responses

// besidePrompts is the share of responses with another's prompt computed beside.
func besidePrompts(rows []decoding) float64 {
	n := 0
	for i := range rows {
		if rows[i].prefill > 0 {
			n++
		}
	}
	return float64(n) / float64(len(rows))
}

// prefillAlone: a server that computes hardly any prompt beside decoding, as with one sequence at most, shows the time
// of a prompt token in the first tokens of requests that it had nothing beside.
func (m *Model) prefillAlone(trials []Trial) bool {
	var alone []decoding
	for i := range trials {
		alone = append(alone, firstTokensAlone(trials[i].Requests)...)
	}
	if len(alone) < fewestResponses || !differ(alone) {
		return false
	}
	x, _ := leastSquares(alone, [4]bool{true, false, false, true})
	m.PerPrefillToken, m.FreePrefillTokens, m.Errors.PerPrefillToken = x[3], 0, 0
	return true
}

// differ reports whether prompts are long and short enough to tell the time of a token from that of a step.
func differ(all []decoding) bool {
	const least = 1.2 // times the shortest of the middle eight tenths
	var tokens []float64
	for i := range all {
		tokens = append(tokens, all[i].prefill)
	}
	return quantile(tokens, 0.9) > least*quantile(tokens, 0.1)
}

// clearly better is a fit whose loss is at most this part of another's.
const clearly = 0.95

// speeds are ln(time ÷ the model's) of all decoding of each trial.
func (m *Model) speeds(rows []decoding, ends []int) (out []float64) {
	from := 0
	for _, to := range ends {
		time, own := 0.0, 0.0
		for i := from; i < to; i++ {
			d := &rows[i]
			time += d.time
			own += m.Base*d.steps + m.PerSequence*d.tokens + m.PerContextToken*d.context + m.PerPrefillToken*d.prefill
		}
		if to-from >= fewestResponses && own > 0 {
			out = append(out, math.Log(time/own))
		}
		from = to
	}
	return out
}

// speedError is what trials at several loads show of the model's misfit; one trial shows none of it.
func speedError(ratios []float64) float64 {
	const least, alone = 0.002, 0.02
	if len(ratios) < 2 {
		return alone
	}
	return max(least, deviation(ratios))
}

// stepTimes is the least-squares fit with no negative times, robust against answers that other things delayed (Huber's
// weights). PerContextToken is in it only if it makes the fit clearly better: the batch and its context rise together.
func stepTimes(rows []decoding) (Model, float64) {
	x, loss := leastSquares(rows, [4]bool{true, true, false, true})
	if with, less := leastSquares(rows, [4]bool{true, true, true, true}); with[2] > 0 && less < clearly*loss {
		x, loss = with, less
	}
	return modelOf(x), loss
}

func modelOf(x [4]float64) Model {
	return Model{Base: x[0], PerSequence: x[1], PerContextToken: x[2], PerPrefillToken: x[3]}
}

func leastSquares(rows []decoding, used [4]bool) (x [4]float64, loss float64) {
	const rounds, huber = 4, 1.5
	weights := make([]float64, len(rows))
	for i := range rows {
		weights[i] = 1 / rows[i].time
	}
	errs := make([]float64, len(rows))
	for range rounds {
		x = nonNegative(rows, weights, used)
		for i := range rows {
			errs[i] = math.Abs(rows[i].error(x)) / rows[i].time
		}
		scale := max(median(errs), 1e-9) / 0.6745
		loss = 0
		for i, e := range errs {
			capped := min(e/scale, huber)
			loss += capped * capped * scale * scale
			weights[i] = math.Sqrt(min(1, huber*scale/max(e, 1e-12))) / rows[i].time
		}
	}
	return x, loss
}

// nonNegative drops the most negative coefficient until none is left.
func nonNegative(rows []decoding, weights []float64, used [4]bool) (x [4]float64) {
	for {
		var columns []int
		for k, u := range used {
			if u {
				columns = append(columns, k)
			}
		}
		n := len(columns)
		if n == 0 {
			return [4]float64{}
		}
		a, b := mat.NewSymDense(n, nil), mat.NewVecDense(n, nil)
		for i := range rows {
			w, row := weights[i]*weights[i], rows[i].row()
			for p, k := range columns {
				b.SetVec(p, b.AtVec(p)+w*row[k]*rows[i].time)
				for q := p; q < n; q++ {
					a.SetSym(p, q, a.At(p, q)+w*row[k]*row[columns[q]])
				}
			}
		}
		scale := make([]float64, n) // so that columns of any unit count alike
		for p := range n {
			scale[p] = math.Sqrt(max(a.At(p, p), 1e-300))
		}
		for p := range n {
			b.SetVec(p, b.AtVec(p)/scale[p])
			for q := p; q < n; q++ {
				v := a.At(p, q) / scale[p] / scale[q]
				if p == q {
					v += 1e-9
				}
				a.SetSym(p, q, v)
			}
		}
		var chol mat.Cholesky
		var y mat.VecDense
		if !chol.Factorize(a) || chol.SolveVecTo(&y, b) != nil {
			used[columns[n-1]] = false
			continue
		}
		x = [4]float64{}
		worst, at := 0.0, -1
		for p, k := range columns {
			x[k] = y.AtVec(p) / scale[p]
			if y.AtVec(p) < worst {
				worst, at = y.AtVec(p), k
			}
		}
		if at < 0 {
			return x
		}
		used[at] = false
	}
}

func median(values []float64) float64 {
	s := slices.Clone(values)
	slices.Sort(s)
	return s[len(s)/2]
}

// Errors are standard errors of a model's times, in seconds; 0 = the model has none of it, or too few responses show
// it.
type Errors struct {
	Base            float64 `json:"base_s,omitempty"`
	PerSequence     float64 `json:"per_sequence_s,omitempty"`
	PerContextToken float64 `json:"per_context_token_s,omitempty"`
	PerPrefillToken float64 `json:"per_prefill_token_s,omitempty"`
	FrontEnd        float64 `json:"front_end_s,omitempty"`
}

const tenths = 10

// withoutTenths are the step times of fits without a tenth of each trial's rows (Efron and Stein 1981): responses of
// one batch share its steps, so that each on its own would count too much. ends are those of the trials.
func (m *Model) withoutTenths(rows []decoding, ends []int) (out [tenths]Model) {
	used := [4]bool{m.Base > 0, m.PerSequence > 0, m.PerContextToken > 0, m.PerPrefillToken > 0}
	for g := range out {
		var rest []decoding
		begin := 0
		for _, end := range ends {
			from, to := begin+g*(end-begin)/tenths, begin+(g+1)*(end-begin)/tenths
			rest = append(append(rest, rows[begin:from]...), rows[to:end]...)
			begin = end
		}
		x, _ := leastSquares(rest, used)
		out[g] = modelOf(x)
	}
	return out
}

func errorsOf(parts [tenths]Model) Errors {
	of := func(k int) float64 {
		var all []float64
		for g := range parts {
			all = append(all, parts[g].Parameters()[k])
		}
		return (tenths - 1) / math.Sqrt(tenths) * deviation(all)
	}
	return Errors{of(0), of(1), of(2), of(3), of(4)}
}

// frontEndError is that of the front ends that the parts' step times show, each without a tenth of the requests.
func (m *Model) frontEndError(trials []Trial, parts [tenths]Model) float64 {
	for g := range parts {
		own := *m
		own.Base, own.PerSequence = parts[g].Base, parts[g].PerSequence
		own.PerContextToken, own.PerPrefillToken = parts[g].PerContextToken, parts[g].PerPrefillToken
		parts[g].FrontEnd = m.FrontEnd
		if late := own.lateFirstTokens(trials, g); len(late) > 0 {
			parts[g].FrontEnd = max(0, m.FrontEnd+median(late))
		}
	}
	return errorsOf(parts).FrontEnd
}
