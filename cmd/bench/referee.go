package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"bench/experiment/server"
	"bench/experiment/unit"
	"bench/report"
	"bench/report/referee"
	"bench/sweep"
)

const roundLimit = 5 * time.Minute

type refereeFlags struct {
	referee.Config
	format  string
	enforce bool
}

func newReferee(c *cli) *cobra.Command {
	f := &refereeFlags{}
	cmd := &cobra.Command{
		Use:   "referee -- COMMAND {url} …",
		Short: "how wrong a load generator is: its figures beside the times of the server",
		Long: `referee runs a load generator against the simulated server, once for each trait of real servers (` +
			strings.Join(referee.Rounds(), ", ") + `),
reads its result file, and prints each figure beside what the server did: right, wrong by how much, or not shown. A
latency may be off by 2 ms or 5 %, whichever is larger. An error within the delay of this machine is unclear.

In the command {url}, {model} and {out} (a folder for its results) are replaced, and so are {requests}, {rate},
{arrival}, {concurrency} (8), {input} (64) and {output} (32). {rate} asks for an open loop,
{concurrency} for a closed one; {arrival} is constant while the server stalls. It needs results that bench report reads,
in regular files of at most 256 MiB, in 5 minutes. Its output goes to tool.log beside them. The round empty sends, before
each token, an event without data, and one without text.`,
		Example: `  bench referee -- bench {url} --rate {rate} --requests {requests} --input {input} --out {out}
  bench referee --only stall,failures -- vllm bench serve --base-url {url} --model {model} --tokenizer DIR \
      --request-rate {rate} --num-prompts {requests} --save-result \
      --result-dir {out}
  bench referee --enforce --format json -- ./load.sh {url} {out} {concurrency}`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.Command = args
			if err := f.check(); err != nil {
				return err
			}
			return f.referee(cmd.Context(), c)
		},
	}
	fl := cmd.Flags()
	fl.SetInterspersed(false) // the flags behind the first word are the load generator's
	fl.IntVar(&f.Requests, "requests", 200, "requests of each round: {requests}")
	fl.Float64Var(&f.Rate, "rate", 20, "requests per second: {rate}")
	f.Arrival = "poisson"
	fl.Var(choice{&f.Arrival, "arrival", []string{"poisson", "constant"}}, "arrival",
		"process that the command requests: poisson or constant")
	fl.StringSliceVar(&f.Only, "only", nil, "`ROUNDS` to run (default all)")
	outFlag(fl, &f.Out, "results/referee")
	formatFlag(fl, &f.format, textOrJSON)
	fl.BoolVar(&f.enforce, "enforce", false, "exit 3 if a figure is wrong")
	return cmd
}

func (f *refereeFlags) check() error {
	var wrong mistakes
	bad := func(is bool, format string, values ...any) {
		if is {
			wrong.add(format, values...)
		}
	}
	bad(!strings.Contains(strings.Join(f.Command, " "), "{url}"),
		"the command has no {url}\nhint: bench referee -- COMMAND --base-url {url} …")
	bad(f.Requests < 20 || f.Requests > 10_000, "--requests: %d is not between 20 and 10000\nhint: --requests 200",
		f.Requests)
	bad(!(f.Rate > 0) || math.IsInf(f.Rate, 1), "--rate: %g is not a rate\nhint: --rate 20", f.Rate)
	if program := f.Command[0]; !strings.Contains(program, "{") {
		err := server.Find(program)
		bad(err != nil, "the command cannot be started: %v\nhint: name a program in PATH, or by its path", err)
	}
	names := referee.Rounds()
	for _, name := range f.Only {
		bad(!slices.Contains(names, name), "--only: no round %q\nhint: %s", name, strings.Join(names, ", "))
	}
	return wrong.err()
}

func (f *refereeFlags) referee(ctx context.Context, c *cli) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding the bench program, which also guards processes: %w", err)
	}
	shown, secrets := redactedWords(f.Command)
	if f.Out, err = sweep.NewDirectory(f.Out, ""); err != nil {
		return err
	}
	f.Drive = func(ctx context.Context, command []string, dir string) error {
		log, err := os.Create(filepath.Join(dir, "tool.log"))
		if err != nil {
			return err
		}
		defer log.Close()
		config := server.Config{Command: command, Guard: []string{self, "guard"}, Log: log,
			Withhold: []string{tokenEnv}, Secrets: append(secrets, os.Getenv(tokenEnv))}
		return server.Once(ctx, config, "the load generator", roundLimit)
	}
	f.Begun = func(name, trait string, i, n int) {
		fmt.Fprintf(c.stderr, "[%d/%d] %s: %s\n", i+1, n, name, trait)
	}
	card, err := referee.Run(ctx, f.Config)
	switch {
	case ctx.Err() != nil:
		return interrupted("interrupted: there is no card")
	case err != nil:
		return fmt.Errorf("the referee: %w", err)
	}
	card.Command = shown
	fmt.Fprintln(c.stderr, safe("results of the load generator: "+f.Out))
	err = c.write(output{format: f.format}, "", card, func(w io.Writer, screen report.Screen) error {
		return card.Text(w, screen.Columns())
	})
	if err != nil {
		return err
	}
	if wrong := card.Count(referee.Wrong); f.enforce && wrong > 0 {
		return &exitError{codeNotMet, fmt.Errorf("%s wrong", unit.Plural(wrong, "figure"))}
	}
	return nil
}
