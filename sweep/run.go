package sweep

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"

	"bench/experiment"
	"bench/experiment/endpoint"
	"bench/experiment/record"
	"bench/experiment/telemetry"
)

// Options is what a run needs besides the matrix.
type Options struct {
	Out    string // results root; the run's directory is <Out>/<matrix>/<UTC start time>
	Resume string // the run's directory to go on with; empty = a new one
	Only   []string

	Server *endpoint.Server // reached; nil where the matrix varies it
	Bounds record.RooflineSource
	// Reach meets the server at an endpoint of the matrix, each time that it varies; and Guard is the command that servers are
	// started by (server.Config).
	Reach func(ctx context.Context, endpoint string) (*endpoint.Server, record.RooflineSource, error)
	Guard []string

	Client  record.ClientInfo
	Command []string // the command line, its secrets taken out
	Once    bool     // the command line can't resume a run: no hint says so
	// Ends ends the row in progress in order: its result is whole, and the rows after it run. Rows with until = "stopped" need it.
	Ends context.Context
	// AcceptServerChange redoes every row when the server is not the one of the run to resume.
	AcceptServerChange bool
	// Event is told what happens, from one goroutine; nil = nobody wants to know.
	Event func(Event)
}

// Event is a step of a run: exactly one of the pointers is set.
type Event struct {
	Starting *Starting
	Started  *Started
	Begun    *Begun
	Finished *Finished
	Found    *record.Found // a search that is over
}

// Starting is a server that is being started.
type Starting struct {
	N       int // counts from 1
	Variant string
	Log     string // its file
}

// Started opens a run.
type Started struct {
	Dir         string
	Total, Kept int // rows in the plan, and those that are there already
}

// Begun is a row that starts.
type Begun struct {
	Index, Total int // counts from 1, kept rows included
	Spec         *experiment.Spec
	ID           string
	Progress     *endpoint.Progress
}

// Finished is a row that is on disk.
type Finished struct {
	Index, Total int
	Row          *record.Row
	Kept         bool // it was there already
}

// Result is how a run ended.
type Result struct {
	Dir       string
	Manifest  record.Manifest
	AllFailed []string // rows without a single completed request
}

// ResumeError refuses a directory that can't be resumed, or not with this matrix.
type ResumeError struct{ text string }

func (e *ResumeError) Error() string { return e.text }

// ServerChangedError refuses to mix two servers in one run.
type ServerChangedError struct{ Was, Is string }

func (e *ServerChangedError) Error() string {
	return fmt.Sprintf("the server is not the one of this run (identity %s, was %s)\nhint: --accept-server-change redoes every row; without --resume a run of its own begins", e.Is, e.Was)
}

// run is the state of one Run.
type run struct {
	Options
	m        *Matrix
	secrets  secrets // of the matrix's text
	dir      directory
	manifest record.Manifest
	todo     []record.Planned // what this attempt reports or runs, in order
	next     int              // of todo
	begun    bool             // the manifest is written
	specs    map[string]*experiment.Spec
	searches map[string]*searching // by the IDs of their probes
	result   Result

	servers   []record.ServerStart   // of all attempts
	unstarted map[string]*startError // variants whose server did not start, until their rows have been passed
	serving   *record.ServerStart    // the one that is there now; nil: the matrix does not vary it
	before    *record.Manifest       // of the run to resume, or zero
}

// Run executes the matrix's points that are not there yet. Its error is ctx's after an
// interruption; finished rows are kept then, and the run can be resumed. A result beside an error
// says what is there.
func Run(ctx context.Context, m *Matrix, o Options) (*Result, error) {
	if o.Event == nil {
		o.Event = func(Event) {}
	}
	r := &run{Options: o, m: m, secrets: findSecrets(m.Text), specs: map[string]*experiment.Spec{}, searches: map[string]*searching{},
		unstarted: map[string]*startError{}}
	for i := range m.Points {
		r.specs[ID(&m.Points[i])] = &m.Points[i]
	}
	if err := r.open(); err != nil {
		return nil, err
	}
	unlock, err := r.dir.lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	err = r.all(ctx)
	if !r.begun {
		if r.Resume == "" {
			r.dir.discard()
		}
		return nil, err
	}
	r.result.Dir = r.dir.path
	return &r.result, errors.Join(err, r.end(err))
}

// all runs what is not there, on the one server or on each of several.
func (r *run) all(ctx context.Context) error {
	if r.m.Varies() {
		return r.variants(ctx)
	}
	if err := r.begin(); err != nil {
		return err
	}
	r.Server.Observe(ctx, r.m.Telemetry, r.Bounds)
	return r.rows(ctx)
}

// announce says what is to be done.
func (r *run) announce() {
	done := 0
	for _, p := range r.todo {
		if p.State == "done" {
			done++
		}
	}
	r.Event(Event{Started: &Started{Dir: r.dir.path, Total: len(r.todo), Kept: done}})
}

// rows runs what is not there, up to a row that wants another server.
func (r *run) rows(ctx context.Context) error {
	for ; r.next < len(r.todo); r.next++ {
		if err := r.passUnstarted(); err != nil || r.next == len(r.todo) {
			return err
		}
		i, p, total := r.next, r.todo[r.next], len(r.todo)
		if row, ok := r.kept(p); ok {
			r.Event(Event{Finished: &Finished{Index: i + 1, Total: total, Row: row, Kept: true}})
			continue
		}
		s := r.specs[p.ID]
		if r.serving != nil && s.Variant != r.serving.Variant {
			return nil
		}
		row, err := r.row(ctx, s, p, i+1, total)
		if err != nil {
			return err
		}
		found := r.probed(row)
		if err := r.mark(p.ID, row); err != nil {
			return err
		}
		r.Event(Event{Finished: &Finished{Index: i + 1, Total: total, Row: row}})
		if found != nil {
			r.Event(Event{Found: found})
		}
		if row.ServerLost { // going on would only collect more of the same
			return fmt.Errorf("%s: no request reached the server any more: %s\nhint: %s", p.ID, firstError(row), r.again("bring it up again"))
		}
	}
	return nil
}

// again is a hint of what to do, and how to go on then.
func (r *run) again(first string) string {
	if r.Once {
		return first + ", then run it again"
	}
	return first + ", then go on with --resume " + r.dir.path
}

func firstError(row *record.Row) string {
	for _, d := range row.Findings {
		if d.Code == "errors" {
			return d.Text
		}
	}
	return "see its records"
}

// row measures one point and makes it whole on disk.
func (r *run) row(ctx context.Context, s *experiment.Spec, p record.Planned, index, total int) (*record.Row, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := r.dir.reserve(); err != nil {
		return nil, fmt.Errorf("%w\nhint: %s", err, r.again("free some space"))
	}
	// What a changed spec replaces goes first: its summary must never stand beside other records.
	if err := os.Remove(r.dir.file(p.ID + ".json")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("replacing %s: %w", p.ID, err)
	}
	records, err := begin(r.dir, p.ID+recordsSuffix, record.NewRecordWriter)
	if err != nil {
		return nil, err
	}
	samples, err := begin(r.dir, p.ID+telemetrySuffix, telemetry.NewWriter)
	if err != nil {
		records.abandon()
		return nil, err
	}
	progress := &endpoint.Progress{}
	r.Event(Event{Begun: &Begun{Index: index, Total: total, Spec: s, ID: p.ID, Progress: progress}})
	try := endpoint.RunConfig{
		Spec: s, ID: p.ID, Salt: r.salt(p.ID), Bounds: r.Bounds, Each: records.w.Write, Sample: samples.w.Write, Progress: progress, Ends: r.Ends,
	}
	tidy, err := r.spool(&try, records)
	defer tidy()
	var row *record.Row
	if err == nil {
		row, err = r.Server.Run(ctx, try)
	}
	if err != nil {
		records.abandon()
		samples.abandon()
		return nil, r.full(err)
	}
	if err := errors.Join(samples.finish(), records.finish()); err != nil {
		return nil, r.full(err)
	}
	row.SpecHash = p.SpecHash
	if r.serving != nil {
		row.Server.Start = r.serving.N
	}
	row.Sampling = r.secrets.hideIn(row.Sampling)
	for class, own := range row.ClassSampling {
		row.ClassSampling[class] = r.secrets.hideIn(own)
	}
	return row, r.full(r.dir.writeJSON(p.ID+".json", row))
}

// spool has a row that may be very long leave its records and samples on disk while it runs. tidy takes away what is needed no longer.
func (r *run) spool(try *endpoint.RunConfig, records *stream[*record.RecordWriter]) (tidy func(), err error) {
	if !try.Spec.Spools() {
		return func() {}, nil
	}
	f, err := os.Create(r.dir.file(try.ID + scratchSuffix))
	if err != nil {
		return func() {}, fmt.Errorf("making a file for samples: %w", err)
	}
	try.Scratch = f
	try.Reread = func(each func(*record.Record) error) error { return reread(records, each) }
	return func() {
		_ = f.Close() // it was read to its end, or nobody needs it
		_ = os.Remove(f.Name())
	}, nil
}

// reread gives the records of the row in progress again; no more can be written after it.
func reread(records *stream[*record.RecordWriter], each func(*record.Record) error) error {
	if err := records.end(); err != nil {
		return err
	}
	f, err := os.Open(records.f.Name())
	if err != nil {
		return fmt.Errorf("reading %s again: %w", records.name, err)
	}
	defer f.Close()
	return record.ReadRecords(f, each)
}

// full adds what helps to the error of a disk that filled up in the course of a row.
func (r *run) full(err error) error {
	if errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("%w\nhint: %s", err, r.again("free some space"))
	}
	return err
}

// salt makes the prompts of every row, repeat, run and attempt unlike all others.
func (r *run) salt(id string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%s/%d", r.manifest.Salt, id, len(r.manifest.Attempts)))
	return hex.EncodeToString(sum[:6])
}

func (r *run) mark(id string, row *record.Row) error {
	for i := range r.manifest.Plan {
		if r.manifest.Plan[i].ID != id {
			continue
		}
		r.manifest.Plan[i].State = "done"
		if row.AllFailed() || row.ServerLost {
			r.manifest.Plan[i].State = "failed"
			r.manifest.Plan[i].Error = firstError(row)
		}
		if row.AllFailed() && row.Spec.Search == nil { // to a search it is an answer
			r.result.AllFailed = append(r.result.AllFailed, id)
		}
	}
	r.manifest.Searches = r.found()
	return r.dir.writeJSON(manifestFile, &r.manifest)
}

// end closes the manifest of this attempt.
func (r *run) end(err error) error {
	state := "done"
	switch {
	case endpoint.Interrupted(err):
		state = "interrupted"
	case err != nil || len(r.result.AllFailed) > 0:
		state = "failed"
	}
	now := time.Now().UTC()
	r.manifest.State, r.manifest.EndedAt = state, now
	last := &r.manifest.Attempts[len(r.manifest.Attempts)-1]
	last.EndedAt, last.Ended = now, state
	r.result.Manifest = r.manifest
	return r.dir.writeJSON(manifestFile, &r.manifest)
}
