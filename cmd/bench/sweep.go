package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	root "bench"
	"bench/experiment"
	"bench/experiment/mock"
	"bench/experiment/openai"
	"bench/experiment/roofline"
	"bench/experiment/stats"
	"bench/report"
	"bench/sweep"
)

// sweepFlags are the flags of `bench sweep`.
type sweepFlags struct {
	key keyFlags

	endpoint, api, model        string
	hardware, precision, models string
	gpus                        int

	out, resume     string
	only            []string
	dryRun, enforce bool
	acceptChange    bool
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
  bench sweep matrices/full.toml --enforce                            exit 3 unless every contract is met`,
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
	fl.StringVar(&f.models, "model-configs", "", "file with model shapes, instead of the built-in model_configs.json")
	fl.StringVar(&f.out, "out", "results", "directory for results")
	fl.StringVar(&f.resume, "resume", "", "directory of the run to go on with")
	fl.StringArrayVar(&f.only, "only", nil, "run only the rows that match this name or glob (repeatable)")
	fl.BoolVar(&f.dryRun, "dry-run", false, "print the points, their requests and times, and send nothing")
	fl.BoolVar(&f.enforce, "enforce", false, "exit 3 unless every contract is met by valid rows")
	fl.BoolVar(&f.acceptChange, "accept-server-change", false, "with --resume: redo everything when the server is another one")
	return cmd
}

func (c *cli) sweep(cmd *cobra.Command, f *sweepFlags, file string) error {
	key, err := f.key.resolve(cmd.Flags(), c.stderr)
	if err != nil {
		return err
	}
	var simulated mock.Config
	m, err := sweep.Read(file, sweep.Extension{Table: "mock", Into: &simulated})
	if err != nil {
		return inUsage(err)
	}
	if err := f.override(m, c.stderr); err != nil {
		return err
	}
	if f.dryRun {
		return c.dryRun(m, f.only)
	}
	models, err := f.modelConfigs()
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	base, simulator, stop, err := f.target(ctx, m, simulated)
	if err != nil {
		return err
	}
	defer stop()
	server, err := c.reach(ctx, m, f, base, key)
	if err != nil {
		return err
	}
	defer server.Close()
	server.Simulated(simulator)
	bounds := experiment.NewBounds(models, server.Info.Model, m.Target)
	v, commit := version()
	d := newDisplay(c.stderr, m.Points, f.only)
	result, err := sweep.Run(ctx, m, sweep.Options{
		Out: f.out, Resume: f.resume, Only: f.only, Server: server, Bounds: bounds,
		Client: sweep.Client(v, commit), Command: redacted(c.args),
		AcceptServerChange: f.acceptChange, Event: d.event,
	})
	d.stop()
	return c.conclude(result, err, file, f)
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
	if f.endpoint != "" && f.endpoint != "mock" && isMock(t.Endpoint) {
		// What the file says of the simulated machine is not true of the user's.
		if t.Hardware != "" || len(t.Facts) > 0 || t.GPUHourUSD != nil {
			fmt.Fprintln(stderr, "note: hardware, gpus, precision, price and facts in [target] describe the simulated server, and are not taken over;\n"+
				"      state yours with --hardware, --gpus and --precision, or in the matrix beside its endpoint")
		}
		t.Hardware, t.GPUs, t.Precision, t.GPUHourUSD, t.Facts, t.Model = "", 0, "", nil, nil, ""
	}
	for _, o := range []struct {
		flag string
		into *string
	}{{f.endpoint, &t.Endpoint}, {f.api, &t.API}, {f.model, &t.Model}, {f.hardware, &t.Hardware}, {f.precision, &t.Precision}} {
		if o.flag != "" {
			*o.into = o.flag
		}
	}
	if f.gpus > 0 {
		t.GPUs = f.gpus
	}
	var wrong error
	t.Check(func(key, problem, hint string) {
		wrong = usage("--%s: %s\nhint: %s", key, problem, hint)
	})
	return wrong
}

func isMock(endpoint string) bool { return endpoint == "" || endpoint == "mock" }

func (f *sweepFlags) modelConfigs() (roofline.Models, error) {
	data := root.ModelConfigs
	if f.models != "" {
		var err error
		if data, err = os.ReadFile(f.models); err != nil {
			return nil, usage("reading the model shapes: %w", err)
		}
	}
	models, err := roofline.ParseModels(data)
	if err != nil {
		return nil, usage("reading the model shapes: %w", err)
	}
	return models, nil
}

// target gives the base URL of the endpoint; for "mock" it starts the simulated server and says what that simulates.
func (f *sweepFlags) target(ctx context.Context, m *sweep.Matrix, config mock.Config) (base, simulator string, stop func(), err error) {
	if !isMock(m.Target.Endpoint) {
		base, err = openai.BaseURL(m.Target.Endpoint)
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
func (c *cli) reach(ctx context.Context, m *sweep.Matrix, f *sweepFlags, base, key string) (*experiment.Server, error) {
	var picked []experiment.Spec
	conns := 16
	for _, s := range m.Points {
		ok, err := sweep.Match(&s, f.only)
		if err != nil {
			return nil, usage("--only: %w", err)
		}
		if ok {
			picked = append(picked, s)
			conns = max(conns, s.Concurrency)
		}
	}
	if len(picked) == 0 {
		return nil, usage("no row matches --only %q\nhint: bench sweep --dry-run lists the rows", f.only)
	}
	server, err := experiment.Reach(ctx, m.Target, base, key, experiment.APIs(picked, m.Target), max(conns, 1024))
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		auth := ""
		if key != "" {
			auth = ` -H "Authorization: Bearer $` + f.key.env + `"`
		}
		shown := openai.Redact(base)
		return nil, fmt.Errorf("the endpoint %s: %w\nhint: is the server up? try: curl -sS%s %s/models", shown, err, auth, shown)
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

// conclude makes the report of what there is, prints the table, and finds the exit code.
func (c *cli) conclude(result *sweep.Result, runErr error, file string, f *sweepFlags) error {
	if result == nil || result.Dir == "" {
		return runErr
	}
	run, err := report.Load(result.Dir)
	if err == nil && len(run.Rows) > 0 {
		err = c.render(run)
	}
	switch {
	case experiment.Interrupted(runErr):
		fmt.Fprintf(c.stderr, "interrupted: finished rows are kept in %s\nhint: go on with: bench sweep %s --resume %s\n", result.Dir, file, result.Dir)
		return &exitError{codeInterrupted, errors.New("")}
	case runErr != nil:
		return runErr
	case err != nil:
		return fmt.Errorf("making the report: %w", err)
	case len(result.AllFailed) > 0:
		return fmt.Errorf("every request failed in: %s\nhint: the records say why: bench report %s", strings.Join(result.AllFailed, ", "), result.Dir)
	case f.enforce:
		return enforced(run)
	}
	return nil
}

// render writes report.html and summary.md, and prints the table.
func (c *cli) render(run *report.Run) error {
	html := filepath.Join(run.Dir, "report.html")
	if err := writeWhole(html, func(w io.Writer) error { return report.HTML(w, run) }); err != nil {
		return err
	}
	if err := writeWhole(filepath.Join(run.Dir, "summary.md"), func(w io.Writer) error { return report.Markdown(w, run) }); err != nil {
		return err
	}
	if err := report.Text(c.stdout, run, isTerminal(c.stdout)); err != nil {
		return err
	}
	_, err := fmt.Fprintf(c.stdout, "\nreport: %s\n", html)
	return err
}

// writeWhole writes a file under a temporary name and renames it when it is whole.
func writeWhole(name string, render func(io.Writer) error) error {
	var b bytes.Buffer
	if err := render(&b); err != nil {
		return err
	}
	tmp := name + ".partial"
	f, err := os.Create(tmp)
	if err != nil {
		return err
	}
	_, err = f.Write(b.Bytes())
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(tmp, name)
}

// enforced is the error for --enforce: a contract that is not met, or a row that is not valid.
func enforced(run *report.Run) error {
	var missed []string
	for i := range run.Rows {
		row := &run.Rows[i]
		switch out := experiment.Outcome(row.Contract); {
		case out != "" && out != string(stats.Pass):
			missed = append(missed, row.ID+": contract "+out)
		case !row.Validity.Valid():
			missed = append(missed, row.ID+": not valid ("+strings.Join(row.Validity.Failed, ", ")+")")
		}
	}
	if len(missed) == 0 {
		return nil
	}
	return &exitError{codeNotMet, errors.New("contract not met:\n  " + strings.Join(missed, "\n  "))}
}

// dryRun prints the plan.
func (c *cli) dryRun(m *sweep.Matrix, only []string) error {
	plan, err := planTable(m, only)
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(c.stdout, plan)
	return err
}

// perRow is what a row costs on top of its phases: connecting, priming, the last answers.
const perRow = time.Second
