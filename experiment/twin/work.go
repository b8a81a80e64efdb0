package twin

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

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

// decodings are those of requests with a few steps, where a step computes free prompt tokens beside. Tokens that were
// held back and came together say nothing about steps: weighted by their time, a few of them would be the fit.
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
	const together = 0.1 // of the median time of a step
	if len(out) == 0 {
		return nil
	}
	var each []float64
	for i := range out {
		each = append(each, out[i].time/out[i].steps)
	}
	least := together * median(each)
	return slices.DeleteFunc(out, func(d decoding) bool { return d.time < least*d.steps })
}

// firstTokensAlone are the ways from arrival to first token of requests with no other in flight until then.
func firstTokensAlone(requests []Request) (out []decoding) {
	busy := 0.0 // until then
	for i := range requests {
		r := &requests[i]
		last := i+1 == len(requests) || requests[i+1].Arrival > r.First
		if last && !r.Failed && r.First > r.Arrival && r.Arrival >= busy {
			out = append(out, decoding{time: r.First - r.Arrival, steps: 1, prefill: float64(r.Prompt - r.Cached)})
		}
		busy = max(busy, r.Last)
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

func (d *decoding) error(x [4]float64) float64 {
	sum := -d.time
	for k, v := range d.row() {
		sum += x[k] * v
	}
	return sum
}
