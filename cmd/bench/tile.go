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
	"bench/experiment/safetext"
	"bench/sweep"
	"bench/sweep/forecast"
	"bench/sweep/live"
)

func newTile(c *cli) *cobra.Command {
	f := &tileFlags{}
	cmd := &cobra.Command{
		Use:   "tile URL [URL]",
		Short: "the endless KV-cache tiling workload with live metrics",
		Long: `tile sends long contexts in a circle, each time with another question behind the context. It sends as many contexts
as fill an offloading tier of the KV cache. The circle is the worst case of an LRU cache: a cache that is smaller than all
contexts together finds none of them again; a cache with room for all finds every one from the second rotation on.
tile runs until interrupted (or for --duration, --rounds or --requests), prints a line of metrics each --interval, and
saves the same results as a row of bench sweep, for bench report and bench compare. The first rotation finds nothing: it
is stored, not counted.
Two endpoints are measured in interleaved blocks (A B B A) of one run, which ends with their difference.`,
		Example: `  bench tile http://localhost:8000                          discovers the model, fills 0.9 of 100 GiB
  bench tile localhost:8000 --offload-size 400 --kv-precision fp8
  bench tile localhost:8000 --offload-size-per-gpu 100 --gpus 8
  bench tile localhost:8000 --bytes-per-token 98304 --input 16000
  bench tile localhost:8000 --fit hbm --duration 5m         one context more than the server's own cache holds
  bench tile mock --contexts 6 --input 512 --rounds 3       a trial without a server
  bench tile host-a:8000 host-b:8000 --duration 5m          two servers, interleaved, and their difference
  bench compare results/tile/20260101T120000Z results/tile/20260101T130000Z`,
		Args: positional(cobra.MaximumNArgs(maxTileEndpoints)),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.endpoints = append(f.endpoints, args...)
			return c.tile(cmd, f)
		},
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
	defer ignoreSIGPIPE()()
	t := &tileRun{cli: c, tileFlags: f, key: key, models: models, hardware: hardware}
	stop, err := t.prepare(cmd.Context())
	if err != nil {
		return err
	}
	defer stop()
	if t.m.Varies() {
		return t.runPair(cmd.Context())
	}
	fmt.Fprintf(c.stdout, "endpoint   %s\n%s\n", safe(t.o.Server.Info.Endpoint), t.specification(t.o.Server))
	return t.runOne(cmd.Context())
}

type tileRun struct {
	*cli
	*tileFlags
	key      string
	models   roofline.Models
	hardware roofline.Hardware

	m      *sweep.Matrix
	o      sweep.Options
	sizing *experiment.Sizing // of the server that was reached last; nil: the contexts are stated
	known  bool               // the servers were reached and compared
}

// prepare parses the flags as a matrix and gives the run its server, or the means to reach two. stop closes
// the server.
func (t *tileRun) prepare(ctx context.Context) (stop func(), err error) {
	simulated := mock.Config{Models: t.models, Devices: t.hardware}
	t.m, err = sweep.Parse("the flags, as a matrix", []byte(t.matrix()), sweep.Extension{Table: "mock", Into: &simulated})
	if err != nil {
		return nil, &exitError{codeUsage, err}
	}
	if len(t.endpoints) == 1 {
		t.endpoint = t.endpoints[0]
	}
	if err := t.override(t.m, t.stderr); err != nil {
		return nil, err
	}
	if _, err := t.checkHardware(t.m, t.models, t.hardware); err != nil {
		return nil, err
	}
	v, commit := version()
	t.o = sweep.Options{
		Out: t.out, Resume: t.resume, Client: sweep.Client(v, commit), Command: redacted(t.args), NoResume: !t.m.Varies(),
	}
	stop, err = t.servers(ctx, t.m, simulated, &t.o, t.connect)
	return stop, couldNotConnect(err)
}

// couldNotConnect names the endpoint first if it could not be reached.
func couldNotConnect(err error) error {
	if refused := new(unreachableError); errors.As(err, &refused) {
		return fmt.Errorf("could not connect to endpoint: %s\n%w", refused.url, err)
	}
	return err
}

// connect reaches a server. The first time it also counts the contexts of the matrix.
func (t *tileRun) connect(ctx context.Context, base, simulator string) (*endpoint.Server, record.RooflineSource, error) {
	server, err := t.reach(ctx, t.m, &t.sweepFlags, base, t.key)
	if err != nil {
		return nil, record.RooflineSource{}, err
	}
	server.MarkSimulated(simulator)
	server.Selftest = savedSelftest(t.stderr)
	if !t.known {
		if err := t.size(server); err != nil {
			server.Close()
			return nil, record.RooflineSource{}, err
		}
	}
	return server, record.NewRooflineSource(t.models, t.hardware, server.Info.Model, t.m.Target), nil
}

// statedContexts is the number of contexts by --contexts or by the server's own KV cache; 0: the tier's size
// counts them. Without any sizing flag, a model of unknown KV size gets the number of --fit hbm.
func (t *tileRun) statedContexts(server *endpoint.Server) (int, error) {
	tokens, fit := server.CacheTokens(), t.fit == fitHBM
	switch _, err := t.models.Find(server.Info.Model); {
	case fit && tokens == 0:
		return 0, usage("the server does not report its KV cache (vllm:cache_config_info), which --fit hbm needs\nhint: state the contexts: --contexts 8")
	case !fit && (t.contexts > 0 || t.sized() || err == nil || tokens == 0):
		return t.contexts, nil
	case !fit:
		fmt.Fprintf(t.stdout, "note: the KV-cache size of model %s is unknown: the contexts exceed the\n"+
			"      server's own cache, as with --fit hbm; --bytes-per-token N fills a tier\n", safe(server.Info.Model))
	}
	return experiment.ContextsToOverflow(tokens, t.m.Points[0].Input.Least()), nil
}

// size counts the contexts of each block, unless they are stated.
func (t *tileRun) size(server *endpoint.Server) error {
	contexts, err := t.statedContexts(server)
	if err != nil {
		return err
	}
	for i := range t.m.Points {
		s := &t.m.Points[i]
		tile := *s.Tile
		tile.Contexts = contexts // parsing counted those of stated bytes: 0 counts them again, for the sizing
		s.Tile = &tile
		if t.sizing, err = s.SizeTiling(t.models, server.Info.Model, t.m.Target.GPUs); err != nil {
			return t.unsizable(err)
		}
	}
	return nil
}

// unsizable adds what to type when the contexts could not be counted.
func (t *tileRun) unsizable(err error) error {
	var unknown *roofline.UnknownError
	switch {
	case !errors.As(err, &unknown) || unknown.Many:
		return usage("%w", err)
	case t.kvPrecision != "" || t.accounting != "":
		return usage("%w\nhint: --bytes-per-token N in place of --kv-precision and --kv-accounting, e.g. 131072 for Llama-3.1-8B in bf16", err)
	case t.sized():
		return usage("%w\nhint: state its KV cache, here as of Llama-3.1-8B in bf16: %s --bytes-per-token 131072", err, t.commandLine())
	}
	return usage("%w\nhint: state the contexts: %s --contexts 8\nhint: or its KV cache, to fill a tier: --bytes-per-token N", err, t.commandLine())
}

// commandLine is the command line as a shell takes it, without secrets.
func (c *cli) commandLine() string {
	return safetext.ShellWords(redacted(c.args))
}

// specification describes what a server will be sent.
func (t *tileRun) specification(server *endpoint.Server) string {
	return forecast.TilingText(&t.m.Points[0], server.Info.Model, server.CacheTokens(), t.sizing)
}

// sizeTiles counts the contexts of the rows that do not state them.
func sizeTiles(m *sweep.Matrix, models roofline.Models, model string) error {
	for i := range m.Points {
		if _, err := m.Points[i].SizeTiling(models, model, m.Target.GPUs); err != nil {
			return unsizableRow(fmt.Errorf("%s: %w", m.Points[i].Label(), err))
		}
	}
	return nil
}

// unsizableRow adds what to write when the contexts of a row could not be counted.
func unsizableRow(err error) error {
	var unknown *roofline.UnknownError
	if errors.As(err, &unknown) {
		return fmt.Errorf("%w\nhint: or write contexts = 8, or bytes_per_token = 131072, in [row.tile]", unknownEntry(err))
	}
	return usage("%w", err)
}

// reportGC is the GOGC while the report is made: a long row has many records.
const reportGC = 20

// runOne runs the one row until its end or an interruption.
func (t *tileRun) runOne(ctx context.Context) error {
	ends, end := context.WithCancelCause(ctx)
	defer end(nil)
	tiling := &live.Tiling{View: newView(t.stdout, t.interval, ends.Done()), Head: &live.Heading{}, End: end}
	t.o.Ends, t.o.Event = ends, tiling.Event
	if t.endless() {
		fmt.Fprint(t.stdout, "It runs until Ctrl-C, and then saves the results.\n\n")
	}
	result, err := sweep.Run(context.WithoutCancel(ctx), t.m, t.o)
	tiling.Stop()
	fmt.Fprintln(t.stdout)
	var failing *live.FailingError
	if errors.As(context.Cause(ends), &failing) {
		err = errors.Join(failing, err)
	}
	if row := tiling.Row; row != nil && err == nil {
		if row.Summary.Requests.Planned == 0 && ctx.Err() != nil {
			return &exitError{codeInterrupted, fmt.Errorf("interrupted in the warm-up: %s has its requests, and none is counted\nhint: let it run longer than the warm-up, or --warmup 1", result.Dir)}
		}
	}
	defer debug.SetGCPercent(debug.SetGCPercent(reportGC))
	if err = t.conclude(result, err, &t.sweepFlags); err == nil && ctx.Err() != nil && !t.endless() {
		err = &exitError{codeInterrupted, fmt.Errorf("interrupted before its end: %s has what was measured until then", result.Dir)}
	}
	return err
}
