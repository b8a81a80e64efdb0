package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"syscall"

	"bench/experiment/endpoint"
	"bench/experiment/text"
	"bench/report"
	"bench/report/page"
	"bench/sweep"
)

func (f *sweepFlags) conclude(c *cli, result *sweep.Result, runErr error) error {
	if result == nil || result.Dir == "" {
		if endpoint.Interrupted(runErr) {
			return errInterruptedEarly
		}
		return runErr
	}
	run, err := report.Load(result.Dir)
	if err == nil && len(run.Rows) > 0 {
		err = c.render(run, f.watch.json)
	}
	err = errors.Join(err, sign(result.Dir, f.signer))
	if errors.Is(err, syscall.EPIPE) { // the table comes last: all files are written
		err = nil
	}
	switch {
	case endpoint.Interrupted(runErr) && f.watch.interval > 0: // bench tile does not resume
		return interrupted("interrupted: finished rows are kept in %s", result.Dir)
	case endpoint.Interrupted(runErr):
		return interrupted("interrupted: finished rows are kept in %s\nhint: resume with: %s", result.Dir,
			c.resumeCommand(result.Dir))
	case runErr != nil:
		return runErr
	case err != nil:
		return fmt.Errorf("writing the report: %w", err)
	case len(result.AllFailed) > 0:
		return fmt.Errorf("no request completed in: %s\nhint: see the findings in the table, and the error of each record in %s", strings.Join(result.AllFailed, ", "), result.Dir)
	case len(run.Lost()) > 0:
		return fmt.Errorf("results of finished rows are gone from %s: %s\nhint: measure them again: %s", result.Dir,
			strings.Join(run.Lost(), ", "), c.resumeCommand(result.Dir))
	case f.enforce:
		if err := run.Met(); err != nil {
			return &exitError{codeNotMet, err}
		}
	case run.Headline().Rows > 0 && run.Headline().Invalid >= run.Headline().Rows:
		return fmt.Errorf("no row is valid: see the findings in the table\nhint: bench report %s", result.Dir)
	}
	return nil
}

func (c *cli) render(run *report.Run, quiet bool) error {
	html := filepath.Join(run.Dir, "report.html")
	if err := writeWhole(html, func(w io.Writer) error { return page.Runs(w, run) }); err != nil {
		return err
	}
	if err := writeWhole(filepath.Join(run.Dir, "summary.md"),
		func(w io.Writer) error { return report.Markdown(w, run) }); err != nil {
		return err
	}
	if quiet {
		return nil
	}
	if err := report.Brief(c.stdout, run, screenOf(c.stdout)); err != nil {
		return err
	}
	_, err := fmt.Fprintf(c.stdout, "\nreport: %s\n", html)
	return err
}

// resumeCommand returns the command line that resumes a run. --out is left out: the run stays in its directory.
func (c *cli) resumeCommand(dir string) string {
	var words []string
	skip := false
	for _, a := range redacted(c.args) {
		flag, _, joined := strings.Cut(a, "=")
		switch {
		case skip:
			skip = false
		case flag == "--resume" || flag == "--out":
			skip = !joined
		default:
			words = append(words, a)
		}
	}
	return text.ShellWords(append(words, "--resume", dir))
}

// within reports whether the run in a directory is one of those that --out DIR makes: DIR/<matrix>/<run>.
func within(run, out string) bool {
	run, errRun := filepath.Abs(run)
	out, errOut := filepath.Abs(out)
	return errRun == nil && errOut == nil && filepath.Dir(filepath.Dir(run)) == out
}
