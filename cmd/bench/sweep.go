package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"bench/experiment"
	"bench/experiment/endpoint"
	"bench/experiment/mock"
	"bench/experiment/record"
	"bench/experiment/roofline"
	"bench/experiment/target"
	"bench/sweep"
)

// sweepFlags are the flags of `bench sweep`.
type sweepFlags struct {
	key keyFlags

	endpoint, api, model string
	hardware, precision  string
	gpus                 int
	tables               tableFlags

	out, resume     string
	only            []string
	dryRun, enforce bool
	acceptChange    bool
	watch           watchFlags
}

func newSweep(c *cli) *cobra.Command {
	f := &sweepFlags{}
	cmd := &cobra.Command{
		Use:   "sweep MATRIX",
		Short: "expand a matrix, run it, save the results, make the report",
		Long: `sweep reads a matrix (TOML), sends its workloads to the endpoint, and leaves in results/<matrix>/<start time>/
a JSON file and the request records of each row, report.html and summary.md. Without an endpoint it measures an
embedded simulated server. Ctrl-C keeps what is finished; --resume goes on from there.`,
		Example: `  bench sweep matrices/chat.toml                                      the simulated server
  bench sweep matrices/chat.toml --endpoint http://localhost:8000     your server, its model discovered
  bench sweep matrices/chat.toml --endpoint https://host/v1 --api-key-env MY_KEY --model my-model --api chat
  bench sweep matrices/chat.toml --dry-run                            what would be run, and how long
  bench sweep matrices/chat.toml --only 'D-*' --only F-production     some rows
  bench sweep matrices/chat.toml --resume results/chat/20260101T120000Z
  bench sweep matrices/full.toml --enforce                            exit 3 unless every SLO is met
  bench sweep matrices/chat.toml --json | jq 'select(.event == "row_finished").result'`,
		Args: positional(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.sweep(cmd, f, args[0])
		},
	}
	fl := cmd.Flags()
	f.key.register(fl)
	fl.StringVar(&f.endpoint, "endpoint", "", `where to send requests, instead of [target] endpoint: host:port, a URL, or "mock"`)
	fl.StringVar(&f.api, "api", "", "completions or chat, instead of [target] api")
	fl.StringVar(&f.model, "model", "", "model to ask for, instead of [target] model")
	fl.StringVar(&f.hardware, "hardware", "", "GPU under test for bounds, e.g. h100-sxm, instead of [target] hardware")
	fl.IntVar(&f.gpus, "gpus", 0, "number of GPUs, instead of [target] gpus")
	fl.StringVar(&f.precision, "precision", "", "of the weights, e.g. bf16, fp8, instead of [target] precision")
	f.tables.register(fl)
	fl.StringVar(&f.out, "out", "results", "directory for results")
	fl.StringVar(&f.resume, "resume", "", "directory of the run to go on with")
	fl.StringArrayVar(&f.only, "only", nil, "run only the rows that match this name or glob (repeatable)")
	fl.BoolVar(&f.dryRun, "dry-run", false, "print the points, their requests and times, and send nothing")
	fl.BoolVar(&f.enforce, "enforce", false, "exit 3 unless every SLO is met by valid rows")
	fl.BoolVar(&f.acceptChange, "accept-server-change", false, "with --resume: redo everything when the server is another one")
	f.watch.register(fl)
	return cmd
}

func (c *cli) sweep(cmd *cobra.Command, f *sweepFlags, file string) error {
	if f.resume != "" && cmd.Flags().Changed("out") {
		return usage("--resume goes on in its own directory: --out has no say\nhint: leave out --out")
	}
	key, err := f.key.resolve(cmd.Flags(), c.stderr)
	if err != nil {
		return err
	}
	models, hardware, err := f.tables.read(c.stderr)
	if err != nil {
		return err
	}
	simulated := mock.Config{Models: models, Devices: hardware}
	m, err := sweep.Read(file, sweep.Extension{Table: "mock", Into: &simulated})
	if err != nil {
		return inUsage(err)
	}
	if err := f.override(m, c.stderr); err != nil {
		return err
	}
	if f.dryRun {
		if err := sizeTiles(m, models, m.Target.Model); err != nil {
			return err
		}
		room := 0
		if isMock(m.Target.Endpoint) {
			room = simulated.KVTokens()
		}
		return c.dryRun(m, f.only, room)
	}
	defer ignoreSIGPIPE()()
	v, commit := version()
	o := sweep.Options{
		Out: f.out, Resume: f.resume, Only: f.only,
		Client: sweep.Client(v, commit), Command: redacted(c.args), AcceptServerChange: f.acceptChange,
	}
	ctx := cmd.Context()
	dial := connection{m, f, models, hardware, key}
	stop, err := f.servers(ctx, m, simulated, &o, func(ctx context.Context, base, simulator string) (*endpoint.Server, record.RooflineSource, error) {
		return c.connect(ctx, dial, base, simulator)
	})
	if err != nil {
		return err
	}
	defer stop()
	w, err := c.watch(ctx, f.watch, m, f.only)
	if err != nil {
		return err
	}
	result, err := c.watched(ctx, m, o, w)
	err = c.conclude(result, err, f)
	w.ended(result)
	return err
}

// watched runs the sweep and shows it on w.
func (c *cli) watched(ctx context.Context, m *sweep.Matrix, o sweep.Options, w watcher) (*sweep.Result, error) {
	stderr := c.stderr
	c.stderr = w.notes
	defer func() { // also after a panic
		w.stop()
		c.stderr = stderr
	}()
	o.Event = w.event
	return sweep.Run(ctx, m, o)
}

// connection is what a connection to a server takes.
type connection struct {
	m        *sweep.Matrix
	flags    *sweepFlags
	models   roofline.Models
	hardware roofline.Hardware
	key      string
}

// connect reaches a server and finds its roofline. simulator describes a simulated server; empty: it is none.
func (c *cli) connect(ctx context.Context, to connection, base, simulator string) (*endpoint.Server, record.RooflineSource, error) {
	server, err := c.reach(ctx, to.m, to.flags, base, to.key)
	if err != nil {
		return nil, record.RooflineSource{}, err
	}
	if err := sizeTiles(to.m, to.models, server.Info.Model); err != nil {
		server.Close()
		return nil, record.RooflineSource{}, err
	}
	server.Simulated(simulator)
	server.Selftest = savedSelftest(c.stderr)
	source := record.NewRooflineSource(to.models, to.hardware, server.Info.Model, to.m.Target)
	if to.m.Target.Hardware != "" && source.Missing() != "" {
		fmt.Fprintln(c.stderr, plain("note: rows have no roofline: "+source.Missing()))
	}
	return server, source, nil
}

// servers gives the run the one server that it measures, or the means to have several.
func (f *sweepFlags) servers(ctx context.Context, m *sweep.Matrix, simulated mock.Config, o *sweep.Options,
	meet func(ctx context.Context, base, simulator string) (*endpoint.Server, record.RooflineSource, error)) (stop func(), err error) {
	if m.Varies() {
		self, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("finding this program, which guards servers too: %w", err)
		}
		o.Guard = []string{self, "guard"}
		o.Reach = func(ctx context.Context, endpoint string) (*endpoint.Server, record.RooflineSource, error) {
			base, err := target.BaseURL(endpoint)
			if err != nil {
				return nil, record.RooflineSource{}, usage("the endpoint: %w", err)
			}
			return meet(ctx, base, "")
		}
		return func() {}, nil
	}
	base, simulator, end, err := f.target(ctx, m, simulated)
	if err != nil {
		return nil, err
	}
	if o.Server, o.Bounds, err = meet(ctx, base, simulator); err != nil {
		end()
		return nil, err
	}
	return func() {
		o.Server.Close()
		end()
	}, nil
}

// inUsage makes a file that can't be read an error of usage; mistakes in it are one already.
func inUsage(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return usage("%w\nhint: matrices that come with bench: matrices/chat.toml, matrices/smoke.toml", err)
	}
	return &exitError{codeUsage, err}
}

// override lays the flags over [target].
func (f *sweepFlags) override(m *sweep.Matrix, stderr io.Writer) error {
	t := &m.Target
	if f.endpoint != "" && isMock(f.endpoint) != isMock(t.Endpoint) {
		// What the file says of one machine is not true of the other.
		if t.Hardware != "" || len(t.Facts) > 0 || t.GPUHourUSD != nil || t.Owned != (experiment.Owned{}) {
			fmt.Fprintln(stderr, "note: hardware, gpus, precision, price and facts in [target] describe what endpoint there means, and are not taken over;\n"+
				"      state those of this endpoint with --hardware, --gpus and --precision, or in the matrix beside it")
		}
		t.Hardware, t.GPUs, t.Precision, t.GPUHourUSD, t.Owned, t.Facts = "", 0, "", nil, experiment.Owned{}, nil
		if isMock(t.Endpoint) {
			t.Model = ""
		}
	}
	for _, o := range []struct {
		flag string
		into *string
	}{{f.endpoint, &t.Endpoint}, {f.api, &t.API}, {f.model, &t.Model}, {f.hardware, &t.Hardware}, {f.precision, &t.Precision}} {
		if o.flag != "" {
			*o.into = o.flag
		}
	}
	if f.gpus != 0 {
		t.GPUs = f.gpus
	}
	var wrong []string
	t.Check(func(key, problem, hint string) {
		wrong = append(wrong, fmt.Sprintf("--%s: %s\nhint: %s", key, problem, hint))
	})
	if len(wrong) > 0 {
		return usage("%s", strings.Join(wrong, "\nerror: "))
	}
	return nil
}

func isMock(endpoint string) bool { return endpoint == "" || endpoint == "mock" }

// target gives the base URL of the endpoint; for "mock" it starts the simulated server and says what that simulates.
func (f *sweepFlags) target(ctx context.Context, m *sweep.Matrix, config mock.Config) (base, simulator string, stop func(), err error) {
	if !isMock(m.Target.Endpoint) {
		base, err = target.BaseURL(m.Target.Endpoint)
		if err != nil {
			return "", "", nil, usage("the endpoint: %w", err)
		}
		return base, "", func() {}, nil
	}
	if config.Model == "" && m.Target.Model != "" {
		config.Model = m.Target.Model
	}
	server, err := mock.New(config)
	if err != nil {
		return "", "", nil, usage("[mock]: %w", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", "", nil, fmt.Errorf("starting the simulated server: %w", err)
	}
	// It outlives ctx, so that requests in flight at an interruption can be drained.
	mockCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(mockCtx, l) // its end is seen by the client
	}()
	stop = func() {
		cancel()
		<-done
	}
	return "http://" + l.Addr().String() + "/v1", server.Describe(), stop, nil
}

// reach connects, and says what to try when that fails.
func (c *cli) reach(ctx context.Context, m *sweep.Matrix, f *sweepFlags, base, key string) (*endpoint.Server, error) {
	var picked []experiment.Spec
	for _, s := range m.Points {
		ok, err := sweep.Match(&s, f.only)
		if err != nil {
			return nil, usage("--only: %w", err)
		}
		if ok {
			picked = append(picked, s)
		}
	}
	if len(picked) == 0 {
		return nil, noMatch(m, f.only)
	}
	server, err := endpoint.Reach(ctx, m.Target, base, key, experiment.APIs(picked, m.Target))
	if err != nil {
		if ctx.Err() != nil {
			return nil, &exitError{codeInterrupted, errors.New("interrupted before anything was measured")}
		}
		return nil, unreachable(base, key, m.Target.HTTP2, f, err)
	}
	var tooLong []string
	for i := range picked {
		if err := server.Fits(&picked[i]); err != nil {
			tooLong = append(tooLong, err.Error())
		}
	}
	if len(tooLong) > 0 {
		server.Close()
		return nil, usage("%s", strings.Join(tooLong, "\nerror: "))
	}
	return server, nil
}

// unreachableError is an endpoint that could not be met.
type unreachableError struct {
	url  string // as it may be shown
	text string
}

func (e *unreachableError) Error() string { return e.text }

// statusText is in an error of a server that was met.
var statusText = regexp.MustCompile(`: HTTP ([45]\d\d): `)

// unreachable says which URL was tried, and what to try by hand.
func unreachable(base, key string, http2 bool, f *sweepFlags, err error) error {
	shown := target.Redact(base)
	text := fmt.Sprintf("the endpoint %s: %v", shown, err)
	if strings.Contains(text, "\nhint:") { // it knows better
		return errors.New(text)
	}
	if strings.Contains(text, "does not look like a TLS handshake") {
		return fmt.Errorf("%s\nhint: the port speaks http, not https: --endpoint %s", text, strings.Replace(strings.TrimSuffix(shown, "/v1"), "https://", "http://", 1))
	}
	if http2 && strings.HasPrefix(base, "http://") && strings.Contains(text, "http2: ") {
		return fmt.Errorf("%s\nhint: without TLS http2 = true needs a server that begins in HTTP/2 (h2c), and this one does not: leave out http2 in [target], or name its https:// address", text)
	}
	auth := ""
	if key != "" {
		auth = f.key.curl()
	}
	if refused := statusText.FindStringSubmatch(text); refused != nil {
		hint := "it answers, but not as the API: is the address right?"
		if refused[1] == "401" || refused[1] == "403" {
			hint = "give the key that the server wants: --api-key-env VAR;"
		}
		return fmt.Errorf("%s\nhint: %s try: curl -sS%s %s/models", text, hint, auth, shown)
	}
	return &unreachableError{shown, fmt.Sprintf("%s\nhint: is the server up? try: curl -sS%s %s/models", text, auth, shown)}
}

// dryRun prints the plan; room is as in planTable.
func (c *cli) dryRun(m *sweep.Matrix, only []string, room int) error {
	plan, err := planTable(m, only, room)
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(c.stdout, plan)
	return err
}
