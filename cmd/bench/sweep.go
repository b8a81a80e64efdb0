package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/crypto/ssh"

	root "bench"
	"bench/experiment"
	"bench/experiment/mock"
	"bench/experiment/roofline"
	"bench/experiment/text"
	"bench/sweep"
	"bench/sweep/forecast"
	"bench/sweep/matrix"
	"bench/sweep/predict"
)

type sweepFlags struct {
	key keyFlags

	endpoint, api, model string
	set                  []string

	out, resume     string
	only            []string
	dryRun, enforce bool
	acceptChange    bool
	sign            string     // file of a private key; empty: the run is not signed
	signer          ssh.Signer // the key in it; nil: none
	watch           watchFlags
	lead            leadFlags
}

func newSweep(c *cli) *cobra.Command {
	f := &sweepFlags{}
	cmd := &cobra.Command{
		Use:   "sweep MATRIX",
		Short: "run a matrix and write its results and report",
		Long: `sweep sends the workloads of a matrix (TOML) to an endpoint. It writes to results/<matrix>/<start time>/: a JSON
file and request records per row, report.html and summary.md. Without an endpoint it measures the embedded
simulated server. Ctrl-C keeps finished rows; --resume continues the run.`,
		Example: `  bench sweep matrices/chat.toml                                      # the simulated server
  bench sweep matrices/chat.toml --endpoint http://localhost:8000     # your server; bench finds its model
  bench sweep matrices/chat.toml --endpoint https://host/v1 --api-key-env MY_KEY --model my-model --api chat
  bench sweep matrices/chat.toml --dry-run                            # print the plan and its duration
  bench sweep matrices/chat.toml --only 'D-*' --only 'F-*'            # some rows
  bench sweep matrices/chat.toml --set target.hardware=h100-sxm --set row.D-saturation.concurrency=[8,16]
  bench sweep matrices/chat.toml --resume results/chat/20260101T120000Z
  bench sweep matrices/half-hour.toml --enforce                       # exit 3 unless every SLO is met
  bench sweep matrices/chat.toml --json | jq 'select(.event == "row_finished").result'`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return (&sweepInput{sweepFlags: f}).sweep(c, cmd, args[0])
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.endpoint, "endpoint", "", `endpoint: host:port, a URL, or "mock" (default: [target] endpoint)`)
	f.targetFlags(fl, "[target] api")
	f.runFlags(fl)
	onlyFlag(fl, &f.only)
	fl.BoolVar(&f.acceptChange, "accept-server-change", false,
		"with --resume: if the server changed, run all rows again")
	fl.StringVar(&f.sign, "sign", "",
		"`FILE` with a private key (ssh-keygen -t ed25519) that signs the run, for bench verify")
	f.lead.register(fl)
	return cmd
}

func (f *sweepFlags) targetFlags(fl *pflag.FlagSet, api string) {
	f.key.register(fl)
	fl.StringVar(&f.api, "api", "", "API: completions, chat, responses or messages (default: "+api+")")
	modelFlag(fl, &f.model, requestedModel)
}

// runFlags are those of a run of any matrix, also of bench's own.
func (f *sweepFlags) runFlags(fl *pflag.FlagSet) {
	setFlag(fl, &f.set)
	outFlag(fl, &f.out, "results")
	resumeFlag(fl, &f.resume)
	fl.BoolVar(&f.dryRun, "dry-run", false, "print the points with their requests and durations; send nothing")
	enforceFlag(fl, &f.enforce)
	f.watch.register(fl)
}

type sweepInput struct {
	*sweepFlags
	key       string
	classKeys map[string]string // of classes, by their variables
	models    roofline.Models
	hardware  roofline.Hardware
	simulated mock.Config
	m         *matrix.Matrix
	notes     []string      // rows without a roofline
	kept      sweep.Kept    // by a resumed run
	spends    string        // how the budget is spent; "" = there is none
	text      []byte        // of the matrix, one of bench's own; nil: it is read
	described bool          // what bench tile sends is printed
	quick     *urlFlags     // of bench URL; nil: another command
	result    *sweep.Result // of the run; nil: none has begun
}

func (in *sweepInput) sweep(c *cli, cmd *cobra.Command, file string) error {
	if err := in.check(cmd.Flags()); err != nil {
		return err
	}
	var err error
	if in.key, err = in.sweepFlags.key.resolve(cmd.Flags(), c.stderr); err != nil {
		return err
	}
	if in.models, in.hardware, err = readTables(c.stderr); err != nil {
		return err
	}
	if err := in.read(cmd.Context(), file, c.stderr); err != nil {
		return err
	}
	if in.dryRun {
		return in.printPlan(cmd.Context(), c)
	}
	return in.run(cmd.Context(), c)
}

func (f *sweepFlags) check(fl *pflag.FlagSet) (err error) {
	if f.signer, err = signer(f.sign); err != nil {
		return err
	}
	if f.resume != "" && fl.Changed("out") && !within(f.resume, f.out) {
		return usage("--out cannot be combined with --resume: a resumed run stays in its directory\nhint: omit --out")
	}
	return f.lead.check(fl)
}

func (in *sweepInput) read(ctx context.Context, file string, stderr io.Writer) (err error) {
	in.simulated = mock.Config{Models: in.models, Devices: in.hardware}
	if in.text == nil {
		file, in.text = byName(file, stderr)
	}
	in.m, err = readMatrix(ctx, file, in.text, in.set, &in.simulated)
	if err != nil {
		return err
	}
	if err := in.override(in.m, stderr); err != nil {
		return err
	}
	if err := in.m.CheckPrompts(); err != nil {
		return &exitError{codeUsage, err}
	}
	assumeGPU(&in.m.Target, stderr)
	if in.notes, err = in.m.CheckHardware(in.models, in.hardware); err != nil {
		return err
	}
	picked, err := in.m.Pick(in.only)
	if err != nil {
		return usage("%w", err)
	}
	if err := in.enforceable(in.m, picked); err != nil {
		return err
	}
	if in.lead.workers > 0 {
		if err := in.m.CheckWorkers(picked); err != nil {
			return usage("--workers: %w", err)
		}
	}
	if in.dryRun {
		machine := experiment.Machine{Models: in.models, Model: in.m.Target.Model}
		if in.m.Simulated() {
			machine.CacheTokens = in.simulated.KVTokens()
		}
		if _, err := sizeTiles(in.m.Points, machine); err != nil {
			return err
		}
	}
	in.spends, err = interruptible(ctx, in.planBudget)
	return err
}

func (in *sweepInput) printPlan(ctx context.Context, c *cli) error {
	if len(in.notes) > 0 { // a run notes it after it has found the model
		fmt.Fprintln(c.stderr, safe("note: rows have no roofline: "+strings.Join(in.notes, "; ")))
	}
	plan, err := interruptible(ctx, func() (string, error) { return in.planText(screenOf(c.stdout)) })
	if err == nil {
		_, err = fmt.Fprint(c.stdout, plan)
	}
	return err
}

func (in *sweepInput) run(ctx context.Context, c *cli) error {
	if in.lead.workers == 0 {
		return in.runWith(ctx, c, nil)
	}
	x, err := in.lead.lead(ctx, c)
	if err != nil {
		return err
	}
	err = in.runWith(ctx, c, x)
	x.end(reasonOf(err))
	return err
}

// runWith runs a sweep whose load a crew sends; nil: this process sends it.
func (in *sweepInput) runWith(ctx context.Context, c *cli, x *crew) error {
	o, err := in.options(c)
	if err != nil {
		return err
	}
	if in.spends != "" {
		fmt.Fprintln(c.stderr, "note: "+in.spends)
	}
	in.noteSigned(c.stderr)
	defer ignoreSIGPIPE()()
	o.Resume, o.AcceptServerChange = in.resume, in.acceptChange
	o.Takes, o.Prior = forecast.NewRemaining(in.m, in.only).Takes, predict.Prior(ctx, in.m, in.models, in.hardware)
	stop, err := in.servers(ctx, c, &o)
	if err != nil {
		return err
	}
	defer stop()
	if x != nil {
		o.Workers = x
		o.Secrets = append(o.Secrets, x.tokens...)
		if err := x.await(ctx, c, in.lead.workers); err != nil {
			return err
		}
	}
	w, err := in.watcher(ctx, c)
	if err != nil {
		return err
	}
	result, err := in.runTo(ctx, c, o, w)
	w.ended(result)
	return err
}

// options are those of every run of the matrix. The keys of its classes are read from the environment.
func (in *sweepInput) options(c *cli) (sweep.Options, error) {
	picked, err := in.m.Pick(in.only)
	if err == nil {
		in.classKeys, err = classKeys(picked)
	}
	v, commit := version()
	return sweep.Options{
		Out: in.out, Only: in.only, Client: sweep.Client(v, commit), Command: redacted(c.args),
		Withhold: slices.AppendSeq([]string{in.sweepFlags.key.env, tokenEnv}, maps.Keys(in.classKeys)),
		Secrets:  slices.AppendSeq([]string{in.key, os.Getenv(tokenEnv)}, maps.Values(in.classKeys)),
	}, err
}

func (in *sweepInput) runTo(ctx context.Context, c *cli, o sweep.Options, w watcher) (*sweep.Result, error) {
	run, keeps := ctx, in.keepsCut()
	if keeps {
		o.Ends, run = ctx, context.WithoutCancel(ctx)
		defer debug.SetGCPercent(debug.SetGCPercent(reportGC))
	}
	result, runErr := c.watched(run, in.m, o, w)
	in.result = result
	err := in.conclude(c, result, runErr)
	if runErr == nil && keeps && ctx.Err() != nil {
		err = cmp.Or(cutShort(result.Dir), err)
	}
	if err == nil && in.watch.interval > 0 && in.m.Varies() {
		fmt.Fprintf(c.stdout, "compare: bench compare %s\n", text.ShellWord(result.Dir))
	}
	return result, err
}

func (c *cli) watched(ctx context.Context, m *matrix.Matrix, o sweep.Options, w watcher) (*sweep.Result, error) {
	stderr := c.stderr
	c.stderr = w.notes
	defer func() { // also after a panic
		w.stop()
		c.stderr = stderr
	}()
	o.Event = func(e sweep.Event) {
		w.event(e)
		if e.Started != nil {
			noteChanged(e.Started.Changed.Lines(), c.stderr)
		}
	}
	return sweep.Run(ctx, m, o)
}

// noteChanged states what becomes of finished rows of a run to resume, before the first row runs.
func noteChanged(lines []string, stderr io.Writer) {
	for i, line := range lines {
		if !strings.HasPrefix(line, " ") && !strings.HasPrefix(line, "hint: ") {
			line = "note: " + line
		}
		lines[i] = safe(line) + "\n"
	}
	fmt.Fprint(stderr, strings.Join(lines, ""))
}

func readMatrix(ctx context.Context, file string, text []byte, set []string, simulated interface {
	Check(bad func(key, problem, hint string))
}) (*matrix.Matrix, error) {
	m, err := interruptible(ctx, func() (*matrix.Matrix, error) {
		mock := matrix.Extension{Table: "mock", Into: simulated}
		if text != nil {
			return matrix.ParseSet(file, text, set, mock)
		}
		return matrix.ReadSet(file, set, mock)
	})
	if err != nil {
		return nil, matrixError(err)
	}
	return m, nil
}

// byName finds the matrix that a name such as chat means: a file, else one that bench ships, whose text it returns.
func byName(name string, stderr io.Writer) (file string, shipped []byte) {
	if _, err := os.Stat(name); err == nil || strings.ContainsAny(name, `/\`) {
		return name, nil
	}
	file = "matrices/" + strings.TrimSuffix(name, ".toml") + ".toml"
	if _, err := os.Stat(file); err == nil {
		fmt.Fprintln(stderr, safe("note: "+file+" is run"))
		return file, nil
	}
	shipped, err := root.Matrices.ReadFile(file)
	if err != nil {
		return name, nil
	}
	fmt.Fprintln(stderr, safe("note: "+file+" that bench ships is run; bench init writes it, to change it"))
	return file, shipped
}

func matrixError(err error) error {
	if errors.Is(err, errInterruptedEarly) {
		return err
	}
	if errors.Is(err, os.ErrNotExist) {
		return usage("%w\nhint: bench init writes matrices/chat.toml and others", err)
	}
	return &exitError{codeUsage, err}
}

// planBudget finds what a resumed run has spent of its budget, and returns how far the budget goes; empty: there is
// none.
func (in *sweepInput) planBudget() (string, error) {
	if in.resume != "" && (in.dryRun || in.m.Budget > 0) {
		kept, err := sweep.FindKept(in.m, in.resume)
		if err != nil {
			return "", usage("%w", err)
		}
		in.kept = *kept
	}
	if in.m.Budget == 0 {
		return "", nil
	}
	p, err := forecast.NewPlan(in.m, in.only, in.kept)
	if err != nil {
		return "", usage("--only: %w", err)
	}
	return p.BudgetText(), nil
}
