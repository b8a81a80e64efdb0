package main

import (
	"path/filepath"
	"strings"

	"bench/experiment/text"
)

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
