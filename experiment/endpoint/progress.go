package endpoint

import (
	"math"
	"sync/atomic"
	"time"

	"bench/experiment/load"
	"bench/experiment/openai"
	"bench/experiment/record"
	"bench/experiment/stats"
)

// Progress is the state of a running row, for a display. Read is safe at any time.
type Progress struct {
	Sent, Done, Failed atomic.Int64
	Tokens             atomic.Int64 // output tokens of the requests that have ended

	// Set before the row begins; nil: not used.
	Counter *openai.TokenCounter // counts tokens as they arrive
	Each    func(*record.Record) // gets every record as its request ends, from one goroutine; it must not keep it

	begun      atomic.Pointer[time.Time]
	ended      atomic.Pointer[time.Time]
	phase      atomic.Int64        // of the latest request that was sent
	firstToken [2]latencyHistogram // of good requests: of the warm-up, of the window
	lag        latencyHistogram    // of all requests
}

// Snapshot is a Progress at one moment. It is for display only: no result is made of it.
type Snapshot struct {
	Begun    time.Time // of the load; zero: connections are opened, prefixes primed
	Ended    time.Time // of the load; zero: it goes on. The summary of the row follows, which may take a while
	Phase    string    // of the latest request sent: PhaseWarmup, PhaseWindow or PhaseCooldown
	Sent     int
	Done     int
	Failed   int
	InFlight int
	Tokens   int // output tokens of the requests that have ended

	// FirstToken is from the intended arrival to the first token (without streaming, to the end of the answer)
	// of the good requests of the window; of the warm-up until the window has one.
	FirstToken LiveLatency
	Lag        LiveLatency
}

// LiveLatency is a latency so far, in ms; its percentiles are exact within half a percent.
type LiveLatency struct {
	N             int
	P50, P99, Max float64 // P50 and P99 are NaN if the sample is too small for a bound
}

// Snapshot is the progress now.
func (p *Progress) Snapshot() Snapshot {
	r := Snapshot{
		Phase: phases[p.phase.Load()], Sent: int(p.Sent.Load()), Done: int(p.Done.Load()), Failed: int(p.Failed.Load()),
		Tokens: int(p.Tokens.Load()), Lag: p.lag.read(),
	}
	r.InFlight = max(0, r.Sent-r.Done)
	if begun := p.begun.Load(); begun != nil {
		r.Begun = *begun
	}
	if ended := p.ended.Load(); ended != nil {
		r.Ended = *ended
	}
	if r.FirstToken = p.firstToken[load.Window].read(); r.FirstToken.N == 0 {
		r.FirstToken = p.firstToken[load.Warmup].read()
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
	return LiveLatency{N: n, P50: at(0.50), P99: at(0.99), Max: float64(h.max.Load()) / record.UsPerMs}
}

func (p *Progress) loadStarted() { p.begun.Store(new(time.Now())) }

func (p *Progress) loadEnded() { p.ended.Store(new(time.Now())) }

func (p *Progress) requestSent(job *load.Job) {
	p.phase.Store(int64(job.Phase))
	p.Sent.Add(1)
}

// requestEnded is called from one goroutine.
func (p *Progress) requestEnded(job *load.Job, r *record.Record, stream bool) {
	p.Tokens.Add(int64(r.OutputTokens))
	if !r.OK() && job.Phase != load.Cooldown {
		p.Failed.Add(1)
	}
	if job.Ready != openai.Never && job.Result.Sent != openai.Never {
		p.lag.add((job.Result.Sent - job.Ready).Microseconds())
	}
	end := r.First
	if !stream {
		end = r.Last
	}
	if us, ok := end.Get(); ok && r.OK() && job.Phase != load.Cooldown {
		from, _ := r.Arrival.Get()
		p.firstToken[job.Phase].add(us - from)
	}
	p.Done.Add(1)
}
