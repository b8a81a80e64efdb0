package size

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"bench/experiment/roofline"
	"bench/experiment/series"
	"bench/experiment/twin"
	"bench/report/parallel"
)

const Schema = "bench/size/v1"

type Question struct {
	Rate    float64 // requests/s of the whole fleet; of a day the highest
	Router  string  // one of twin.Routers; empty = the first
	Hours   []float64
	StartUp time.Duration // of a replica of an autoscaler, from the decision to the first request that it takes
	Traffic series.Traffic
	Limits  []twin.Limit
}

// Result is the answer: plans, the cheapest first.
type Result struct {
	Schema   string    `json:"schema"`
	Traffic  string    `json:"traffic"`
	Rate     float64   `json:"rate_per_s"`
	Prompt   float64   `json:"prompt_tokens"`
	Output   float64   `json:"output_tokens"`
	SLO      []string  `json:"slo"`
	Ignored  []string  `json:"ignored,omitempty"` // limits that a fleet is not sized for: error rates, prices, energy
	Router   string    `json:"router"`
	Backtest *Backtest `json:"backtest,omitempty"`
	// Predicted: the run was not measured, but ran in virtual time.
	Predicted bool   `json:"predicted,omitempty"`
	Plans     []Plan `json:"plans"`
}

// Number is an estimated number with its interval of 90 %. Best 0: none carries the load. High 0: unknown.
type Number struct {
	Low  int `json:"low"`
	Best int `json:"best"`
	High int `json:"high"`
}

// Plan is a fleet of one candidate.
type Plan struct {
	Name     string `json:"name"`
	GPUsEach int    `json:"gpus_per_replica"`
	Basis    Basis  `json:"basis"`
	Refused  string `json:"refused,omitempty"` // why there is none; empty: there is one

	Replicas Number `json:"replicas"`
	AtMost   bool   `json:"at_most,omitempty"` // no estimate: so many are enough, fewer may be
	Spare    Number `json:"replicas_with_one_lost"`

	LoadEach     float64  `json:"rate_per_replica,omitempty"`
	CapacityEach *float64 `json:"capacity_per_replica,omitempty"` // nil = only a lower bound is known
	CapacityLow  *float64 `json:"capacity_per_replica_low,omitempty"`
	CapacityHigh *float64 `json:"capacity_per_replica_high,omitempty"`
	// Margin is the share of the load that the fleet carries beyond it.
	Margin        *float64 `json:"margin,omitempty"`
	USDPerMillion *float64 `json:"usd_per_million_output_tokens,omitempty"`
	USDPerMonth   *float64 `json:"usd_per_month,omitempty"`

	LimitedBy string `json:"limited_by,omitempty"` // the limit that is met last, and the resource behind it
	Day       *Day   `json:"day,omitempty"`

	without string // why there is a bound alone
}

func (p *Plan) gpus(n Number) Number {
	return Number{n.Low * p.GPUsEach, n.Best * p.GPUsEach, n.High * p.GPUsEach}
}

func Make(q *Question, candidates []Candidate) []Plan {
	out := make([]Plan, len(candidates))
	parallel.Do(len(candidates), nil, func(i int) { out[i] = q.plan(&candidates[i]) })
	slices.SortStableFunc(out, func(a, b Plan) int { return cmp.Compare(a.order(), b.order()) })
	return out
}

// order is the price, or the number of GPUs where no price is known.
func (p *Plan) order() float64 {
	switch {
	case p.Refused != "":
		return math.Inf(1)
	case p.USDPerMonth != nil:
		return *p.USDPerMonth
	}
	return 1e12 * float64(p.gpus(p.Replicas).Best)
}

func (q *Question) plan(c *Candidate) Plan {
	p := Plan{Name: c.Name, GPUsEach: c.gpus, Basis: c.basis, Refused: c.refused}
	if p.Refused != "" {
		return p
	}
	k := &known{c: c, fleet: twin.Fleet{Router: q.Router}, at: map[int]*[ends]*float64{}}
	alone, err := k.of(1, estimate)
	if err != nil {
		p.Refused = err.Error()
		return p
	}
	if p.Replicas, err = k.number(q.Rate); err == nil && p.Replicas.Best == 0 {
		err = fmt.Errorf("%s: one request alone misses it", q.limitNames())
		if alone > 0 {
			err = fmt.Errorf("more than %d replicas", mostNeeded)
		}
	}
	if err != nil {
		p.Refused = err.Error()
		return p
	}
	p.Spare = Number{p.Replicas.Low + 1, p.Replicas.Best + 1, p.Replicas.High + 1}
	if p.Replicas.High == 0 {
		p.Spare.High = 0
	}
	each, err := k.of(p.Replicas.Best, estimate)
	p.AtMost = err != nil || math.IsNaN(each)
	if p.AtMost && c.reason != nil {
		p.without = c.reason()
	}
	p.LoadEach = q.Rate / float64(p.Replicas.Best)
	if !p.AtMost {
		p.CapacityEach, p.Margin = &each, new(each/p.LoadEach-1)
		if least, _ := k.of(p.Replicas.Best, low); least > 0 {
			p.CapacityLow = &least
		}
		if most, _ := k.of(p.Replicas.Best, high); !math.IsInf(most, 1) {
			p.CapacityHigh = &most
		}
		p.LimitedBy = q.limitedBy(c, each, p.Replicas.Best)
	}
	if c.gpuHourUSD != nil {
		hour := *c.gpuHourUSD * float64(p.gpus(p.Replicas).Best)
		p.USDPerMonth = new(hour * hoursOfMonth)
		p.USDPerMillion = new(1e6 * hour / (3600 * q.Rate * q.Traffic.Output))
	}
	if len(q.Hours) > 0 {
		p.Day = q.day(k)
	}
	return p
}

const hoursOfMonth = 730

const mostNeeded = 10_000

// number is the smallest number of replicas that carries a rate; Best 0: none does.
func (k *known) number(rate float64) (n Number, err error) {
	of := func(e end) func(int) (float64, error) {
		return func(replicas int) (float64, error) { return k.of(replicas, e) }
	}
	if n.Best, err = k.smallest(rate, k.likely); err == nil {
		n.Low, err = k.smallest(rate, of(high))
	}
	if err == nil {
		n.High, err = k.smallest(rate, of(low))
	}
	return n, err
}

// smallest is the least number of replicas of which each carries its part; 0: none. More replicas carry more in all,
// though each may carry less.
func (k *known) smallest(rate float64, each func(replicas int) (float64, error)) (int, error) {
	var failed error
	carried := func(n int) float64 {
		x, err := each(n)
		failed = cmp.Or(failed, err)
		return float64(n) * x
	}
	one := carried(1)
	if failed != nil || one == 0 || rate/one > mostNeeded {
		return 0, failed
	}
	n := max(1, int(math.Ceil(rate/one)))
	for ; n > 1 && carried(n-1) >= rate; n-- {
	}
	for ; failed == nil && carried(n) < rate; n++ {
		if n == mostNeeded {
			return 0, nil
		}
	}
	return n, failed
}

func (q *Question) limitNames() string {
	var names []string
	for _, l := range q.Limits {
		names = append(names, limitName(&l))
	}
	return strings.Join(names, ", ")
}

func limitName(l *twin.Limit) string {
	if l.P == 0 {
		return strings.ToUpper(l.Metric) + " mean"
	}
	return fmt.Sprintf("%s p%.4g", strings.ToUpper(l.Metric), 100*l.P)
}

// limitedBy is the limit that is nearest at a replica's capacity, and what of the hardware takes the most time there.
func (q *Question) limitedBy(c *Candidate, rate float64, replicas int) string {
	at := question(twin.Fleet{Router: q.Router, Replicas: replicas}, q.Traffic, q.Limits)
	state := c.model.At(at, rate)
	nearest := 0
	for i, x := range state.Over {
		if x > state.Over[nearest] {
			nearest = i
		}
	}
	text := limitName(&q.Limits[nearest])
	if most := c.model.MaxSequences; most > 0 && state.InFlight >= 0.9*float64(most) {
		what := "limit of running sequences"
		if c.setup != nil && c.setup.Capacity(q.Traffic.Prompt+q.Traffic.Output/2).Sequences == most {
			what = "KV cache"
		}
		return text + ": " + what
	}
	if c.setup == nil {
		return text
	}
	return text + ": " + resource(c, q, rate, state.InFlight)
}

// resource is what takes the most of the time at a rate: reading the memory, computing, or the rest.
func resource(c *Candidate, q *Question, rate, inFlight float64) string {
	ms := map[string]float64{}
	add := func(times float64, b roofline.Bound) {
		for _, t := range b.Terms {
			if !t.Hidden {
				ms[resourceOf(&t)] += times * t.Ms
			}
		}
	}
	steps := rate * q.Traffic.Output / max(1, inFlight) // per second, of the whole batch
	add(steps, c.setup.Decode(max(1, inFlight), q.Traffic.Prompt+q.Traffic.Output/2))
	add(rate, c.setup.Prefill(q.Traffic.Prompt, q.Traffic.Cached))
	return slices.MaxFunc(slices.Sorted(maps.Keys(ms)), func(a, b string) int { return cmp.Compare(ms[a], ms[b]) })
}

func resourceOf(t *roofline.Term) string {
	switch {
	case t.RateUnit == "TFLOP/s":
		return "compute"
	case t.Name == "all-reduce":
		return "interconnect"
	case t.RateUnit == "GB/s":
		return "memory bandwidth"
	}
	return "overhead of the engine"
}
