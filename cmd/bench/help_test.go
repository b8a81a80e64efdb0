package main

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bench/experiment/record"
	"bench/experiment/text"
)

// Every command's help fits a terminal, has an example, and shows each flag once, below a title of its own.
func TestHelp(t *testing.T) {
	root := newRoot(&cli{stdin: strings.NewReader(""), stdout: io.Discard, stderr: io.Discard})
	seen := 0
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		if cmd.Hidden && !slices.ContainsFunc(commandsByUse, func(g helpGroup) bool { return slices.Contains(g.names, cmd.Name()) }) {
			return
		}
		seen++
		for _, width := range []int{80, widestHelp} {
			for line := range strings.Lines(helpText(cmd, width)) {
				line = strings.TrimSuffix(line, "\n")
				if n := text.Width(line); n > width && !strings.HasPrefix(line, "  bench ") {
					t.Errorf("%s: %d columns of %d: %s", cmd.CommandPath(), n, width, line)
				}
			}
		}
		if !cmd.HasExample() && cmd.Name() != "completion" {
			t.Errorf("%s has no example", cmd.CommandPath())
		}
		shown := map[string]int{}
		for _, g := range flagsByUse(cmd) {
			g.flags.VisitAll(func(f *pflag.Flag) { shown[f.Name]++ })
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if shown[f.Name] != 1 {
				t.Errorf("%s: flag %s is shown %d times", cmd.CommandPath(), f.Name, shown[f.Name])
			}
		})
		if n := 0; !cmd.HasParent() {
			for _, g := range commandsByUse {
				n += len(g.names)
				for _, name := range g.names {
					if find(cmd, name) == nil {
						t.Errorf("there is no command %s", name)
					}
				}
			}
			hidden := []string{"guard", "plain-proxy"}
			if all := len(slices.DeleteFunc(slices.Clone(cmd.Commands()),
				func(c *cobra.Command) bool { return slices.Contains(hidden, c.Name()) })); n != all {
				t.Errorf("%d of %d commands are in a group", n, all)
			}
		}
		for _, sub := range cmd.Commands() {
			if cmd.Name() != "completion" { // the texts of cobra
				visit(sub)
			}
		}
	}
	visit(root)
	if seen < 15 {
		t.Errorf("only %d commands", seen)
	}
}

// TestHelpOfFindings: no code of a finding hides the help of a command.
func TestHelpOfFindings(t *testing.T) {
	root := newRoot(&cli{stdin: strings.NewReader(""), stdout: io.Discard, stderr: io.Discard})
	for _, code := range record.FindingCodes {
		if found := find(root, code.Name); found != nil {
			t.Errorf("%s is a command, too", code.Name)
		}
		if lines := findingHelp(code.Name, 80); len(lines) < 3 {
			t.Errorf("the help of %s is %q", code.Name, lines)
		}
	}
}
