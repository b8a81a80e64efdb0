// Package revisions finds the revision of a server that changed a figure. Its steps:
//
//   - the revisions are read from git, a list or a file (FromGit, FromList);
//   - experiment/bisect says which one to measure next; it is built, unless it is, and measured by a run of the matrix,
//     which the caller makes (Bisection.Run);
//   - after each step the state is written to bisect.json, so that an interrupted bisection goes on with what it has;
//   - the end is an Answer, which names the runs of the last good and the first bad revision.
package revisions

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"bench/experiment/bisect"
	"bench/experiment/record"
	"bench/experiment/server"
	"bench/sweep"
)

// Bisection is a bisection with what it needs from outside.
type Bisection struct {
	Result
	Dir     string        // its directory
	Command []string      // that builds, with {rev}; Result.Build is as it is shown
	Repo    string        // where it runs
	Limit   time.Duration // of a build
	Budget  time.Duration // of all builds and runs; 0 = unlimited
	InPlace bool          // a build replaces the one before it
	Server  server.Config // Guard, Withhold and Secrets of builds

	// Measure runs the matrix with a revision.
	Measure func(ctx context.Context, revision string) (*Measured, error)
	Event   func(line string)

	installed int // in place; -1 = none is known
}

// Run measures until there is an answer. Interrupted, it keeps what it has.
func (b *Bisection) Run(ctx context.Context) error {
	b.installed = -1
	for {
		b.chooseMetric()
		i, end := b.search().Next(b.hours(time.Now()), b.cost)
		if end == "" && b.Budget > 0 && len(b.Runs) > 0 && b.spent()+b.cost(i) > b.Budget.Hours() {
			end = StateBudget
		}
		if end != "" {
			b.State = end
			b.Answer = b.answer()
			return b.save()
		}
		err := b.step(ctx, i)
		if b.State = StateRunning; errors.Is(err, context.Canceled) {
			b.State = StateInterrupted
		} else if err != nil {
			b.State = StateFailed
		}
		if err := errors.Join(err, b.save()); err != nil {
			return err
		}
	}
}

// errUncounted is of a revision that was measured often enough.
var errUncounted = errors.New("its runs do not count")

// step builds and measures a revision, at a second attempt if need be, or passes it over. One that was measured before
// can be: what fails is the machine.
func (b *Bisection) step(ctx context.Context, i int) error {
	r := &b.Revisions[i]
	fatal := func(err error) bool { return ctx.Err() != nil || errors.Is(err, syscall.ENOSPC) }
	err := b.attempt(ctx, i)
	if err != nil && !fatal(err) && !errors.Is(err, errUncounted) {
		b.Event("  once more, since it failed: " + reason(err))
		err = b.attempt(ctx, i)
	}
	switch {
	case err == nil:
		return nil
	case fatal(err) || i == 0 || i == len(b.Revisions)-1 || len(b.of(i)) > 0:
		return fmt.Errorf("revision %s: %w", r.short(), err)
	}
	r.State, r.Reason = PassedOver, reason(err)
	b.Event(fmt.Sprintf("  %s is passed over: %s", r.short(), r.Reason))
	return nil
}

// reason is an error without the last output, which follows.
func reason(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return strings.TrimSuffix(line, "; last output:")
}

func (b *Bisection) attempt(ctx context.Context, i int) error {
	if b.needsBuild(i) {
		if err := b.build(ctx, i); err != nil {
			return err
		}
	}
	b.Event(fmt.Sprintf("run %d: %s", len(b.Runs)+1, b.Revisions[i].short()))
	return b.run(ctx, i)
}

func (b *Bisection) run(ctx context.Context, i int) error {
	run := Run{Revision: i, StartedAt: time.Now().UTC()}
	m, err := b.Measure(ctx, b.Revisions[i].Name)
	if err != nil {
		b.Revisions[i].FailedS += time.Since(run.StartedAt).Seconds()
		return err
	}
	run.Dir = filepath.Join(filepath.Base(filepath.Dir(m.Dir)), filepath.Base(m.Dir))
	run.TookS = time.Since(run.StartedAt).Seconds()
	if run.Invalid = m.invalid(); run.Invalid == "" {
		run.Figures = m.figures(b.Asked)
	}
	if run.Invalid == "" && (len(run.Figures) == 0 || b.Metric != "" && run.Figures[b.Metric] == 0) {
		run.Invalid = "the figure is missing"
	}
	b.Runs = append(b.Runs, run)
	bad := -len(b.of(i))
	for _, r := range b.Runs {
		if r.Revision == i && r.Invalid != "" {
			bad++
		}
	}
	if run.Invalid != "" && bad > 1 {
		return fmt.Errorf("%w: %s", errUncounted, run.Invalid)
	}
	b.Event("  " + b.progress())
	return nil
}

func (b *Bisection) needsBuild(i int) bool {
	done := b.Revisions[i].State == Built
	if b.InPlace {
		done = b.installed == i
	}
	return len(b.Command) > 0 && !done
}

func (b *Bisection) build(ctx context.Context, i int) error {
	r := &b.Revisions[i]
	r.Log = fmt.Sprintf("build-%d.log", i)
	log, err := os.OpenFile(filepath.Join(b.Dir, r.Log), os.O_CREATE|os.O_TRUNC|os.O_RDWR|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("making the log of a build: %w", err)
	}
	defer log.Close()
	b.Event(fmt.Sprintf("building %s (log: %s)", r.short(), log.Name()))
	c := b.Server
	c.Dir, c.Log = b.Repo, log
	for _, word := range b.Command {
		c.Command = append(c.Command, strings.ReplaceAll(word, "{rev}", r.Name))
	}
	began := time.Now()
	b.installed = -1
	err = server.Once(ctx, c, "the build", b.Limit)
	r.Builds, r.BuildS = r.Builds+1, r.BuildS+time.Since(began).Seconds()
	if err == nil {
		r.State, b.installed = Built, i
	}
	return err
}

func (b *Bisection) search() *bisect.Search {
	s := &bisect.Search{Revisions: len(b.Revisions), Confidence: b.Confidence, Broken: map[int]bool{}}
	const each, most = 0.1, 0.5 // a choice among more figures finds a difference more often
	s.None = min(most, each*float64(max(1, b.Choice)))
	for i, r := range b.Revisions {
		s.Broken[i] = r.State == PassedOver
	}
	for _, run := range b.Runs {
		if run.Invalid != "" {
			continue
		}
		o := bisect.Observation{Revision: run.Revision, At: b.hours(run.StartedAt) + run.TookS/2/time.Hour.Seconds()}
		if b.Metric != "" { // else the search only counts them
			o.Log = math.Log(run.Figures[b.Metric])
		}
		s.Seen = append(s.Seen, o)
	}
	return s
}

func (b *Bisection) hours(t time.Time) float64 { return t.Sub(b.StartedAt).Hours() }

// cost is the time that a run of a revision takes, with its build, in hours.
func (b *Bisection) cost(i int) float64 {
	runs, n, builds, m := b.work()
	cost := max(runs/max(1, float64(n)), 1/time.Hour.Seconds())
	if b.needsBuild(i) && m > 0 {
		cost += builds / float64(m)
	}
	return cost
}

func (b *Bisection) spent() float64 {
	runs, _, builds, _ := b.work()
	for _, r := range b.Revisions {
		runs += r.FailedS / time.Hour.Seconds()
	}
	return runs + builds
}

// work are the hours and the number of all runs, and of all builds.
func (b *Bisection) work() (runs float64, n int, builds float64, m int) {
	for _, run := range b.Runs {
		runs, n = runs+run.TookS/time.Hour.Seconds(), n+1
	}
	for _, r := range b.Revisions {
		builds, m = builds+r.BuildS/time.Hour.Seconds(), m+r.Builds
	}
	return runs, n, builds, m
}

func (b *Bisection) save() error {
	b.SpentS = b.spent() * time.Hour.Seconds()
	return sweep.WriteWhole(filepath.Join(b.Dir, file), func(w io.Writer) error {
		text, err := record.EncodeFile(&b.Result)
		if err == nil {
			_, err = w.Write(text)
		}
		return err
	})
}
