package twin

import (
	"cmp"
	"math"
	"slices"
)

// limits adds what the waits show: the front end, the sequences at most, and the tokens of a step.
func (m Model) limits(trials []Trial, sequences int) Model {
	better := 0.3 // a limit that does not hold fits a little better by chance
	n, held := MostRunning(trials)
	if n > sequences { // one of several servers behind an address reports its own
		sequences = 0
	}
	candidates := []int{sequences}
	if sequences == 0 {
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
		own.FrontEnd = own.frontEnd(trials, median)
		for _, tokens := range []int{0, 512, 1024, 2048, 4096, 8192} {
			x := own
			x.MaxStepTokens = tokens
			if tokens > 0 && n >= tokens {
				continue
			}
			if tokens > 0 {
				x.FrontEnd = x.frontEnd(trials, median)
			}
			if loss := x.Misfit(trials); loss < better*least {
				best, least = x, loss
			}
		}
	}
	if best.SequencesReported = sequences > 0; best.MaxSequences == 0 {
		best.MostRunning = n
	}
	return best
}

// MostRunning is the largest number of requests between first and last token for at least a second in all. held: they
// are at it for long, as a limit holds them there; without one the largest numbers are rare.
func MostRunning(trials []Trial) (n int, held bool) {
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

// frontEnd is what first tokens without a queue took longer than their steps. In a closed loop it moves the arrivals,
// too.
func (m Model) frontEnd(trials []Trial, center func([]float64) float64) float64 {
	const rounds = 3
	for range rounds {
		late := m.lateFirstTokens(trials, -1)
		if len(late) == 0 {
			return 0
		}
		m.FrontEnd = max(0, m.FrontEnd+center(late))
	}
	return m.FrontEnd
}

// lateFirstTokens are by how much those without a queue came after the model's; a tenth of each trial's requests is
// left out (-1: none).
func (m *Model) lateFirstTokens(trials []Trial, tenth int) (late []float64) {
	const quick = 20
	for i := range trials {
		t := &trials[i]
		for k, r := range m.Run(t.Requests, t.Workers) {
			waits := r.First - r.Arrival - m.FrontEnd - 3*m.PerPrefillToken*float64(r.Prompt)
			was := &t.Requests[k]
			if !was.Failed && waits < quick*m.Base && k*tenths/len(t.Requests) != tenth {
				late = append(late, (was.First-was.Arrival)-(r.First-r.Arrival))
			}
		}
	}
	return late
}

// MeanFrontEnd is the mean time of the front end, if it fits better than the model's own: a request waits for the end
// of a step, so that a short front end makes a few of them miss one, and changes no median.
func (m Model) MeanFrontEnd(trials []Trial) float64 {
	own := m
	if own.FrontEnd = m.frontEnd(trials, middleMean); own.Misfit(trials) < m.Misfit(trials) {
		return own.FrontEnd
	}
	return m.FrontEnd
}

// middleMean is a mean in which the values of each end count as those of the middle nine tenths do at most.
func middleMean(values []float64) (mean float64) {
	const tail = 0.05
	slices.Sort(values)
	low, high := ranked(values, tail), ranked(values, 1-tail)
	for _, v := range values {
		mean += min(max(v, low), high) / float64(len(values))
	}
	return mean
}

// Misfit sums the squared logarithms of measured ÷ twin over percentiles of the trials.
func (m *Model) Misfit(trials []Trial) (sum float64) {
	for i := range trials {
		t := &trials[i]
		if t.Cut {
			continue
		}
		own := m.Run(t.Requests, t.Workers)
		for _, metric := range []string{"ttft", "tpot"} {
			a, b := values(t.Requests, t.Requests, metric), values(own, t.Requests, metric)
			slices.Sort(a)
			slices.Sort(b)
			for _, p := range []float64{0.5, 0.9, 0.95} {
				if d := math.Log(ranked(a, p) / ranked(b, p)); !math.IsNaN(d) && !math.IsInf(d, 0) {
					sum += min(d*d, 1)
				}
			}
		}
	}
	return sum
}
