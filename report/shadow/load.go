package shadow

import (
	"fmt"
	"math"

	"bench/experiment/record"
	"bench/experiment/unit"
)

// Load is what a server carried while copies were sent.
type Load struct {
	RequestsPerS float64  `json:"requests_per_s"`
	InFlight     float64  `json:"mean_in_flight"`
	HitRate      *float64 `json:"prefix_cache_hit_rate"` // of the copied requests; null: not reported
}

// loadBins are requests by the second in which they were sent.
type loadBins []loadBin

type loadBin struct {
	requests int
	busyUs   int64 // from send to end
}

// mostBins bounds the memory: 12 days.
const mostBins = 1 << 20

func (l *loadBins) add(r *record.Record) {
	sent, ok := r.Sent.Get()
	at := int(sent / 1e6)
	if !ok || at < 0 || at >= mostBins {
		return
	}
	for len(*l) <= at {
		*l = append(*l, loadBin{})
	}
	bin := &(*l)[at]
	bin.requests, bin.busyUs = bin.requests+1, bin.busyUs+max(0, r.End.Us()-sent)
}

// between is the load of A and B in the seconds from the first copy to the last.
func (l loadBins) between(pairs []pair, firstUs, lastUs int64) (load [2]Load) {
	if len(pairs) == 0 {
		return load
	}
	from, to := int(firstUs/1e6), int(lastUs/1e6)
	seconds := float64(to - from + 1)
	for at := max(0, from); at <= to && at < len(l); at++ {
		load[0].RequestsPerS += float64(l[at].requests) / seconds
		load[0].InFlight += float64(l[at].busyUs) / 1e6 / seconds
	}
	for i := range pairs {
		load[1].RequestsPerS += 1 / seconds
		within := int64(to+1)*1e6 - pairs[i].sent[1]
		load[1].InFlight += float64(max(0, min(pairs[i].busy[1], within))) / 1e6 / seconds
	}
	for side := range load {
		load[side].HitRate = hitRate(pairs, side)
	}
	return load
}

// hitRate is the share of the prompt tokens that a side had in its cache; nil: not reported.
func hitRate(pairs []pair, side int) *float64 {
	prompt, cached := 0, 0
	for i := range pairs {
		if p := &pairs[i]; p.cached[side] >= 0 && !p.failed[side] {
			prompt, cached = prompt+p.prompt[side], cached+p.cached[side]
		}
	}
	if prompt == 0 {
		return nil
	}
	return new(float64(cached) / float64(prompt))
}

// Limits of the cautions.
const (
	unlikeLoad    = 0.2  // relative difference of a load
	unlikeHitRate = 0.05 // difference of hit rates
	manyDropped   = 0.05 // of the copies
	manyCut       = 0.05
)

func (c *Comparison) addFindings() {
	a, b := c.Load[0], c.Load[1]
	add := func(s record.Severity, hint, text string, values ...any) {
		c.Findings = append(c.Findings,
			record.Finding{Code: "shadow", Severity: s, Text: fmt.Sprintf(text, values...), Hint: hint})
	}
	if c.Pairs == 0 {
		return
	}
	if math.Abs(b.InFlight-a.InFlight) > unlikeLoad*a.InFlight && a.InFlight > 0 {
		add(record.Caution, "give B a share of A's hardware, or raise --share to 100%",
			"B had %s requests in flight, A %s: on equal hardware the busier one is slower for that alone",
			unit.Brief(b.InFlight, 2), unit.Brief(a.InFlight, 2))
	}
	if a.HitRate != nil && b.HitRate != nil && math.Abs(*a.HitRate-*b.HitRate) > unlikeHitRate {
		add(record.Caution,
			"read the verdicts on first turns; warm B up for longer (--shadow-warmup), or raise --share",
			"prefix-cache hit rate of the copied requests: A %s, B %s: who caches less prefills more, which slows its "+
				"TTFT, TPOT and E2E", unit.Format(*a.HitRate, "share"), unit.Format(*b.HitRate, "share"))
	}
	if n := c.Copies.Dropped; float64(n) > manyDropped*float64(n+c.Copies.Sent) {
		add(record.Caution, "lower --share, or give B more capacity",
			"%s of the copies were dropped, most when B was busiest: B is slower than these figures",
			unit.Format(float64(n)/float64(n+c.Copies.Sent), "share"))
	}
	if n := c.Copies.Cut; float64(n) > manyCut*float64(c.Copies.Sent) {
		add(record.Caution, "if B stalls, look for the cause there",
			"%s of the copies were cut, in flight when copying was stopped or at the end: B's slowest answers are "+
				"among them", unit.Format(float64(n)/float64(c.Copies.Sent), "share"))
	}
	c.noteErrors(add)
	add(record.Note, "", "B's answers are thrown away: tools are called for A's answers alone")
}

// noteErrors is a caution if latencies lack many requests that failed on one side.
func (c *Comparison) noteErrors(add func(s record.Severity, hint, text string, values ...any)) {
	for i := range c.Figures {
		f := &c.Figures[i]
		if f.scale.IsShare() && f.Base != nil && math.Abs(*f.New-*f.Base) > f.Margin {
			add(record.Caution, "read the error rate before the latencies",
				"A failed %s of the requests, B %s: the latencies are of requests that both completed",
				unit.Format(*f.Base, "share"), unit.Format(*f.New, "share"))
		}
	}
}
