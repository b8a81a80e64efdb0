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

// Progress is what a row is doing, for a display; read it at any time.
type Progress struct {
	Sent, Done, Failed atomic.Int64
	Tokens             atomic.Int64 // output tokens of the requests that are done

	Meter *openai.TokenCounter // counts the tokens as they come, where who looks sets it before the row begins; nil = nobody counts
	Each  func(*record.Record) // likewise, takes every record as its request ends, from one goroutine; it must not keep it. nil = nobody does

	begun  atomic.Pointer[time.Time]
	ended  atomic.Pointer[time.Time]
	phase  atomic.Int64 // of the latest request that was sent
	first  [2]digest    // intended arrival to first token, of good requests: of the warm-up, of the window
	behind digest       // lag of all requests
}

// Reading is what a Progress says at one moment. It is for the eye: no figure of the results is made of it.
type Reading struct {
	Begun    time.Time // of the load; zero: connections are opened, prefixes primed
	Ended    time.Time // of the load; zero: it goes on. Behind it the row is summarized, which may take a while
	Phase    string    // of the latest request sent: PhaseWarmup, PhaseWindow or PhaseCooldown
	Sent     int
	Done     int
	Failed   int
	InFlight int
	Tokens   int // output tokens of the requests that are done

	// First is from the intended arrival to the first token, without streaming to the end of the answer; of the good requests
	// of the window, or as long as it has none of the warm-up.
	First Glance
	Lag   Glance
}

// Glance is a latency so far, in ms, its percentiles within half a percent.
type Glance struct {
	N             int
	P50, P99, Max float64 // P50 and P99 are NaN for a sample that is too small to have a bound there
}

// Read says how the row fares now.
func (p *Progress) Read() Reading {
	r := Reading{
		Phase: phases[p.phase.Load()], Sent: int(p.Sent.Load()), Done: int(p.Done.Load()), Failed: int(p.Failed.Load()),
		Tokens: int(p.Tokens.Load()), Lag: p.behind.glance(),
	}
	r.InFlight = max(0, r.Sent-r.Done)
	if begun := p.begun.Load(); begun != nil {
		r.Begun = *begun
	}
	if ended := p.ended.Load(); ended != nil {
		r.Ended = *ended
	}
	if r.First = p.first[load.Window].glance(); r.First.N == 0 {
		r.First = p.first[load.Warmup].glance()
	}
	return r
}

func (d *digest) glance() Glance {
	at := func(p float64) float64 {
		if stats.GradeOf(int(d.n.Load()), p) == stats.NoBound {
			return math.NaN()
		}
		return d.quantile(p) / record.UsPerMs
	}
	return Glance{N: int(d.n.Load()), P50: at(0.50), P99: at(0.99), Max: float64(d.max.Load()) / record.UsPerMs}
}

// loads says that the load begins.
func (p *Progress) loadStarted() { p.begun.Store(new(time.Now())) }

// rests says that the load is over.
func (p *Progress) loadEnded() { p.ended.Store(new(time.Now())) }

func (p *Progress) requestSent(job *load.Job) {
	p.phase.Store(int64(job.Phase))
	p.Sent.Add(1)
}

// over takes a request that has ended; it is called from one goroutine.
func (p *Progress) requestEnded(job *load.Job, r *record.Record, stream bool) {
	p.Tokens.Add(int64(r.OutputTokens))
	if !r.OK() && job.Phase != load.Cooldown {
		p.Failed.Add(1)
	}
	if job.Ready != openai.Never && job.Result.Sent != openai.Never {
		p.behind.add((job.Result.Sent - job.Ready).Microseconds())
	}
	end := r.First
	if !stream {
		end = r.Last
	}
	if at, ok := end.Get(); ok && r.OK() && job.Phase != load.Cooldown {
		from, _ := r.At.Get()
		p.first[job.Phase].add(at - from)
	}
	p.Done.Add(1)
}
