package runner

import (
	"cmp"
	"math"
	"slices"
	"time"

	"bench/experiment/openai"
	"bench/experiment/selftest"
	"bench/experiment/stats"
)

// differences compare both sides of a step, in µs.
type differences struct {
	first, gap   []float64 // client's time − server's time before its write; client's gap − server's gap
	lag, arrival []float64 // sent − ready; server had read the headers − sent
	late, width  []float64 // of the server: written − due; written − writing

	joined, failed, missing int // requests in the window
	problem                 string
}

// join compares both logs. A request is missing without a server's record, or with another number of events.
func join(o *clientLog, truth map[string]*serverRecord) differences {
	var c differences
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
			c.problem = cmp.Or(c.problem, string(s.outcome)+": "+s.err)
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

func (c *differences) add(s *clientRecord, t *serverRecord, epoch time.Time) {
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

func errorOf(values []float64) *selftest.Error {
	if len(values) == 0 {
		return nil
	}
	sizes := make([]float64, len(values))
	for i, v := range values {
		sizes[i] = math.Abs(v)
	}
	slices.Sort(sizes)
	return &selftest.Error{N: len(values), P50Us: stats.Quantile(sizes, 0.5), P99Us: stats.Quantile(sizes, 0.99),
		MinUs: slices.Min(values), MaxUs: slices.Max(values)}
}

func delayOf(values []float64) *selftest.Delay {
	if len(values) == 0 {
		return nil
	}
	sorted := slices.Sorted(slices.Values(values))
	return &selftest.Delay{N: len(values), P50Us: stats.Quantile(sorted, 0.5), P99Us: stats.Quantile(sorted, 0.99),
		MaxUs: sorted[len(sorted)-1]}
}

func measure(m *selftest.Measured, o *clientLog, truth map[string]*serverRecord) {
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
	seconds := o.cores.elapsed.Seconds()
	if all, _ := o.events(); o.cores.client > 0 && seconds > 0 && all > 0 {
		m.CPUUsPerEvent, m.CPUCores = new(us(o.cores.client)/float64(all)), new(o.cores.client.Seconds()/seconds)
	}
	if o.cores.machine > 0 && o.cores.server > 0 && seconds > 0 {
		m.ServerCores, m.OtherCores = new(o.cores.server.Seconds()/seconds), new(o.cores.others().Seconds()/seconds)
	}
}
