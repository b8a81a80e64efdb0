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
				if n := text.Width(strings.TrimSuffix(line, "\n")); n > width {
					t.Errorf("%s: %d columns of %d: %s", cmd.CommandPath(), n, width, line)
				}
			}
		}
		if !cmd.HasExample() {
			t.Errorf("%s has no example", cmd.CommandPath())
		}
		groups := flagsByUse(cmd)
		shown := map[string]int{}
		for _, g := range groups {
			for _, name := range g.names {
				if shown[name]++; shown[name] > 1 || cmd.Flags().Lookup(name) == nil {
					t.Errorf("%s: flag %s of %q is shown twice, or does not exist", cmd.CommandPath(), name, g.title)
				}
			}
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if shown[f.Name] == 0 {
				t.Errorf("%s: flag %s is not shown", cmd.CommandPath(), f.Name)
			}
		})
		if rest := groups[len(groups)-1].names; len(groups) > 1 && !slices.Equal(rest, []string{"help"}) {
			t.Errorf("%s: %q are in no group of flagUses", cmd.CommandPath(), rest)
		}
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
			visit(sub)
		}
	}
	visit(root)
	if seen < 15 {
		t.Errorf("only %d commands", seen)
	}
}

func TestExampleLines(t *testing.T) {
	text := "  bench a   # one\n  bench longer        # two\n  bench sweep matrix.toml --api chat --only 'a b'   # three"
	for width, want := range map[int]string{
		80: "  bench a                                          # one\n  bench longer                                     # two\n" +
			"  bench sweep matrix.toml --api chat --only 'a b'  # three",
		40: "  bench a       # one\n  bench longer  # two\n  bench sweep matrix.toml --api chat \\\n      --only 'a b'\n      # three",
		36: "  bench a       # one\n  bench longer  # two\n  bench sweep matrix.toml \\\n      --api chat --only 'a b'\n      # three",
	} {
		if got := strings.Join(exampleLines(text, width), "\n"); got != want {
			t.Errorf("in %d:\n%s\nwant\n%s", width, got, want)
		}
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
