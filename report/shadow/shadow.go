// Package shadow compares a server A, which answered live requests, with a candidate B, which got copies of some. Each
// figure is tested over pairs of a request and its copy, whose conversations stay together; the gated figures share
// most of one risk of a false alarm. It reads a recording and sends nothing.
package shadow

import (
	"math"
	"slices"
	"sync"
	"time"

	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/live/recording"
	"bench/report/compare"
)

// Schema is the schema name in a Comparison's JSON.
const Schema = "bench/shadow/v1"

// Comparison compares a server A, which answered live requests, with a candidate B, which got copies of some.
type Comparison struct {
	Schema   string  `json:"schema"`
	Share    float64 `json:"share"` // of the conversations, 0 to 1
	Pairs    int     `json:"pairs"` // requests with an outcome on both sides, after the warm-up
	Sessions int     `json:"sessions"`
	// LeftOut are copies that no figure, or none of the latencies, uses.
	LeftOut []LeftOut `json:"left_out"`
	Figures []Figure  `json:"figures"`        // the gated ones first
	Load    [2]Load   `json:"load"`           // of A and B, from the first copy to the last
	LateP99 *float64  `json:"copy_delay_p99"` // ms from A's request to its copy; null: no pair
	Risk    float64   `json:"risk"`           // of a false alarm over all figures
	Decided bool      `json:"decided"`        // every gated figure has a verdict at this risk
	// why copying ended; empty: it did not, or the recording was killed
	Stopped  string           `json:"stopped"`
	Copies   recording.Copies `json:"copies"`
	Findings []record.Finding `json:"findings"` // cautions and notes
}

// Reasons of LeftOut.
const (
	Warmup = "warm-up"       // the copy was sent in B's warm-up
	Left   = "caller left"   // before A's answer ended; the copy was cancelled
	Unread = "answer unread" // it has an encoding that is not read, or is too large
	// in flight when copying was stopped, or at the end: neither an answer nor a failure
	Cut     = "copy cut"
	Late    = "copy late"    // the copy was sent more than a second after A's request
	Failed  = "failed"       // on a side: the error rate counts it, latencies do not
	Blocked = "slow caller"  // the caller took no bytes for a while, which delays the reading of A's answer
	TooMany = "beyond limit" // of the pairs that fit into memory
)

// reasons are in the order of Reasons; those from Failed on count for the error rate.
var reasons = []string{Warmup, Left, Unread, Cut, Late, TooMany, Failed, Blocked}

// LeftOut counts copies by the reason for which they are not compared.
type LeftOut struct {
	Reason        string `json:"reason"`
	Copies        int    `json:"copies"`
	LatenciesOnly bool   `json:"latencies_only,omitempty"` // the error rate counts them
}

const (
	// mostPairs is how many pairs are kept: 50 MiB, and ten seconds of a comparison.
	mostPairs = 1 << 18
	// latestCopy is the longest time from A's request to its copy: after it B's load is another.
	latestCopy = time.Second
	// A caller who reads slowly delays the reading of A's answer. Up to the larger of these it does not matter.
	leastBlockedUs = 10_000
	blockedShare   = 0.01 // of E2E
)

// Pairs collects the requests of a recording for the comparison with the candidate. It is safe for concurrent
// use, so that a comparison can be made while requests end. Its memory is bounded. The zero value is ready to use.
type Pairs struct {
	Header recording.Header // set before Compare is called

	mu          sync.Mutex
	pairs       []pair // in order of their ends; entries never change
	firstCopyUs int64
	lastCopyUs  int64
	copies      int
	beyond      int
	load        loadBins // of A
}

// pair is what a comparison needs of a request and its copy: of A, then of B.
type pair struct {
	sent    [2]int64 // µs since the start
	busy    [2]int64 // µs to the end
	session int
	turn    int
	failed  [2]bool
	left    bool
	unread  bool
	blocked bool
	values  [len(metrics)][2]float64 // NaN: none
	prompt  [2]int
	cached  [2]int // -1: not reported
}

var metrics = [...]string{"ttft", "tpot", "e2e", "output_tokens"}

// Add takes the next request in order of ends. It keeps nothing of x.
func (s *Pairs) Add(x *recording.Exchange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.load.add(&x.Request)
	if x.Shadow == nil {
		return
	}
	sent := copySent(x)
	s.copies++
	if s.copies == 1 || sent < s.firstCopyUs {
		s.firstCopyUs = sent
	}
	s.lastCopyUs = max(s.lastCopyUs, sent)
	if len(s.pairs) == mostPairs {
		s.beyond++
		return
	}
	s.pairs = append(s.pairs, newPair(x))
}

func newPair(x *recording.Exchange) pair {
	p := pair{session: x.Session, turn: x.Turn, sent: [2]int64{x.Request.Sent.Us(), copySent(x)}}
	for side, r := range []*record.Record{&x.Request, x.Shadow} {
		p.failed[side], p.left, p.unread = r.Failed(), p.left || r.Left(), p.unread || r.Outcome == ""
		p.busy[side] = max(0, r.End.Us()-p.sent[side])
		p.prompt[side], p.cached[side] = r.Prompt(), -1
		if r.CachedTokens != nil && r.PromptTokens != nil {
			p.cached[side] = *r.CachedTokens
		}
		for i := range metrics {
			p.values[i][side] = valueOf(r, metrics[i])
		}
	}
	if x.Request.Estimated != x.Shadow.Estimated { // counts of tokens differ in meaning
		for i, metric := range metrics {
			if metric == "tpot" || metric == "output_tokens" {
				p.values[i] = [2]float64{math.NaN(), math.NaN()}
			}
		}
	}
	e2e, _ := x.Request.Latency("e2e_from_send", true)
	p.blocked = float64(x.BlockedUs) >= max(leastBlockedUs, blockedShare*e2e*record.UsPerMs)
	return p
}

// copySent is when a copy was sent, in µs. One that found no connection was not: it counts from A's request.
func copySent(x *recording.Exchange) int64 {
	if at, ok := x.Shadow.Sent.Get(); ok {
		return at
	}
	return x.Request.Sent.Us()
}

// valueOf is a metric of a request in ms or tokens; NaN: it has none.
func valueOf(r *record.Record, metric string) float64 {
	if !r.OK() {
		return math.NaN()
	}
	switch metric {
	case "output_tokens":
		if r.OutputTokens > 0 {
			return float64(r.OutputTokens)
		}
		return math.NaN()
	case "ttft", "e2e":
		metric += "_from_send"
	}
	if ms, ok := r.Latency(metric, true); ok {
		return ms
	}
	return math.NaN()
}

// Compare compares what was added so far; nil: there is no candidate. Counts may lack what a killed process did not
// write.
func (s *Pairs) Compare(c recording.Counts) *Comparison {
	if s.Header.Recorded.Shadow == nil {
		return nil
	}
	s.mu.Lock()
	pairs, beyond, first := s.pairs, s.beyond, s.firstCopyUs
	out := &Comparison{Schema: Schema, Share: s.Header.Recorded.Shadow.Share, Findings: []record.Finding{},
		LeftOut: []LeftOut{}}
	out.Load = s.load.between(pairs, s.firstCopyUs, s.lastCopyUs)
	out.Copies = recording.Copies{Sent: s.copies, FirstUs: s.firstCopyUs}
	s.mu.Unlock()
	if c.Shadow != nil {
		out.Copies = *c.Shadow
	}
	out.Stopped = out.Copies.Stopped
	used, left := s.usable(pairs, first)
	left[TooMany], left[Cut] = beyond, out.Copies.Cut
	left[Unread] += out.Copies.Unread // of B: they have no pair
	out.compare(used, left)
	out.addFindings()
	return out
}

// usable are the pairs with an outcome on both sides, and the numbers of others by reason.
func (s *Pairs) usable(pairs []pair, firstCopyUs int64) (used []*pair, left map[string]int) {
	left = map[string]int{}
	warm := firstCopyUs + int64(s.Header.Recorded.Shadow.WarmupS*1e6)
	for i := range pairs {
		p := &pairs[i]
		switch {
		case p.sent[1] < warm:
			left[Warmup]++
		case p.left:
			left[Left]++
		case p.unread:
			left[Unread]++
		case p.sent[1]-p.sent[0] > latestCopy.Microseconds():
			left[Late]++
		default:
			used = append(used, p)
		}
	}
	return used, left
}

func (c *Comparison) compare(used []*pair, left map[string]int) {
	c.Risk, c.Pairs, c.Figures = compare.Risk, len(used), figuresOf(used)
	c.Decided = !slices.ContainsFunc(c.Figures,
		func(f Figure) bool { return f.Gated && f.Verdict == compare.Inconclusive })
	sessions := map[int]bool{}
	var delays []float64
	for _, p := range used {
		sessions[p.session] = true
		delays = append(delays, float64(p.sent[1]-p.sent[0])/record.UsPerMs)
		switch {
		case p.failed[0] || p.failed[1]:
			left[Failed]++
		case p.blocked:
			left[Blocked]++
		}
	}
	c.Sessions = len(sessions)
	if len(delays) > 0 {
		slices.Sort(delays)
		c.LateP99 = new(stats.Quantile(delays, 0.99))
	}
	for i, reason := range reasons {
		if n := left[reason]; n > 0 {
			c.LeftOut = append(c.LeftOut, LeftOut{reason, n, i >= slices.Index(reasons, Failed)})
		}
	}
}
