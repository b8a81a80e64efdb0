package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bench/experiment/selftest"
	"bench/experiment/selftest/runner"
	"bench/experiment/unit"
	"bench/report"
	"bench/report/export"
	"bench/sweep"
)

type selftestFlags struct {
	quick   bool
	streams []int
	rates   []float64
	format  string
	save    string // empty: not saved; defaultPlace: where a sweep finds it
}

// defaultPlace is the value of --save without a file.
const defaultPlace = "default"

func newSelftest(c *cli) *cobra.Command {
	f := &selftestFlags{}
	cmd := &cobra.Command{
		Use:   "selftest",
		Short: "calibrate the client on this machine: its error at each load",
		Long: `selftest sends rising loads to an exactly timed server, another process on this machine, and compares every
timestamp of the client with the server's times. It prints the error of TTFT and ITL, the client lag, the CPU time,
and the load up to which the client is calibrated. It takes about a minute. With --save, sweeps on this machine mark rows above
that load.`,
		Example: `  bench selftest --save                          # calibrate this machine for sweeps
  bench selftest --quick                         # a quarter of the time, fewer steps
  bench selftest --streams 4000,8000             # only these numbers of streams
  bench selftest --rates 2000                    # only this rate
  bench selftest --format json > selftest.json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.selftest(c, cmd) },
	}
	d := ladderOf(false)
	fl := cmd.Flags()
	fl.BoolVar(&f.quick, "quick", false, "fewer and shorter steps")
	fl.IntSliceVar(&f.streams, "streams", d.Streams,
		"concurrent streams, a step each: in bursts, from 100 on also spread; without --rates only these")
	fl.Float64SliceVar(&f.rates, "rates", d.Rates,
		"request rates, 1/s, with short answers, a step each; without --streams only these")
	formatFlag(fl, &f.format, textOrJSON)
	fl.StringVar(&f.save, "save", "", "save the result for sweeps; --save=FILE: to FILE")
	fl.Lookup("save").NoOptDefVal = defaultPlace
	return cmd
}

// ladderOf is the default ladder or the quick one: answers of 100 or 50 tokens, 50 ms to the first and 10 ms between
// them, in windows of 2 or 1 s. Tests shorten it.
var ladderOf = func(quick bool) runner.Ladder {
	if quick {
		return runner.QuickLadder()
	}
	return runner.DefaultLadder()
}

// steps returns the ladder: steps that are stated replace those of the default or the quick one.
func (f *selftestFlags) steps(fl *pflag.FlagSet) (runner.Ladder, error) {
	l := ladderOf(f.quick)
	if fl.Changed("streams") || fl.Changed("rates") {
		l.Streams, l.Rates = nil, nil
	}
	if fl.Changed("streams") {
		l.Streams = f.streams
	}
	if fl.Changed("rates") {
		l.Rates = f.rates
	}
	var wrong mistakes
	l.Check(wrong.inFlags("--"))
	return l, wrong.err()
}

func (f *selftestFlags) selftest(c *cli, cmd *cobra.Command) error {
	ladder, err := f.steps(cmd.Flags())
	if err != nil {
		return err
	}

	if f.save == defaultPlace {
		if f.save, err = selftestFile(); err != nil {
			return usage("%w\nhint: name a file: --save=selftest.json", err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding the bench program, which is also the server: %w", err)
	}
	fmt.Fprintf(c.stderr, "%s, about %v; keep this machine otherwise idle\n", unit.Plural(len(ladder.Steps()), "step"),
		ladder.Expected().Round(time.Second))
	open := false // the line of progress has no line feed yet
	result, err := runner.Run(cmd.Context(), runner.Config{
		Ladder: ladder, Machine: machine(),
		Command: []string{self, "mock", "--listen", "127.0.0.1:0", "--set", "mock.queue=1000000",
			"--set", "mock.ttft=" + ladder.TTFT.String(), "--set", "mock.itl=" + ladder.ITL.String()},
		Begun: func(i, n int, s selftest.Step) {
			open = true
			fmt.Fprintf(c.stderr, "[%d/%d] %s … ", i, n, s.Name())
		},
		Done: func(m selftest.Measured) {
			open = false
			fmt.Fprintln(c.stderr, safe(m.Line()))
		},
	})
	if open {
		fmt.Fprintln(c.stderr)
	}
	switch {
	case cmd.Context().Err() != nil:
		return interrupted("interrupted: the self-test is incomplete, so there is no result")
	case err != nil:
		return fmt.Errorf("the self-test: %w", err)
	}
	return f.conclude(c, result)
}

func (f *selftestFlags) conclude(c *cli, r *selftest.Result) error {
	err := c.write(output{format: f.format}, "", r, func(w io.Writer, screen report.Screen) error {
		return selftest.Text(w, r, screen.Columns())
	})
	if err != nil {
		return err
	}
	if !r.Measured() {
		return errors.New("no step could be measured: see the reason at each step\nhint: bench selftest --streams 1 is the smallest load")
	}
	if f.save == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(f.save), 0o755); err != nil {
		return fmt.Errorf("saving the self-test: %w", err)
	}
	if err := writeWhole(f.save, func(w io.Writer) error { return export.WriteJSON(w, r) }); err != nil {
		return fmt.Errorf("saving the self-test: %w", err)
	}
	fmt.Fprintln(c.stderr, "saved: "+f.save)
	return nil
}

func machine() selftest.Machine {
	v, commit := version()
	if commit != "" {
		v += " (" + commit + ")"
	}
	m := sweep.Client(v, commit)
	return selftest.Machine{CPU: m.CPU, Cores: m.Cores, OS: m.OS, Kernel: m.Kernel, MaxProcs: m.MaxProcs, Bench: v}
}

func selftestFile() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("finding the directory of the self-test: %w", err)
	}
	return filepath.Join(dir, "bench", "selftest.json"), nil
}

// savedSelftest returns this machine's saved self-test; nil: none. It reports one that it cannot use.
func savedSelftest(stderr io.Writer) *selftest.Result {
	file, err := selftestFile()
	if err != nil {
		return nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil // none was saved
	}
	r, err := selftest.Read(text)
	switch {
	case err != nil:
		fmt.Fprintf(stderr, "note: %v\n", err)
	case r.Machine != machine():
		fmt.Fprintln(stderr, "note: the saved self-test is for another machine or another bench")
	default:
		return r
	}
	fmt.Fprintln(stderr, "hint: bench selftest --save")
	return nil
}
