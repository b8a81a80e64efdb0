package runner

import (
	"cmp"
	"math"
	"slices"

	"bench/experiment/openai"
	"bench/experiment/selftest"
)

// outside pairs what the client saw with what the server noted: by the id that the client gave, else by the name of the answer.
func outside(o *observed, truth map[string]*record) selftest.Outside {
	out := selftest.Outside{Load: o.load(), Each: []selftest.Request{}}
	named := map[string]*record{}
	for _, r := range truth {
		if r.ID != "" {
			named[r.ID] = r
		}
	}
	var first, gaps []float64
	for i := range o.samples {
		s := &o.samples[i]
		if !s.window {
			continue
		}
		if s.outcome.Failed() {
			out.Failed++
			out.FirstFailure = cmp.Or(out.FirstFailure, string(s.outcome)+": "+s.err)
			continue
		}
		t := cmp.Or(truth[s.id], named[s.serverID])
		if t == nil || s.first == openai.Never || len(t.WritingNS) == 0 {
			out.Missing++
			continue
		}
		r := selftest.Request{ID: s.id, TTFTUs: nanos(int64(s.first-s.sent) - (t.WritingNS[0] - t.ArrivalNS))}
		first = append(first, r.TTFTUs)
		if own, whole := t.beside(s); whole {
			gaps = append(gaps, own...)
			r.GapUs = largest(own)
		} else {
			out.Regrouped++
		}
		out.Each = append(out.Each, r)
	}
	out.Requests, out.TTFT, out.Gap = len(first), delayOf(first), errorOf(gaps)
	if out.Requests == 0 {
		out.Problem = cmp.Or(out.FirstFailure, "none of the requests could be found among those of the server: neither X-Request-Id nor the answer's id came through")
	}
	return out
}

// beside is how much longer each gap of s was than the server made it; false where the events are not the server's.
func (r *record) beside(s *sample) (us []float64, whole bool) {
	if len(r.WritingNS) != 1+len(s.gaps) {
		return nil, false
	}
	for k, gap := range s.gaps {
		us = append(us, nanos(int64(gap)-(r.WritingNS[k+1]-r.WritingNS[k])))
	}
	return us, true
}

// largest is the value that is farthest from 0; nil: there is none.
func largest(values []float64) *float64 {
	if len(values) == 0 {
		return nil
	}
	v := slices.MaxFunc(values, func(a, b float64) int { return cmp.Compare(math.Abs(a), math.Abs(b)) })
	return &v
}
