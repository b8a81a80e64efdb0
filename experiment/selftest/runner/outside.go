package runner

import (
	"cmp"
	"math"
	"slices"

	"bench/experiment/openai"
	"bench/experiment/selftest"
)

// outside matches the client's records with the server's: by request id, else by the id of the response.
func outside(o *clientLog, truth map[string]*serverRecord) selftest.Outside {
	out := selftest.Outside{Load: o.load(), Each: []selftest.Request{}}
	named := map[string]*serverRecord{}
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
		if own, whole := t.gapDifferences(s); whole {
			gaps = append(gaps, own...)
			r.GapUs = farthestFromZero(own)
		} else {
			out.Regrouped++
		}
		out.Each = append(out.Each, r)
	}
	out.Requests, out.TTFT, out.Gap = len(first), delayOf(first), errorOf(gaps)
	if out.Requests == 0 {
		out.Problem = cmp.Or(out.FirstFailure, "no request matches a record of the server: neither X-Request-Id nor the response id was passed on")
	}
	return out
}

// gapDifferences are the gaps of s minus the server's, µs; false: the number of events differs.
func (r *serverRecord) gapDifferences(s *clientRecord) (us []float64, whole bool) {
	if len(r.WritingNS) != 1+len(s.gaps) {
		return nil, false
	}
	for k, gap := range s.gaps {
		us = append(us, nanos(int64(gap)-(r.WritingNS[k+1]-r.WritingNS[k])))
	}
	return us, true
}

// farthestFromZero is the value with the largest absolute value; nil: no values.
func farthestFromZero(values []float64) *float64 {
	if len(values) == 0 {
		return nil
	}
	v := slices.MaxFunc(values, func(a, b float64) int { return cmp.Compare(math.Abs(a), math.Abs(b)) })
	return &v
}
