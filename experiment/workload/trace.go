package workload

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"time"

	"bench/experiment/prompts"
	"bench/experiment/trace"
)

const traced = "trace"

// Trace replays the requests of a trace in order: lengths and shared blocks, and with arrival = "trace" their
// times. The row ends with the trace.
type Trace struct {
	trace.Options
	Sessions
	SHA256 string `toml:"-" json:"sha256,omitempty"` // of the file: a file with other content makes another point
	Head   Head   `toml:"-" json:"head,omitzero"`
}

// Head describes the first requests of a trace, at most headRequests, after the options were applied.
type Head struct {
	Format   string  `json:"format"`
	Timed    bool    `json:"timed"`
	Grouped  bool    `json:"grouped,omitempty"` // requests belong to sessions, which the row replays
	Ends     bool    `json:"ends,omitempty"`    // the ends of requests are recorded, and the row replays sessions
	Whole    int     `json:"whole,omitempty"`   // requests of the trace; 0 = more than headRequests
	SpanS    float64 `json:"span_s"`            // from the start to the last of them
	RatePerS float64 `json:"rate_per_s"`        // 0 = no timestamps, or all equal
	Blocks   bool    `json:"blocks"`            // the trace has block hashes
	// step to which timestamps are rounded; 0 = no step found, or removed by jitter
	StepS     float64 `json:"step_s"`
	SameTime  float64 `json:"same_time"` // share of requests with the timestamp of the previous one
	InputP50  float64 `json:"input_p50"`
	InputMax  float64 `json:"input_max"`
	OutputP50 float64 `json:"output_p50"`
	OutputMax float64 `json:"output_max"`

	// mean requests of a session; 0 = the row replays no sessions
	SessionRequests float64 `json:"session_requests,omitempty"`
}

const headRequests = 10_000

func (t *Trace) Look(files *Files, bad func(key, problem, hint string)) {
	fine := true
	t.Check(func(key, problem, hint string) {
		fine = false
		bad("trace."+key, problem, hint)
	})
	if !fine {
		return
	}
	if err := t.look(files); err != nil {
		prompts.Report(err, "trace.file", "bench trace FILE inspects a trace", bad)
	}
}

func (t *Trace) look(files *Files) (err error) {
	if t.SHA256, err = once(&files.hashes, t.File, func() (string, error) { return HashFile(t.File) }); err != nil {
		return fmt.Errorf("reading the trace: %w", err)
	}
	t.Head, err = once(&files.heads, t.Options, func() (Head, error) { return headOf(t.Options) })
	if t.Replay == replayRequests || t.Replay == "" && !t.replaysSessions() {
		// rows without sessions stay the same points
		t.Head.Grouped, t.Head.Ends, t.Head.SessionRequests = false, false, 0
	}
	return err
}

func headOf(o trace.Options) (head Head, err error) {
	r, err := trace.Open(o, seeds{}.rand(streamJitter, 0)) // any random stream will do
	if err != nil {
		return head, err
	}
	defer r.Close()
	report, err := trace.Inspect(r, headRequests)
	if err != nil {
		return head, err
	}
	head = Head{Format: report.Format, Timed: report.Timed, Grouped: report.Grouped, Ends: report.Ends,
		SpanS: report.SpanS, Blocks: report.Cache != nil,
		InputP50: report.Input.P50, InputMax: report.Input.Max, OutputP50: report.Output.P50,
		OutputMax: report.Output.Max}
	if report.Requests < headRequests {
		head.Whole = report.Requests
	}
	if report.Sessions != nil {
		head.SessionRequests = report.Sessions.MeanTurns
	}
	if a := report.Arrivals; a != nil {
		head.RatePerS, head.StepS, head.SameTime = a.PerS, a.StepS, a.SameTime
	}
	return head, nil
}

// HashFile is the SHA-256 of a regular file, in hex. A trace is read more than once, which a pipe or a device does not
// allow.
func HashFile(name string) (string, error) {
	if _, err := prompts.Regular(name); err != nil {
		return "", err
	}
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func (t *Trace) String() string { return filepath.Base(t.File) }

// RequestsPerSession is the mean number of requests of a trace's sessions; 1 if the row does not replay sessions.
func (w *Workload) RequestsPerSession() float64 {
	if !w.ReplaysSessions() {
		return 1
	}
	return max(w.Trace.Head.SessionRequests, 1)
}

// OwnRate is the mean rate of a process that sets its own rate, or of a trace's first requests (with sessions: of
// sessions); 0 = the row's rate applies.
func (w *Workload) OwnRate() Rate {
	if w.Arrival.Process == traced && w.Trace != nil {
		return Rate(w.Trace.Head.RatePerS / w.RequestsPerSession())
	}
	return w.Arrival.Rate()
}

// AtMost is the number of requests of the workload and the time span of their arrivals; known is false if the
// workload is endless, or if the trace has more than headRequests.
func (w *Workload) AtMost() (requests int, span time.Duration, known bool) {
	if w.Trace == nil || w.Trace.Head.Whole == 0 || w.Trace.Repeat {
		return 0, 0, false
	}
	span = time.Duration(math.MaxInt64)
	if w.Arrival.Process == traced && !w.ReplaysSessions() {
		span = time.Duration(w.Trace.Head.SpanS * float64(time.Second))
	}
	return w.Trace.Head.Whole, span, true
}

func checkTrace(w *Workload, bad mistakes) {
	switch {
	case len(w.Mix) > 0:
		bad("mix", "a row with a trace cannot have a mix", "remove mix, or make it a separate row")
	case w.Input.set() || w.Output.set() || w.Pairs != nil:
		bad("trace", "the trace sets the lengths", "remove input, output and pairs")
	case w.Prefix != nil || w.Session != nil || w.Prompts != nil:
		bad("trace", "the trace sets which prompts share blocks", "remove prefix, prompts and session")
	}
	if w.Arrival.Process != traced && (w.Trace.Speed != 0 || w.Trace.Jitter != 0) {
		bad("trace", "speed and jitter require arrival = \"trace\"",
			`write arrival = "trace", or remove speed and jitter`)
	}
	w.Trace.checkSessions(w, bad)
}

func checkTraced(w *Workload, bad mistakes) {
	switch {
	case w.Trace == nil:
		bad("arrival", `arrival = "trace" requires a trace`, "add [row.trace] with file = \"trace.jsonl\"")
	case !w.Trace.Head.Timed:
		bad("arrival", "the trace has no timestamps", "replace arrival by rate = 4")
	case w.Trace.Head.RatePerS == 0:
		bad("arrival", "the first requests of the trace all have the same timestamp", `replace arrival by rate = "inf"`)
	case w.Rate != w.OwnRate():
		bad("rate", "the trace sets the arrival times",
			"remove rate; speed = 2 in [row.trace] makes them twice as fast")
	}
}

// replay is where a plan stands in its trace.
type replay struct {
	of      *Trace
	seeds   seeds
	sampled int // first sessions that begin at a sampled point of their life; see For

	r     *trace.Reader
	ahead trace.Entry // the next request
	ready bool        // ahead is valid
	given int         // requests returned so far
	err   error       // why there is no next request; io.EOF at the end

	session  *Graph        // the next one; nil: not read
	at       time.Duration // its arrival by the trace
	sessions int           // read so far
	begun    int           // of them before the trace began anew for the last time
	pass     uint64        // times that it began anew
}

func (t *replay) open() (*trace.Reader, error) {
	return trace.Open(t.of.Options, t.seeds.rand(streamJitter, 0))
}

// More reports whether Next has another request. Only plans with a trace end.
func (p *Plan) More() bool { return p.replay == nil || p.replay.more() }

func (t *replay) more() bool {
	switch {
	case t.ready:
		return true
	case t.of.replaysSessions():
		return t.moreSessions()
	case t.r == nil && t.err == nil:
		t.r, t.err = t.open()
	}
	if t.err == nil {
		t.ahead, t.err = t.r.Next()
	}
	t.ready = t.err == nil
	return t.ready
}

// Err is the error that ended the plan before the end of its trace; nil if there was none.
func (p *Plan) Err() error {
	if p.replay == nil || p.replay.err == io.EOF {
		return nil
	}
	return p.replay.err
}

// Close closes the trace. A plan without a trace does not need it.
func (p *Plan) Close() {
	if p.replay != nil {
		p.replay.close()
	}
}

// replayed is the next request of the trace; after the end, an empty one.
func (p *Plan) replayed() Request {
	if p.w.ReplaysSessions() {
		return p.replayedSession()
	}
	if !p.More() {
		return Request{Index: p.replay.given}
	}
	t := p.replay
	e := &t.ahead
	r := Request{Index: t.given, At: p.next.at, Input: e.Input, Output: e.Output, Session: e.Session,
		Turn: max(e.Turn-1, 0), Model: p.model(0, t.given), LeaveAfter: p.leaves(0, t.given, 0)}
	if p.w.Arrival.Process == traced {
		r.At = e.At
	} else {
		p.next = p.after(p.next)
	}
	r.Blocks = p.traceBlocks(e, t.r.Info.BlockTokens, uint64(t.given), 0)
	t.ready = false
	t.given++
	return r
}

// traceBlocks splits each block of the trace into blocks of BlockTokens. Equal blocks of the trace give equal prompts,
// and a part of a block gives the beginning of the whole. A trace that began anew has other blocks in each pass.
func (s seeds) traceBlocks(e *trace.Entry, size int, index, pass uint64) []Block {
	if e.Blocks == nil {
		return s.fill(nil, e.Input, blockFresh, 0, index, 1)
	}
	out := make([]Block, 0, e.Input/BlockTokens+len(e.Blocks))
	for i, id := range e.Blocks {
		if pass > 0 {
			id = mix(id, pass)
		}
		out = s.fill(out, min(size, e.Input-i*size), blockTrace, id)
	}
	return out
}

// remaining is the trace read again, up to where the replay stands.
func (t *replay) remaining() *replay {
	rest := &replay{of: t.of, seeds: t.seeds, sampled: t.sampled}
	for rest.given < t.given && rest.more() {
		rest.skip()
	}
	return rest
}

func (t *replay) close() {
	if t.r != nil {
		_ = t.r.Close() // it was only read
	}
}

func (t *replay) skip() {
	if t.session == nil {
		t.ready = false
		t.given++
		return
	}
	t.given += len(t.session.nodes)
	t.session = nil
}

func (t *replay) arrivals(yield func(time.Duration) bool) {
	rest := t.remaining()
	defer rest.close()
	for rest.more() {
		at := rest.ahead.At
		if rest.session != nil {
			at = rest.at
		}
		if !yield(at) {
			return
		}
		rest.skip()
	}
}
