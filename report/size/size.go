// Package size computes how many replicas of a server carry a traffic within an SLO: on the measured server, on other
// hardware, and what that costs. A Candidate knows what one of so many replicas carries; Plan finds the number, and
// Hours lets fleets serve a day.
//
// What a candidate rests on is stated with it: the twin of a measured run or recording, corrected by its requests; that
// twin with its step times changed by the ratio of two rooflines; or the roofline alone. It measures and sends nothing.
package size

import (
	"cmp"
	"fmt"
	"math"

	"bench/experiment/roofline"
	"bench/experiment/series"
	"bench/experiment/twin"
)

// end is one of the highest rates of one replica within the SLO: the estimate, and the ends of its interval. Low 0,
// high +Inf: it has no such end. Estimate NaN: the ends alone are known.
type end int

const (
	low end = iota
	estimate
	high
	ends
)

type capacity [ends]float64

type Basis string

const (
	Measured Basis = "measured" // this server
	Scaled   Basis = "scaled"   // this server, by the ratio of two rooflines
	Roofline Basis = "roofline" // published figures of others
)

// Candidate is a server that the fleet could consist of.
type Candidate struct {
	Name       string // h200-sxm × 2
	gpus       int    // of a replica
	gpuHourUSD *float64
	basis      Basis
	refused    string // why it carries nothing; empty: it may carry something

	capacity func(f twin.Fleet, e end) (float64, error)
	reason   func() string // why capacity is a bound alone; nil = it is none
	model    twin.Model
	setup    *roofline.Setup // nil = unknown hardware
}

// What one of two published figures of a model on two devices, or on two numbers of GPUs, differs from the ratio of
// their rooflines, in 95 of 100 pairs: of the logarithm. By the TPOTs of 1,006 and 1,864 pairs
// (TestRatiosOfRooflines).
const (
	acrossDevices = 0.52
	acrossGPUs    = 0.35
)

// OfTwin is the measured server itself; on is its hardware, nil = unknown. distrust is why its twin has no estimate;
// empty: it may have one.
func OfTwin(t *series.Twin, other *series.Traffic, on *roofline.Setup, distrust string) Candidate {
	known := map[int]capacity{}
	bound := ""
	c := Candidate{basis: Measured, model: t.Model(), setup: on, reason: func() string { return bound }}
	c.capacity = func(f twin.Fleet, e end) (float64, error) {
		if on != nil {
			f.CacheTokens = on.CapacityTokens()
		}
		if _, ok := known[f.Replicas]; !ok {
			found, without, err := measured(t, other, f, distrust)
			if err != nil {
				return 0, err
			}
			known[f.Replicas] = found
			bound = cmp.Or(bound, without)
		}
		return known[f.Replicas][e], nil
	}
	return c
}

// measured is what one of a fleet's replicas carries, and why that is a bound alone; empty: it has an estimate.
func measured(t *series.Twin, other *series.Traffic, f twin.Fleet, distrust string) (capacity, string, error) {
	o, err := t.Carries(f, other)
	if err != nil {
		return capacity{}, "", err
	}
	within, beyond := t.Between()
	rejected := cmp.Or(distrust, o.Rejected)
	switch why := cmp.Or(rejected, o.Outside); {
	case within > 0 && (rejected != "" || o.Outside != "" && o.Best > within):
		return capacity{within, math.NaN(), beyond}, why, nil // what one replica was seen to carry
	case why != "":
		return capacity{}, "", fmt.Errorf("no estimate: %s", why)
	}
	const narrower = 1.645 / 1.96 // an interval of 90 %, as that of published figures
	to := func(x float64) float64 { return o.Best * math.Pow(x/o.Best, narrower) }
	return capacity{to(o.Low), o.Best, to(o.High)}, "", nil
}

// Setups are a measured hardware, nil = none, and another one.
type Setups struct {
	From *roofline.Setup
	To   roofline.Setup
}

// OfRoofline is a server on hardware that was not measured: the twin of another, if there is one, with its step times
// changed by the ratio of the rooflines. requests are sent to a single replica.
func OfRoofline(s Setups, t *series.Twin, traffic series.Traffic, limits []twin.Limit) Candidate {
	c := Candidate{basis: Roofline, gpus: max(1, s.To.GPUs), setup: &s.To}
	room := s.To.Capacity(traffic.Prompt + traffic.Output/2)
	if room.MemoryGB > 0 && room.Sequences == 0 {
		c.refused = fmt.Sprintf("memory: weights of %.0f GB and one request do not fit into %.0f GB", room.WeightsGB,
			room.MemoryGB)
		return c
	}
	const sequences, stepTokens = 256, 8192 // vLLM's defaults on such hardware
	slow, fast := 1.0, 1.0
	if t != nil {
		c.basis, c.model = Scaled, t.Model()
		apart := acrossDevices
		if s.From.Device.ID == s.To.Device.ID {
			apart = acrossGPUs
		}
		slow, fast = math.Exp(apart), math.Exp(-apart)
		from, to, measured := stepOf(*s.From), stepOf(s.To), t.Model()
		c.model.Step = func(decoding, context, prefill int) float64 {
			return measured.StepTime(decoding, context, prefill) * to(decoding, context, prefill) /
				from(decoding, context, prefill)
		}
		if c.model.MaxSequences == 0 {
			c.model.MaxSequences = sequences
		}
	} else {
		step := s.To.Decode(16, traffic.Prompt)
		if step.LowMs > 0 && step.ExpectedMs > 0 {
			slow, fast = step.HighMs/step.ExpectedMs, step.LowMs/step.ExpectedMs
		}
		c.model = twin.Model{Step: stepOf(s.To), FrontEnd: s.To.FrontEndMs() / 1000, MaxSequences: sequences,
			MaxStepTokens: stepTokens}
	}
	if room.Sequences > 0 {
		c.model.MaxSequences = min(c.model.MaxSequences, room.Sequences)
	}
	var alone capacity // near which is that of a replica among others
	c.capacity = func(f twin.Fleet, e end) (float64, error) {
		f.CacheTokens = s.To.CapacityTokens()
		found := highest(c.model.Scaled([ends]float64{slow, 1, fast}[e]), f, traffic, limits, alone[e])
		if f.Replicas == 1 {
			alone[e] = found
		}
		return found, nil
	}
	return c
}

// stepOf is the roofline's expected time of a step, in seconds.
func stepOf(s roofline.Setup) func(decoding, context, prefill int) float64 {
	return func(decoding, context, prefill int) float64 {
		var prompt [1]roofline.Chunk
		chunks := prompt[:0]
		if prefill > 0 {
			chunks = append(chunks, roofline.Chunk{Tokens: float64(prefill)})
		}
		return s.StepMs(chunks, float64(decoding), float64(context)/float64(max(1, decoding))) / 1000
	}
}

// highest is what one replica carries, near a rate if that is not 0; 0 = not even a single request.
func highest(m *twin.Model, f twin.Fleet, traffic series.Traffic, limits []twin.Limit, near float64) float64 {
	const requests, apart, widest = 15_000, 3, 32_768 // of one replica; from near; highest ÷ lowest rate
	q := question(f, traffic, limits)
	q.Requests = min(twin.Fine, requests*max(1, f.Replicas))
	if near > 0 {
		q.Min, q.Max = near/apart, near*apart
	} else {
		alone := m.FrontEnd + m.StepTime(1, int(traffic.Prompt), 0)*traffic.Output +
			m.StepTime(0, 0, int(traffic.Prompt))
		q.Min = 0.02 / alone
		q.Max = q.Min * widest
	}
	if rate := m.Highest(q); rate > 0 || near == 0 {
		return min(rate, q.Max)
	}
	return highest(m, f, traffic, limits, 0) // far below
}

func question(f twin.Fleet, traffic series.Traffic, limits []twin.Limit) twin.Question {
	return twin.Question{Limits: limits, Source: traffic.Source, Requests: twin.Fine, Fleet: f}
}

// known remembers the capacities of a candidate: beyond some number of replicas they are the same.
type known struct {
	c     *Candidate
	fleet twin.Fleet
	at    map[int]*[ends]*float64
}

func (k *known) of(replicas int, e end) (float64, error) {
	const alike = 8
	n := min(replicas, alike)
	if k.at[n] == nil {
		k.at[n] = &[ends]*float64{}
	}
	if x := k.at[n][e]; x != nil {
		return *x, nil
	}
	f := k.fleet
	f.Replicas = n
	x, err := k.c.capacity(f, e)
	if err == nil {
		k.at[n][e] = &x
	}
	return x, err
}

// likely is the estimate, or the lower end where it is unknown.
func (k *known) likely(replicas int) (float64, error) {
	x, err := k.of(replicas, estimate)
	if math.IsNaN(x) {
		return k.of(replicas, low)
	}
	return x, err
}
