package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"bench/experiment/endpoint"
	"bench/report"
	"bench/report/page"
	"bench/sweep"
)

func (c *cli) conclude(result *sweep.Result, runErr error, f *sweepFlags) error {
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
		return &exitError{codeInterrupted, fmt.Errorf("interrupted: finished rows are kept in %s", result.Dir)}
	case endpoint.Interrupted(runErr):
		return &exitError{codeInterrupted,
			fmt.Errorf("interrupted: finished rows are kept in %s\nhint: resume with: %s", result.Dir,
				c.resumeCommand(result.Dir))}
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
	case allInvalid(run):
		return fmt.Errorf("no row is valid: see the findings in the table\nhint: bench report %s", result.Dir)
	}
	return nil
}

func allInvalid(run *report.Run) bool {
	h := run.Headline()
	return h.Rows > 0 && h.Invalid >= h.Rows
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

// writeWhole writes a file after it is rendered without an error.
func writeWhole(name string, render func(io.Writer) error) error {
	var b bytes.Buffer
	if err := render(&b); err != nil {
		return err
	}
	return sweep.WriteWhole(name, func(w io.Writer) error {
		_, err := b.WriteTo(w)
		return err
	})
}

func checkFormat(format string, known ...string) error {
	if slices.Contains(known, format) {
		return nil
	}
	return usage("unknown format %q\nhint: use %s", format, strings.Join(known, ", "))
}
