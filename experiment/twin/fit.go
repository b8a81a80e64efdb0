package twin

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"sort"

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

// ErrTooFew: the rows have too few responses to fit a model.
var ErrTooFew = errors.New("too few responses of several tokens")

// ErrNoTimes: no decoding takes time, as where responses arrive all at once.
var ErrNoTimes = errors.New("decoding takes no time")

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
	least := math.Inf(1)
	for _, free := range []int{0, 64, 128, 256, 512, 1024} {
		var rows []decoding
		ends := make([]int, len(trials))
		for i := range trials {
			rows = append(rows, works[i].decodings(trials[i].Requests, free)...)
			ends[i] = len(rows)
		}
		if len(rows) < fewestResponses {
			return Model{}, ErrTooFew
		}
		if m, loss := stepTimes(rows); loss < clearly*least {
			m.FreePrefillTokens = free
			best, least, ratios = m, loss, m.speeds(rows, ends)
		}
	}
	if best.Base+best.PerSequence+best.PerContextToken <= 0 {
		return Model{}, ErrNoTimes
	}
	best.SpeedError = speedError(ratios)
	return best.limits(trials, sequences), nil
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

// decoding is one request's way from its first to its last token: its time is Base·steps + PerSequence·tokens +
// PerContextToken·context + PerPrefillToken·prefill, each summed over its steps.
type decoding struct {
	time, steps, tokens, context, prefill float64
}

// work is what a server has done by the times of events: tokens decoded and their context, each summed; and the prompt
// tokens of each step.
type work struct {
	at      []float64 // of tokens, ascending
	context []float64 // sum, until and with that token
	prefill []prefill
	until   float64 // what is later is left out
}

type prefill struct{ at, tokens float64 }

// mostEvents bounds the tokens of a trial that are looked at.
const mostEvents = 500_000

func workOf(requests []Request) *work {
	type event struct{ at, context float64 }
	var all []event
	w := &work{until: math.Inf(1)}
	for i := range requests {
		r := &requests[i]
		if r.Failed {
			continue
		}
		w.prefill = append(w.prefill, prefill{r.First, float64(r.Prompt - r.Cached)})
		n := r.steps()
		each := float64(max(r.Output-1, n)) / float64(max(n, 1)) // tokens
		for k := range n {
			at := r.First + (r.Last-r.First)*float64(k+1)/float64(n)
			if r.Events != nil {
				at = r.Events[k]
			}
			all = append(all, event{at, float64(r.Prompt) + each*float64(k)})
		}
	}
	slices.SortFunc(all, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	if len(all) > mostEvents {
		all, w.until = all[:mostEvents], all[mostEvents].at
	}
	sum := 0.0
	for _, e := range all {
		sum += e.context
		w.at, w.context = append(w.at, e.at), append(w.context, sum)
	}
	slices.SortFunc(w.prefill, func(a, b prefill) int { return cmp.Compare(a.at, b.at) })
	w.joinSteps()
	return w
}

// joinSteps: the first tokens of one step come together.
func (w *work) joinSteps() {
	const together = 1e-3 // s
	var out []prefill
	for _, p := range w.prefill {
		if n := len(out); n > 0 && p.at < out[n-1].at+together {
			out[n-1].tokens += p.tokens
			continue
		}
		out = append(out, p)
	}
	w.prefill = out
}

// decodings are those of requests with a few steps, where a step computes free prompt tokens beside.
func (w *work) decodings(requests []Request, free int) (out []decoding) {
	const fewestSteps = 4
	sums := make([]float64, len(w.prefill)+1)
	for i, p := range w.prefill {
		sums[i+1] = sums[i] + max(0, p.tokens-float64(free))
	}
	between := func(r *Request) (tokens, context, prefill float64) { // after its first token, until and with its last
		a, b := w.tokensBy(r.First), w.tokensBy(r.Last)
		if b > a {
			context = w.context[b-1]
			if a > 0 {
				context -= w.context[a-1]
			}
		}
		return float64(b - a), context, sums[w.prefillsBy(r.Last)] - sums[w.prefillsBy(r.First)]
	}
	for i := range requests {
		r := &requests[i]
		if r.Failed || r.steps() < fewestSteps || r.Last <= r.First || r.Last > w.until {
			continue
		}
		tokens, context, prefill := between(r)
		out = append(out, decoding{r.Last - r.First, float64(r.steps()), tokens, context, prefill})
	}
	return out
}

// tokensBy and prefillsBy are the numbers of them up to t.
func (w *work) tokensBy(t float64) int {
	return sort.Search(len(w.at), func(i int) bool { return w.at[i] > t })
}

func (w *work) prefillsBy(t float64) int {
	return sort.Search(len(w.prefill), func(i int) bool { return w.prefill[i].at > t })
}

func (d *decoding) row() [4]float64 { return [4]float64{d.steps, d.tokens, d.context, d.prefill} }

// stepTimes is the least-squares fit with no negative times, robust against answers that other things delayed (Huber's
// weights). PerContextToken is in it only if it makes the fit clearly better: the batch and its context rise together.
func stepTimes(rows []decoding) (Model, float64) {
	without, loss := leastSquares(rows, [4]bool{true, true, false, true})
	with, less := leastSquares(rows, [4]bool{true, true, true, true})
	if x := without; !(with[2] > 0 && less < clearly*loss) {
		return Model{Base: x[0], PerSequence: x[1], PerPrefillToken: x[3]}, loss
	}
	return Model{Base: with[0], PerSequence: with[1], PerContextToken: with[2], PerPrefillToken: with[3]}, less
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

func (d *decoding) error(x [4]float64) float64 {
	sum := -d.time
	for k, v := range d.row() {
		sum += x[k] * v
	}
	return sum
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

// limits adds what the waits show: the front end, the sequences at most, and the tokens of a step.
func (m Model) limits(trials []Trial, sequences int) Model {
	better := 0.3 // a limit that does not hold fits a little better by chance
	candidates := []int{sequences}
	if sequences == 0 {
		candidates = []int{0}
		n, held := mostRunning(trials)
		if n > 0 {
			candidates = append(candidates, n, n+1)
		}
		if held {
			better = 0.7
		}
	}
	best, least := m, math.Inf(1)
	for _, n := range candidates {
		own := m
		own.MaxSequences = n
		own.FrontEnd = own.frontEnd(trials)
		for _, tokens := range []int{0, 512, 1024, 2048, 4096, 8192} {
			x := own
			x.MaxStepTokens = tokens
			if tokens > 0 && n >= tokens {
				continue
			}
			if tokens > 0 {
				x.FrontEnd = x.frontEnd(trials)
			}
			if loss := x.misfit(trials); loss < better*least {
				best, least = x, loss
			}
		}
	}
	return best
}

// mostRunning is the largest number of requests between first and last token for at least a second in all. held: they are at
// it for long, as a limit holds them there; without one the largest numbers are rare.
func mostRunning(trials []Trial) (n int, held bool) {
	const least, longer = 1, 1.5 // s; times as long as at the two numbers below
	at := map[int]float64{}
	for i := range trials {
		type change struct {
			t float64
			d int
		}
		var all []change
		for _, r := range trials[i].Requests {
			if !r.Failed {
				all = append(all, change{r.First, 1}, change{r.Last, -1})
			}
		}
		slices.SortFunc(all, func(a, b change) int { return cmp.Or(cmp.Compare(a.t, b.t), cmp.Compare(a.d, b.d)) })
		n := 0
		for k, c := range all {
			if k > 0 {
				at[n] += c.t - all[k-1].t
			}
			n += c.d
		}
	}
	most, sum := 0, 0.0
	for n := range at {
		most = max(most, n)
	}
	for n := most; n > 0; n-- {
		if sum += at[n]; sum >= least {
			return n, n <= 3 || at[n]+at[n-1]+at[n+1] >= longer*(at[n-2]+at[n-3])
		}
	}
	return 0, false
}

// frontEnd is what first tokens without a queue took longer than their steps. In a closed loop it moves the arrivals, too.
func (m Model) frontEnd(trials []Trial) float64 {
	const rounds, quick = 3, 20
	for range rounds {
		var all []float64
		for i := range trials {
			t := &trials[i]
			for k, r := range m.Run(t.Requests, t.Workers) {
				waits := r.First - r.Arrival - m.FrontEnd - 3*m.PerPrefillToken*float64(r.Prompt)
				if was := &t.Requests[k]; !was.Failed && waits < quick*m.Base {
					all = append(all, (was.First-was.Arrival)-(r.First-r.Arrival))
				}
			}
		}
		if len(all) == 0 {
			return 0
		}
		m.FrontEnd = max(0, m.FrontEnd+median(all))
	}
	return m.FrontEnd
}

// misfit sums the squared logarithms of measured ÷ twin over percentiles of the trials.
func (m *Model) misfit(trials []Trial) (sum float64) {
	for i := range trials {
		t := &trials[i]
		if t.Cut {
			continue
		}
		own := m.Run(t.Requests, t.Workers)
		for _, metric := range []string{"ttft", "tpot"} {
			a, b := values(t.Requests, t.Requests, metric), values(own, t.Requests, metric)
			for _, p := range []float64{0.5, 0.9, 0.95} {
				if d := math.Log(quantile(a, p) / quantile(b, p)); !math.IsNaN(d) && !math.IsInf(d, 0) {
					sum += min(d*d, 1)
				}
			}
		}
	}
	return sum
}
