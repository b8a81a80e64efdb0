package report

import (
	"path"
	"slices"
	"strings"
)

// reproduceTable is what to type to do the run again, or a part of it. Names are quoted for a shell: they come from a file.
func (r *Run) reproduceTable() table {
	m := r.Manifest
	t := table{id: "reproduce", caption: "Do it again", note: "The matrix is below, as it was run; save it under the name that the commands have.",
		columns: []column{{head: "what"}, {head: "command"}}}
	add := func(what string, words ...string) {
		for i, w := range words {
			words[i] = shellWord(w)
		}
		t.rows = append(t.rows, []cell{text(what), {text: strings.Join(words, " "), kind: code}})
	}
	if len(m.Command) == 0 {
		return t
	}
	add("the whole run, as it was started", slices.Clone(m.Command)...)
	file := or(m.MatrixFile, m.Matrix+".toml")
	var names []string
	for _, row := range r.Live() {
		if !slices.Contains(names, row.Spec.Name) {
			names = append(names, row.Spec.Name)
		}
	}
	if len(names) > 1 {
		for _, name := range names {
			add("only "+name, append(slices.Clone(m.Command), "--only", name)...)
		}
	}
	dir := path.Join("results", m.Matrix, m.Run)
	add("what it would send", "bench", "sweep", file, "--dry-run")
	add("go on, if it was cut", "bench", "sweep", file, "--resume", dir)
	add("this page, from the results", "bench", "report", dir)
	add("beside another run", "bench", "compare", dir, path.Join("results", m.Matrix, "OTHER"))
	for _, s := range m.Servers {
		if len(s.Command) > 0 {
			add("the server, "+or(s.Variant, "no knobs"), slices.Clone(s.Command)...)
		}
	}
	return t
}

// shellWord quotes what a shell would take apart.
func shellWord(s string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+.,/:@%"
	if s != "" && strings.Trim(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
