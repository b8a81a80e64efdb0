package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"bench/experiment/record"
	"bench/experiment/target"
	"bench/report"
	"bench/report/compare"
	"bench/sweep"
)

// checkPair judges a command line with two endpoints.
func (f *tileFlags) checkPair() error {
	switch {
	case len(f.endpoints) > 2:
		return usage("there are %d endpoints, and two are compared\nhint: run the others by themselves; bench compare sets any two results beside each other", len(f.endpoints))
	case f.endless():
		return usage("two endpoints are compared over a stated length\nhint: --duration 5m (of each, its %s together)", count(f.blocks, "block"))
	case f.rounds%f.blocks != 0 || f.requests%f.blocks != 0:
		return usage("what is to be measured can't be shared out among %s\nhint: --rounds or --requests as a multiple of %d, or another number of --blocks", count(f.blocks, "block"), f.blocks)
	}
	return f.checkOne()
}

// block is what one block of an endpoint measures: its share of the whole.
func (f *tileFlags) block() *tileFlags {
	own := *f
	own.duration /= time.Duration(f.blocks)
	own.rounds /= f.blocks
	own.requests /= f.blocks
	return &own
}

// tileSide is one of two endpoints that are compared. Its blocks are the repeats of a run of its own.
type tileSide struct {
	*tileRun
	n     int
	name  string
	out   io.Writer
	turns *turns
	end   func(cause error) // of both
	live  *tileLive         // of the block that is measured; nil: none is
	whole int               // blocks that are on disk

	result *sweep.Result
}

// tilePair measures two endpoints in blocks, in turn or at once, and says how they differ.
func (c *cli) tilePair(ctx context.Context, f *tileFlags, t tileSetup) error {
	o, err := (&compareFlags{format: "text", onUndecided: "fail", same: "5%", allow: f.allow}).options()
	if err != nil {
		return err
	}
	sides := make([]*tileSide, len(f.endpoints))
	for i, endpoint := range f.endpoints {
		r, err := c.newTileRun(ctx, f.block(), endpoint, t)
		if err != nil {
			return err
		}
		defer r.stop()
		sides[i] = &tileSide{tileRun: r, n: i, out: c.stdout, name: fmt.Sprintf("%c %s", 'A'+i, plain(target.Redact(r.m.Target.Endpoint)))}
	}
	if err := comparable(ctx, sides, o); err != nil {
		return err
	}
	for _, s := range sides {
		fmt.Fprintf(c.stdout, "\n%s\n%s", s.name, s.specification())
	}
	fmt.Fprint(c.stdout, f.orderText())
	cause := measureSides(ctx, sides, f.parallel)
	return c.concludePair(ctx, cause, sides, o)
}

// comparable refuses, before the load begins, what the comparison would refuse in the end.
func comparable(ctx context.Context, sides []*tileSide, o compare.Options) error {
	var said [2]compare.Side
	for i, s := range sides {
		said[i] = compare.Side{Name: s.name, Runs: []compare.Run{{Manifest: record.Manifest{Target: s.o.Server.Info}}}}
	}
	result, err := compare.Compare(said[0], said[1], o)
	if err != nil {
		return err
	}
	manners, err := differentManners(ctx, sides, o.Allow)
	if err != nil {
		return err
	}
	result.Differences = append(result.Differences, manners...)
	result.Refused = result.Refused || len(manners) > 0
	if err := (&compareFlags{}).verdict(result); err != nil {
		return err
	}
	a, b := sides[0].m.Points[0].Tile.Contexts, sides[1].m.Points[0].Tile.Contexts
	if a != b {
		return usage("the contexts are counted by each server, and come to %d and %d: that would be two workloads\nhint: --contexts %d", a, b, max(a, b))
	}
	return nil
}

// differentManners are the differences between what both servers are going to be sent that are not allowed.
func differentManners(ctx context.Context, sides []*tileSide, allow []string) (out []compare.Difference, err error) {
	var forms [2]string
	var bodies [2]map[string]any
	for i, s := range sides {
		if forms[i], bodies[i], err = s.o.Server.PromptStyle(ctx, &s.m.Points[0]); err != nil {
			return nil, err
		}
		delete(bodies[i], "model") // which is looked at by itself
	}
	if forms[0] != forms[1] && !slices.Contains(allow, "prompt_form") {
		out = append(out, compare.Difference{What: "prompt form", Base: forms[0], New: forms[1], Key: "prompt_form"})
	}
	if !reflect.DeepEqual(bodies[0], bodies[1]) && !slices.Contains(allow, "sampling") {
		out = append(out, compare.Difference{What: "sampling", Base: fmt.Sprint(bodies[0]), New: fmt.Sprint(bodies[1]), Key: "sampling"})
	}
	return out, nil
}

// orderText says in what order the blocks come, and how long they are.
func (f *tileFlags) orderText() string {
	b := f.block()
	long := count(b.rounds, "rotation")
	switch {
	case b.duration > 0:
		long = b.duration.String()
	case b.requests > 0:
		long = count(b.requests, "request")
	}
	order := "both at once"
	if !f.parallel {
		var letters []string
		for i := range 2 * f.blocks {
			letters = append(letters, string(rune('A'+sideOf(i))))
		}
		order = "in the order " + strings.Join(letters, " ")
	}
	return fmt.Sprintf("%s of %s for each endpoint, %s; each begins with a warm-up that is not counted\n", count(f.blocks, "block"), long, order)
}

// oneByOne lets two runs write to one place, a table at a time. It is no terminal: two tables can't both stay where they are.
type oneByOne struct {
	mu sync.Mutex
	w  io.Writer
}

func (o *oneByOne) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.w.Write(p)
}

// measureSides runs both until all their blocks are there, or one of them fails: the rest of the other would have nothing beside
// it. Its error is why they ended before that.
func measureSides(ctx context.Context, sides []*tileSide, parallel bool) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	t := newTurns(parallel)
	defer context.AfterFunc(ctx, t.over)()
	out := &oneByOne{w: sides[0].out}
	var both sync.WaitGroup
	for _, s := range sides {
		s.turns, s.o.Event = t, s.event
		s.end = func(cause error) { end(fmt.Errorf("%s: %w", s.name, cause)) }
		if parallel {
			s.out = out
		}
		both.Go(func() {
			defer t.leave(s.n)
			s.measure(ctx)
		})
		t.await(s.n) // so that the first directory is the first endpoint's
	}
	both.Wait()
	return context.Cause(ctx)
}

func (s *tileSide) measure(ctx context.Context) {
	var err error
	if s.result, err = sweep.Run(ctx, s.m, s.o); err != nil {
		s.end(err)
	}
	if s.live != nil {
		s.live.stop()
	}
}

// event holds a block back until its turn has come.
func (s *tileSide) event(e sweep.Event) {
	switch {
	case e.Started != nil:
		fmt.Fprintf(s.out, "results of %s go to %s\n\n", s.name, plain(e.Started.Dir))
		s.turns.open(s.n)
	case e.Begun != nil:
		if !s.turns.take(s.n) {
			return
		}
		s.live = newTileLive(s.out, s.f.interval, s.end)
		s.live.title = fmt.Sprintf("%s, block %d of %d", s.name, e.Begun.Index, e.Begun.Total)
		s.live.event(e)
	case e.Finished != nil:
		s.live.stop()
		s.live = nil
		s.whole++
		fmt.Fprintf(s.out, "%s: %s\n\n", s.name, plain(finished(e.Finished)))
		s.turns.pass()
	}
}

// concludePair makes the reports of both, compares the blocks that are whole, and finds the exit code. cause is why there are not
// more of them; nil = there are all.
func (c *cli) concludePair(ctx context.Context, cause error, sides []*tileSide, o compare.Options) error {
	defer debug.SetGCPercent(debug.SetGCPercent(reportGC))
	var errs []error
	if cause != nil && ctx.Err() == nil {
		errs = append(errs, cause)
	}
	for _, s := range sides {
		if err := c.reportSide(s); err != nil {
			errs = append(errs, err)
		}
	}
	if err := c.comparePair(sides, o); err != nil {
		errs = append(errs, err)
	}
	if ctx.Err() != nil {
		return &exitError{codeInterrupted, errors.Join(append([]error{errors.New("interrupted before its end: blocks that are whole are kept")}, errs...)...)}
	}
	return errors.Join(errs...)
}

// reportSide makes the report of one endpoint, where there is something to report.
func (c *cli) reportSide(s *tileSide) error {
	if s.whole == 0 {
		return nil
	}
	run, err := report.Load(s.result.Dir)
	if err == nil {
		err = c.render(run, true)
	}
	if err != nil {
		return fmt.Errorf("making the report: %w", err)
	}
	if failed := s.result.AllFailed; len(failed) > 0 {
		return fmt.Errorf("%s: every request failed in: %s\nhint: each record in %s has its error", s.name, strings.Join(failed, ", "), s.result.Dir)
	}
	return nil
}

// comparePair prints how the second endpoint differs from the first, over the blocks that are whole.
func (c *cli) comparePair(sides []*tileSide, o compare.Options) error {
	var loaded [2]compare.Side
	for i, s := range sides {
		if s.whole == 0 {
			return fmt.Errorf("nothing is compared: %s has no whole block", s.name)
		}
		side, err := loadSide(s.result.Dir)
		if err != nil {
			return err
		}
		side.Name = fmt.Sprintf("%s, %d of %s (%s)", s.name, s.whole, count(len(s.m.Points), "block"), s.result.Dir)
		loaded[i] = side
	}
	result, err := compare.Compare(loaded[0], loaded[1], o)
	if err != nil {
		return err
	}
	fmt.Fprintln(c.stdout)
	if err := report.ComparisonText(c.stdout, result, colors(c.stdout)); err != nil {
		return err
	}
	fmt.Fprint(c.stdout, pairText(result, sides))
	a, b := shellWord(sides[0].result.Dir), shellWord(sides[1].result.Dir)
	again := "bench compare " + a + " " + b
	if len(o.Allow) > 0 {
		again += " --allow " + strings.Join(o.Allow, ",")
	}
	fmt.Fprintf(c.stdout, "\nreports: %s/report.html, %s/report.html\nagain:   %s\n", a, b, again)
	return (&compareFlags{}).verdict(result)
}
