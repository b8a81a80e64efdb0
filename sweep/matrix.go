// Package sweep turns a matrix into rows, and rows into files: read the TOML strictly (Read), expand
// its lists into points (the product, last key fastest), run what is not there yet (Run), and keep
// each finished row so that a kill at any moment loses only the one in progress. It prints nothing;
// what happens is told as events.
package sweep

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"

	"bench/experiment"
	"bench/experiment/endpoint"
	"bench/experiment/server"
	"bench/sweep/strict"
)

// Matrix is one matrix file, checked and expanded.
type Matrix struct {
	File, Text string
	Name       string   `toml:"name"`
	Hypothesis string   `toml:"hypothesis"`
	Notes      []string `toml:"notes"`
	Seed       uint64   `toml:"seed"`  // 0 = 1
	Order      string   `toml:"order"` // listed (also when empty), blocked or interleaved: see inOrder

	Target    experiment.Target  `toml:"target"`
	Server    server.Table       `toml:"server"`
	Telemetry endpoint.Telemetry `toml:"telemetry"`
	SLO       experiment.SLO     `toml:"slo"`
	Gate      experiment.Gate    `toml:"gate"` // for bench compare, which reads it from the text

	Variants []Variant         `toml:"-"` // the servers that are measured; none: the one at the endpoint
	Points   []experiment.Spec `toml:"-"` // every point and repeat, in order of execution
}

// Hash is the SHA-256 of the file's text.
func (m *Matrix) Hash() string {
	sum := sha256.Sum256([]byte(m.Text))
	return hex.EncodeToString(sum[:])
}

// Extension is a top-level table whose owner sweep does not know: Read decodes it into Into, a
// pointer to a struct, and checks it.
type Extension struct {
	Table string
	Into  interface {
		Check(bad func(key, problem, hint string))
	}
}

// Read reads and checks a matrix file. Every mistake is in the error, a strict.Problems.
func Read(file string, ext ...Extension) (*Matrix, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading the matrix: %w", err)
	}
	return Parse(file, text, ext...)
}

// Parse checks and expands the text of a matrix file.
func Parse(file string, text []byte, ext ...Extension) (*Matrix, error) {
	doc, err := strict.Parse(file, text)
	if err != nil {
		var problems strict.Problems
		if errors.As(err, &problems) {
			err = findSecrets(string(text)).mask(problems)
		}
		return nil, err
	}
	r := &reader{doc: doc, root: maps.Clone(doc.Root), m: &Matrix{File: file, Text: string(text)}, seen: map[strict.Problem]bool{}, ids: map[string]bool{}}
	r.read(ext)
	if len(r.problems) > 0 {
		return nil, findSecrets(string(text)).mask(r.problems)
	}
	return r.m, nil
}

// reader collects the problems of one file.
type reader struct {
	doc      *strict.Document
	root     map[string]any // what is not read yet
	m        *Matrix
	problems strict.Problems
	seen     map[strict.Problem]bool
	count    int64           // points of the rows so far, their repeats counted
	ids      map[string]bool // of the rows so far, in lower case
	files    experiment.Files
}

func (r *reader) bad(path, text, hint string) {
	p := r.doc.Problem(path, text, hint)
	if !r.seen[p] { // a mistake of a row is found again at each of its points
		r.seen[p] = true
		r.problems = append(r.problems, p)
	}
}

// under reports problems of the table at a path.
func (r *reader) under(table string) func(key, text, hint string) {
	return func(key, text, hint string) { r.bad(strict.Join(table, key), text, hint) }
}

func (r *reader) read(ext []Extension) {
	rows := r.tables("row")
	defaults := r.table("defaults")
	for _, e := range ext {
		strict.Decode(r.table(e.Table), e.Into, r.under(e.Table))
		e.Into.Check(r.under(e.Table))
	}
	slo, _ := r.root["slo"].(map[string]any)
	_, server := r.root["server"]
	strict.Decode(r.root, r.m, r.bad)
	r.checkHead()
	r.checkTimes()
	r.m.Target.Check(r.under("target"))
	r.m.Telemetry.Check(r.under("telemetry"))
	r.readVariants(server)
	if r.m.Order == orderInterleaved && len(r.m.Variants) < 2 && len(r.problems) == 0 {
		r.bad("order", "the matrix has no variants to interleave",
			`write [target] endpoints = ["a:8000", "b:8000"], or two values of a knob in [server.knobs]; or order = "blocked"`)
	}
	if len(rows) == 0 {
		r.bad("", "the matrix has no row", "write [[row]] with name, input, output and rate or concurrency")
	}
	r.checkNames(rows)
	var points []experiment.Spec
	for i, row := range rows {
		x := expander{reader: r, index: i, row: row, defaults: defaults, slo: slo}
		row := r.m.vary(x.expand())
		r.checkIDs(x.at(), row)
		points = append(points, row...)
	}
	if len(r.problems) == 0 {
		r.m.Points = r.m.inOrder(points)
	}
}

// table takes a top-level table out of the root.
func (r *reader) table(key string) map[string]any {
	v, there := r.root[key]
	delete(r.root, key)
	t, ok := v.(map[string]any)
	if there && !ok {
		r.bad(key, key+" is a table", "write ["+key+"]")
	}
	return t
}

func (r *reader) tables(key string) []map[string]any {
	v, there := r.root[key]
	delete(r.root, key)
	t, ok := v.([]map[string]any)
	if there && !ok {
		r.bad(key, key+" is a list of tables", "write [["+key+"]]")
	}
	return t
}

func (r *reader) checkHead() {
	m := r.m
	if m.Name == "" {
		r.bad("name", "the matrix has no name", `write name = "chat": results go to results/chat`)
	} else if why := nameProblem(m.Name); why != "" {
		r.bad("name", "the name "+why, "use letters, digits, dots, dashes and underscores")
	}
	switch m.Order {
	case "", orderListed, orderBlocked, orderInterleaved:
	default:
		r.bad("order", fmt.Sprintf("unknown order %q", m.Order), `write "listed", "blocked" or "interleaved"`)
	}
	if m.Seed == 0 {
		m.Seed = 1
	}
}

func (r *reader) checkNames(rows []map[string]any) {
	seen := map[string]string{} // name → the row that has it
	for i, row := range rows {
		at := fmt.Sprintf("row[%d]", i)
		name, isText := row["name"].(string)
		if _, there := row["name"]; there && !isText {
			continue // the decoder says so
		}
		if name == "" {
			r.bad(at, "the row has no name", `write name = "A-short-chat"`)
			continue
		}
		if why := nameProblem(name); why != "" {
			r.bad(at+".name", "the name "+why, "use letters, digits, dots, dashes and underscores: it names files")
		}
		key := strings.ToLower(name) // file systems may not tell them apart
		if first, twice := seen[key]; twice {
			line, _, _, _ := r.doc.Place(first)
			r.bad(at+".name", fmt.Sprintf("the name is that of the row in line %d already", line), "give each row a name of its own; upper and lower case count as the same")
			continue
		}
		seen[key] = at
	}
}

// nameProblem says why a name can't be part of a file's name.
func nameProblem(name string) string {
	switch {
	case len(name) > 80:
		return "is longer than 80 bytes"
	case strings.HasPrefix(name, "."):
		return "begins with a dot"
	case strings.ContainsAny(name, `/\`):
		return "holds a path separator: it would leave the results directory"
	case strings.ContainsFunc(name, func(c rune) bool { return c < ' ' || c == 0x7f || c == '\ufffd' }):
		return "holds a control character"
	}
	return ""
}

// maxID leaves room for the ends of file names below the 255 bytes that file systems take.
const maxID = 200

// checkIDs guards against two points whose files would be one, and names that no file can have.
func (r *reader) checkIDs(at string, points []experiment.Spec) {
	for i := range points {
		id := strings.ToLower(ID(&points[i]))
		switch {
		case len(id) > maxID:
			r.bad(at, fmt.Sprintf("its files would have names of %d bytes", len(id)), "shorten the row's name, or vary fewer keys")
			return
		case r.ids[id] && len(r.problems) == 0: // else it is another mistake's echo
			r.bad(at, fmt.Sprintf("two points are named %q", id), "rename the row, or remove a value that is there twice")
		}
		r.ids[id] = true
	}
}
