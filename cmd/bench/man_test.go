package main

import (
	"io"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestManualPage: the page has every command and flag that help shows, and only requests that man(7) has.
func TestManualPage(t *testing.T) {
	root := newRoot(&cli{stdin: strings.NewReader(""), stdout: io.Discard, stderr: io.Discard})
	page := manualPage(root)
	requests := regexp.MustCompile(`^\.(TH|SH|SS|PP|TP|nf|fi)( |$)`)
	for line := range strings.Lines(page) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || strings.HasPrefix(line, "'") || strings.HasPrefix(line, ".") && !requests.MatchString(line) {
			t.Errorf("no text and no request: %q", line)
		}
	}
	commands, flags := 0, 0
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		if cmd.Hidden {
			return
		}
		if _, body, found := strings.Cut(page, "\n.SS "+manualTitle(cmd)+"\n"); found {
			commands++
			body, _, _ = strings.Cut(body, "\n.SS ")
			cmd.Flags().VisitAll(func(f *pflag.Flag) {
				if f.Hidden || f.Name == "help" {
					return
				}
				flags++
				if !strings.Contains(body, `\-\-`+strings.ReplaceAll(f.Name, "-", `\-`)) {
					t.Errorf("%s: --%s is missing", cmd.CommandPath(), f.Name)
				}
			})
		} else if !onlyGroups(cmd) {
			t.Errorf("%s is missing", cmd.CommandPath())
		}
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
	}
	visit(root)
	if commands < 15 || flags < 150 {
		t.Errorf("only %d commands and %d flags", commands, flags)
	}
	if mandoc, err := exec.LookPath("mandoc"); err == nil {
		check := exec.Command(mandoc, "-T", "lint", "-W", "error")
		check.Stdin = strings.NewReader(page)
		if out, err := check.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}
}
