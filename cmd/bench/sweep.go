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
	"bench/sweep/forecast"
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
		Short: "run a matrix and write its results and report",
		Long: `sweep sends the workloads of a matrix (TOML) to an endpoint. It writes to results/<matrix>/<start time>/: a JSON
file and request records per row, report.html and summary.md. Without an endpoint it measures the embedded
simulated server. Ctrl-C keeps finished rows; --resume continues the run.`,
		Example: `  bench sweep matrices/chat.toml                                      the simulated server
  bench sweep matrices/chat.toml --endpoint http://localhost:8000     your server; bench finds its model
  bench sweep matrices/chat.toml --endpoint https://host/v1 --api-key-env MY_KEY --model my-model --api chat
  bench sweep matrices/chat.toml --dry-run                            print the plan and its duration
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
	fl.StringVar(&f.endpoint, "endpoint", "", `endpoint: host:port, a URL, or "mock" (default: [target] endpoint)`)
	fl.StringVar(&f.api, "api", "", "API: completions or chat (default: [target] api)")
	fl.StringVar(&f.model, "model", "", "model name in requests (default: [target] model)")
	fl.StringVar(&f.hardware, "hardware", "", "GPU under test, for the roofline, e.g. h100-sxm (default: [target] hardware)")
	fl.IntVar(&f.gpus, "gpus", 0, "number of GPUs (default: [target] gpus)")
	fl.StringVar(&f.precision, "precision", "", "precision of the weights, e.g. bf16, fp8 (default: [target] precision)")
	f.tables.register(fl)
	fl.StringVar(&f.out, "out", "results", "`DIR` for results")
	fl.StringVar(&f.resume, "resume", "", "`DIR` of the run to continue")
	fl.StringArrayVar(&f.only, "only", nil, "run only rows that match this name or `GLOB` (repeatable)")
	fl.BoolVar(&f.dryRun, "dry-run", false, "print the points with their requests and durations; send nothing")
	fl.BoolVar(&f.enforce, "enforce", false, "exit 3 unless every SLO is met by valid rows")
	fl.BoolVar(&f.acceptChange, "accept-server-change", false, "with --resume: if the server changed, run all rows again")
	f.watch.register(fl)
	return cmd
}

func (c *cli) sweep(cmd *cobra.Command, f *sweepFlags, file string) error {
	if f.resume != "" && cmd.Flags().Changed("out") {
		return usage("--out cannot be combined with --resume: a resumed run stays in its directory\nhint: omit --out")
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
		return matrixError(err)
	}
	if err := f.override(m, c.stderr); err != nil {
		return err
	}
	if err := f.enforceable(m); err != nil {
		return err
	}
	known := forecast.Known{Only: f.only, Speed: speed(m, simulated, models, hardware)}
	if f.dryRun {
		if err := sizeTiles(m, models, m.Target.Model); err != nil {
			return err
		}
		if simulates(m) {
			known.Room = simulated.KVTokens()
		}
		return c.dryRun(m, f.resume, known)
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
	w, err := c.watch(ctx, f.watch, m, known)
	if err != nil {
		return err
	}
	result, err := c.watched(ctx, m, o, w)
	err = c.conclude(result, err, f)
	w.ended(result)
	return err
}

// enforceable refuses --enforce if no picked row has anything to enforce: it would exit 0 whatever is measured.
func (f *sweepFlags) enforceable(m *sweep.Matrix) error {
	if !f.enforce {
		return nil
	}
	picked := false
	for i := range m.Points {
		s := &m.Points[i]
		ok, err := sweep.Match(s, f.only)
		if err != nil {
			return usage("--only: %w", err)
		}
		if ok && decides(s) {
			return nil
		}
		picked = picked || ok
	}
	if !picked {
		return noMatch(m, f.only)
	}
	return usage("--enforce: no row has an SLO or a search\nhint: write [slo] with ttft_p95 = \"1s\" in %s", m.File)
}

// decides reports whether a row can be met or missed.
func decides(s *experiment.Spec) bool { return s.HasLimits() || s.Search != nil }

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
	server.MarkSimulated(simulator)
	server.Selftest = savedSelftest(c.stderr)
	source := record.NewRooflineSource(to.models, to.hardware, server.Info.Model, to.m.Target)
	if to.m.Target.Hardware != "" && source.Missing() != "" {
		fmt.Fprintln(c.stderr, safe("note: rows have no roofline: "+source.Missing()))
	}
	return server, source, nil
}

// servers sets o.Server, or for variants o.Reach. stop closes the server.
func (f *sweepFlags) servers(ctx context.Context, m *sweep.Matrix, simulated mock.Config, o *sweep.Options,
	meet func(ctx context.Context, base, simulator string) (*endpoint.Server, record.RooflineSource, error)) (stop func(), err error) {
	if m.Varies() {
		self, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("finding the bench program, which also guards servers: %w", err)
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
	if o.Server, o.Roofline, err = meet(ctx, base, simulator); err != nil {
		end()
		return nil, err
	}
	return func() {
		o.Server.Close()
		end()
	}, nil
}

// matrixError makes an error of reading a matrix a usage error.
func matrixError(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return usage("%w\nhint: bench ships matrices/chat.toml and matrices/smoke.toml", err)
	}
	return &exitError{codeUsage, err}
}

// override replaces keys of [target] by flags.
func (f *sweepFlags) override(m *sweep.Matrix, stderr io.Writer) error {
	t := &m.Target
	if f.endpoint != "" && isMock(f.endpoint) != isMock(t.Endpoint) {
		// [target] describes the other machine.
		if t.Hardware != "" || len(t.Facts) > 0 || t.GPUHourUSD != nil {
			fmt.Fprintln(stderr, "note: --endpoint replaces [target] endpoint: hardware, gpus, precision, price and facts of [target] are ignored;\n"+
				"      set --hardware, --gpus and --precision for this endpoint")
		}
		t.Hardware, t.GPUs, t.Precision, t.GPUHourUSD, t.Facts = "", 0, "", nil, nil
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

// simulates reports whether the matrix runs against the embedded server. Servers of [server] and several endpoints
// leave [target] endpoint empty.
func simulates(m *sweep.Matrix) bool { return isMock(m.Target.Endpoint) && !m.Varies() }

// target returns the base URL of the endpoint. For "mock" it starts the simulated server; simulator
// describes it.
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
	// The server outlives ctx: after an interruption the requests in flight are drained.
	mockCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(mockCtx, l) // the client sees its end
	}()
	stop = func() {
		cancel()
		<-done
	}
	return "http://" + l.Addr().String() + "/v1", server.Describe(), stop, nil
}

// reach connects to a server, and checks that the picked rows fit its context.
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
		if err := server.CheckContext(&picked[i]); err != nil {
			tooLong = append(tooLong, err.Error())
		}
	}
	if len(tooLong) > 0 {
		server.Close()
		return nil, usage("%s", strings.Join(tooLong, "\nerror: "))
	}
	return server, nil
}

// unreachableError is an endpoint that did not answer.
type unreachableError struct {
	url  string // without secrets
	text string
}

// Error implements error.
func (e *unreachableError) Error() string { return e.text }

// statusText matches the error of a server that answered.
var statusText = regexp.MustCompile(`: HTTP ([45]\d\d): `)

// unreachable adds to an error the URL that was tried, and a command to check it by hand.
func unreachable(base, key string, http2 bool, f *sweepFlags, err error) error {
	shown := target.Redact(base)
	text := fmt.Sprintf("the endpoint %s: %v", shown, err)
	if strings.Contains(text, "\nhint:") { // it has its own
		return errors.New(text)
	}
	if strings.Contains(text, "does not look like a TLS handshake") {
		return fmt.Errorf("%s\nhint: the port speaks http, not https: --endpoint %s", text, strings.Replace(strings.TrimSuffix(shown, "/v1"), "https://", "http://", 1))
	}
	if http2 && strings.HasPrefix(base, "http://") && strings.Contains(text, "http2: ") {
		return fmt.Errorf("%s\nhint: http2 = true without TLS needs h2c, which this server does not support: remove http2 from [target], or use its https:// address", text)
	}
	auth := ""
	if key != "" {
		auth = f.key.curl()
	}
	if refused := statusText.FindStringSubmatch(text); refused != nil {
		hint := "the server answers, but not as the API: check the address;"
		if refused[1] == "401" || refused[1] == "403" {
			hint = "the server requires an API key: --api-key-env VAR;"
		}
		return fmt.Errorf("%s\nhint: %s try: curl -sS%s %s/models", text, hint, auth, shown)
	}
	return &unreachableError{shown, fmt.Sprintf("%s\nhint: is the server up? try: curl -sS%s %s/models", text, auth, shown)}
}

// dryRun prints the plan of a new run, or of the rest of the one in the directory resume.
func (c *cli) dryRun(m *sweep.Matrix, resume string, k forecast.Known) error {
	if resume != "" {
		done, err := sweep.Kept(m, resume)
		if err != nil {
			return usage("%w", err)
		}
		k.Done = done
	}
	plan, err := planText(m, k, screenOf(c.stdout))
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(c.stdout, plan)
	return err
}
