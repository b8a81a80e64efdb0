package main

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bench/experiment/record"
	"bench/experiment/text"
)

const (
	widestHelp = 100 // columns, on any terminal
	widestFlag = 30  // columns of a flag with its value; the text of a wider one begins on the next line
)

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
	put(reflowed(long, width)...)
	put("", "Usage:")
	if !onlyGroups(cmd) {
		put("  " + cmd.UseLine())
	}
	if cmd.HasAvailableSubCommands() {
		put("  " + cmd.CommandPath() + " COMMAND")
	}
	if cmd.HasExample() {
		put("", "Examples:")
		put(exampleLines(cmd.Example, width)...)
	}
	put(commandLines(cmd, commandGroups(cmd), width)...)
	for _, g := range flagsByUse(cmd) {
		put("", g.title+":")
		for _, name := range g.names {
			put(flagLines(cmd.Flags().Lookup(name), widthOfFlags(cmd), width)...)
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

// reflowed fits paragraphs to a width. Lines of one paragraph have one indentation.
func reflowed(s string, width int) []string {
	var out []string
	paragraph, indent := "", ""
	end := func() {
		if paragraph != "" {
			for _, line := range text.Wrap("", paragraph, "", width-len(indent)) {
				out = append(out, indent+line)
			}
		}
		paragraph = ""
	}
	for line := range strings.SplitSeq(s, "\n") {
		own := line[:len(line)-len(strings.TrimLeft(line, " "))]
		if line == "" || own != indent {
			end()
		}
		if line == "" {
			out = append(out, "")
		}
		paragraph, indent = paragraph+" "+line, own
		if line == "" {
			paragraph = ""
		}
	}
	end()
	return out
}

// oneWord are parts of a command that stay on one line: a flag with a word that can be its value, and quotes.
var oneWord = regexp.MustCompile(` --?[a-z-]+ (?:'[^']*'|[^-\s])|'[^']*'`)

// exampleLines fits commands to a width, each with a remark behind two spaces or none. Remarks are aligned; one that
// does not fit moves to the next line, and a command that does not continues behind a backslash.
func exampleLines(s string, width int) []string {
	const indent = "  "
	var commands, remarks []string
	aligned := 0
	for line := range strings.SplitSeq(s, "\n") {
		command, remark := strings.TrimSpace(line), ""
		if at := strings.LastIndex(command, "  "); at > 0 {
			command, remark = strings.TrimSpace(command[:at]), strings.TrimSpace(command[at:])
			if n := text.Width(command); text.Width(indent+command+indent+remark) <= width {
				aligned = max(aligned, n)
			}
		}
		commands, remarks = append(commands, command), append(remarks, remark)
	}
	var lines []string
	for i, command := range commands {
		for _, whole := range []string{text.Pad(command, aligned), command} {
			if line := strings.TrimRight(indent+whole+indent+remarks[i], " "); text.Width(line) <= width {
				lines, command = append(lines, line), ""
				break
			}
		}
		if command != "" {
			lines = append(lines, backslashed(command, indent, width)...)
			if remarks[i] != "" {
				lines = append(lines, text.Wrap(indent+indent+" ", remarks[i], strings.Repeat(indent, 3), width)...)
			}
		}
	}
	return lines
}

func backslashed(command, indent string, width int) []string {
	const glue = "\x00"
	command = oneWord.ReplaceAllStringFunc(command, func(s string) string {
		lead := s[:len(s)-len(strings.TrimLeft(s, " "))]
		return lead + strings.ReplaceAll(s[len(lead):], " ", glue)
	})
	lines := text.Wrap("", command, indent+indent, width-len(indent)-len(" \\"))
	for i := range lines {
		lines[i] = indent + strings.ReplaceAll(lines[i], glue, " ")
		if i < len(lines)-1 {
			lines[i] += " \\"
		}
	}
	return lines
}

type helpGroup struct {
	title string
	names []string
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

// flagsByUse are the flags of a command, by use; flags that flagUses does not list are in a last group, with help.
func flagsByUse(cmd *cobra.Command) []helpGroup {
	groups := slices.Clone(flagUses[strings.TrimPrefix(cmd.CommandPath(), "bench ")])
	cmd.InitDefaultHelpFlag()
	rest := helpGroup{title: "Other"}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && !slices.ContainsFunc(groups,
			func(g helpGroup) bool { return slices.Contains(g.names, f.Name) }) {
			rest.names = append(rest.names, f.Name)
		}
	})
	if len(groups) == 0 {
		rest.title = "Flags"
	}
	return append(groups, rest)
}

func widthOfFlags(cmd *cobra.Command) int {
	n := 0
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if w := text.Width(flagName(f)); w <= widestFlag {
			n = max(n, w)
		}
	})
	return n
}

func flagName(f *pflag.Flag) string {
	name := "      --" + f.Name
	if f.Shorthand != "" {
		name = "  -" + f.Shorthand + ", --" + f.Name
	}
	value, _ := pflag.UnquoteUsage(f)
	if kind := map[string]string{"string": "TEXT", "stringArray": "TEXT", "strings": "TEXT,…", "int": "N",
		"ints": "N,…", "uint": "N",
		"float": "X", "float64Slice": "X,…", "duration": "TIME"}[value]; kind != "" {
		value = kind
	}
	switch {
	case value == "":
		return name
	case f.NoOptDefVal != "" && f.Value.Type() != "bool":
		return name + "[=" + value + "]"
	}
	return name + " " + value
}

func flagText(f *pflag.Flag) string {
	_, text := pflag.UnquoteUsage(f)
	if value := defaultOf(f); value != "" {
		text += " (default " + value + ")"
	}
	return text
}

func flagLines(f *pflag.Flag, names, width int) []string {
	name, s, indent := flagName(f), flagText(f), strings.Repeat(" ", names+2)
	if text.Width(name) <= names {
		return text.Wrap(text.Pad(name, names+1), s, indent, width)
	}
	lines := []string{name}
	for _, line := range text.Wrap("", s, "", width-len(indent)) {
		lines = append(lines, indent+line)
	}
	return lines
}

// defaultOf is the default value of a flag as one would write it; empty: none, or zero.
func defaultOf(f *pflag.Flag) string {
	value := strings.Trim(f.DefValue, "[]")
	if f.Value.Type() == "float64Slice" {
		var parts []string
		for part := range strings.SplitSeq(value, ",") {
			x, _ := strconv.ParseFloat(part, 64)
			parts = append(parts, strconv.FormatFloat(x, 'f', -1, 64))
		}
		value = strings.Join(parts, ",")
	}
	if slices.Contains([]string{"", "0", "0s", "false"}, value) {
		return ""
	}
	return value
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
