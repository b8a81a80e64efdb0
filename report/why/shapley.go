package why

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"bench/experiment/twin"
)

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
