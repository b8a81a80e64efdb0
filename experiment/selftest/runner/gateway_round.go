package runner

import (
	"cmp"

	"bench/experiment/openai"
	"bench/experiment/selftest/gateway"
)

// roundOf are the figures of a round from the times of both sides.
func roundOf(o *clientLog, truth map[string]*serverRecord) gateway.Round {
	var r gateway.Round
	var ttft, transit, e2e, gaps, lag []float64
	for i := range o.samples {
		s := &o.samples[i]
		if !s.window {
			continue
		}
		if s.sent != openai.Never && s.ready != openai.Never {
			lag = append(lag, us(s.sent-s.ready))
		}
		if s.outcome.Failed() || s.first == openai.Never {
			r.Failed++
			r.FirstFailure = cmp.Or(r.FirstFailure, string(s.outcome)+": "+s.err)
			continue
		}
		r.Requests++
		ttft, e2e = append(ttft, us(s.first-s.sent)), append(e2e, us(s.end-s.sent))
		for _, gap := range s.gaps {
			gaps = append(gaps, us(gap))
		}
		if t := truth[s.id]; t != nil && len(t.WritingNS) > 0 {
			transit = append(transit, us(s.first-s.sent)-nanos(t.WritingNS[0]-t.ArrivalNS))
		}
	}
	r.TTFT, r.E2E, r.Gap, r.Lag = delayOf(ttft), delayOf(e2e), delayOf(gaps), delayOf(lag)
	if len(transit) == r.Requests { // else some would be compared with all
		r.Transit = delayOf(transit)
	}
	addCost(&r, o)
	r.Assess()
	return r
}

// addCost sets the CPU figures of a round, warm-up included.
func addCost(r *gateway.Round, o *clientLog) {
	seconds := o.cores.elapsed.Seconds()
	if !(seconds > 0) {
		return
	}
	if o.cores.gateway > 0 && len(o.samples) > 0 {
		r.CPUUsPerRequest = new(us(o.cores.gateway) / float64(len(o.samples)))
	}
	if o.cores.client > 0 && o.cores.server > 0 && o.cores.machine > 0 {
		r.ClientCores, r.ServerCores = new(o.cores.client.Seconds()/seconds), new(o.cores.server.Seconds()/seconds)
		r.GatewayCores, r.OtherCores = new(o.cores.gateway.Seconds()/seconds), new(o.cores.others().Seconds()/seconds)
	}
}
