package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"syscall"

	"bench/experiment/endpoint"
	"bench/experiment/stats"
	"bench/experiment/verdict"
	"bench/report"
	reportpage "bench/report/page"
	"bench/sweep"
)

// conclude makes the report of what there is, prints the table, and finds the exit code.
func (c *cli) conclude(result *sweep.Result, runErr error, f *sweepFlags) error {
	if result == nil || result.Dir == "" {
		if endpoint.Interrupted(runErr) {
			return &exitError{codeInterrupted, errors.New("interrupted before anything was measured")}
		}
		return runErr
	}
	run, err := report.Load(result.Dir)
	if err == nil && len(run.Rows) > 0 {
		err = c.render(run, f.watch.json)
	}
	if errors.Is(err, syscall.EPIPE) { // nobody reads the table; all is on disk before it is written
		err = nil
	}
	switch {
	case endpoint.Interrupted(runErr):
		return &exitError{codeInterrupted, fmt.Errorf("interrupted: finished rows are kept in %s\nhint: go on with: %s", result.Dir, c.again(result.Dir))}
	case runErr != nil:
		return runErr
	case err != nil:
		return fmt.Errorf("making the report: %w", err)
	case len(result.AllFailed) > 0:
		return fmt.Errorf("every request failed in: %s\nhint: the findings in the table say why, and each record in %s has its error", strings.Join(result.AllFailed, ", "), result.Dir)
	case f.enforce:
		return enforced(run)
	}
	return nil
}

// again is the command line that resumes a run.
func (c *cli) again(dir string) string {
	var words []string
	skip := false
	for _, a := range redacted(c.args) {
		switch {
		case skip:
			skip = false
		case a == "--resume":
			skip = true
		case !strings.HasPrefix(a, "--resume="):
			words = append(words, shellWord(a))
		}
	}
	return strings.Join(append(words, "--resume", shellWord(dir)), " ")
}

// shellWord quotes what a shell would take apart.
func shellWord(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+.,/:@%") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// render writes report.html and summary.md, and prints the table, unless standard output is for programs.
func (c *cli) render(run *report.Run, quiet bool) error {
	html := filepath.Join(run.Dir, "report.html")
	if err := writeWhole(html, func(w io.Writer) error { return reportpage.Runs(w, run) }); err != nil {
		return err
	}
	if err := writeWhole(filepath.Join(run.Dir, "summary.md"), func(w io.Writer) error { return report.Markdown(w, run) }); err != nil {
		return err
	}
	if quiet {
		return nil
	}
	if err := report.Text(c.stdout, run, colors(c.stdout)); err != nil {
		return err
	}
	_, err := fmt.Fprintf(c.stdout, "\nreport: %s\n", html)
	return err
}

// writeWhole writes what is rendered, once it is rendered to its end.
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

// enforced is the error for --enforce: an SLO that is not met, or a row that is not valid.
func enforced(run *report.Run) error {
	var missed []string
	removed := map[string]bool{}
	for _, p := range run.Manifest.Plan {
		removed[p.ID] = p.State == "removed"
	}
	for i := range run.Rows {
		row := &run.Rows[i]
		if removed[row.ID] { // of an earlier matrix
			continue
		}
		switch v, _ := verdict.SLOOf(row); {
		case row.Spec.Search != nil: // it is there to fail too; what counts is what the search found
		case v != "" && v != stats.Pass:
			missed = append(missed, row.ID+": SLO "+string(v))
		case !row.Checks.Valid():
			missed = append(missed, row.ID+": not valid ("+strings.Join(append(row.Checks.Failed, row.Checks.Unverified...), ", ")+")")
		}
	}
	for _, id := range run.Missing {
		missed = append(missed, id+": no result")
	}
	for _, f := range run.Manifest.Searches {
		if !f.Met() {
			missed = append(missed, f.Text)
		}
	}
	o := run.Outcome() // what every renderer says
	met := o.Valid && (o.Verdict == stats.Pass || o.Verdict == "")
	if met && len(missed) == 0 {
		return nil
	}
	if len(missed) == 0 {
		missed = []string{o.Validity}
	}
	return &exitError{codeNotMet, errors.New("SLO not met:\n  " + strings.Join(missed, "\n  "))}
}
