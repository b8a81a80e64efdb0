package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"bench/experiment/endpoint"
	"bench/sweep"
	"bench/sweep/strict"
)

// Exit codes, the same on every command.
const (
	codeDone        = 0
	codeFailed      = 1
	codeUsage       = 2
	codeNotMet      = 3
	codeInterrupted = 130
)

// exitError carries the exit code that an error asks for.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }

func (e *exitError) Unwrap() error { return e.err }

// usage is an error of the command line.
func usage(format string, args ...any) error {
	return &exitError{codeUsage, fmt.Errorf(format, args...)}
}

// cli is what every command may touch of the world.
type cli struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	args           []string // the whole command line, without the program's name
}

// bench runs one command line and returns its exit code.
func bench(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer, args []string) int {
	root := newRoot(&cli{stdin, stdout, stderr, args})
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return codeDone
	}
	if text := message(err); text != "" {
		fmt.Fprintln(stderr, withoutSecrets(text, args))
	}
	return codeOf(err)
}

// message is what is said of an error: "error:" and what it is, then its hint. Nothing where all was said already.
func message(err error) string {
	var problems strict.Problems
	if errors.As(err, &problems) {
		return problems.Error()
	}
	if text := err.Error(); text != "" {
		lines := strings.Split("error: "+text, "\n")
		for i := range lines { // a server's words may be in it
			lines[i] = plain(lines[i])
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
		Long: `bench runs a matrix of workloads against an OpenAI-compatible endpoint (vLLM, SGLang, llama.cpp, …)
and says what the numbers mean, and how far they can be trusted.`,
		Example: `  bench sweep matrices/chat.toml                                    the embedded simulated server: no GPU needed
  bench sweep matrices/chat.toml --endpoint http://localhost:8000   your server
  bench report results/chat/20260101T120000Z                        make the report again`,
		SilenceErrors:              true,
		SilenceUsage:               true,
		SuggestionsMinimumDistance: 2, // letters
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		text, _, parsing := strings.Cut(err.Error(), ": strconv.")
		if parsing { // the rest is of the program, not of the command line
			text += ": it is no number of the right kind"
		}
		return usage("%s\nhint: %s --help", text, cmd.CommandPath())
	})
	root.AddCommand(newSweep(c), newReport(c), newCompare(c), newHistory(c), newTile(c), newPredict(c), newMock(c), newTrace(c),
		newSelftest(c), newVersion(c), newGuard(c))
	root.SetHelpCommand(newHelp())
	root.InitDefaultCompletionCmd(c.args...)
	for _, group := range []*cobra.Command{root, find(root, "completion")} { // they only hold commands
		group.Args, group.RunE, group.DisableFlagsInUseLine = cobra.ArbitraryArgs, onlyCommands, true
	}
	for _, shell := range find(root, "completion").Commands() {
		shell.Args = positional(cobra.NoArgs)
		shell.Example = "  bench completion " + shell.Name() + " > bench." + shell.Name()
	}
	find(root, "completion").Example = "  bench completion bash > ~/.local/share/bash-completion/completions/bench"
	return root
}

// find is the command that a path of names leads to; nil if there is none.
func find(cmd *cobra.Command, name ...string) *cobra.Command {
	found, rest, err := cmd.Find(name)
	if err != nil || len(rest) > 0 {
		return nil
	}
	return found
}

// onlyCommands runs a command that only holds others: help without a word, an error for an unknown one.
func onlyCommands(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	return unknown(cmd, args[0])
}

func unknown(cmd *cobra.Command, word string) error {
	hint := cmd.CommandPath() + " --help"
	if near := cmd.SuggestionsFor(word); len(near) > 0 {
		hint = "did you mean " + strings.Join(near, " or ") + "?"
	}
	return usage("unknown command %q of %s\nhint: %s", word, cmd.CommandPath(), hint)
}

func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND]",
		Short:   "explain bench or one of its commands",
		Example: "  bench help sweep",
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			about := find(root, args...)
			if about == nil {
				return unknown(root, strings.Join(args, " "))
			}
			return about.Help()
		},
	}
}

// positional wraps a rule for positional arguments so that breaking it is a usage error with a hint.
func positional(rule cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := rule(cmd, args); err != nil {
			given := "nothing"
			if len(args) > 0 {
				given = strings.Join(args, " ")
			}
			return usage("%s takes %s, but there is: %s\nhint: %s --help", cmd.CommandPath(), takes(cmd), given, cmd.CommandPath())
		}
		return nil
	}
}

// takes is what stands behind a command's name in its usage line.
func takes(cmd *cobra.Command) string {
	_, words, ok := strings.Cut(cmd.Use, " ")
	if !ok {
		return "nothing"
	}
	return words
}

func newVersion(c *cli) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "print the version of bench and of Go",
		Example: "  bench version",
		Args:    positional(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			v, commit := version()
			if commit != "" {
				v += " (" + commit + ")"
			}
			_, err := fmt.Fprintf(c.stdout, "bench %s, %s\n", v, buildGo())
			return err
		},
	}
}

// release is the version of this tree; CHANGELOG.md says what is in it.
const release = "0.1.0-dev"

// version is the release, and the commit that the binary was built from where Go recorded it.
func version() (v, commit string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return release, ""
	}
	dirty := ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+changes"
		}
	}
	if commit != "" {
		commit += dirty
	}
	return release, commit
}

func buildGo() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.GoVersion
	}
	return "unknown Go"
}
