package endpoint

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"bench/experiment/load"
	"bench/experiment/measured"
	"bench/experiment/openai"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/telemetry"
)

// Progress is the state of a running row, for a display. Read is safe at any time.
type Progress struct {
	Sent, Done, Failed atomic.Int64
	sessions, over     atomic.Int64 // conversations and agent runs that have begun; that have ended
	Tokens             atomic.Int64 // output tokens of the requests that have ended

	// Set before the row begins; nil: not used.
	Counter *openai.TokenCounter // counts tokens as they arrive
	Each    func(*record.Record) // gets every record as its request ends, from one goroutine; it must not keep it

	inFlight atomic.Pointer[int64] // requests of workers, as they count them; nil: this process sends

	phase atomic.Int64 // of the latest request that was sent

	firstToken, tpot, itl phaseHistograms  // of good requests
	lag                   latencyHistogram // of all requests

	mu   sync.Mutex
	live Snapshot // without what stands above: no sender waits for the lock
}

func (p *Progress) change(how func(*Snapshot)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	how(&p.live)
}

type phaseHistograms [2]latencyHistogram

// read is the latency of the window, of the warm-up until the window has one.
func (h *phaseHistograms) read() LiveLatency {
	if l := h[load.Window].read(); l.N > 0 {
		return l
	}
	return h[load.Warmup].read()
}

// Snapshot is a Progress at one moment. It is for display only: no result is made of it.
type Snapshot struct {
	Begun    time.Time // of the load; zero: connections are opened, prefixes primed
	Settling int       // requests that the server has, while the row waits for it to finish them; 0: it does not wait
	Counting int       // real prompts whose tokens the server has counted, before the row; 0: it counts none
	Ended    time.Time // of the load; zero: it goes on. The summary of the row follows, which may take a while
	Phase    string    // of the latest request sent: PhaseWarmup, PhaseWindow or PhaseCooldown
	Sent     int
	Done     int
	Counted  int // of Done those of the window, without warm-up and cool-down
	Failed   int
	InFlight int
	Sessions int // conversations and agent runs that have begun
	Over     int // of them, ended
	Tokens   int // output tokens of the requests that have ended

	// Latencies of the good requests of the window; of the warm-up until the window has one. FirstToken is from the
	// intended arrival to the first token (without streaming, to the end of the answer). ITL counts gaps.
	FirstToken, TPOT, ITL LiveLatency
	Lag                   LiveLatency // of all requests
	Times                 measured.ClientTimes

	Server *telemetry.ServerReading // the latest; nil: none
}

// LiveLatency is a latency so far, in ms; its percentiles are exact within half a percent, and NaN if the sample is
// too small for a bound.
type LiveLatency struct {
	N                       int
	P50, P90, P95, P99, Max float64
}

func (p *Progress) Snapshot() Snapshot {
	p.mu.Lock()
	r := p.live
	p.mu.Unlock()
	r.Phase, r.Sent, r.Done = phases[p.phase.Load()], int(p.Sent.Load()), int(p.Done.Load())
	r.Failed, r.Tokens = int(p.Failed.Load()), int(p.Tokens.Load())
	r.Sessions, r.Over = int(p.sessions.Load()), int(p.over.Load())
	r.FirstToken, r.TPOT, r.ITL, r.Lag = p.firstToken.read(), p.tpot.read(), p.itl.read(), p.lag.read()
	r.InFlight = max(0, r.Sent-r.Done)
	if n := p.inFlight.Load(); n != nil { // records come after the workers' counts
		r.InFlight, r.Sent = int(*n), r.Done+int(*n)
	}
	return r
}

func (h *latencyHistogram) read() LiveLatency {
	n := int(h.n.Load())
	at := func(p float64) float64 {
		if n < stats.MinSamples(p, 0.95) {
			return math.NaN()
		}
		return h.quantile(p) / record.UsPerMs
	}
	return LiveLatency{N: n, P50: at(0.50), P90: at(0.90), P95: at(0.95), P99: at(0.99),
		Max: float64(h.max.Load()) / record.UsPerMs}
}

func (p *Progress) loadStarted() { p.change(func(s *Snapshot) { s.Begun = time.Now() }) }

func (p *Progress) loadEnded() { p.change(func(s *Snapshot) { s.Ended = time.Now() }) }

func (p *Progress) requestSent(job *load.Job) {
	p.phase.Store(int64(job.Phase))
	p.Sent.Add(1)
	if job.Request.InSession() && job.Request.Turn == 0 {
		p.sessions.Add(1)
	}
}

// Counts are the part of a Progress that only a worker can count.
type Counts struct {
	Sent     int64 `json:"sent"`
	Done     int64 `json:"done"`
	Sessions int64 `json:"sessions,omitempty"`
	Over     int64 `json:"over,omitempty"`
	Phase    int64 `json:"phase"` // of the latest request sent, from 0
}

func (p *Progress) Counts() Counts {
	return Counts{p.Sent.Load(), p.Done.Load(), p.sessions.Load(), p.over.Load(), p.phase.Load()}
}

func (p *Progress) Take(workers []Counts) {
	var sum Counts
	inFlight := int64(0)
	for _, c := range workers {
		inFlight += max(0, c.Sent-c.Done)
		sum.Sent += c.Sent
		sum.Sessions += c.Sessions
		sum.Over += c.Over
		sum.Phase = max(sum.Phase, min(c.Phase, int64(len(phases)-1)))
	}
	p.inFlight.Store(&inFlight)
	p.Sent.Store(sum.Sent)
	p.sessions.Store(sum.Sessions)
	p.over.Store(sum.Over)
	p.phase.Store(sum.Phase)
}

// requestEnded is called from one goroutine.
func (p *Progress) requestEnded(r *record.Record, stream bool) {
	p.Tokens.Add(int64(r.OutputTokens))
	p.change(func(s *Snapshot) {
		s.Times.Add(r)
		if r.Phase == record.PhaseWindow {
			s.Counted++
		}
	})
	counts := r.Phase != record.PhaseCooldown
	if r.Failed() && counts {
		p.Failed.Add(1)
	}
	if ms, ok := r.Latency("lag", true); ok {
		p.lag.add(int64(math.Round(ms * record.UsPerMs)))
	}
	if r.OK() && counts {
		p.addLatencies(load.Phase(slices.Index(phases[:], r.Phase)), r, stream)
	}
	p.Done.Add(1)
}

func (p *Progress) addLatencies(phase load.Phase, r *record.Record, stream bool) {
	end := r.First
	if !stream {
		end = r.Last
	}
	if us, ok := end.Get(); ok {
		from, _ := r.Arrival.Get()
		p.firstToken[phase].add(us - from)
	}
	if ms, ok := r.Latency("tpot", stream); ok {
		p.tpot[phase].add(int64(math.Round(ms * record.UsPerMs)))
	}
	if stream {
		for us := range r.Gaps.All() {
			p.itl[phase].add(us)
		}
	}
}

// latencyHistogram counts latencies in ranges that are 1 % wide. It takes 9 KiB for any number of values, and
// adding and reading never wait for each other, so that a display hardly costs anything.
type latencyHistogram struct {
	ranges [lastRange + 1]atomic.Uint32
	n      atomic.Int64
	max    atomic.Int64 // µs
}

// lastRange begins at 1.01^2315 µs, almost three hours.
const lastRange = 2316

// rangeOf is 0 below a microsecond.
func rangeOf(us int64) int {
	if us < 1 {
		return 0
	}
	return min(1+int(math.Log(float64(us))/math.Log(1.01)), lastRange)
}

// add is called from one goroutine.
func (h *latencyHistogram) add(us int64) {
	h.ranges[rangeOf(us)].Add(1)
	h.max.Store(max(h.max.Load(), us))
	h.n.Add(1)
}

// quantile is in µs, exact within half a percent; 0 without a value.
func (h *latencyHistogram) quantile(p float64) float64 {
	rank := int64(math.Ceil(p * float64(h.n.Load())))
	seen := int64(0)
	for i := range h.ranges {
		if seen += int64(h.ranges[i].Load()); seen >= rank && seen > 0 {
			if i == 0 {
				return 0
			}
			return min(math.Pow(1.01, float64(i)-0.5), float64(h.max.Load()))
		}
	}
	return 0
}
