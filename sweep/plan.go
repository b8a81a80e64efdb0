package sweep

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bench/experiment"
	"bench/experiment/endpoint"
	"bench/experiment/record"
	"bench/experiment/text"
	"bench/sweep/matrix"
)

func (r *run) open() (err error) {
	if r.Resume != "" {
		r.dir.path = filepath.Clean(r.Resume)
		return r.load()
	}
	r.dir.path, err = NewDirectory(filepath.Join(r.Out, matrix.Escape(r.m.Name)), "")
	return err
}

// NewDirectory makes a directory in root that is named by the time behind a prefix, with a number if that name is taken.
func NewDirectory(root, prefix string) (string, error) {
	if err := os.MkdirAll(root, 0o755); err != nil {
		return "", fmt.Errorf("making the results directory: %w\nhint: choose another with --out DIR", err)
	}
	start := matrix.Escape(prefix) + time.Now().UTC().Format("20060102T150405Z")
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
			return "", fmt.Errorf("making the results directory: %w\nhint: choose another with --out DIR", err)
		}
		return filepath.Join(root, name), nil
	}
}

func (r *run) load() error {
	r.manifest = record.Manifest{}
	err := r.dir.readJSON(manifestFile, &r.manifest)
	if r.serving == nil {
		r.servers = slices.Clone(r.manifest.Servers)
	}
	switch was := r.manifest; {
	case errors.Is(err, fs.ErrNotExist):
		return &ResumeError{fmt.Sprintf("%s contains no run: %s is missing\n"+
			"hint: --resume takes the directory of one run, results/<matrix>/<start time>", r.dir.path, manifestFile)}
	case err != nil:
		return err
	case was.Schema != record.SchemaRun:
		return &ResumeError{fmt.Sprintf("%s: unknown schema %q\n"+
			"hint: resume with the version of bench that wrote it", r.dir.file(manifestFile), was.Schema)}
	case was.Predicted != nil:
		return &ResumeError{fmt.Sprintf("%s is a prediction, not a run to continue\n"+
			"hint: without --resume a new run begins", r.dir.path)}
	case was.Matrix != r.m.Name:
		return &ResumeError{fmt.Sprintf("%s is a run of the matrix %q, and %s is %q\n"+
			"hint: without --resume a new run begins", r.dir.path, was.Matrix, r.m.File, r.m.Name)}
	}
	altered := map[string]bool{}
	r.dir.altered = nil
	for i := range r.manifest.Plan {
		if p := &r.manifest.Plan[i]; r.dir.isAltered(p) {
			altered[p.ID] = true
		}
	}
	r.dir.altered = altered
	r.watch.before = spentBy(r.dir.countCut(r.manifest.Attempts))
	return nil
}

func (r *run) begin() error {
	if r.Resume != "" { // again, now locked: another process may have ended just now
		if err := r.load(); err != nil {
			return err
		}
	}
	if err := r.dir.reserve(); err != nil {
		return fmt.Errorf("%w\nhint: free some space, or choose another place with --out DIR", err)
	}
	old := r.manifest
	r.before, r.changed = &old, newChanged(&old, r.dir.altered)
	was, identity := &old.Target, old.Target.Identity
	if r.m.Varies() {
		was, identity, _ = lastOf(old.Servers, r.serving.Variant)
	}
	if changed := r.serverChange(was, identity, r.serving != nil && r.serving.Command != nil); changed != nil {
		if !r.AcceptServerChange {
			return changed
		}
		all := func(string) bool { return true }
		if err := r.dir.setAside(fmt.Sprintf("server-%s-%d", identity, len(old.Attempts)), all); err != nil {
			return err
		}
	}
	if err := (&resumption{r, &old}).evaluateAndPlan(); err != nil {
		for _, f := range r.replaced { // kept rows can be evaluated again
			err = errors.Join(err, r.dir.write(f.name, f.text))
		}
		return err
	}
	r.begun = true
	done := 0
	for _, p := range r.todo {
		if p.State == "done" {
			done++
		}
	}
	r.Event(Event{Started: &Started{Dir: r.dir.path, Total: len(r.todo), Kept: done, Changed: r.changed,
		Spent: r.watch.taken()}})
	return nil
}

// resumption is the begin of an attempt: what it keeps of the attempts before, and what it plans.
type resumption struct {
	*run
	old *record.Manifest // of the run to resume, or zero
}

// evaluateAndPlan takes the rows of a run to resume, or of a new one.
func (r *resumption) evaluateAndPlan() error {
	old := r.old
	if err := r.evaluateKept(); err != nil {
		return err
	}
	r.manifest = r.newManifest()
	if err := r.plan(); err != nil {
		return err
	}
	if slices.ContainsFunc(r.manifest.Plan, func(p record.Planned) bool { return p.State == "done" }) {
		// The server as an earlier attempt has it, with today's hardware: kept rows are evaluated again under it.
		is := r.manifest.Target
		t := old.Target
		t.Hardware, t.GPUs, t.Precision = is.Hardware, is.GPUs, is.Precision
		t.AddOthers(is.Others) // that only rows to come use
		r.manifest.Target = t
	}
	if err := r.checkLimits(); err != nil {
		return err
	}
	// What was signed is another run from now on.
	if err := os.Remove(r.dir.file(record.SignatureFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("resuming a signed run: %w", err)
	}
	return r.writeManifest()
}

// newManifest is the manifest of this attempt.
func (r *resumption) newManifest() record.Manifest {
	old, hide := r.old, r.hide
	notes := make([]string, 0, len(r.m.Notes))
	for _, n := range r.m.Notes {
		notes = append(notes, hide(n))
	}
	if note := r.m.Attribution(); note != "" {
		notes = append(notes, note)
	}
	facts := map[string]string{}
	for k, v := range r.m.Target.Facts {
		facts[k] = hide(v)
	}
	target := r.targetInfo()
	if r.Predicted != nil {
		target.GPUs = r.Predicted.GPUs
	}
	now := time.Now().UTC()
	attempt := record.Attempt{StartedAt: now, Command: r.Command, Bench: r.Client.Version}
	if !r.m.Varies() {
		attempt.Target = &target
	}
	m := record.Manifest{
		Schema: record.SchemaRun, Run: filepath.Base(r.dir.path), Matrix: r.m.Name, MatrixFile: r.m.File,
		MatrixText: r.Server.Hide(r.secrets.Masked), MatrixHash: r.m.Hash(), Hypothesis: hide(r.m.Hypothesis),
		Notes: notes, Command: r.Command, StartedAt: now, State: "running",
		Salt: cmp.Or(old.Salt, rand.Text()[:16]), Seed: r.m.Seed, Order: cmp.Or(r.m.Order, matrix.OrderListed),
		Client: r.Client, Target: target, Facts: facts, Unspecified: r.m.Target.Unspecified(),
		Attempts:   append(r.dir.countCut(old.Attempts), attempt),
		GPUHourUSD: r.m.Target.GPUHourUSD, Servers: r.servers, Predicted: r.Predicted,
	}
	if !old.StartedAt.IsZero() {
		m.StartedAt = old.StartedAt
	}
	return m
}

// plan lists the rows to run, the finished ones, and those of an earlier matrix. Rows that were planned
// before and do not match --only keep their state.
func (r *resumption) plan() error {
	if r.m.Tune != nil {
		r.racing = newRace(r.run, r.racing.failed, r.before.Tune)
		return errors.Join(r.racing.follow(true), r.planRemoved())
	}
	ids, err := r.dir.rowIDs()
	if err != nil {
		return err
	}
	for i := range r.m.Points {
		s := &r.m.Points[i]
		picked, err := matrix.Match(s, r.Only)
		if err != nil {
			return err
		}
		points, err := r.probesOf(s, picked)
		if err != nil {
			return err
		}
		for i := range points {
			r.planPoint(&points[i], picked, r.old.Plan)
		}
		r.planAdded(s, picked, ids)
	}
	if len(r.todo) == 0 {
		return noRow(r.Only)
	}
	r.manifest.Searches = r.found()
	return r.planRemoved()
}

func (r *run) planPoint(s *experiment.Spec, picked bool, before []record.Planned) {
	p := r.dir.planned(s)
	_, there := r.dir.kept(p)
	if there {
		p.State = "done"
	} else if picked {
		r.findChanged(s, false)
	}
	at := slices.IndexFunc(before, func(b record.Planned) bool {
		return b.ID == p.ID && (b.SpecHash == p.SpecHash || b.SpecHash == r.dir.hashOn(s, formerHardware(r.before)))
	})
	if at >= 0 && !there && (!picked || before[at].State == record.StateSkipped && s.Run != experiment.RunAll) {
		hash := p.SpecHash
		if p = before[at]; p.State == "done" {
			p.State = "planned" // its files are missing
		}
		p.SpecHash, p.SHA256 = hash, ""
	}
	switch {
	case picked || there:
		r.todo = append(r.todo, p)
	case at < 0:
		return
	}
	r.manifest.Plan = append(r.manifest.Plan, p)
}

func (r *resumption) planRemoved() error {
	planned := map[string]bool{}
	for _, p := range r.manifest.Plan {
		planned[p.ID] = true
	}
	return r.dir.eachRow(func(row *record.Row) error {
		if !planned[row.ID] {
			removed := record.Planned{ID: row.ID, Name: row.Spec.Name, SpecHash: row.SpecHash, State: "removed"}
			r.manifest.Plan = append(r.manifest.Plan, removed)
		}
		return nil
	})
}

func (r *resumption) checkLimits() error {
	todo := map[string]bool{}
	for _, p := range r.todo {
		todo[p.ID] = p.State != "done"
	}
	limits := endpoint.Limits()
	var broken []string
	for i := range r.m.Points {
		s := &r.m.Points[i]
		if k := r.searches[matrix.ID(s)]; k != nil { // the search can reach its highest load
			_, more := k.next()
			if more && k.picked && s.Search.Gentle && (k.first.Search.Slots == 0 || s.Variant != "") {
				broken = append(broken, s.Name+": sequences at most not known: no server reports them, or several do\n"+
					"hint: write [target.facts] and below it server_flags = \"--max-num-seqs 64\", or leave out gentle")
			}
			if !more || !k.picked || s.Search.Open {
				continue
			}
			s = new(s.ProbeAt(experiment.Probe{Load: s.Search.Max}, 1))
		} else if !todo[matrix.ID(s)] {
			continue
		}
		if s.UntilInterrupted() && r.Ends == nil {
			broken = append(broken, s.Label()+": until = \"stopped\" never ends in a sweep of several rows\n"+
				"hint: write duration = \"60s\", or run it alone: --only "+text.ShellWord(s.Name))
		}
		if r.Workers != nil { // each checks its own limits before it sends
			continue
		}
		// Repeats give the same error.
		if err := r.Server.CheckLimits(s, limits); err != nil && !slices.Contains(broken, err.Error()) {
			broken = append(broken, err.Error())
		}
	}
	if len(broken) > 0 {
		return errors.New(strings.Join(broken, "\nerror: "))
	}
	return nil
}

func noRow(only []string) error {
	return fmt.Errorf("no row matches --only %q\nhint: bench sweep --dry-run lists the rows", only)
}
