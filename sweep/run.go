package sweep

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"bench/experiment"
)

// Options is what a run needs besides the matrix.
type Options struct {
	Out    string // results root; the run's directory is <Out>/<matrix>/<UTC start time>
	Resume string // the run's directory to go on with; empty = a new one
	Only   []string

	Server  *experiment.Server
	Bounds  experiment.Bounds
	Client  experiment.ClientInfo
	Command []string // the command line, its secrets taken out
	// AcceptServerChange redoes every row when the server is not the one of the run to resume.
	AcceptServerChange bool
	// Event is told what happens, from one goroutine.
	Event func(Event)
}

// Event is a step of a run: exactly one of the pointers is set.
type Event struct {
	Started  *Started
	Begun    *Begun
	Finished *Finished
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
	Progress     *experiment.Progress
}

// Finished is a row that is on disk.
type Finished struct {
	Index, Total int
	Row          *experiment.Row
	Kept         bool // it was there already
}

// Result is how a run ended.
type Result struct {
	Dir       string
	Manifest  experiment.Manifest
	AllFailed []string // rows without a single completed request
}

// ServerChangedError refuses to mix two servers in one run.
type ServerChangedError struct{ Was, Is string }

func (e *ServerChangedError) Error() string {
	return fmt.Sprintf("the server is not the one of this run (identity %s, was %s)\nhint: --accept-server-change redoes every row; without --resume a run of its own begins", e.Is, e.Was)
}

// run is the state of one Run.
type run struct {
	Options
	m        *Matrix
	dir      directory
	manifest experiment.Manifest
	redo     bool // of every row
	result   Result
}

// Run executes the matrix's points that are not there yet. Its error is ctx's after an
// interruption; finished rows are kept then, and the run can be resumed.
func Run(ctx context.Context, m *Matrix, o Options) (*Result, error) {
	r := &run{Options: o, m: m}
	if err := r.open(); err != nil {
		return nil, err
	}
	unlock, err := r.dir.lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := r.begin(); err != nil {
		return nil, err
	}
	err = r.rows(ctx)
	return &r.result, errors.Join(err, r.end(err))
}

// open finds or makes the run's directory.
func (r *run) open() error {
	if r.Resume != "" {
		r.dir = directory{filepath.Clean(r.Resume)}
		if err := r.dir.readJSON(manifestFile, &r.manifest); err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("%s holds no run: there is no %s in it\nhint: --resume takes the directory of one run, results/<matrix>/<start time>", r.Resume, manifestFile)
			}
			return err
		}
		if r.manifest.Schema != experiment.SchemaRun {
			return fmt.Errorf("%s: unknown schema %q", r.dir.file(manifestFile), r.manifest.Schema)
		}
		return nil
	}
	root := filepath.Join(r.Out, escape(r.m.Name))
	if err := os.MkdirAll(root, 0o755); err != nil {
		return fmt.Errorf("making the results directory: %w\nhint: choose another with --out DIR", err)
	}
	start := time.Now().UTC().Format("20060102T150405Z")
	for i := 1; ; i++ {
		name := start
		if i > 1 {
			name = fmt.Sprintf("%s-%d", start, i)
		}
		err := os.Mkdir(filepath.Join(root, name), 0o755)
		if errors.Is(err, fs.ErrExist) && i < 1000 {
			continue
		}
		if err != nil {
			return fmt.Errorf("making the results directory: %w\nhint: choose another with --out DIR", err)
		}
		r.dir = directory{filepath.Join(root, name)}
		return nil
	}
}

// begin fills the manifest for this attempt and writes it.
func (r *run) begin() error {
	now := time.Now().UTC()
	old := r.manifest
	server := r.Server.Info
	if was := old.Target.Identity; was != "" && was != server.Identity {
		if !r.AcceptServerChange {
			return &ServerChangedError{Was: was, Is: server.Identity}
		}
		r.redo = true
	}
	r.manifest = experiment.Manifest{
		Schema: experiment.SchemaRun, Run: filepath.Base(r.dir.path), Matrix: r.m.Name, MatrixFile: r.m.File,
		MatrixText: r.Server.Hide(r.m.Text), MatrixHash: r.m.Hash(), Hypothesis: r.m.Hypothesis, Notes: orEmpty(r.m.Notes),
		Command: r.Command, StartedAt: now, State: "running", Salt: old.Salt, Seed: r.m.Seed,
		Client: r.Client, Target: server, Facts: r.m.Target.Facts, NotStated: r.m.Target.NotStated(),
		Attempts: append(old.Attempts, experiment.Attempt{StartedAt: now, Command: r.Command, Bench: r.Client.Version}),
		Priced:   r.m.Target.GPUHourUSD,
	}
	if old.Salt == "" {
		r.manifest.Salt = rand.Text()[:16]
	} else {
		r.manifest.StartedAt = old.StartedAt
	}
	if err := r.plan(); err != nil {
		return err
	}
	return r.dir.writeJSON(manifestFile, &r.manifest)
}

// plan lists what is to be run, what is there, and what an earlier matrix left.
func (r *run) plan() error {
	planned := map[string]bool{}
	for i := range r.m.Points {
		s := &r.m.Points[i]
		picked, err := Match(s, r.Only)
		if err != nil {
			return err
		}
		p := experiment.Planned{ID: ID(s), Name: s.Name, SpecHash: r.hash(s), State: "planned"}
		_, there := r.kept(p)
		if there {
			p.State = "done"
		}
		if picked || there {
			r.manifest.Plan = append(r.manifest.Plan, p)
			planned[p.ID] = true
		}
	}
	if len(r.manifest.Plan) == 0 {
		return fmt.Errorf("no row matches --only %q\nhint: bench sweep --dry-run lists the rows", r.Only)
	}
	ids, err := r.dir.rowIDs()
	if err != nil {
		return fmt.Errorf("reading the run: %w", err)
	}
	for _, id := range ids {
		if row, ok := r.dir.row(id); ok && !planned[id] {
			r.manifest.Plan = append(r.manifest.Plan, experiment.Planned{ID: id, Name: row.Spec.Name, SpecHash: row.SpecHash, State: "removed"})
		}
	}
	return nil
}

// kept is a row that is there, whole, of the same spec, and with at least one answer.
func (r *run) kept(p experiment.Planned) (*experiment.Row, bool) {
	if r.redo {
		return nil, false
	}
	row, ok := r.dir.row(p.ID)
	return row, ok && row.SpecHash == p.SpecHash && !row.AllFailed()
}

// hash is of everything that decides what a point measures: its spec, the API, the model and the
// fields of the body. What is only said about it (expect) is not in it.
func (r *run) hash(s *experiment.Spec) string {
	spec := *s
	spec.Expect = ""
	info := r.Server.Info
	b, err := json.Marshal([]any{spec, spec.APIOr(r.m.Target), info.Model, info.ExtraBody})
	if err != nil {
		panic(err) // values that came from TOML
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:12])
}

// rows runs what is not there.
func (r *run) rows(ctx context.Context) error {
	r.result.Dir = r.dir.path
	byID := map[string]*experiment.Spec{}
	for i := range r.m.Points {
		byID[ID(&r.m.Points[i])] = &r.m.Points[i]
	}
	todo := slices.Clone(r.manifest.Plan)
	todo = slices.DeleteFunc(todo, func(p experiment.Planned) bool { return p.State == "removed" })
	done := 0
	for _, p := range todo {
		if p.State == "done" {
			done++
		}
	}
	r.Event(Event{Started: &Started{Dir: r.dir.path, Total: len(todo), Kept: done}})
	for i, p := range todo {
		if row, ok := r.kept(p); ok {
			r.Event(Event{Finished: &Finished{Index: i + 1, Total: len(todo), Row: row, Kept: true}})
			continue
		}
		row, err := r.row(ctx, byID[p.ID], p, i+1, len(todo))
		if err != nil {
			return err
		}
		if err := r.mark(p.ID, row); err != nil {
			return err
		}
		r.Event(Event{Finished: &Finished{Index: i + 1, Total: len(todo), Row: row}})
		if gone(row) {
			return fmt.Errorf("%s: no request reached the server any more: %s\nhint: bring it up again, then go on with --resume %s", p.ID, firstError(row), r.dir.path)
		}
	}
	return nil
}

// gone says that the server can't be reached: going on would only collect more of the same.
func gone(row *experiment.Row) bool {
	q := row.Summary.Requests
	return q.Planned > 0 && q.Errors["connect"] == q.Planned
}

func firstError(row *experiment.Row) string {
	for _, d := range row.Doubts {
		if d.Code == "errors" {
			return d.Text
		}
	}
	return "see its records"
}

// row measures one point and makes it whole on disk.
func (r *run) row(ctx context.Context, s *experiment.Spec, p experiment.Planned, index, total int) (*experiment.Row, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := r.dir.reserve(); err != nil {
		return nil, err
	}
	// What a changed spec replaces goes first: its summary must never stand beside other records.
	if err := os.Remove(r.dir.file(p.ID + ".json")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("replacing %s: %w", p.ID, err)
	}
	records, err := r.dir.createRecords(p.ID)
	if err != nil {
		return nil, err
	}
	progress := &experiment.Progress{}
	r.Event(Event{Begun: &Begun{Index: index, Total: total, Spec: s, ID: p.ID, Progress: progress}})
	row, err := r.Server.Run(ctx, experiment.Try{
		Spec: s, ID: p.ID, Salt: r.salt(p.ID), Bounds: r.Bounds, Each: records.w.Write, Progress: progress,
	})
	if err != nil {
		records.abandon()
		return nil, err
	}
	if err := records.finish(); err != nil {
		return nil, err
	}
	row.SpecHash = p.SpecHash
	return row, r.dir.writeJSON(p.ID+".json", row)
}

// salt makes the prompts of every row, repeat, run and attempt unlike all others.
func (r *run) salt(id string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%s/%d", r.manifest.Salt, id, len(r.manifest.Attempts)))
	return hex.EncodeToString(sum[:6])
}

func (r *run) mark(id string, row *experiment.Row) error {
	for i := range r.manifest.Plan {
		if r.manifest.Plan[i].ID != id {
			continue
		}
		r.manifest.Plan[i].State = "done"
		if row.AllFailed() {
			r.manifest.Plan[i].State = "failed"
			r.manifest.Plan[i].Error = firstError(row)
			r.result.AllFailed = append(r.result.AllFailed, id)
		}
	}
	return r.dir.writeJSON(manifestFile, &r.manifest)
}

// end closes the manifest of this attempt.
func (r *run) end(err error) error {
	state := "done"
	switch {
	case experiment.Interrupted(err):
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

func orEmpty(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}
