package workload

import (
	"cmp"
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

// traced is the arrival process of a row that uses the trace's timestamps.
const traced = "trace"

// Trace replays the requests of a trace in order: lengths and shared blocks, and with arrival = "trace" their
// times. The row ends with the trace.
type Trace struct {
	trace.Options
	SHA256 string `toml:"-" json:"sha256,omitempty"` // of the file: a file with other content makes another point
	Head   Head   `toml:"-" json:"head,omitzero"`
}

// Head describes the first requests of a trace, at most headRequests, after the options were applied.
type Head struct {
	Format    string  `json:"format"`
	Timed     bool    `json:"timed"`
	Whole     int     `json:"whole,omitempty"` // requests of the trace; 0 = more than headRequests
	SpanS     float64 `json:"span_s"`          // from the start to the last of them
	RatePerS  float64 `json:"rate_per_s"`      // 0 = no timestamps, or all equal
	Blocks    bool    `json:"blocks"`          // the trace has block hashes
	StepS     float64 `json:"step_s"`          // step to which timestamps are rounded; 0 = no step found, or removed by jitter
	SameTime  float64 `json:"same_time"`       // share of requests with the timestamp of the previous one
	InputP50  float64 `json:"input_p50"`
	InputMax  float64 `json:"input_max"`
	OutputP50 float64 `json:"output_p50"`
	OutputMax float64 `json:"output_max"`
}

const headRequests = 10_000

// Look checks the options and reads the file's hash and first requests.
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
		bad("trace.file", problem, cmp.Or(hint, "the path is relative to the working directory; bench trace FILE inspects a trace"))
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
	r, err := trace.Open(o, (&Plan{}).rand(streamJitter, 0)) // any random stream will do
	if err != nil {
		return head, err
	}
	defer r.Close()
	report, err := trace.InspectFirst(r, headRequests)
	if err != nil {
		return head, err
	}
	if report.Requests == 0 {
		return head, errors.New("the window and the filters exclude every request of the trace\nhint: widen start, end and the filters")
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

// hashFile hashes a regular file. A trace is read more than once, which a pipe or a device does not allow.
func hashFile(name string) (string, error) {
	info, err := os.Stat(name) // before opening, since opening a pipe waits for a writer
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

// String is the file name for display.
func (t *Trace) String() string { return filepath.Base(t.File) }

// OwnRate is the mean rate of a process that sets its own rate, or of a trace's first requests; 0 = the row's
// rate applies.
func (w *Workload) OwnRate() Rate {
	if w.Arrival.Process == traced && w.Trace != nil {
		return Rate(w.Trace.Head.RatePerS)
	}
	return w.Arrival.Rate()
}

// AtMost is the number of requests of the workload and the time span of their arrivals; known is false if the
// workload is endless, or if the trace has more than headRequests.
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

// checkTrace checks a row that has a trace.
func (w Workload) checkTrace(bad func(key, problem, hint string)) {
	only := w.only()
	switch {
	case len(w.Mix) > 0:
		bad("mix", "a row with a trace cannot have a mix", "remove mix, or make it a separate row")
	case only.Input.set() || only.Output.set() || only.Pairs != nil:
		bad("trace", "the trace sets the lengths", "remove input, output and pairs")
	case only.Prefix != nil || only.Session != nil:
		bad("trace", "the trace sets which prompts share blocks", "remove prefix and session")
	}
	if w.Arrival.Process != traced && (w.Trace.Speed != 0 || w.Trace.Jitter != 0) {
		bad("trace", "speed and jitter require arrival = \"trace\"", `write arrival = "trace", or remove speed and jitter`)
	}
}

// checkTraced checks a row with arrival = "trace".
func (w Workload) checkTraced(bad func(key, problem, hint string)) {
	switch {
	case w.Trace == nil:
		bad("arrival", `arrival = "trace" requires a trace`, "add [row.trace] with file = \"trace.jsonl\"")
	case !w.Trace.Head.Timed:
		bad("arrival", "the trace has no timestamps", "replace arrival by rate = 4")
	case w.Trace.Head.RatePerS == 0:
		bad("arrival", "the first requests of the trace all have the same timestamp", `replace arrival by rate = "inf"`)
	case w.Rate != Rate(w.Trace.Head.RatePerS):
		bad("rate", "the trace sets the arrival times", "remove rate; speed = 2 in [row.trace] makes them twice as fast")
	}
}

// replay is the position of a plan in its trace.
type replay struct {
	r     *trace.Reader
	ahead trace.Entry // the next request
	ready bool        // ahead is valid
	given int         // requests returned so far
	err   error       // why there is no next request; io.EOF at the end
}

// open opens the trace at its start.
func (p *Plan) open() (*trace.Reader, error) {
	return trace.Open(p.w.Trace.Options, p.rand(streamJitter, 0))
}

// More reports whether Next has another request. Only plans with a trace end.
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

// Err is the error that ended the plan before the end of its trace; nil if there was none.
func (p *Plan) Err() error {
	if p.replay == nil || p.replay.err == io.EOF {
		return nil
	}
	return p.replay.err
}

// Close closes the trace. A plan without a trace does not need it.
func (p *Plan) Close() {
	if p.replay != nil && p.replay.r != nil {
		_ = p.replay.r.Close() // it was only read
	}
}

// replayed is the next request of the trace; after the end, an empty one.
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

// traceBlocks splits each block of the trace into blocks of BlockTokens. Equal blocks of the trace give equal
// prompts, and a part of a block gives the beginning of the whole.
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

// allReplayed yields the remaining requests of the trace; the plan keeps its position.
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

// traceArrivals yields the remaining times of the trace.
func (p *Plan) traceArrivals(yield func(time.Duration) bool) {
	r, err := p.open()
	if err != nil {
		return // More fails in the same way, and Err returns the error
	}
	defer r.Close()
	for i := 0; ; i++ {
		e, err := r.Next()
		if err != nil || i >= p.replay.given && !yield(e.At) {
			return
		}
	}
}
