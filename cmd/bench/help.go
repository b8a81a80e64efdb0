package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bench/experiment/record"
	"bench/experiment/text"
)

const widestHelp = 100 // columns, on any terminal

// setHelp gives the root and all commands below it their help: as wide as the terminal, flags grouped by use.
func (c *cli) setHelp(root *cobra.Command) {
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		fmt.Fprint(c.stdout, helpText(cmd, min(widestHelp, screenOf(c.stdout).Columns())))
	})
	root.SetHelpCommand(c.newHelp())
	root.InitDefaultHelpCmd()
}

func helpText(cmd *cobra.Command, width int) string {
	var b strings.Builder
	put := func(lines ...string) { b.WriteString(strings.Join(lines, "\n") + "\n") }
	long := cmd.Long
	if long == "" {
		long = cmd.Short + "."
	}
	put(reflowed(long, width), "", "Usage:")
	if !onlyGroups(cmd) {
		put("  " + cmd.UseLine())
	}
	if cmd.HasAvailableSubCommands() {
		put("  " + cmd.CommandPath() + " COMMAND")
	}
	if cmd.HasExample() {
		put("", "Examples:")
		for line := range strings.SplitSeq(cmd.Example, "\n") {
			if command, remark, _ := strings.Cut(line, "  # "); text.Width(line) > width && remark != "" {
				line = strings.TrimRight(command, " ") + "\n      # " + remark
			}
			put(line) // a command is copied as one line, also by a narrow terminal
		}
	}
	put(commandLines(cmd, commandGroups(cmd), width)...)
	for _, g := range flagsByUse(cmd) {
		if g.flags.HasFlags() {
			put("", g.title+":", strings.TrimRight(g.flags.FlagUsagesWrapped(width), "\n"))
		}
	}
	switch {
	case cmd.HasAvailableSubCommands() && !cmd.HasParent():
		put("", "bench help all: all commands", "bench COMMAND --help: examples and flags of a command")
	case cmd.HasAvailableSubCommands():
		put("", cmd.CommandPath()+" COMMAND --help: examples and flags of a command")
	}
	return b.String()
}

func commandLines(cmd *cobra.Command, groups []helpGroup, width int) (lines []string) {
	for _, g := range groups {
		lines = append(lines, "", g.title+":")
		for _, name := range g.names {
			name, short := text.Pad(name, 11), find(cmd, name).Short
			lines = append(lines, text.Wrap("  "+name, short, strings.Repeat(" ", 14), width)...)
		}
	}
	return lines
}

// onlyGroups reports whether a command has no task of its own, only commands below it.
func onlyGroups(cmd *cobra.Command) bool {
	return cmd.HasAvailableSubCommands() && cmd.DisableFlagsInUseLine
}

// reflowed fits paragraphs to a width, each with the indentation of its first line.
func reflowed(s string, width int) string {
	var out []string
	for p := range strings.SplitSeq(s, "\n\n") {
		indent := p[:len(p)-len(strings.TrimLeft(p, " "))]
		for _, line := range text.Wrap("", p, "", width-len(indent)) {
			out = append(out, indent+line)
		}
		out = append(out, "")
	}
	return strings.Join(out[:len(out)-1], "\n")
}

func commandGroups(cmd *cobra.Command) []helpGroup {
	if !cmd.HasAvailableSubCommands() {
		return nil
	}
	if !cmd.HasParent() {
		return daily
	}
	g := helpGroup{title: "Commands"}
	for _, sub := range cmd.Commands() {
		g.names = append(g.names, sub.Name())
	}
	return []helpGroup{g}
}

type flagGroup struct {
	title string
	flags *pflag.FlagSet
}

// flagsByUse are the flags of a command in the order of their declaration: first its own, then those below titles.
func flagsByUse(cmd *cobra.Command) []flagGroup {
	groups := []flagGroup{{title: "Flags"}}
	for _, shared := range sharedFlags {
		groups = append(groups, flagGroup{title: shared.title})
	}
	for i := range groups {
		groups[i].flags = pflag.NewFlagSet(groups[i].title, pflag.ContinueOnError)
		groups[i].flags.SortFlags = false
	}
	cmd.InitDefaultHelpFlag()
	cmd.Flags().SortFlags = false
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		at := slices.IndexFunc(sharedFlags, func(g helpGroup) bool { return slices.Contains(g.names, f.Name) })
		groups[at+1].flags.AddFlag(f)
	})
	return groups
}

// findingLines are all codes of findings with their meanings.
func findingLines(width int) (lines []string) {
	const names = 22 // the longest code, and a space
	for _, code := range record.FindingCodes {
		lines = append(lines, text.Wrap(text.Pad(code.Name, names), code.Meaning, strings.Repeat(" ", names+1),
			width)...)
	}
	return append(lines, "", "bench help FINDING: its effect on the figures, and what to do")
}

// findingHelp explains a code of findings; nil: there is no such code.
func findingHelp(name string, width int) (lines []string) {
	at := slices.IndexFunc(record.FindingCodes, func(c record.Code) bool { return c.Name == name })
	if at < 0 {
		return nil
	}
	code := record.FindingCodes[at]
	for _, part := range []struct{ title, text string }{
		{code.Name, code.Meaning}, {"effect", code.Effect}, {"what to do", code.Remedy},
	} {
		title := text.Pad(part.title, max(len("what to do"), len(code.Name))+1)
		lines = append(lines, text.Wrap(title, part.text, strings.Repeat(" ", text.Width(title)+1), width)...)
	}
	return lines
}

type helpGroup struct {
	title string
	names []string
}

var daily = []helpGroup{{"Commands", []string{"URL", "demo", "init", "sweep", "report", "compare", "serve"}}}

// commandsByUse are all commands, in the order of bench help all.
var commandsByUse = []helpGroup{
	{"Measure", []string{"URL", "demo", "init", "import", "sweep", "work", "tile"}},
	{"Read results", []string{"report", "compare", "why", "bisect", "history", "ask", "verify", "serve"}},
	{"Plan", []string{"size", "predict", "rehearse", "trace"}},
	{"Check the client", []string{"selftest", "referee", "mock"}},
	{"Other", []string{"version", "help", "completion"}},
}

// sharedFlags stand below a title of their own in the help of each command that has them.
var sharedFlags = []helpGroup{
	{"Model and hardware", []string{"model", "hardware", "gpus", "precision", "gpu-hour-usd"}},
	{"API key", []string{"api-key-env", "api-key-file", "api-key"}},
	{"Network", []string{"listen", "tls", "tls-ca", "token-file"}},
	{"Verdict", []string{"enforce", "gate", "threshold", "on-undecided"}},
	{"Output", []string{"out", "output", "format", "save", "json", "plain", "metrics-listen", "findings", "junit",
		"sign"}},
}
