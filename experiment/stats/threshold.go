package stats

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Probe is what one run shows about the threshold: the highest load at which every limit holds.
type Probe struct {
	Load     float64 // asked for
	Measured float64 // the arrivals of a window of an open loop differ from their rate by chance; 0 = as asked for
	// Verdict is PASS or FAIL if the run decides by more than counts: a limit on no share of the requests, or a server
	// that does not keep up.
	Verdict Verdict
	Limits  []Exceedances // of each limit on a share of the requests, in the same order in every probe
	// Filling: the server was not in its steady state, so that more requests are over the limits in the long run.
	Filling bool
	// Sustained is the load that a run completed which did not keep up; 0 = it kept up, or is not known.
	Sustained float64
	Completed float64 // requests per second that a run completed whose server did not keep up; 0 = it kept up
	Passed    bool    // every limit is met
	Counted   bool    // the window ends by a number of requests: none is longer
	Need      float64 // requests that a window at this load needs for a verdict; 0 = not known
	Stay      float64 // mean time of a request in the server, s; 0 = not known
	Variation float64 // coefficient of variation of that time
	Window    float64 // s; 0 = not known
	Spent     float64 // s
}

// likelihood compares thresholds by how likely they make all probes at once.
//
// Shares over a limit rise with the load. Near the threshold their logarithm is about linear in the logarithm of the
// load (for an M/M/1 queue P(wait > t) = ρ·exp(−μ(1−ρ)t)), so that probes on either side of the threshold measure
// where it is; the slope is unknown. A probe farther away only shows on which side it is. A run counts as many
// requests as its autocorrelation leaves, averaged over the runs at similar loads. Losses are differences
// from the log-likelihood of the probe's own share.
type likelihood struct {
	probes []Probe
	queue  queue
	limits int
	models [][]shareModel // every one, by limit
	time   [][]float64    // autocorrelation time, by probe and limit
	log    []float64      // of the loads

	filling []bool    // probes that began with an empty queue and are short
	values  []bool    // limits with values in any probe
	floor   []float64 // least value of each limit, as Exceedances.Log
}

const (
	nearby    = 0.12 // |ln(load/threshold)| up to which a probe's share measures the distance
	similar   = 0.2  // |ln| of the ratio of two loads whose autocorrelation times are averaged
	misfit    = 0.15 // standard error of the model's ln(share/allowed), as a share of it
	steady    = 0.5  // share over the limit above which a run may not be in its steady state
	inflation = 1.1  // of the excess of autocorrelation times over 1
	standing  = 5    // loss by a verdict that decides
	longRun   = 20   // requests' times in the server, in a window whose PASS counts
	decided   = 3    // loss by a verdict on one limit: it is wrong in at most 5 of 100 runs
	flat      = 6    // slope below which a limit is unusual
	flatness  = 0.7  // standard deviation of ln(slope) below it
)

// slopes are d ln(share)/d ln(load) at the threshold. The last is a step: a server whose requests are all over a limit
// just above a load where none is.
var slopes = func() (out []float64) {
	for b := 1.0; b < 1100; b *= 1.35 {
		out = append(out, b)
	}
	return append(out, 1e9)
}()

// newLikelihood takes the counts as measured, or all that disturbances of the runs leave possible.
func newLikelihood(probes []Probe, disturbed bool) *likelihood {
	k := &likelihood{probes: slices.Clone(probes), queue: queueOf(probes)}
	for i, p := range probes {
		limits, filling := slices.Clone(p.Limits), p.Filling || k.queue.filling(&p)
		for j := range limits {
			e := &limits[j]
			if !disturbed {
				e.Least, e.Most = e.Over, e.Over
			}
			if filling {
				e.Most = e.N
			}
		}
		k.filling = append(k.filling, filling)
		k.probes[i].Limits = limits
	}
	for _, p := range probes {
		k.limits = max(k.limits, len(p.Limits))
		k.log = append(k.log, math.Log(cmp.Or(p.Measured, p.Load)))
	}
	k.floor, k.values = make([]float64, k.limits), make([]bool, k.limits)
	for _, p := range probes {
		for i, e := range p.Limits {
			k.floor[i], k.values[i] = min(k.floor[i], e.Log), k.values[i] || e.Error > 0
		}
	}
	for _, at := range k.log {
		times := make([]float64, k.limits)
		for limit := range times {
			times[limit] = k.timeNear(at, limit)
		}
		k.time = append(k.time, times)
	}
	for _, allowed := range k.allowed() {
		if allowed == 0 { // no probe has counts
			k.models = append(k.models, []shareModel{{slope: flat}})
			continue
		}
		var models []shareModel
		for _, b := range slopes {
			models = append(models, newShareModel(allowed, b, false), newShareModel(allowed, b, true))
		}
		k.models = append(k.models, models)
	}
	return k
}

func (k *likelihood) allowed() []float64 {
	out := make([]float64, k.limits)
	for _, p := range k.probes {
		for i, e := range p.Limits {
			if e.N > 0 { // others have no counts
				out[i] = e.Allowed
			}
		}
	}
	return out
}

func (k *likelihood) timeNear(log float64, limit int) float64 {
	sum, n := 0.0, 0.0
	for i, p := range k.probes {
		if limit < len(p.Limits) && math.Abs(k.log[i]-log) <= similar {
			e := p.Limits[limit]
			sum, n = sum+e.N*e.Time, n+e.N
		}
	}
	if n == 0 {
		return 1
	}
	return 1 + inflation*max(0, sum/n-1)
}

// shareModel is a model of the share over a limit by u = ln(load/threshold): exponential, or normal with the same slope at
// u = 0. What both allow is possible.
type shareModel struct {
	allowed, slope float64
	z, bend        float64 // of the normal one; bend 0: exponential
}

func newShareModel(allowed, slope float64, bent bool) shareModel {
	c := shareModel{allowed: allowed, slope: slope}
	if bent {
		c.z = distuv.UnitNormal.Quantile(allowed)
		c.bend = slope * allowed / distuv.UnitNormal.Prob(c.z)
	}
	return c
}

// at is the share at u, but no larger one than a run measures in its steady state.
func (c shareModel) at(u float64) float64 {
	share := c.allowed * math.Exp(c.slope*u)
	if c.bend > 0 {
		share = distuv.UnitNormal.CDF(c.z + c.bend*u)
	}
	return min(max(share, 1e-12), max(steady, (1+c.allowed)/2))
}

func (k *likelihood) probeLoss(i, limit int, threshold float64, c shareModel) float64 {
	e := &k.probes[i].Limits[limit]
	u := k.log[i] - threshold
	expected := c.at(min(max(u, -nearby), nearby))
	own := min(max(expected, e.Least/e.N), e.Most/e.N)
	if own == expected || own > expected && (u > nearby || expected >= steady) || own < expected && u < -nearby {
		return 0
	}
	far := misfit * math.Log(expected/c.allowed)
	n := 1 / (k.time[i][limit]/e.N + far*far*expected/(1-expected))
	return n * divergence(own, expected)
}

// divergence is the Kullback-Leibler divergence of two shares: the loss of b for each request if a share a is over.
func divergence(a, b float64) (sum float64) {
	if a > 0 {
		sum = a * math.Log(a/b)
	}
	if a < 1 {
		sum += (1 - a) * math.Log((1-a)/(1-b))
	}
	return sum
}

// limitLoss is the loss of ln(threshold) by one limit, at the slope that fits best.
func (k *likelihood) limitLoss(limit int, threshold float64) (least, slope float64) {
	least = math.Inf(1)
	for _, model := range k.models[limit] {
		x := min(0, math.Log(model.slope/flat)) / flatness
		sum := x * x / 2
		for i := range k.probes {
			if sum >= least {
				break
			}
			if p := &k.probes[i]; limit < len(p.Limits) && p.Limits[limit].N > 0 && !p.Limits[limit].Bounded {
				sum += k.probeLoss(i, limit, threshold, model)
			}
		}
		if sum < least {
			least, slope = sum, model.slope
		}
	}
	return least + k.valuesLoss(limit, threshold) + k.decidedLoss(limit, threshold), slope
}

// decidedLoss is that of a run's verdict on a limit.
func (k *likelihood) decidedLoss(limit int, threshold float64) (sum float64) {
	for i, p := range k.probes {
		if limit < len(p.Limits) {
			above := k.log[i] > threshold+1e-9
			if v := p.Limits[limit].Verdict; v == Pass && above && !k.filling[i] && p.Window >= longRun*p.Stay || v == Fail && !above {
				sum += decided
			}
		}
	}
	return sum
}

func (k *likelihood) verdictLoss(threshold float64) (sum float64) {
	for i, p := range k.probes {
		above := k.log[i] > threshold+1e-9
		if p.Verdict == Pass && above || p.Verdict == Fail && !above {
			sum += standing
		}
		if p.Sustained > 0 && 1.05*p.Sustained >= k.queue.kept && threshold > math.Log(1.05*p.Sustained) {
			sum += standing
		}
	}
	return sum
}

// losses are those of ascending thresholds, and the slopes of the limit that is exceeded first there. A threshold is
// the lowest one of all limits: one limit's own, with each other limit's anywhere above it.
func (k *likelihood) losses(thresholds []float64) (loss, slope []float64) {
	n := len(thresholds)
	loss, slope = make([]float64, n), make([]float64, n)
	own, steep, above := k.table(n), k.table(n), k.table(n)
	for l := range own {
		for i := n - 1; i >= 0; i-- {
			own[l][i], steep[l][i] = k.limitLoss(l, thresholds[i])
			above[l][i] = own[l][i]
			if i+1 < n {
				above[l][i] = min(own[l][i], above[l][i+1])
			}
		}
	}
	for i := range thresholds {
		all, first := 0.0, math.Inf(1)
		for l := range own {
			all += above[l][i]
		}
		for l := range own {
			if extra := own[l][i] - above[l][i]; extra < first {
				first, slope[i] = extra, steep[l][i]
			}
		}
		if k.limits > 0 {
			all += first
		}
		loss[i] = all + k.verdictLoss(thresholds[i])
	}
	return loss, slope
}

func (k *likelihood) table(n int) [][]float64 {
	out := make([][]float64, k.limits)
	for i := range out {
		out[i] = make([]float64, n)
	}
	return out
}
