package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bench/experiment/endpoint"
	"bench/experiment/text"
	"bench/sweep"
	"bench/sweep/strict"
)

const (
	codeDone        = 0
	codeFailed      = 1
	codeUsage       = 2
	codeNotMet      = 3
	codeInterrupted = 130
)

type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }

func (e *exitError) Unwrap() error { return e.err }

// usage returns an error of the command line: exit code 2.
func usage(format string, args ...any) error {
	return &exitError{codeUsage, fmt.Errorf(format, args...)}
}

// interrupted returns the error of what a signal ended: exit code 130.
func interrupted(format string, args ...any) error {
	return &exitError{codeInterrupted, fmt.Errorf(format, args...)}
}

// errEnded is that of a server that a signal ended, as it should: it has no text.
var errEnded = &exitError{codeInterrupted, errors.New("")}

type cli struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	args           []string // the command line, without the program's name
}

func bench(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer, args []string) int {
	root := newRoot(&cli{stdin, stdout, stderr, args})
	command := withURL(root, args)
	root.SetArgs(command)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := unknownHelp(root, command)
	if err == nil {
		err = root.ExecuteContext(ctx)
	}
	if err == nil {
		return codeDone
	}
	if text := message(err); text != "" {
		fmt.Fprintln(stderr, withoutSecrets(text, args))
	}
	return codeOf(err)
}

// message is the text of an error: "error:", then its hint. Empty: it was printed already.
func message(err error) string {
	var problems strict.Problems
	if errors.As(err, &problems) {
		return problems.Error()
	}
	if text := err.Error(); text != "" {
		lines := strings.Split("error: "+text, "\n")
		for i := range lines { // it may quote a server
			lines[i] = safe(lines[i])
		}
		return strings.Join(lines, "\n")
	}
	return ""
}

func codeOf(err error) int {
	var exit *exitError
	var problems strict.Problems
	var changed *sweep.ServerChangedError
	var resume *sweep.ResumeError
	switch {
	case errors.As(err, &exit):
		return exit.code
	case errors.As(err, &problems), errors.As(err, &changed), errors.As(err, &resume):
		return codeUsage
	case endpoint.Interrupted(err):
		return codeInterrupted
	}
	return codeFailed
}

func newRoot(c *cli) *cobra.Command {
	root := &cobra.Command{
		Use:   "bench",
		Short: "measure LLM serving endpoints: one matrix in, one report out",
		Long: `bench runs a matrix of workloads against an OpenAI-compatible endpoint (vLLM, SGLang, llama.cpp, …).
It reports the operating point, the bottleneck, and how reliable the figures are.`,
		Example: `  bench http://localhost:8000                                       # how much load your server carries, in two minutes
  bench demo                                                        # the same with the simulated server: no GPU needed
  bench init                                                        # matrices to run, and to copy from
  bench sweep matrices/chat.toml                                    # the simulated server: no GPU needed
  bench sweep matrices/chat.toml --endpoint http://localhost:8000   # your server
  bench report results/chat/20260101T120000Z                        # write the report again`,
		SilenceErrors:              true,
		SilenceUsage:               true,
		SuggestionsMinimumDistance: 2, // letters
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		refused := new(pflag.InvalidValueError)
		if errors.As(err, &refused) && strings.Contains(err.Error(), "\nhint: ") {
			return usage("--%s: %w", refused.GetFlag().Name, refused.Unwrap())
		}
		text, _, parsing := strings.Cut(err.Error(), ": strconv.")
		if parsing { // the rest names functions of the program
			text += ": not a valid number"
		}
		hint := cmd.CommandPath() + " --help"
		if word, unknown := strings.CutPrefix(text, "unknown flag: --"); unknown {
			hint = flagHint(cmd, word, hint)
		}
		return usage("%s\nhint: %s", text, hint)
	})
	root.AddCommand(newURL(c), newDemo(c), newSweep(c), newReport(c), newCompare(c), newHistory(c), newAsk(c),
		newSize(c), newWhy(c), newBisect(c),
		newVerify(c), newServe(c), newTile(c), newWork(c),
		newPredict(c), newRehearse(c), newMock(c), newTrace(c),
		newSelftest(c), newReferee(c), newInit(c), newImport(c), newVersion(c), newGuard(c))
	c.setHelp(root)
	root.Version = versionText()
	root.SetVersionTemplate("{{.Version}}\n")
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if cmd.Name() != "version" { // the others may connect
			useRoots()
		}
		if cmd.Name() == "trace" { // -o is a trace
			return nil
		}
		return formatByName(cmd.Flags())
	}
	root.Flags().BoolP("version", "v", false, "print the version of bench and of Go")
	root.InitDefaultCompletionCmd(c.args...)
	for _, group := range []*cobra.Command{root, find(root, "completion")} { // groups of commands
		group.Args, group.RunE, group.DisableFlagsInUseLine = cobra.ArbitraryArgs, onlyCommands, true
	}
	nameCompletion(find(root, "completion"))
	namePositional(root)
	for _, rare := range []string{"completion", "work", "version"} { // bench help all has them
		find(root, rare).Hidden = true
	}
	return root
}

// flagHint is the hint for an unknown flag: the flag, or the key of a matrix, that another tool's word or a slip means.
func flagHint(cmd *cobra.Command, word, otherwise string) string {
	key, table, known := strict.Meaning(word)
	var flags []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { flags = append(flags, f.Name) })
	near, isNear := text.Nearest(word, flags)
	switch sets := cmd.Flags().Lookup("set") != nil; {
	case known && cmd.Flags().Lookup(key) != nil:
		return "did you mean --" + key + "?"
	case known && sets && table == "row":
		return "write " + key + " in the matrix, or --set 'row.*." + key +
			"=…'; bench import reads the command lines of other tools"
	case known && sets:
		return "--set target." + key + "=…"
	case isNear:
		return "did you mean --" + near + "?"
	case sets:
		return "keys of a matrix are set by --set PATH=VALUE, such as --set target.gpus=8; " + otherwise
	}
	return otherwise
}

// find returns the command at a path of names; nil: none.
func find(cmd *cobra.Command, name ...string) *cobra.Command {
	found, rest, err := cmd.Find(name)
	if err != nil || len(rest) > 0 {
		return nil
	}
	return found
}

func onlyCommands(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	return unknown(cmd, args[0])
}

// unknownHelp is the error of --help behind an unknown command, for which cobra prints the help of bench.
func unknownHelp(root *cobra.Command, args []string) error {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") || find(root, args[0]) != nil ||
		!slices.Contains(args, "--help") {
		return nil
	}
	return unknown(root, args[0])
}

// others are words of other tools for what bench URL does.
var others = []string{"run", "benchmark", "test", "load", "measure", "profile"}

func unknown(cmd *cobra.Command, word string) error {
	hint := cmd.CommandPath() + " --help"
	if slices.Contains(others, word) && !cmd.HasParent() {
		return usage("unknown command %q of bench\nhint: bench http://host:8000 measures a server; bench sweep MATRIX runs a matrix", word)
	}
	if near := cmd.SuggestionsFor(word); len(near) > 0 {
		hint = "did you mean " + strings.Join(near, " or ") + "?"
	}
	return usage("unknown command %q of %s\nhint: %s", word, cmd.CommandPath(), hint)
}

func (c *cli) newHelp() *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND | FINDING | all | findings]",
		Short:   "show the help of a command, or what a finding means; all: every command; findings: every finding",
		Example: "  bench help sweep\n  bench help all\n  bench help buffered\n  bench help findings",
		RunE: func(cmd *cobra.Command, args []string) error {
			root, width := cmd.Root(), min(widestHelp, screenOf(c.stdout).Columns())
			var lines []string
			switch topic := strings.Join(args, " "); topic {
			case "all":
				lines = commandLines(root, commandsByUse, width)[1:]
			case "findings":
				lines = findingLines(width)
			default:
				lines = findingHelp(topic, width)
			}
			if len(lines) > 0 {
				_, err := fmt.Fprintln(c.stdout, strings.Join(lines, "\n"))
				return err
			}
			about := find(root, args...)
			if about == nil {
				return unknown(root, strings.Join(args, " "))
			}
			return about.Help()
		},
	}
}

var errInterruptedEarly = interrupted("interrupted before anything was measured")

// interruptible runs what reads files and computes: a signal ends the wait for it at once, however large a file is.
// Such work leaves nothing to clean up, so it may go on until the process exits, which is next.
func interruptible[T any](ctx context.Context, work func() (T, error)) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		value, err := work()
		done <- outcome{value, err}
	}()
	select {
	case o := <-done:
		if ctx.Err() == nil {
			return o.value, o.err
		}
	case <-ctx.Done():
	}
	var none T
	return none, errInterruptedEarly
}

// namePositional says what each command takes, where it is given another number of arguments.
func namePositional(cmd *cobra.Command) {
	if rule := cmd.Args; rule != nil {
		cmd.Args = positional(rule)
	}
	for _, sub := range cmd.Commands() {
		namePositional(sub)
	}
}

func positional(rule cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		err := rule(cmd, args)
		if exit := new(exitError); err == nil || errors.As(err, &exit) { // the command has words of its own
			return err
		}
		_, words, _ := strings.Cut(cmd.Use, " ")
		given := "nothing"
		if len(args) > 0 {
			given = strings.Join(args, " ")
		}
		return usage("%s takes %s, got: %s\nhint: %[1]s --help", cmd.CommandPath(), cmp.Or(words, "nothing"), given)
	}
}
