package report

import (
	"cmp"
	"fmt"
	"math"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"bench/experiment/diagnosis"
	"bench/experiment/text"
)

// Names come from a file and are quoted.
func (r *Run) reproduceTable() Table {
	m := r.Manifest
	t := newTable("commands", "Reproduce", "what", "command")
	t.Note = "Save the matrix below as the commands name it."
	add := func(what string, words ...string) {
		t.Add(TextCell(what), Cell{Text: text.ShellWords(words), Kind: Code})
	}
	if len(m.Command) == 0 {
		return t
	}
	add("the whole run", m.Command...)
	if r.loadWorkers() != "" {
		add("each load worker, at the URL that the run prints", "bench", "work", "--join", "URL")
	}
	file := cmp.Or(m.MatrixFile, m.Matrix+".toml")
	var names []string
	for _, row := range r.Live() {
		if !slices.Contains(names, row.Spec.Name) {
			names = append(names, row.Spec.Name)
		}
	}
	if len(names) > 1 {
		add("one row", append(slices.Clone(m.Command), "--only", names[0])...)
	}
	dir := r.Named()
	again := []string{"bench", "sweep", file}
	if r.hasNoFile() {
		again = m.Command
	}
	add("the plan, without sending", slices.Concat(again, []string{"--dry-run"}, onlyOf(m.Command))...)
	if m.State != "done" {
		add("resume an interrupted run", slices.Concat(again, []string{"--resume", dir})...)
	}
	add("this report", "bench", "report", dir)
	add("comparison with another run", "bench", "compare", dir, path.Join(outOf(m.Command), m.Matrix, "OTHER"))
	for _, s := range m.Servers {
		if len(s.Command) > 0 {
			add("server, "+cmp.Or(s.Variant, "no knobs"), s.Command...)
		}
	}
	return t
}

// Named is the directory of the run as commands name it.
func (r *Run) Named() string {
	return path.Join(outOf(r.Manifest.Command), r.Manifest.Matrix, r.Manifest.Run)
}

// ServerFlags are those of the server that bench started, or as the matrix states them; empty: unknown, or several.
func (r *Run) ServerFlags() string {
	m, flags := r.Manifest, ""
	for _, s := range m.Servers {
		i := slices.IndexFunc(s.Command, func(word string) bool { return strings.HasPrefix(word, "-") })
		if i < 0 {
			continue
		}
		if words := text.ShellWords(s.Command[i:]); flags == "" || flags == words {
			flags = words
		} else {
			return ""
		}
	}
	return cmp.Or(flags, m.Facts["server_flags"])
}

func outOf(command []string) string {
	for i, word := range command {
		flag, value, joined := strings.Cut(word, "=")
		if !joined && i+1 < len(command) {
			value = command[i+1]
		}
		switch flag {
		case "--out":
			return value
		case "--resume":
			return path.Dir(path.Dir(path.Clean(value)))
		}
	}
	return "results"
}

// onlyOf are the flags --only of a command, with their values.
func onlyOf(command []string) (words []string) {
	for i, word := range command {
		if strings.HasPrefix(word, "--only=") || i > 0 && command[i-1] == "--only" {
			words = append(words, "--only", strings.TrimPrefix(word, "--only="))
		}
	}
	return words
}

// hasNoFile reports whether bench URL ran: its matrix is one of bench's own, and a user changes it by flags.
func (r *Run) hasNoFile() bool {
	m := &r.Manifest
	return m.MatrixFile == "quick.toml" && !slices.Contains(m.Command, m.MatrixFile)
}

// typeNext makes flags of bench URL of the keys of a matrix that a run without a file has no place for.
func (r *Run) typeNext(a *diagnosis.Answer) {
	if !r.hasNoFile() {
		return
	}
	for i := range a.Workloads {
		if next := a.Workloads[i].Next; next != nil {
			next.Text, next.TOML = r.asFlags(next), ""
		}
	}
}

// asFlags: the windows of a search are its own, so more requests are a longer search.
func (r *Run) asFlags(next *diagnosis.NextSweep) string {
	if i := slices.Index([]string{"duration", "requests", "budget"}, next.Variable); i >= 0 {
		for _, row := range r.Rows {
			if s := row.Spec.Search; s != nil && s.Budget > 0 {
				longer := math.Ceil(2.5 * time.Duration(s.Budget).Minutes())
				for _, f := range r.Manifest.Searches {
					longer = max(longer, math.Ceil(f.ConfirmS/60)) // what a verdict at its lower end takes
				}
				return fmt.Sprintf("a longer search: --budget %.0fm", longer)
			}
		}
	}
	keys := regexp.MustCompile(`\b(duration|requests|budget|rate|concurrency) = (?:"([^"]*)"|\[([^\]]*)\]|([0-9.]+))`)
	text := strings.ReplaceAll(next.Text, "raise budget of the search", "raise --budget")
	text = keys.ReplaceAllStringFunc(text, func(line string) string {
		m := keys.FindStringSubmatch(line)
		return "--" + m[1] + " " + strings.ReplaceAll(m[2]+m[3]+m[4], " ", "")
	})
	return strings.ReplaceAll(text, ", --", " --")
}
