package sweep

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"bench/experiment"
	"bench/experiment/endpoint"
	"bench/experiment/record"
	"bench/experiment/workload"
	"bench/sweep/matrix"
)

// A scout finds the first load of a search whose range has an open end: a server on a CPU carries one request per
// second, a gateway a thousand. It keeps some requests in flight for a few seconds, with short responses: one, then
// more while that gains throughput. Requests wait for each other, so that it overloads no server.
const (
	scoutOutput  = 64               // tokens of a response, at most
	scoutLonger  = 8                // times the requests in flight, from step to step
	scoutMost    = 512              // requests in flight
	scoutGain    = 2                // in throughput that is worth another step
	scoutStep    = 3 * time.Second  // the longest step, without its last responses
	scoutPart    = 20               // a step takes at most this part of the budget: 1/20
	scoutLongest = 10 * time.Second // that the requests of a step may take one after the other
	scoutCut     = 30 * time.Second // of a step with its last responses
)

// scoutFor finds the first load of an open search, in place of the one that was planned.
func (r *run) scoutFor(ctx context.Context, p *record.Planned) error {
	k := r.searches[p.ID]
	if k == nil || !k.scouts() {
		return nil
	}
	r.Event(Event{Scouting: k.first})
	x, err := (&scout{&r.Options, k.first, p.ID, func(inFlight int) string {
		return saltOf(&r.manifest, p.ID+"/scout", inFlight)
	}}).findLoad(ctx)
	if err != nil {
		return err
	}
	k.first.Search.Scout = x
	first, more := k.next()
	if !more || matrix.ID(&first) == p.ID {
		return nil
	}
	planned := r.dir.planned(&first)
	*r.planned(p.ID), r.todo[r.next], *p = planned, planned, planned
	r.specs[planned.ID], r.searches[planned.ID] = &first, k
	return r.writeManifest()
}

func (k *searching) scouts() bool {
	s := k.first.Search
	return len(k.rows) == 0 && k.beat == 0 && s.Scout == nil && s.Open && !s.Gentle && s.Axis == "rate"
}

// scout sends the steps.
type scout struct {
	*Options
	first *experiment.Spec // probe of the search
	id    string           // its row
	salt  func(inFlight int) string
}

func (x *scout) findLoad(ctx context.Context) (*experiment.Scout, error) {
	s := x.first
	alone, err := x.step(ctx, 1)
	if err != nil {
		return nil, err
	}
	out := &experiment.Scout{Load: 1, TTFTMs: 1000 * alone.ttft(0.5), TPOTMs: 1000 * alone.tpot(0.5), TookS: alone.took}
	if len(alone.last) == 0 {
		return out, nil
	}
	best := alone.rate()
	for n, most := 1, cmp.Or(s.Concurrency, scoutMost); n < most; {
		next := min(scoutLonger*n, most, int(best*scoutLongest.Seconds()))
		if next < 2*n {
			break
		}
		step, err := x.step(ctx, next)
		if err != nil {
			return nil, err
		}
		out.TookS += step.took
		rate := step.rate()
		gain := rate / best
		n, best = next, max(best, rate)
		if gain < scoutGain {
			break
		}
	}
	const below = 0.6 // of the throughput: limits of latencies are met below it
	full := alone.atLength(best, meanOutput(s))
	out.Load = below * full
	if s.Search.Goal == experiment.GoalSaturation {
		out.Load = full
	} else if out.Misses = alone.misses(s.SLO.Limits); out.Misses != "" {
		out.Load = min(out.Load, alone.atLength(alone.rate(), meanOutput(s))) // one request at a time
	}
	out.Load = s.Search.Algorithm().Round(min(max(out.Load, s.Search.Min), s.Search.Max), false)
	return out, nil
}

// scouted are the requests of a step that completed, in seconds from its begin.
type scouted struct {
	sent, first, last []float64
	tokens            []int
	took              float64 // s, with what came before and after
}

func (x *scout) step(ctx context.Context, inFlight int) (*scouted, error) {
	spec := scoutSpec(x.first, inFlight)
	out := &scouted{}
	row, err := x.Server.Run(ctx, endpoint.RunConfig{
		Spec: &spec, ID: x.id, Salt: x.salt(inFlight), Roofline: x.Roofline, Workers: x.Workers,
		Each: func(r *record.Record) error {
			if r.OK() {
				second := func(t record.Micros) float64 { return float64(t.Us()) / 1e6 }
				out.sent, out.first = append(out.sent, second(r.Sent)), append(out.first, second(r.First))
				out.last, out.tokens = append(out.last, second(r.Last)), append(out.tokens, r.OutputTokens)
			}
			return nil
		},
	})
	if err != nil {
		return nil, err
	}
	out.took = row.Took().Seconds()
	return out, nil
}

func scoutSpec(s *experiment.Spec, inFlight int) experiment.Spec {
	out := *s
	out.Search, out.SLO, out.Until, out.Rate, out.Arrival, out.Burstiness = nil, experiment.SLO{}, "", 0, workload.Arrival{}, 0
	out.Point = nil
	out.Load = workload.Load{
		Concurrency: inFlight, Requests: max(3, 2*inFlight),
		Duration: min(workload.Span(scoutStep), s.Search.MaxTime()/scoutPart), MaxDuration: workload.Span(scoutCut),
		Settle: s.Settle,
	}
	if out.Pairs == nil && !out.Output.IsZero() {
		out.Output = shortened(out.Output)
	}
	out.Mix = slices.Clone(s.Mix)
	for i := range out.Mix {
		c := &out.Mix[i]
		c.SLO = nil
		if c.Pairs == nil && !c.Output.IsZero() {
			c.Output = shortened(c.Output)
		}
	}
	return out
}

func shortened(l workload.Length) workload.Length {
	return workload.Fixed(int(min(scoutOutput, max(1, math.Round(l.Typical())))))
}

// meanOutput is the mean number of tokens that the row requests.
func meanOutput(s *experiment.Spec) float64 {
	sum, weights := 0.0, 0.0
	for _, c := range s.Classes() {
		w := max(c.Weight, 1e-9)
		sum, weights = sum+w*c.Output.Typical(), weights+w
	}
	return sum / weights
}

func (x *scouted) rate() float64 {
	if len(x.last) == 0 {
		return 0
	}
	return float64(len(x.last)) / max(1e-6, slices.Max(x.last)-slices.Min(x.sent))
}

func (x *scouted) ttft(p float64) float64 {
	var all []float64
	for i, at := range x.first {
		if at > 0 {
			all = append(all, at-x.sent[i])
		}
	}
	return quantile(all, p)
}

func (x *scouted) tpot(p float64) float64 {
	var all []float64
	for i, n := range x.tokens {
		if x.first[i] > 0 && n > 1 {
			all = append(all, (x.last[i]-x.first[i])/float64(n-1))
		}
	}
	return quantile(all, p)
}

// quantile is the value with a share p of the others below it; 0 without values.
func quantile(all []float64, p float64) float64 {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[int(p*float64(len(all)-1))]
}

// atLength is the throughput with responses of another length, by that of short ones. A prompt takes a server about as
// long as the first token of a request that is alone, but at most two thirds of a short request's time.
func (x *scouted) atLength(rate, tokens float64) float64 {
	total := 0
	for _, n := range x.tokens {
		total += n
	}
	short := max(1, float64(total)/float64(len(x.tokens)))
	each := 1 / rate
	decode := max(each-x.ttft(0.5), each/3)
	return 1 / (each + max(0, tokens-short)/short*decode)
}

// misses is the limit that all of the requests exceed; empty = none.
func (x *scouted) misses(limits []experiment.Limit) string {
	for _, l := range limits {
		least := map[string]float64{"ttft": x.ttft(0), "tpot": x.tpot(0)}[l.Metric]
		if 1000*least > l.Value {
			return l.Key
		}
	}
	return ""
}
