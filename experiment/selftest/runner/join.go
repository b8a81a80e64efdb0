package runner

import (
	"math"
	"slices"
	"time"

	"bench/experiment/openai"
	"bench/experiment/selftest"
	"bench/experiment/stats"
)

// compared are the two sides of a step, request by request; all in µs.
type compared struct {
	first, gap   []float64 // stamp − the server's time just before the write; gap − the difference of those times
	lag, arrival []float64 // sent − ready; the server had read the header − sent
	late, width  []float64 // of the server: written − due, written − writing

	joined, failed, missing int // requests of the window
	problem                 string
}

// join holds what the client saw against what the server noted. A request counts as missing where the server does not know it, or
// knows of another number of events.
func join(o *observed, truth map[string]*record) compared {
	var c compared
	for i := range o.samples {
		s := &o.samples[i]
		if !s.window {
			continue
		}
		if s.sent != openai.Never && s.ready != openai.Never {
			c.lag = append(c.lag, us(s.sent-s.ready))
		}
		if s.outcome.Failed() {
			c.failed++
			if c.problem == "" {
				c.problem = string(s.outcome) + ": " + s.err
			}
			continue
		}
		t := truth[s.id]
		if t == nil || s.first == openai.Never || len(t.WritingNS) != 1+len(s.gaps) {
			c.missing++
			continue
		}
		c.add(s, t, o.epoch)
	}
	return c
}

// add compares one request.
func (c *compared) add(s *sample, t *record, epoch moment) {
	c.joined++
	c.arrival = append(c.arrival, nanos(t.sinceEpoch(t.ArrivalNS, epoch)-int64(s.sent)))
	c.first = append(c.first, nanos(int64(s.first)-t.sinceEpoch(t.WritingNS[0], epoch)))
	for k, gap := range s.gaps {
		c.gap = append(c.gap, nanos(int64(gap)-(t.WritingNS[k+1]-t.WritingNS[k])))
	}
	for k, written := range t.WrittenNS {
		c.late = append(c.late, nanos(written-t.DueNS[k]))
		c.width = append(c.width, nanos(written-t.WritingNS[k]))
	}
}

func us(d time.Duration) float64 { return nanos(int64(d)) }

func nanos(ns int64) float64 { return float64(ns) / 1e3 }

// errorOf describes errors in µs; nil: there are none.
func errorOf(values []float64) *selftest.Error {
	if len(values) == 0 {
		return nil
	}
	sizes := make([]float64, len(values))
	for i, v := range values {
		sizes[i] = math.Abs(v)
	}
	slices.Sort(sizes)
	return &selftest.Error{N: len(values), P50Us: stats.Quantile(sizes, 0.5), P99Us: stats.Quantile(sizes, 0.99), MinUs: slices.Min(values), MaxUs: slices.Max(values)}
}

// delayOf describes times in µs; nil: there are none.
func delayOf(values []float64) *selftest.Delay {
	if len(values) == 0 {
		return nil
	}
	sorted := slices.Sorted(slices.Values(values))
	return &selftest.Delay{N: len(values), P50Us: stats.Quantile(sorted, 0.5), P99Us: stats.Quantile(sorted, 0.99), MaxUs: sorted[len(sorted)-1]}
}

// measure fills m from the two sides.
func measure(m *selftest.Measured, o *observed, truth map[string]*record) {
	c := join(o, truth)
	m.Load = o.load()
	m.Requests, m.Failed, m.Missing, m.FirstFailure = c.joined, c.failed, c.missing, c.problem
	m.First, m.Gap = errorOf(c.first), errorOf(c.gap)
	m.Lag, m.Arrival = delayOf(c.lag), delayOf(c.arrival)
	m.ServerLate, m.TruthWidth = delayOf(c.late), delayOf(c.width)
	m.KernelStamps, m.UserStamps = o.kernel, o.user
	if o.kernel > 0 {
		m.ReadLagMeanUs, m.ReadLagMaxUs = new(us(o.lagSum)/float64(o.kernel)), new(us(o.lagMax))
	}
	seconds := o.cores.at.Seconds()
	if all, _ := o.events(); o.cores.client > 0 && seconds > 0 && all > 0 {
		m.CPUUsPerEvent, m.CPUCores = new(us(o.cores.client)/float64(all)), new(o.cores.client.Seconds()/seconds)
	}
	if o.cores.machine > 0 && o.cores.server > 0 && seconds > 0 {
		m.ServerCores, m.OtherCores = new(o.cores.server.Seconds()/seconds), new(o.cores.others().Seconds()/seconds)
	}
}
