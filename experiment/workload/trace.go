package workload

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"bench/experiment/workload/trace"
)

// traced is the arrival process of a row that keeps the trace's own times.
const traced = "trace"

// Trace makes the requests of a row those of a trace, in their order: lengths and common beginnings
// of prompts; with arrival = "trace" their times too. The end of the trace ends the row.
type Trace struct {
	trace.Options
	SHA256 string `toml:"-" json:"sha256,omitempty"` // of the file: another content makes another point
	Head   Head   `toml:"-" json:"head,omitzero"`
}

// Head is what the first requests of a trace look like, of headRequests at most, as the row has them.
type Head struct {
	Format    string  `json:"format"`
	Timed     bool    `json:"timed"`
	Whole     int     `json:"whole,omitempty"` // requests of the trace; 0 = more than were looked at
	SpanS     float64 `json:"span_s"`          // from the start to the last of them
	RatePerS  float64 `json:"rate_per_s"`      // 0 = no times, or all at one moment
	Blocks    bool    `json:"blocks"`          // it says what prompts have in common
	StepS     float64 `json:"step_s"`          // that the times were rounded to; 0 = none shows, or the jitter took it away
	SameTime  float64 `json:"same_time"`       // share of requests with the time of the one before
	InputP50  float64 `json:"input_p50"`
	InputMax  float64 `json:"input_max"`
	OutputP50 float64 `json:"output_p50"`
	OutputMax float64 `json:"output_max"`
}

const headRequests = 10_000

// Look checks the options, and reads the file's hash and its first requests.
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
		problem, hint, _ := strings.Cut(err.Error(), "\nhint: ")
		if hint == "" {
			hint = "the name is relative to the working directory; bench trace FILE inspects a trace"
		}
		bad("trace.file", problem, hint)
	}
}

func (t *Trace) look(files *Files) (err error) {
	if t.SHA256, err = once(&files.hashes, t.File, func() (string, error) { return hashFile(t.File) }); err != nil {
		return fmt.Errorf("reading the trace: %w", err)
	}
	t.Head, err = once(&files.heads, t.Options, func() (Head, error) { return headOf(t.Options) })
	return err
}

// headOf reads the first requests of a trace.
func headOf(o trace.Options) (head Head, err error) {
	r, err := trace.Open(o, (&Plan{}).rand(streamJitter, 0)) // which times it draws is of no matter here
	if err != nil {
		return head, err
	}
	defer r.Close()
	report, err := trace.InspectFirst(r, headRequests)
	if err != nil {
		return head, err
	}
	if report.Requests == 0 {
		return head, errors.New("no request of the trace is kept\nhint: widen start, end and the filters")
	}
	head = Head{Format: report.Format, Timed: report.Timed, SpanS: report.SpanS, Blocks: report.Cache != nil,
		InputP50: report.Input.P50, InputMax: report.Input.Max, OutputP50: report.Output.P50, OutputMax: report.Output.Max}
	if report.Requests < headRequests {
		head.Whole = report.Requests
	}
	if a := report.Arrivals; a != nil {
		head.RatePerS, head.StepS, head.SameTime = a.PerS, a.StepS, a.SameTime
	}
	return head, nil
}

// hashFile reads a file, but not a pipe or a device: a trace is read more than once.
func hashFile(name string) (string, error) {
	info, err := os.Stat(name) // before it is opened: that of a pipe waits for a writer
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is not a file", name)
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

// String is the trace as people read it.
func (t *Trace) String() string { return filepath.Base(t.File) }

// OwnRate is the mean rate of arrivals that have one of their own: of a process, or of a trace's
// first requests; 0 = the row's is needed.
func (w *Workload) OwnRate() Rate {
	if w.Arrival.Process == traced && w.Trace != nil {
		return Rate(w.Trace.Head.RatePerS)
	}
	return w.Arrival.Rate()
}

// AtMost is how many requests the workload has, and how long they take to arrive; known is false where
// it has no end, or one that is not known before.
func (w *Workload) AtMost() (requests int, span time.Duration, known bool) {
	if w.Trace == nil || w.Trace.Head.Whole == 0 {
		return 0, 0, false
	}
	span = time.Duration(math.MaxInt64)
	if w.Arrival.Process == traced {
		span = time.Duration(w.Trace.Head.SpanS * float64(time.Second))
	}
	return w.Trace.Head.Whole, span, true
}

// checkTrace judges a row that has a trace.
func (w Workload) checkTrace(bad func(key, problem, hint string)) {
	only := w.only()
	switch {
	case len(w.Mix) > 0:
		bad("mix", "a row with a trace has no classes of its own", "remove mix, or make it a row of its own")
	case only.Input.set() || only.Output.set() || only.Pairs != nil:
		bad("trace", "the lengths are those of the trace", "remove input, output and pairs")
	case only.Prefix != nil || only.Session != nil:
		bad("trace", "prompts have in common what those of the trace have", "remove prefix and session")
	}
	if w.Arrival.Process != traced && (w.Trace.Speed != 0 || w.Trace.Jitter != 0) {
		bad("trace", "speed and jitter change the trace's times, which this row does not keep", `write arrival = "trace", or remove speed and jitter`)
	}
}

// checkTraced judges arrivals at a trace's times.
func (w Workload) checkTraced(bad func(key, problem, hint string)) {
	switch {
	case w.Trace == nil:
		bad("arrival", `arrival "trace" without a trace`, "write [row.trace] and below it file = \"trace.jsonl\"")
	case !w.Trace.Head.Timed:
		bad("arrival", "the trace has no times", "write rate = 4 in place of arrival")
	case w.Trace.Head.RatePerS == 0:
		bad("arrival", "the first requests of the trace come all at one moment", `write rate = "inf" in place of arrival`)
	case w.Rate != Rate(w.Trace.Head.RatePerS):
		bad("rate", "the times are those of the trace", "remove rate; speed = 2 in [row.trace] makes them twice as fast")
	}
}

// replay is where a plan stands in its trace.
type replay struct {
	r     *trace.Reader
	ahead trace.Entry // the request that comes next
	ready bool        // it is there
	given int         // requests so far
	err   error       // why nothing comes any more; io.EOF at the end
}

// open opens the trace from its start.
func (p *Plan) open() (*trace.Reader, error) {
	return trace.Open(p.w.Trace.Options, p.rand(streamJitter, 0))
}

// More says whether Next has another request. Plans are endless, but for those of a trace.
func (p *Plan) More() bool {
	t := p.replay
	if t == nil || t.ready {
		return true
	}
	if t.r == nil && t.err == nil {
		t.r, t.err = p.open()
	}
	if t.err == nil {
		t.ahead, t.err = t.r.Next()
	}
	t.ready = t.err == nil
	return t.ready
}

// Err is why the plan ended before its trace did; nil where it didn't.
func (p *Plan) Err() error {
	if p.replay == nil || p.replay.err == io.EOF {
		return nil
	}
	return p.replay.err
}

// Close lets go of the trace; a plan without one needs none.
func (p *Plan) Close() {
	if p.replay != nil && p.replay.r != nil {
		_ = p.replay.r.Close() // it was only read
	}
}

// replayed is the next request of the trace; behind its end an empty one.
func (p *Plan) replayed() Request {
	if !p.More() {
		return Request{Index: p.replay.given}
	}
	t := p.replay
	e := &t.ahead
	r := Request{Index: t.given, At: p.next.at, Input: e.Input, Output: e.Output, Session: e.Session, Turn: max(e.Turn-1, 0)}
	if p.w.Arrival.Process == traced {
		r.At = e.At
	} else {
		p.next = p.after(p.next)
	}
	r.Blocks = p.traceBlocks(e, t.r.Info.BlockTokens)
	t.ready = false
	t.given++
	return r
}

// traceBlocks cuts each block of the trace into ours: equal blocks of the trace are equal prompts,
// and a part of one is the beginning of the whole.
func (p *Plan) traceBlocks(e *trace.Entry, size int) []Block {
	if e.Blocks == nil {
		return p.fill(nil, e.Input, blockFresh, 0, uint64(p.replay.given), 1)
	}
	out := make([]Block, 0, e.Input/BlockTokens+len(e.Blocks))
	for i, id := range e.Blocks {
		out = p.fill(out, min(size, e.Input-i*size), blockTrace, id)
	}
	return out
}

// allReplayed gives the requests of the trace from the next one on; the plan stays where it is.
func (p *Plan) allReplayed(yield func(Request) bool) {
	walk := *p
	walk.replay = &replay{}
	for walk.replay.given < p.replay.given && walk.More() {
		walk.replay.ready = false
		walk.replay.given++
	}
	for walk.More() && yield(walk.Next()) {
	}
	walk.Close()
}

// traceArrivals gives the times of the trace from the next request on.
func (p *Plan) traceArrivals(yield func(time.Duration) bool) {
	r, err := p.open()
	if err != nil {
		return // More meets it too, and Err says it
	}
	defer r.Close()
	for i := 0; ; i++ {
		e, err := r.Next()
		if err != nil || i >= p.replay.given && !yield(e.At) {
			return
		}
	}
}
