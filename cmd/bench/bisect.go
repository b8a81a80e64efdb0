package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"bench/experiment/bisect"
	"bench/experiment/endpoint"
	"bench/experiment/metric"
	"bench/report"
	"bench/sweep"
	"bench/sweep/peers"
	"bench/sweep/revisions"
)

type bisectFlags struct {
	sweepFlags
	build, list string
	output
	plan revisions.Bisection
}

func newBisect(c *cli) *cobra.Command {
	f := &bisectFlags{}
	cmd := &cobra.Command{
		Use:   "bisect MATRIX",
		Short: "find the revision that changed a figure",
		Long: `bisect builds revisions of a server, measures each by a run of a matrix with one point, and finds the
one that changed a figure, though runs spread and the machine drifts. First it makes sure that the first and the last
differ. Then it measures the revision that tells most for its time, until one has a probability of 95 %. A revision that
twice does not build in an hour or start is passed over. {rev} in --rev and in [server] is the revision. A build replaces
the one before it unless [server] has {rev}. A row with a search is bisected by its operating
point, another by the limit that differs most. Ctrl-C keeps all runs; --resume continues.`,
		Example: `  bench bisect nightly.toml --revs v0.19.0..main --repo ~/engine --rev 'make install-{rev}'
  bench bisect nightly.toml --revs 0.1.8,0.1.9,0.2.0 --rev 'uv pip install engine=={rev}'
  bench bisect nightly.toml --revs versions.txt --metric tpot_p50 --budget 3h`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			in := &sweepInput{sweepFlags: &f.sweepFlags}
			if in.key, err = f.key.resolve(cmd.Flags(), c.stderr); err == nil {
				err = f.prepare(cmd.Context(), c, in, args[0])
			}
			if err != nil {
				return err
			}
			return f.bisect(cmd.Context(), c)
		},
	}
	fl, b := cmd.Flags(), &f.plan
	fl.StringVar(&f.list, "revs", "",
		"revisions from good to bad: `GOOD..BAD` of git, a list with commas, or a file with one a line")
	fl.StringVar(&f.build, "rev", "", "`COMMAND` that builds or installs {rev}: words as in a shell, run without one")
	fl.StringVar(&b.Repo, "repo", ".", "git `DIR` of the revisions; builds run in it")
	fl.StringVar(&b.Asked, "metric", "", "figure to bisect, such as tpot_p50 or output_tokens_per_s: `KEY`")
	fl.DurationVar(&b.Budget, "budget", 0, "longest time of all builds and runs")
	onlyFlag(fl, &f.only)
	setFlag(fl, &f.set)
	f.key.register(fl)
	outFlag(fl, &f.out, "results")
	resumeFlag(fl, &f.resume)
	f.output.register(fl, "", textOrJSON...)
	return cmd
}

func (f *bisectFlags) bisect(ctx context.Context, c *cli) error {
	b := &f.plan
	err := b.Run(ctx)
	again := "hint: resume with: " + c.resumeCommand(b.Dir)
	switch {
	case endpoint.Interrupted(err):
		return interrupted("interrupted: finished runs are kept in %s\n%s", b.Dir, again)
	case err != nil:
		return fmt.Errorf("%w\n%s", err, again)
	}
	err = c.write(f.output, "bisection", &b.Result, func(w io.Writer, screen report.Screen) error {
		return b.Text(w, screen.Columns())
	})
	explains := f.format == "text" && f.file == "" && b.State == bisect.Found
	for _, x := range b.Answer.Changes {
		if err == nil && explains && x.GoodRun != "" && x.BadRun != "" {
			fmt.Fprintf(c.stdout, "\nbench why %s %s\n", safe(x.GoodRun), safe(x.BadRun))
			err = divide(c, x.GoodRun, x.BadRun, output{})
		}
	}
	return err
}

func (f *bisectFlags) prepare(ctx context.Context, c *cli, in *sweepInput, file string) (err error) {
	b := &f.plan
	name, stat := metric.Cut(b.Asked)
	known := metric.ByName(name)
	switch {
	case f.list == "":
		return usage("which revisions?\nhint: --revs GOOD..BAD, of git; or a list: --revs 0.1.8,0.1.9,0.2.0")
	case b.Budget < 0:
		return usage("--budget: %v is no time\nhint: --budget 3h", b.Budget)
	case b.Asked != "" && (known.Words == "" || (known.Of == metric.Window) != (stat == "")):
		return usage("--metric: unknown figure %q\nhint: ttft_p95, tpot_p50, output_tokens_per_s", b.Asked)
	}
	if f.build != "" {
		if b.Command, err = peers.OneCommand(f.build); err != nil {
			return usage("--rev: %w", err)
		}
		b.Build, b.Server.Secrets = redactedWords(b.Command)
	}
	if in.models, in.hardware, err = readTables(c.stderr); err != nil {
		return err
	}
	if file, err = in.readBisected(ctx, c, b, file); err != nil {
		return err
	}
	b.Confidence, b.Limit = bisect.DefaultConfidence, time.Hour
	good, bad, ofGit := strings.Cut(f.list, "..")
	if _, isFile := os.Stat(f.list); ofGit && isFile != nil {
		if good == "" || bad == "" || bad[0] == '.' {
			return usage("--revs: %q lacks an end\nhint: --revs GOOD..BAD", f.list)
		}
		b.Revisions, err = revisions.FromGit(ctx, b.Repo, good, bad)
	} else {
		b.Revisions, err = revisions.FromList(f.list)
	}
	if err != nil {
		return usage("%w", err)
	}
	b.Schema, b.StartedAt, b.Runs = revisions.Schema, time.Now().UTC(), []revisions.Run{}
	b.Event = func(line string) { fmt.Fprintln(c.stderr, safe(line)) }
	b.Measure = func(ctx context.Context, rev string) (*revisions.Measured, error) {
		return in.with(rev, b).measureRevision(ctx, c, b, file)
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding the bench program, which also guards builds: %w", err)
	}
	b.Server.Guard = []string{self, "guard"}
	if f.resume != "" {
		if err := b.Continue(f.resume); err != nil {
			return usage("--resume: %w", err)
		}
		return nil
	}
	b.Dir, err = sweep.NewDirectory(filepath.Join(f.out, "bisect"), b.Matrix+"-")
	return err
}

// readBisected reads the matrix once, and checks that it can be bisected.
func (in *sweepInput) readBisected(ctx context.Context, c *cli, b *revisions.Bisection,
	name string) (file string, err error) {
	if file, in.text = byName(name, c.stderr); in.text == nil {
		if in.text, err = os.ReadFile(file); err != nil {
			return "", matrixError(fmt.Errorf("reading the matrix: %w", err))
		}
	}
	b.InPlace = !strings.Contains(string(in.text)+strings.Join(in.set, " "), "{rev}")
	if b.InPlace && !strings.Contains(strings.Join(b.Command, " "), "{rev}") {
		return "", usage("neither --rev nor [server] has {rev}: all revisions are alike\nhint: --rev 'COMMAND {rev}'")
	}
	first := in.with("first", b)
	if err := first.read(ctx, file, c.stderr); err != nil {
		return "", err
	}
	picked, err := first.m.Pick(in.only)
	if err != nil {
		return "", err
	}
	for i := range picked {
		if picked[i].Label() != picked[0].Label() {
			return "", usage("%s has several points\nhint: --only ROW, and one value of each key", file)
		}
	}
	if first.m.Simulated() || first.m.Tune != nil {
		return "", usage("the simulated server and [tune] cannot be bisected\nhint: write [server] without [tune]")
	}
	b.Matrix, b.MatrixHash, b.Row = first.m.Name, first.m.Hash(), picked[0].Label()
	o, err := first.options(c)
	b.Server.Withhold, b.Server.Secrets = o.Withhold, append(b.Server.Secrets, o.Secrets...)
	return file, err
}

// with is the input of a run with a revision, which [server] gets as a knob.
func (in *sweepInput) with(rev string, b *revisions.Bisection) *sweepInput {
	own, flags := *in, *in.sweepFlags
	own.sweepFlags = &flags
	if !b.InPlace {
		flags.set = append(flags.set[:len(flags.set):len(flags.set)], "server.knobs.rev="+strconv.Quote(rev))
	}
	return &own
}

func (in *sweepInput) measureRevision(ctx context.Context, c *cli, b *revisions.Bisection,
	file string) (*revisions.Measured, error) {
	if err := in.read(ctx, file, io.Discard); err != nil {
		return nil, err
	}
	quiet := &cli{stdin: c.stdin, stdout: io.Discard, stderr: io.Discard, args: c.args}
	o, err := in.options(c)
	if err != nil {
		return nil, err
	}
	out := &revisions.Measured{}
	o.Out, o.NoResume, o.Secrets = b.Dir, true, b.Server.Secrets
	o.Event = func(e sweep.Event) {
		if e.Finished != nil {
			out.Rows = append(out.Rows, e.Finished.Row)
		}
	}
	stop, err := in.servers(ctx, quiet, &o)
	if err != nil {
		return nil, err
	}
	defer stop()
	result, err := sweep.Run(ctx, in.m, o)
	if err == nil && len(out.Rows) == 0 {
		err = errors.New("the run has no row")
	}
	if err != nil {
		return nil, err
	}
	out.Dir, out.Found = result.Dir, result.Manifest.Searches
	return out, nil
}
