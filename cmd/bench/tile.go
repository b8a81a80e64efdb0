package main

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"

	"bench/experiment"
	"bench/experiment/endpoint"
	"bench/experiment/mock"
	"bench/experiment/record"
	"bench/experiment/roofline"
	"bench/experiment/target"
	"bench/sweep"
)

func newTile(c *cli) *cobra.Command {
	f := &tileFlags{}
	cmd := &cobra.Command{
		Use:   "tile --endpoint URL",
		Short: "the endless KV-cache tiling workload with live metrics",
		Long: `tile sends long contexts in a circle, each time with another question behind the context, and as many of them as fill an
offloading tier of the KV cache. The circle is the worst case of a cache that frees what was used longest ago: one that is smaller
than all contexts together finds none of them again, one that holds them all finds every one from the second rotation on.
It runs until Ctrl-C (or for --duration, --rounds or --requests), prints its metrics on the way, and leaves the same results as a row
of bench sweep: bench report and bench compare work on them. The first rotation, which finds nothing, is stored and not counted.
With two endpoints it measures them in turn, in blocks (A B B A …), or at once, and ends with the difference.`,
		Example: `  bench tile --endpoint http://localhost:8000                          the model discovered, 100 GiB filled to 0.9
  bench tile --endpoint localhost:8000 --offload-size 400 --kv-precision fp8
  bench tile --endpoint localhost:8000 --offload-size-per-gpu 100 --gpus 8
  bench tile --endpoint localhost:8000 --bytes-per-token 98304 --input 16000
  bench tile --endpoint localhost:8000 --fit hbm --duration 5m         a context more than the server's own cache holds
  bench tile --endpoint mock --contexts 6 --input 512 --rounds 3       without a server: to see what it does
  bench tile --endpoint host-a:8000 --endpoint host-b:8000 --duration 5m     two servers in turn, and the difference
  bench compare results/tile/20260101T120000Z results/tile/20260101T130000Z`,
		Args: positional(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.tile(cmd, f) },
	}
	f.register(cmd.Flags())
	return cmd
}

func (c *cli) tile(cmd *cobra.Command, f *tileFlags) error {
	if err := f.check(cmd.Flags()); err != nil {
		return err
	}
	key, err := f.key.resolve(cmd.Flags(), c.stderr)
	if err != nil {
		return err
	}
	models, hardware, err := f.tables.read(c.stderr)
	if err != nil {
		return err
	}
	defer unread()()
	t := tileSetup{key, models, hardware}
	if len(f.endpoints) == 2 {
		return c.tilePair(cmd.Context(), f, t)
	}
	r, err := c.newTileRun(cmd.Context(), f, f.endpoints[0], t)
	if err != nil {
		return err
	}
	defer r.stop()
	fmt.Fprint(c.stdout, r.specification())
	return c.runTiles(cmd.Context(), r)
}

// tileSetup is what the runs of one command line have in common.
type tileSetup struct {
	key      string
	models   roofline.Models
	hardware roofline.Hardware
}

// tileRun is a server that has been reached, and what is to be sent to it.
type tileRun struct {
	f      *tileFlags
	m      *sweep.Matrix
	o      sweep.Options
	sizing *experiment.Sizing // nil: the contexts are stated
	stop   func()             // lets go of the server
}

// newTileRun reaches an endpoint, and counts the contexts.
func (c *cli) newTileRun(ctx context.Context, f *tileFlags, ep string, t tileSetup) (*tileRun, error) {
	own := *f
	own.endpoint = ep
	simulated := mock.Config{Models: t.models, Devices: t.hardware}
	m, err := sweep.Parse("the flags, as a matrix", []byte(own.matrix()), sweep.Extension{Table: "mock", Into: &simulated})
	if err != nil {
		return nil, &exitError{codeUsage, err}
	}
	if err := own.override(m, c.stderr); err != nil {
		return nil, err
	}
	v, commit := version()
	r := &tileRun{f: &own, m: m, o: sweep.Options{Out: f.out, Client: sweep.Client(v, commit), Command: redacted(c.args), Once: true}}
	meet := func(ctx context.Context, base, simulator string) (*endpoint.Server, record.RooflineSource, error) {
		fmt.Fprintf(c.stdout, "endpoint: %s\n", plain(target.Redact(base)))
		return c.meetTiles(ctx, r, t, base, simulator)
	}
	if r.stop, err = own.servers(ctx, m, simulated, &r.o, meet); err != nil {
		return nil, couldNotConnect(err)
	}
	return r, nil
}

// couldNotConnect puts the words first that people look for.
func couldNotConnect(err error) error {
	if refused := new(unreachableError); errors.As(err, &refused) {
		return fmt.Errorf("could not connect to endpoint: %s\n%w", refused.url, err)
	}
	return err
}

// meetTiles reaches the server, and counts the contexts.
func (c *cli) meetTiles(ctx context.Context, r *tileRun, t tileSetup, base, simulator string) (*endpoint.Server, record.RooflineSource, error) {
	server, err := c.reach(ctx, r.m, &r.f.sweepFlags, base, t.key)
	if err != nil {
		return nil, record.RooflineSource{}, err
	}
	fmt.Fprintf(c.stdout, "found model: %s\n", plain(server.Info.Model))
	server.Simulated(simulator)
	server.Selftest = savedSelftest(c.stderr)
	contexts, err := r.f.fitCache(&r.m.Points[0], server)
	if err == nil {
		err = r.size(contexts, t.models, server.Info.Model)
	}
	if err != nil {
		server.Close()
		return nil, record.RooflineSource{}, err
	}
	return server, record.NewRooflineSource(t.models, t.hardware, server.Info.Model, r.m.Target), nil
}

// size counts the contexts of each block, unless they are stated; 0 = they are not.
func (r *tileRun) size(contexts int, models roofline.Models, model string) error {
	for i := range r.m.Points {
		s := &r.m.Points[i]
		tile := *s.Tile
		tile.Contexts = contexts // those of stated bytes are counted already: here again, to say from what
		s.Tile = &tile
		sizing, err := s.Size(models, model, r.m.Target.GPUs)
		if err != nil {
			return unsizable(err)
		}
		r.sizing = sizing
	}
	return nil
}

// specification says what is going to be sent.
func (r *tileRun) specification() string {
	return specificationText(&r.m.Points[0], r.o.Server, r.sizing)
}

// fitCache counts the contexts by the cache that the server states; 0 = it has no say.
func (f *tileFlags) fitCache(s *experiment.Spec, server *endpoint.Server) (contexts int, err error) {
	if f.fit != "hbm" {
		return f.contexts, nil
	}
	tokens := server.CacheTokens()
	if tokens == 0 {
		return 0, usage("the server does not state its KV cache (vllm:cache_config_info), which --fit hbm is about\nhint: --contexts N")
	}
	return experiment.ContextsOver(tokens, s.Input.Least()), nil
}

// sizeTiles counts the contexts of the rows that do not state them.
func sizeTiles(m *sweep.Matrix, models roofline.Models, model string) error {
	for i := range m.Points {
		if _, err := m.Points[i].Size(models, model, m.Target.GPUs); err != nil {
			return unsizable(fmt.Errorf("%s: %w", m.Points[i].Pretty(), err))
		}
	}
	return nil
}

// unsizable says what to type when the contexts could not be counted.
func unsizable(err error) error {
	var unknown *roofline.UnknownError
	if errors.As(err, &unknown) {
		return fmt.Errorf("%w\nhint: or state it: --bytes-per-token N or --contexts N (in a matrix bytes_per_token or contexts in [row.tile])", unknownEntry(err))
	}
	return usage("%w", err)
}

// reportGC is the garbage that is let stand while the report is made, in percent of what is in use: a long row has many records.
const reportGC = 20

// runTiles runs the one row until its end, or until it is told to end.
func (c *cli) runTiles(ctx context.Context, r *tileRun) error {
	ends, end := context.WithCancelCause(ctx)
	defer end(nil)
	live := newTileLive(c.stdout, r.f.interval, end)
	live.told = ends.Done()
	r.o.Ends, r.o.Event = ends, live.event
	if r.f.endless() {
		fmt.Fprint(c.stdout, "it runs until you interrupt it (Ctrl-C); the results are saved then\n\n")
	}
	result, err := sweep.Run(context.WithoutCancel(ctx), r.m, r.o)
	live.stop()
	var failing *failingError
	if errors.As(context.Cause(ends), &failing) {
		err = errors.Join(failing, err)
	}
	if row := live.row; row != nil && err == nil {
		fmt.Fprint(c.stdout, rotationsText(row))
		if row.Summary.Requests.Planned == 0 && ctx.Err() != nil {
			return &exitError{codeInterrupted, fmt.Errorf("interrupted in the warm-up: its requests are stored in %s, and nothing is counted\nhint: let it run for longer than the warm-up, or state --warmup 1", result.Dir)}
		}
	}
	defer debug.SetGCPercent(debug.SetGCPercent(reportGC))
	if err = c.conclude(result, err, &r.f.sweepFlags); err == nil && ctx.Err() != nil && !r.f.endless() {
		err = &exitError{codeInterrupted, fmt.Errorf("interrupted before its end: what was measured until then is in %s", result.Dir)}
	}
	return err
}
