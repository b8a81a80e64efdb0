package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

func newMan(c *cli) *cobra.Command {
	return &cobra.Command{
		Use:   "man",
		Short: "write the manual page",
		Long:  "man writes the manual page of bench, with all commands and flags, in the format of man(1).",
		Example: `  bench man > ~/.local/share/man/man1/bench.1
  bench man | man -l -                         read it at once`,
		Args: positional(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprint(c.stdout, manualPage(cmd.Root()))
			return err
		},
	}
}

// manualPage is the help of all commands as one page. It has no date, so that two builds make the same one.
func manualPage(root *cobra.Command) string {
	var p manual
	v, _ := version()
	p.request(`.TH BENCH 1 "" "bench %s" "User Commands"`, v)
	p.request(".SH NAME")
	p.text("bench - " + root.Short)
	p.request(".SH SYNOPSIS")
	p.text("bench COMMAND [flags]")
	p.request(".SH DESCRIPTION")
	p.paragraphs(root.Long)
	p.examples(root)
	for _, g := range commandsByUse {
		p.request(".SH %s", strings.ToUpper(g.title))
		for _, name := range g.names {
			p.command(find(root, name))
		}
	}
	p.request(".SH EXIT STATUS")
	for _, s := range []struct {
		code    int
		meaning string
	}{
		{codeDone, "done"}, {codeFailed, "failed"}, {codeUsage, "a mistake on the command line or in the matrix"},
		{codeNotMet, "SLO or gate not met (--enforce, --gate)"}, {codeInterrupted, "interrupted; results are kept"},
	} {
		p.request(".TP")
		p.text(fmt.Sprint(s.code))
		p.text(s.meaning)
	}
	return p.String()
}

// manual is a page under way, in the macros of man(7).
type manual struct{ strings.Builder }

func (p *manual) request(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

// text writes one line that no request begins.
func (p *manual) text(line string) {
	line = strings.NewReplacer(`\`, `\e`, `-`, `\-`).Replace(line)
	if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
		line = `\&` + line
	}
	p.request("%s", line)
}

// verbatim writes lines as they are.
func (p *manual) verbatim(lines []string) {
	p.request(".PP\n.nf")
	for _, line := range lines {
		p.text(line)
	}
	p.request(".fi")
}

// paragraphs writes the text of a help; indented lines in it stay as they are.
func (p *manual) paragraphs(text string) {
	for i, paragraph := range strings.Split(text, "\n\n") {
		lines := strings.Split(paragraph, "\n")
		if strings.Contains("\n"+paragraph, "\n ") {
			p.verbatim(lines)
			continue
		}
		if i > 0 { // a title begins a paragraph itself
			p.request(".PP")
		}
		p.text(strings.Join(lines, " "))
	}
}

func (p *manual) examples(cmd *cobra.Command) {
	const width = 72 // columns, with the indent of a page below 80
	p.verbatim(exampleLines(cmd.Example, width))
}

// manualTitle is a command with its arguments.
func manualTitle(cmd *cobra.Command) string {
	title := cmd.CommandPath()
	if _, arguments, some := strings.Cut(cmd.Use, " "); some {
		title += " " + arguments
	}
	return strings.ReplaceAll(title, "-", `\-`)
}

// command writes a command, and the commands below it.
func (p *manual) command(cmd *cobra.Command) {
	if !onlyGroups(cmd) {
		p.request(".SS %s", manualTitle(cmd))
		long := cmd.Long
		if long == "" {
			long = cmd.Short + "."
		}
		p.paragraphs(long)
		p.examples(cmd)
		for _, g := range flagsByUse(cmd) {
			for _, name := range g.names {
				if name == "help" {
					continue
				}
				f := cmd.Flags().Lookup(name)
				p.request(".TP")
				p.text(strings.TrimSpace(flagName(f)))
				p.text(flagText(f))
			}
		}
	}
	for _, sub := range cmd.Commands() {
		p.command(sub)
	}
}
