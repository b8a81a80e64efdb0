// Package sweep runs the points of a matrix, and writes a file for each. Its steps:
//
//   - Run plans the rows that a directory lacks (plan): a row is kept if a point of today's matrix has its ID and its
//     hash, and evaluated again if only what was stated of the hardware or the SLO changed (changed, results);
//   - it starts or reaches the server of each row (servers), measures the row (row), and writes it atomically
//     (directory): a kill at any moment loses only the row in progress;
//   - searches (search, scout), races of settings (tune) and budgets (budget) add rows while it runs.
//
// It prints nothing: Run reports its steps as events (event).
package sweep

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"bench/experiment"
	"bench/experiment/endpoint"
	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/server"
	"bench/experiment/text"
	"bench/sweep/matrix"
)

type Options struct {
	Out    string   // directory for results; the run's directory is <Out>/<matrix>/<UTC start time>
	Resume string   // directory of the run to complete; empty = a new run
	Only   []string // globs of the rows to run; empty = all (matrix.Match)

	Server   *endpoint.Server // already reached; nil if the matrix has several
	Reached  time.Duration    // how long that took
	Roofline record.RooflineSource
	// Reach connects to the server of a variant, each time that the server changes. Guard is the command that
	// starts servers (server.Config). Both are for a matrix that varies its server.
	Reach func(ctx context.Context, v *matrix.Variant) (*endpoint.Server, record.RooflineSource, error)
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

// takes is the expected duration of a row.
func (o *Options) takes(s *experiment.Spec) time.Duration {
	if o.Takes != nil {
		return o.Takes(s)
	}
	d, _ := s.ExpectedDuration()
	return d
}

// resumeHint appends how to continue the run in a directory to the first step of a hint.
func (o *Options) resumeHint(first, dir string) string {
	if o.NoResume {
		return first + ", then run it again"
	}
	return first + ", then resume with --resume " + text.ShellWord(dir)
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
	m       *matrix.Matrix
	secrets matrix.Secrets // in the text of the matrix
	dir     results
	agenda
	begun  bool // the manifest of this attempt is written
	ran    loadsRan
	racing *racing // of the settings; nil = all of them run
	result Result

	servers   []record.ServerStart   // starts of all attempts
	unstarted map[string]*startError // by variant
	abandoned map[string]int         // by variant whose server runs on: requests that its rows gave up
	serving   *record.ServerStart    // the current one; nil: the matrix has one server
	before    *record.Manifest       // manifest of the run to resume, or zero
	changed   Changed
	watch     stopwatch
	replaced  []file // of the run to resume, by rows that were evaluated again; run.json is the last
}

// agenda is what a run does: the plan that run.json states, and the rows of it that this attempt runs or keeps.
type agenda struct {
	manifest record.Manifest
	todo     []record.Planned // in order
	next     int              // index in todo
	specs    map[string]*experiment.Spec
	searches map[string]*searching // by ID of a probe
}

// planned is the row of the plan with an ID, which is there.
func (a *agenda) planned(id string) *record.Planned {
	return &a.manifest.Plan[a.indexOf(id)]
}

func (a *agenda) indexOf(id string) int {
	return slices.IndexFunc(a.manifest.Plan, func(p record.Planned) bool { return p.ID == id })
}

// Run runs the points of the matrix that have no result yet. After an interruption the error is ctx's;
// finished rows are kept, and the run can be resumed. A result can stand beside an error.
func Run(ctx context.Context, m *matrix.Matrix, o Options) (*Result, error) {
	if o.Event == nil {
		o.Event = func(Event) {}
	}
	r := &run{
		Options: o, m: m, secrets: matrix.FindSecrets(m.Text), ran: loadsRan{}, unstarted: map[string]*startError{},
		agenda:    agenda{specs: map[string]*experiment.Spec{}, searches: map[string]*searching{}},
		abandoned: map[string]int{},
	}
	r.dir.m, r.watch.budget, r.watch.since = m, time.Duration(m.Budget), time.Now().Add(-o.Reached)
	if o.Server != nil {
		r.dir.model = o.Server.Info.Model
	}
	for i := range m.Points {
		r.specs[matrix.ID(&m.Points[i])] = &m.Points[i]
	}
	if err := r.open(); err != nil {
		return nil, err
	}
	if err := r.watch.exhausted(); err != nil {
		return nil, err
	}
	unlock, err := r.dir.lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err = r.all(ctx); err == nil {
		err = nothingFits(r.watch.budget, r.manifest.Plan)
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
	err := r.prepare(ctx, r.m)
	r.watch.lap(&r.watch.spent.PrepareS)
	if err != nil {
		return err
	}
	if err := r.begin(); err != nil {
		return err
	}
	return r.rows(ctx)
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
		p, e := r.todo[r.next], RowEvent{Index: r.next + 1, Total: len(r.todo)}
		if row, ok := r.dir.kept(p); ok {
			r.noteRan(row)
			e.finish(row)
			e.Kept = true
			r.Event(Event{Finished: &e})
			continue
		}
		if err := r.scoutFor(ctx, &p); err != nil {
			return err
		}
		s := r.specs[p.ID]
		e.ID, e.Spec = p.ID, s
		if e.Reason = r.ran.beyond(s); e.Reason != "" {
			if err := r.skip(e); err != nil {
				return err
			}
			continue
		}
		if s.Added == 0 && !r.watch.fits(r.takes(s)) { // addRepeat adds what fits
			continue
		}
		if r.serving != nil && s.Variant != r.serving.Variant {
			return nil
		}
		row, err := r.attempts(ctx, e, p.SpecHash)
		if err != nil {
			return err
		}
		found := r.planNextProbe(row)
		r.noteRan(row)
		if err := r.mark(p.ID, row); err != nil {
			return err
		}
		e.finish(row)
		r.Event(Event{Finished: &e})
		if found != nil {
			r.Event(Event{Found: found})
		}
		if row.ServerLost { // later rows would fail too
			return fmt.Errorf("%s: no request reached the server any more: %s\nhint: %s",
				p.ID, firstError(row), r.resumeHint("restart it", r.dir.path))
		}
	}
	return nil
}

func (r *run) mark(id string, row *record.Row) error {
	for i := range r.manifest.Plan { // a search begun again can have planned a point twice
		p := &r.manifest.Plan[i]
		if p.ID != id {
			continue
		}
		p.State, p.Skip, p.Reason, p.Point, p.SHA256 = "done", "", "", nil, ""
		if row.AllFailed() || row.ServerLost {
			p.State, p.Error = "failed", firstError(row)
		}
	}
	if row.AllFailed() && row.Spec.Search == nil && r.m.Tune == nil { // for these it is an answer
		r.result.AllFailed = append(r.result.AllFailed, id)
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
		r.manifest.Twins = r.twins(r.dir)
	}
	now := time.Now().UTC()
	r.manifest.State, r.manifest.EndedAt, r.manifest.Budget = state, now, r.budgetState(true)
	last := &r.manifest.Attempts[len(r.manifest.Attempts)-1]
	last.EndedAt, last.Ended = now, state
	r.result.Manifest = r.manifest
	return r.writeManifest()
}

// twins are fitted to the rows that have a result.
func (a *agenda) twins(dir results) []record.Twin {
	fitted := map[string]*series.Twin{} // by ID of a probe
	for id, k := range a.searches {
		if t := k.twin(); t != nil {
			fitted[id] = t
		}
	}
	var rows []record.Row
	for _, p := range a.manifest.Plan {
		if row, ok := dir.row(p.ID); ok && p.State == "done" {
			rows = append(rows, *row)
		}
	}
	return series.Twins(rows, a.manifest.Slots(), dir.requests, fitted, nil)
}
