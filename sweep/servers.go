package sweep

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"bench/experiment/record"
	"bench/experiment/server"
	"bench/experiment/target"
	"bench/experiment/text"
	"bench/sweep/matrix"
)

// variants starts or reaches one server after the other, each for its consecutive rows. The rows of a server
// that does not start fail, and the others run.
func (r *run) variants(ctx context.Context) error {
	name, err := r.firstVariant()
	if err != nil {
		return err
	}
	var without []error
	for {
		err := r.onServer(ctx, r.m.Variant(name))
		if failed := new(startError); errors.As(err, &failed) {
			without = append(without, err)
			r.unstarted[name] = failed
			err = r.passUnstarted()
		}
		if err != nil || r.begun && r.next == len(r.todo) {
			return errors.Join(append(without, err)...)
		}
		if r.begun {
			name = r.specs[r.todo[r.next].ID].Variant
		} else if name, err = r.firstVariant(); err != nil || name == "" {
			return errors.Join(append(without, err)...)
		}
	}
}

// startError is the error of a server that did not start with its knobs.
type startError struct {
	err   error
	round int // repeat of the last row that it was the reason to pass over; 0 = none yet
}

func (e *startError) Error() string { return e.err.Error() }

func (e *startError) Unwrap() error { return e.err }

// passUnstarted marks the next rows as failed if their server did not start. A later round of repeats tries
// the server again, but not later rows of the same round: interleaved, each of them would wait for the start
// in vain.
func (r *run) passUnstarted() error {
	passed := false
	for r.begun && r.next < len(r.todo) {
		variant := r.specs[r.todo[r.next].ID].Variant
		failed := r.unstarted[variant]
		if failed == nil {
			break
		}
		if failed.round > 0 && r.specs[r.todo[r.next].ID].Repeat > failed.round {
			delete(r.unstarted, variant)
			break
		}
		for ; r.next < len(r.todo) && r.specs[r.todo[r.next].ID].Variant == variant; r.next++ {
			if p := r.planned(r.todo[r.next].ID); p.State != "done" {
				p.State, p.Error = "failed", r.hide(failed.Error())
			}
			failed.round = r.specs[r.todo[r.next].ID].Repeat
		}
		passed = true
	}
	if !passed {
		return nil
	}
	return r.writeManifest()
}

// firstVariant is the variant of the first row without a result, except those whose server did not start;
// empty: none is left. Whether a result can be kept is known only after a server has been reached.
func (r *run) firstVariant() (string, error) {
	first, found := "", false
	for i := range r.m.Points {
		s := &r.m.Points[i]
		picked, err := matrix.Match(s, r.Only)
		switch {
		case err != nil:
			return "", err
		case !picked || r.unstarted[s.Variant] != nil:
			continue
		}
		if r.incomplete(s) && !r.skippedBefore(s) {
			return s.Variant, nil
		}
		if !found && len(r.unstarted) == 0 {
			first, found = s.Variant, true
		}
	}
	if !found && len(r.unstarted) == 0 {
		return "", noRow(r.Only)
	}
	return first, nil
}

// accept begins the run with its first server. Each later server must be the one that measured the earlier
// rows of its variant.
func (r *run) accept() error {
	if !r.begun {
		return r.begin()
	}
	r.manifest.Servers = r.servers
	variant := r.serving.Variant
	was, identity, n := lastOf(r.servers[:len(r.servers)-1], variant)
	if changed := r.serverChange(was, identity, r.serving.Command != nil); changed != nil {
		if inThisAttempt := n > len(r.before.Servers); inThisAttempt || !r.AcceptServerChange {
			r.serving.Identity, r.serving.Error = "", changed.Error() // it measured no row
			return changed
		}
		err := r.dir.setAside(fmt.Sprintf("server-%s-%d", identity, len(r.manifest.Attempts)-1), func(id string) bool {
			s := r.specs[id]
			return s != nil && s.Variant == variant
		})
		if err != nil {
			return err
		}
		r.restartSearches(variant)
		r.ran.forget(variant)
	}
	return r.writeManifest()
}

// onServer starts or reaches the server of a variant, and measures its next rows.
func (r *run) onServer(ctx context.Context, v *matrix.Variant) error {
	r.servers = append(r.servers, record.ServerStart{N: len(r.servers) + 1, Variant: v.Name,
		StartedAt: time.Now().UTC()})
	r.serving = &r.servers[len(r.servers)-1]
	defer func() {
		r.serving.EndedAt = time.Now().UTC()
		r.manifest.Servers = r.servers
		if r.Server != nil {
			r.abandoned[v.Name] = r.Server.Abandoned
			r.Server.Close()
			r.Server = nil
		}
	}()
	c := &connection{run: r, v: v}
	if v.Settings == nil || r.Predicted != nil {
		return c.reach(ctx, nil)
	}
	return c.start(ctx)
}

// connection is the server of a variant, while its rows are measured.
type connection struct {
	*run
	v    *matrix.Variant
	used bool // it was ready for its rows
}

func (r *connection) start(ctx context.Context) error {
	endpoint := r.m.Target.Endpoint
	base, err := target.BaseURL(endpoint)
	if err != nil {
		return err
	}
	r.serving.Log = fmt.Sprintf("server-%d.log", r.serving.N)
	log, err := os.OpenFile(r.dir.file(r.serving.Log), os.O_CREATE|os.O_TRUNC|os.O_RDWR|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("making the server's log: %w", err)
	}
	defer log.Close()
	c := r.m.Server.Config(r.v.Settings)
	c.URL, c.Guard, c.Log = base, r.Guard, log
	c.Withhold, c.Secrets = r.Withhold, slices.Concat(r.Secrets, r.secrets.Values)
	for _, w := range text.MaskCommand(c.Command) {
		r.serving.Command = append(r.serving.Command, r.secrets.Hide(w))
	}
	lastLine := func() string { return c.Secrets.Hide(server.LastLine(log)) }
	r.Event(Event{Starting: &Starting{N: r.serving.N, Variant: r.v.Name, Log: log.Name(), LastLine: lastLine}})
	r.watch.lap(&r.watch.spent.OwnS)
	part := &r.watch.spent.ServerStartS
	err = server.Run(ctx, c, func(ctx context.Context, s server.Running) error {
		r.watch.lap(part)
		part = &r.watch.spent.ServerStopS
		defer r.watch.lap(&r.watch.spent.OwnS)
		r.serving.ReadyS = s.Ready.Seconds()
		return r.reach(ctx, &s)
	})
	r.watch.lap(part)
	died := new(server.DiedError)
	if early := errors.As(err, &died); err == nil || ctx.Err() != nil || r.used && !early {
		return err
	}
	r.serving.Error = r.hide(err.Error())
	name := fmt.Sprintf("server %d", r.serving.N)
	if r.v.Name != "" {
		name += " (" + r.v.Name + ")"
	}
	err = fmt.Errorf("%s: %w\nits log: %s", name, err, log.Name())
	if r.used {
		return fmt.Errorf("%w\nhint: %s", err, r.resumeHint("finished rows are kept; see the log", r.dir.path))
	}
	if stale := new(server.StaleError); errors.As(err, &stale) { // another server would find the same process
		return err
	}
	plain := strings.NewReplacer("_", " ", "-", " ")
	output := plain.Replace(strings.ToLower(died.Output))
	needs := func(name string) bool {
		return strings.Contains(output, plain.Replace(strings.ToLower(name))) ||
			strings.HasSuffix(name, "API_KEY") && strings.Contains(output, "api key")
	}
	if at := slices.IndexFunc(died.Withheld, needs); at >= 0 {
		err = fmt.Errorf("%w\nhint: a server that bench starts does not get %s; to pass it on: "+
			"export SERVER_KEY=\"$%[2]s\", and write command = [\"sh\", \"-c\", \"%[2]s=$SERVER_KEY exec …\"]",
			err, died.Withheld[at])
	}
	return &startError{err: err}
}

func (r *run) hide(text string) string {
	if r.Server != nil {
		text = r.Server.Hide(text)
	}
	return r.secrets.Hide(text)
}

// reach measures rows while it is connected to a server. started is nil if the server was there before the run.
func (r *connection) reach(ctx context.Context, started *server.Running) error {
	answers := time.Now()
	s, bounds, err := r.Reach(ctx, r.v)
	r.watch.lap(&r.watch.spent.PrepareS)
	if err != nil {
		return err
	}
	r.Server, r.Roofline = s, bounds
	if started == nil {
		s.Abandoned = r.abandoned[r.serving.Variant]
	}
	if started != nil && !s.FirstAnswer.IsZero() {
		s.LogLines = started.Lines
		r.serving.FirstAnswerS = new(s.FirstAnswer.Sub(answers).Seconds())
	}
	if started != nil {
		s.Info.Surroundings = started.Surroundings()
		s.Info.AddFlags(started.Reported())
	}
	r.serving.Identity = s.Info.Identity
	own := r.targetInfo()
	if was, _, _ := lastOf(r.servers[:len(r.servers)-1], r.serving.Variant); was == nil ||
		len(own.Changes(was))+len(own.SurroundingChanges(was)) > 0 {
		r.serving.Target = &own
	}
	err = r.prepare(ctx, r.m)
	r.watch.lap(&r.watch.spent.PrepareS)
	if err != nil {
		return err
	}
	r.used = true
	if err := r.accept(); err != nil {
		return err
	}
	return r.rows(ctx)
}

// prepare is what a server needs before its rows: its telemetry, and the questions of [accuracy].
func (o *Options) prepare(ctx context.Context, m *matrix.Matrix) error {
	err := o.Server.OpenTelemetry(ctx, m.Telemetry, o.Roofline)
	if err != nil || m.Accuracy == nil || o.Predicted != nil {
		return err
	}
	return o.Server.MeasureAccuracy(ctx, m.Accuracy)
}

// startTime is how long a start of a variant's server took; 0 = it runs, or bench does not start it.
func startTime(servers []record.ServerStart, serving *record.ServerStart, variant string) time.Duration {
	if serving == nil || serving.Variant == variant {
		return 0
	}
	for _, s := range slices.Backward(servers) {
		if s.Variant == variant {
			return seconds(s.ReadyS)
		}
	}
	return 0
}
