package sweep

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bench/experiment"
	"bench/experiment/endpoint"
	"bench/experiment/record"
	"bench/experiment/text"
)

func (r *run) open() error {
	if r.Resume != "" {
		r.dir = directory{path: filepath.Clean(r.Resume)}
		return r.load()
	}
	dir, err := NewDirectory(filepath.Join(r.Out, escape(r.m.Name)), "")
	r.dir = directory{path: dir}
	return err
}

// NewDirectory makes a directory in root that is named by the time behind a prefix, with a number if that name is taken.
func NewDirectory(root, prefix string) (string, error) {
	if err := os.MkdirAll(root, 0o755); err != nil {
		return "", fmt.Errorf("making the results directory: %w\nhint: choose another with --out DIR", err)
	}
	start := escape(prefix) + time.Now().UTC().Format("20060102T150405Z")
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
	r.spentBefore = spentBy(r.dir.countCut(r.manifest.Attempts))
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
	r.before, r.changed = &old, Changed{aside: asideName(&old), altered: slices.Sorted(maps.Keys(r.dir.altered))}
	was, identity := &old.Target, old.Target.Identity
	if r.m.Varies() {
		was, identity, _ = lastOf(old.Servers, r.serving.Variant)
	}
	if changed := r.serverChange(was, identity); changed != nil {
		if !r.AcceptServerChange {
			return changed
		}
		all := func(string) bool { return true }
		if err := r.dir.setAside(fmt.Sprintf("server-%s-%d", identity, len(old.Attempts)), all); err != nil {
			return err
		}
	}
	if err := r.continueFrom(&old); err != nil {
		return errors.Join(err, r.restore()) // kept rows can be evaluated again
	}
	r.begun = true
	r.announce()
	return nil
}

// continueFrom evaluates and plans the rows of a run to resume, or of a new one.
func (r *run) continueFrom(old *record.Manifest) error {
	if err := r.evaluateKept(old); err != nil {
		return err
	}
	r.manifest = r.newManifest(old)
	if err := r.plan(old.Plan); err != nil {
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

// restore undoes the changes of a resume that is refused.
func (r *run) restore() (err error) {
	for _, f := range r.replaced {
		err = errors.Join(err, r.dir.write(f.name, f.text))
	}
	return err
}

// newManifest is the manifest of this attempt. old is the one of the run to resume, or zero.
func (r *run) newManifest(old *record.Manifest) record.Manifest {
	hide := r.hide
	notes := make([]string, 0, len(r.m.Notes))
	for _, n := range r.m.Notes {
		notes = append(notes, hide(n))
	}

	if note := r.m.attribution(); note != "" {
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
		MatrixText: r.Server.Hide(r.secrets.masked), MatrixHash: r.m.Hash(), Hypothesis: hide(r.m.Hypothesis),
		Notes:   notes,
		Command: r.Command, StartedAt: now, State: "running", Salt: cmp.Or(old.Salt, rand.Text()[:16]),
		Seed: r.m.Seed, Order: cmp.Or(r.m.Order, OrderListed),
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
func (r *run) plan(before []record.Planned) error {
	if r.m.Tune != nil {
		r.newRace(r.racing.failed, r.before.Tune)
		return errors.Join(r.follow(true), r.planRemoved())
	}
	ids, err := r.dir.rowIDs()
	if err != nil {
		return err
	}
	for i := range r.m.Points {
		s := &r.m.Points[i]
		picked, err := Match(s, r.Only)
		if err != nil {
			return err
		}
		points, err := r.probesOf(s, picked)
		if err != nil {
			return err
		}
		for i := range points {
			r.planPoint(&points[i], picked, before)
		}
		r.planAdded(s, picked, ids)
	}
	if len(r.todo) == 0 {
		return r.noRow()
	}
	r.manifest.Searches = r.found()
	return r.planRemoved()
}

func (r *run) planPoint(s *experiment.Spec, picked bool, before []record.Planned) {
	p := record.Planned{ID: ID(s), Name: s.Name, SpecHash: r.hash(s), State: "planned"}
	_, there := r.kept(p)
	if there {
		p.State = "done"
	} else if picked {
		r.findChanged(s, false)
	}
	at := slices.IndexFunc(before, func(b record.Planned) bool {
		return b.ID == p.ID && (b.SpecHash == p.SpecHash || b.SpecHash == r.hashOn(s, formerHardware(r.before)))
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

func (r *run) planRemoved() error {
	planned := map[string]bool{}
	for _, p := range r.manifest.Plan {
		planned[p.ID] = true
	}
	ids, err := r.dir.rowIDs()
	if err != nil {
		return err
	}
	for _, id := range ids {
		if row, ok := r.dir.row(id); ok && !planned[id] {
			removed := record.Planned{ID: id, Name: row.Spec.Name, SpecHash: row.SpecHash, State: "removed"}
			r.manifest.Plan = append(r.manifest.Plan, removed)
		}
	}
	return nil
}

func (r *run) noRow() error {
	return fmt.Errorf("no row matches --only %q\nhint: bench sweep --dry-run lists the rows", r.Only)
}

func (r *run) checkLimits() error {
	todo := map[string]bool{}
	for _, p := range r.todo {
		todo[p.ID] = p.State != "done"
	}
	limits := endpoint.Limits()
	var broken []string
	for i := range r.m.Points {
		s := &r.m.Points[i]
		if k := r.searches[ID(s)]; k != nil { // the search can reach its highest load
			_, more := k.next()
			if more && k.picked && s.Search.Gentle && (k.first.Search.Slots == 0 || s.Variant != "") {
				broken = append(broken, s.Name+": sequences at most not known: no server reports them, or several do\n"+
					"hint: write [target.facts] and below it server_flags = \"--max-num-seqs 64\", or leave out gentle")
			}
			if !more || !k.picked || s.Search.Open {
				continue
			}
			s = new(s.ProbeAt(experiment.Probe{Load: s.Search.Max}, 1))
		} else if !todo[ID(s)] {
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

// kept reads the finished row of a planned one. ok is false if it is to be run.
func (r *run) kept(p record.Planned) (*record.Row, bool) {
	row, ok := r.dir.row(p.ID)
	return row, ok && r.reusable(row, p.SpecHash)
}

// reusable reports whether a row has the hash of a spec and at least one answer.
func (r *run) reusable(row *record.Row, hash string) bool {
	return row.SpecHash == hash && !row.AllFailed() && !row.ServerLost
}

// hash covers everything that decides what a point measures; not its expectation (expect) and its reason (a search).
// Hardware and price are in it, as figures and verdicts of the row depend on them: evaluateKept renews the hashes of
// rows when only these change.
func (r *run) hash(s *experiment.Spec) string { return r.hashOn(s, r.m.Target) }

func (r *run) hashOn(s *experiment.Spec, h experiment.Target) string {
	spec := *s
	spec.Expect, spec.Search = "", nil
	t := r.m.Target
	model := t.Model // each variant can have another one
	if !r.m.Varies() {
		model = r.Server.Info.Model
	}
	key := []any{
		spec, spec.APIFor(t), model, t.ExtraBody, t.Headers, t.Timeout,
		h.Hardware, h.GPUs, h.Precision, h.GPUHourUSD,
	}
	if r.m.Varies() {
		if v := r.m.variant(s.Variant); v.Settings != nil {
			c := r.m.Server.Config(v.Settings)
			key = append(key, c.Command, c.Env, c.Dir, c.Before)
		}
	}
	key = append(key, routingOf(t)...)
	b, err := json.Marshal(key)
	if err != nil {
		panic(err) // all values come from TOML
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:12])
}

// routingOf is what decides which server gets a request, as far as [target] sets it; nil: one server, and the
// usual header of sessions.
func routingOf(t experiment.Target) (out []any) {
	if n := len(t.Replicas); n > 0 {
		out = append(out, fmt.Sprintf("%d replicas, %s", n, cmp.Or(t.Routing, experiment.RoundRobin)))
	}
	if t.SessionHeader != "" {
		out = append(out, "session header "+t.SessionHeader)
	}
	if t.Traceparent {
		out = append(out, "traceparent")
	}
	return out
}
