package sweep

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"bench/experiment"
	"bench/experiment/endpoint"
	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/server"
	"bench/experiment/telemetry"
	"bench/experiment/text"
)

type Options struct {
	Out    string   // directory for results; the run's directory is <Out>/<matrix>/<UTC start time>
	Resume string   // directory of the run to complete; empty = a new run
	Only   []string // globs of the rows to run; empty = all (Match)

	Server   *endpoint.Server // already reached; nil if the matrix has several
	Reached  time.Duration    // how long that took
	Roofline record.RooflineSource
	// Reach connects to the server of a variant, each time that the server changes. Guard is the command that
	// starts servers (server.Config). Both are for a matrix that varies its server.
	Reach func(ctx context.Context, v *Variant) (*endpoint.Server, record.RooflineSource, error)
	Guard []string
	// Withhold are variables of the environment that servers do not inherit. Secrets are masked in their logs, beside
	// those of the matrix.
	Withhold []string
	Secrets  server.Secrets
	// Predicted: the servers run in virtual time (endpoint.Predicted), and none is started; nil = measured.
	Predicted *record.Prediction

	Client   record.ClientInfo
	Command  []string         // command line without secrets
	Workers  endpoint.Workers // other processes that send the load; nil = this one sends it
	NoResume bool             // the command cannot resume a run: hints do not offer it
	// Ends, when it is done, closes the window of the row in progress, whose result is whole; later rows run.
	// Rows with until = "stopped" need it.
	Ends context.Context
	// AcceptServerChange redoes every row if the server is not the one of the run to resume.
	AcceptServerChange bool
	// Takes is the expected duration of a row, for a budget; nil = its stated phases.
	Takes func(*experiment.Spec) time.Duration
	// Prior orders the settings of a race, more is better; nil = none.
	Prior []float64
	// Event receives each step of the run, from one goroutine; nil = none.
	Event func(Event)
}

type Result struct {
	Dir       string
	Manifest  record.Manifest
	AllFailed []string // rows without a single completed request
}

// ResumeError is the error of a directory that cannot be resumed, or not with this matrix.
type ResumeError struct{ text string }

func (e *ResumeError) Error() string { return e.text }

type run struct {
	Options
	m        *Matrix
	secrets  secrets // in the text of the matrix
	dir      directory
	manifest record.Manifest
	todo     []record.Planned // rows that this attempt runs or keeps, in order
	next     int              // index in todo
	begun    bool             // the manifest of this attempt is written
	specs    map[string]*experiment.Spec
	searches map[string]*searching // by ID of a probe
	ran      map[string][]loadRan  // by series: the loads that ran
	racing   *racing               // of the settings; nil = all of them run
	result   Result

	spentBefore time.Duration // by earlier attempts

	servers   []record.ServerStart   // starts of all attempts
	unstarted map[string]*startError // by variant
	abandoned map[string]int         // by variant whose server runs on: requests that its rows gave up
	serving   *record.ServerStart    // the current one; nil: the matrix has one server
	before    *record.Manifest       // manifest of the run to resume, or zero
	changed   Changed
	watch     stopwatch
	replaced  []file // of the run to resume, by rows that were evaluated again; run.json is the last
}

// Run runs the points of the matrix that have no result yet. After an interruption the error is ctx's;
// finished rows are kept, and the run can be resumed. A result can stand beside an error.
func Run(ctx context.Context, m *Matrix, o Options) (*Result, error) {
	if o.Event == nil {
		o.Event = func(Event) {}
	}
	r := &run{
		Options: o, m: m, secrets: findSecrets(m.Text), specs: map[string]*experiment.Spec{},
		searches: map[string]*searching{}, ran: map[string][]loadRan{}, unstarted: map[string]*startError{},
		abandoned: map[string]int{},
	}
	r.watch.since = time.Now().Add(-o.Reached)
	for i := range m.Points {
		r.specs[ID(&m.Points[i])] = &m.Points[i]
	}
	if err := r.open(); err != nil {
		return nil, err
	}
	if err := r.budgetSpent(); err != nil {
		return nil, err
	}
	unlock, err := r.dir.lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err = r.all(ctx); err == nil {
		err = r.nothingFits()
	}
	if !r.begun {
		if r.Resume == "" {
			r.dir.discard()
		}
		return nil, err
	}
	r.result.Dir = r.dir.path
	return &r.result, errors.Join(err, r.end(err))
}

func (r *run) all(ctx context.Context) error {
	if r.m.Tune != nil {
		return r.tune(ctx)
	}
	if r.m.Varies() {
		return r.variants(ctx)
	}
	err := r.prepare(ctx)
	r.watch.lap(&r.watch.spent.PrepareS)
	if err != nil {
		return err
	}
	if err := r.begin(); err != nil {
		return err
	}
	return r.rows(ctx)
}

func (r *run) announce() {
	done := 0
	for _, p := range r.todo {
		if p.State == "done" {
			done++
		}
	}
	r.Event(Event{Started: &Started{Dir: r.dir.path, Total: len(r.todo), Kept: done, Changed: r.changed,
		Spent: r.spent()}})
}

// rows runs the next rows without a result, up to a row of another server.
func (r *run) rows(ctx context.Context) error {
	for ; r.next < len(r.todo) || r.addRepeat(); r.next++ {
		if err := r.passUnstarted(); err != nil {
			return err
		}
		if r.next == len(r.todo) { // the budget may add repeats of other servers' rows
			r.next--
			continue
		}
		i, p, total := r.next, r.todo[r.next], len(r.todo)
		if row, ok := r.kept(p); ok {
			r.noteRan(row)
			r.Event(Event{Finished: &Finished{Index: i + 1, Total: total, Row: row, Kept: true}})
			continue
		}
		if err := r.scoutFor(ctx, &p); err != nil {
			return err
		}
		s := r.specs[p.ID]
		if reason := r.beyond(s); reason != "" {
			if err := r.skip(p, s, reason); err != nil {
				return err
			}
			continue
		}
		if s.Added == 0 && !r.fits(r.takes(s)) { // addRepeat adds what fits
			continue
		}
		if r.serving != nil && s.Variant != r.serving.Variant {
			return nil
		}
		row, err := r.attempts(ctx, s, p, i+1, total)
		if err != nil {
			return err
		}
		found := r.planNextProbe(row)
		r.noteRan(row)
		if err := r.mark(p.ID, row); err != nil {
			return err
		}
		r.Event(Event{Finished: &Finished{Index: i + 1, Total: total, Row: row}})
		if found != nil {
			r.Event(Event{Found: found})
		}
		if row.ServerLost { // later rows would fail too
			return fmt.Errorf("%s: no request reached the server any more: %s\nhint: %s",
				p.ID, firstError(row), r.resumeHint("restart it"))
		}
	}
	return nil
}

// resumeHint appends how to continue to the first step of a hint.
func (r *run) resumeHint(first string) string {
	if r.NoResume {
		return first + ", then run it again"
	}
	return first + ", then resume with --resume " + text.ShellWord(r.dir.path)
}

func firstError(row *record.Row) string {
	for _, d := range row.Findings {
		if d.Code == "errors" {
			return d.Text
		}
	}
	return "see its records"
}

func (r *run) row(ctx context.Context, s *experiment.Spec, p record.Planned, index, total int,
	salt string) (*record.Row, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := r.dir.reserve(); err != nil {
		return nil, fmt.Errorf("%w\nhint: %s", err, r.resumeHint("free some space"))
	}
	// The summary of an old spec is moved first: it must never stand beside the records of another.
	if err := r.replace(p.ID); err != nil {
		return nil, err
	}
	records, err := begin(r.dir, p.ID+record.RequestsSuffix, record.NewRecordWriter)
	if err != nil {
		return nil, err
	}
	samples, err := begin(r.dir, p.ID+record.TelemetrySuffix, telemetry.NewWriter)
	if err != nil {
		records.abandon()
		return nil, err
	}
	progress := &endpoint.Progress{}
	r.Event(Event{Begun: &RowEvent{Index: index, Total: total, Spec: s, ID: p.ID, Progress: progress}})
	config := endpoint.RunConfig{
		Spec: s, ID: p.ID, Salt: salt, Roofline: r.Roofline, Each: records.w.Write, Sample: samples.w.Write,
		Progress: progress, Stop: r.Ends, Workers: r.Workers,
	}
	if r.serving != nil {
		config.ServerStart = r.serving.N
	}
	tidy, err := r.spool(&config, records)
	defer tidy()
	var row *record.Row
	if err == nil {
		r.watch.lap(&r.watch.spent.OwnS)
		row, err = r.Server.Run(ctx, config)
	}
	if err != nil {
		r.watch.lap(&r.watch.spent.LostS)
		records.abandon()
		samples.abandon()
		return nil, r.diskFull(err)
	}
	r.watch.rowLap(row.Time, r.Predicted != nil)
	if err := errors.Join(samples.finish(), records.finish()); err != nil {
		return nil, r.diskFull(err)
	}
	row.Evidence = &record.Evidence{Requests: records.stored(), Telemetry: samples.stored()}
	row.SpecHash, row.Server.Attempt = p.SpecHash, len(r.manifest.Attempts)
	if r.serving != nil {
		row.Server.Start = r.serving.N
	}
	row.Sampling = r.secrets.hideIn(row.Sampling)
	for class, own := range row.ClassSampling {
		row.ClassSampling[class] = r.secrets.hideIn(own)
	}
	return row, r.diskFull(r.dir.writeRow(row))
}

// spool keeps the samples and records of a very long row on disk while it runs. tidy removes the samples.
func (r *run) spool(config *endpoint.RunConfig, records *stream[*record.RecordWriter]) (tidy func(), err error) {
	if !config.Spec.SpoolsRecords() {
		return func() {}, nil
	}
	f, err := os.Create(r.dir.file(config.ID + scratchSuffix))
	if err != nil {
		return func() {}, fmt.Errorf("making a file for samples: %w", err)
	}
	config.SampleFile = f
	config.Reread = func(each func(*record.Record) error) error { return reread(records, each) }
	return func() {
		_ = f.Close() // it has been read, or is not needed
		_ = os.Remove(f.Name())
	}, nil
}

// reread reads the records of the row in progress. No record can be written after it.
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

// diskFull adds a hint to the error of a disk that filled up during a row.
func (r *run) diskFull(err error) error {
	if errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("%w\nhint: %s", err, r.resumeHint("free some space"))
	}
	return err
}

// salt makes the prompts of each row, repeat, run and attempt unique, and of a row that workers cut before.
func (r *run) salt(id string, cuts int) string {
	text := fmt.Appendf(nil, "%s/%s/%d", r.manifest.Salt, id, len(r.manifest.Attempts))
	if cuts > 0 {
		text = fmt.Appendf(text, "/%d", cuts)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6])
}

func (r *run) mark(id string, row *record.Row) error {
	for i := range r.manifest.Plan {
		if r.manifest.Plan[i].ID != id {
			continue
		}
		p := &r.manifest.Plan[i]
		p.State, p.Skip, p.Reason, p.Point, p.SHA256 = "done", "", "", nil, ""
		if row.AllFailed() || row.ServerLost {
			r.manifest.Plan[i].State = "failed"
			r.manifest.Plan[i].Error = firstError(row)
		}
		if row.AllFailed() && row.Spec.Search == nil && r.m.Tune == nil { // for these it is an answer
			r.result.AllFailed = append(r.result.AllFailed, id)
		}
	}
	r.manifest.Searches, r.manifest.Budget = r.found(), r.budgetState(false)
	return r.writeManifest()
}

func (r *run) end(err error) error {
	state := "done"
	switch {
	case endpoint.Interrupted(err):
		state = "interrupted"
	case err != nil || len(r.result.AllFailed) > 0:
		state = "failed"
	}
	if state != "interrupted" {
		r.manifest.Twins = r.twins()
	}
	now := time.Now().UTC()
	r.manifest.State, r.manifest.EndedAt, r.manifest.Budget = state, now, r.budgetState(true)
	last := &r.manifest.Attempts[len(r.manifest.Attempts)-1]
	last.EndedAt, last.Ended = now, state
	r.result.Manifest = r.manifest
	return r.writeManifest()
}

// twins are fitted to the rows that have a result.
func (r *run) twins() []record.Twin {
	fitted := map[string]*series.Twin{} // by ID of a probe
	for id, k := range r.searches {
		if t := k.twin(); t != nil {
			fitted[id] = t
		}
	}
	var rows []record.Row
	for _, p := range r.manifest.Plan {
		if row, ok := r.dir.row(p.ID); ok && p.State == "done" {
			rows = append(rows, *row)
		}
	}
	return series.Twins(rows, r.manifest.Slots(), r.dir.requests, fitted, nil)
}
