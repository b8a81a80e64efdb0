// Package matrix reads a matrix file and turns it into points. Its steps:
//
//   - ReadSet and ParseSet decode the TOML strictly and expand its lists into points, the last key fastest (matrix,
//     expand, search); every mistake is collected with its place in the file (mistakes), and no error shows a secret
//     (secret);
//   - points are repeated, multiplied by the servers of the matrix, and put in order (variant).
//
// It reaches no server and writes no file: package sweep runs the points.
package matrix

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"bench/experiment"
	"bench/experiment/endpoint"
	"bench/experiment/server"
	"bench/experiment/tune"
	"bench/experiment/workload"
	"bench/sweep/strict"
)

// Matrix is a matrix file, checked and expanded.
type Matrix struct {
	File, Text string
	Name       string   `toml:"name"`
	Hypothesis string   `toml:"hypothesis"`
	Notes      []string `toml:"notes"`
	Seed       uint64   `toml:"seed"`  // 0 = 1
	Order      string   `toml:"order"` // listed (also when empty), blocked or interleaved: see inOrder
	// Budget is the time that a run may take, over all attempts. It is spent on open verdicts; 0 = unlimited, and every
	// row runs as often as it states.
	Budget workload.Span `toml:"budget"`

	Target    experiment.Target    `toml:"target"`
	Server    server.Table         `toml:"server"`
	Tune      *tune.Table          `toml:"tune"` // nil = the settings of the server are all measured
	Telemetry endpoint.Telemetry   `toml:"telemetry"`
	SLO       experiment.SLO       `toml:"slo"`
	Accuracy  *experiment.Accuracy `toml:"accuracy"` // nil = the servers are asked no questions
	Gate      experiment.Gate      `toml:"gate"`     // for bench compare, which reads it from the text

	doc *strict.Document // for the lines of keys; nil = not read from a file

	Variants []Variant         `toml:"-"` // the servers to measure; empty: the one at the endpoint
	Points   []experiment.Spec `toml:"-"` // every point and repeat, in order of execution
}

func (m *Matrix) Hash() string {
	sum := sha256.Sum256([]byte(m.Text))
	return hex.EncodeToString(sum[:])
}

// problem is a mistake at a path of the file that was read, such as target.hardware.
func (m *Matrix) problem(path, text, hint string) strict.Problem {
	return m.doc.Problem(path, text, hint)
}

// IsSet reports whether an argument of --set wrote a key, such as target.hardware.
func (m *Matrix) IsSet(path string) bool { return m.doc != nil && m.doc.IsSet(path) }

// LineOf is the line of a key of a row, such as duration or slo.ttft_p95: in the row, in [defaults] or at the top;
// else of the row's name; 0 = there is neither.
func (m *Matrix) LineOf(row, key string) int {
	if m.doc == nil {
		return 0
	}
	tables, _ := m.doc.Root["row"].([]map[string]any)
	own := fmt.Sprintf("row[%d]", slices.IndexFunc(tables, func(t map[string]any) bool { return t["name"] == row }))
	for _, path := range []string{strict.Join(own, key), strict.Join("defaults", key), key, own} {
		if line, _, _, ok := m.doc.Place(path); ok {
			return line
		}
	}
	return 0
}

// Extension is a top-level table of another package. Read decodes it into Into, a pointer to a struct, and
// checks it.
type Extension struct {
	Table string
	Into  interface {
		Check(bad func(key, problem, hint string))
	}
}

// ReadSet reads, checks and expands a matrix file, with the keys that arguments of --set change: see strict.ParseSet.
// The error is a strict.Problems with every mistake.
func ReadSet(file string, set []string, ext ...Extension) (*Matrix, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading the matrix: %w", err)
	}
	return ParseSet(file, text, set, ext...)
}

// ParseSet does what ReadSet does, with the text of a file. The matrix has the text with the changes.
func ParseSet(file string, text []byte, set []string, ext ...Extension) (*Matrix, error) {
	return readText(file, text, set, func(r *reader) { r.read(ext) })
}

// ParseServer does what ParseSet does, for the tables alone that describe a server: [target] and ext. There may be no
// name and no row, and rows are not checked.
func ParseServer(file string, text []byte, set []string, ext ...Extension) (*Matrix, error) {
	return readText(file, text, set, func(r *reader) {
		r.tables("row")
		r.table("defaults")
		r.readTables(ext)
	})
}

func readText(file string, text []byte, set []string, read func(*reader)) (*Matrix, error) {
	doc, err := strict.ParseSet(file, text, set)
	var problems strict.Problems
	switch parsed := errors.As(err, &problems); {
	case doc == nil && parsed:
		return nil, FindSecrets(string(text), set...).mask(problems)
	case doc == nil:
		return nil, err
	}
	m := &Matrix{File: file, Text: string(text), doc: doc}
	if len(set) > 0 {
		m.Text = doc.Text
	}
	r := &reader{
		doc: doc, root: maps.Clone(doc.Root), m: m, problems: problems,
		seen: map[strict.Problem]bool{}, ids: map[string]bool{},
	}
	read(r)
	if len(r.problems) > 0 {
		return nil, FindSecrets(string(text), set...).mask(r.problems)
	}
	return r.m, nil
}

type reader struct {
	doc      *strict.Document
	root     map[string]any // keys not decoded yet
	m        *Matrix
	problems strict.Problems
	seen     map[strict.Problem]bool
	count    int64           // points of the rows so far, with repeats
	ids      map[string]bool // IDs of the rows so far, in lower case
	files    experiment.Files
}

func (r *reader) bad(path, text, hint string) {
	p := r.doc.Problem(path, text, hint)
	if !r.seen[p] { // each point of a row has the same mistake
		r.seen[p] = true
		r.problems = append(r.problems, p)
	}
}

func (r *reader) under(table string) func(key, text, hint string) {
	return func(key, text, hint string) { r.bad(strict.Join(table, key), text, hint) }
}

func (r *reader) read(ext []Extension) {
	rows := r.tables("row")
	defaults := r.table("defaults")
	r.readTables(ext)
	slo, _ := r.root["slo"].(map[string]any)
	_, server := r.root["server"]
	r.checkHead()
	r.checkTimes()
	if replicas := r.m.Target.Replicas; len(replicas) > 0 {
		r.m.Target.Endpoint = replicas[0]
	}
	r.m.Telemetry.Check(r.under("telemetry"))
	if r.m.Accuracy != nil {
		r.m.Accuracy.Check(r.under("accuracy"))
	}
	r.readVariants(server)
	if r.m.Order == OrderInterleaved && len(r.m.Variants) < 2 && len(r.problems) == 0 {
		r.bad("order", "the matrix has no variants to interleave",
			`write [target] endpoints = ["a:8000", "b:8000"], or two values of a knob in [server.knobs]; or order = "blocked"`)
	}
	if r.m.Order == OrderInterleaved && slices.ContainsFunc(rows, looksForLoad) {
		r.bad("order", "a search runs all its probes on one variant before the next: it is not interleaved",
			`write order = "listed", or rate = [2, 4, 8] in place of the search`)
	}
	if len(rows) == 0 {
		r.bad("", "the matrix has no row", "write [[row]] with name, input, output and rate or concurrency")
	}
	r.checkNames(rows)
	var points []experiment.Spec
	for i, row := range rows {
		x := expander{reader: r, index: i, row: row, defaults: defaults, slo: slo}
		row := r.m.forVariants(x.expand())
		r.checkIDs(x.at(), row)
		points = append(points, row...)
	}
	r.checkTune(points)
	if len(r.problems) == 0 {
		r.m.Points = r.m.inOrder(points)
	}
}

// readTables decodes all but the rows, and checks [target] and the tables of ext.
func (r *reader) readTables(ext []Extension) {
	elsewhere := []string{"row", "defaults"}
	for _, e := range ext {
		strict.Decode(r.table(e.Table), e.Into, r.under(e.Table))
		e.Into.Check(r.under(e.Table))
		elsewhere = append(elsewhere, e.Table)
	}
	strict.Decode(r.root, r.m, r.bad, elsewhere...)
	r.m.Target.Check(r.under("target"))
}

func (r *reader) table(key string) map[string]any {
	return removed[map[string]any](r, key, " is a table", "write ["+key+"]")
}

func (r *reader) tables(key string) []map[string]any {
	return removed[[]map[string]any](r, key, " is a list of tables", "write [["+key+"]]")
}

// removed removes a top-level key from the root and returns its value; zero: there is none, or one of another type.
func removed[T any](r *reader, key, is, hint string) T {
	v, there := r.root[key]
	delete(r.root, key)
	t, ok := v.(T)
	if there && !ok {
		r.bad(key, key+is, hint)
	}
	return t
}

func (r *reader) checkHead() {
	m := r.m
	if m.Name == "" {
		r.bad("name", "the matrix has no name", `write name = "chat": results go to results/chat`)
	} else {
		r.checkFileName("name", m.Name)
	}
	switch m.Order {
	case "", OrderListed, OrderBlocked, OrderInterleaved:
	default:
		r.bad("order", fmt.Sprintf("unknown order %q", m.Order), `write "listed", "blocked" or "interleaved"`)
	}
	if m.Seed == 0 {
		m.Seed = 1
	}
}

func (r *reader) checkNames(rows []map[string]any) {
	seen := map[string]string{} // name → path of its row
	for i, row := range rows {
		at := fmt.Sprintf("row[%d]", i)
		name, isText := row["name"].(string)
		if _, there := row["name"]; there && !isText {
			continue // the decoder reports it
		}
		if name == "" {
			r.bad(at, "the row has no name", `write name = "A-short-chat"`)
			continue
		}
		r.checkFileName(at+".name", name)
		key := strings.ToLower(name) // some file systems ignore case
		if first, twice := seen[key]; twice {
			line, _, _, _ := r.doc.Place(first)
			r.bad(at+".name", fmt.Sprintf("the row in line %d has the same name", line),
				"give each row a unique name; upper and lower case count as the same")
			continue
		}
		seen[key] = at
	}
}

func (r *reader) checkFileName(path, name string) {
	control := func(c rune) bool { return c < ' ' || c == 0x7f || c == '\ufffd' }
	if len(name) > 80 || strings.HasPrefix(name, ".") || strings.ContainsAny(name, `/\`) ||
		strings.ContainsFunc(name, control) {
		r.bad(path,
			"no file can have this name: it is too long, begins with a dot, or has a slash or a control character",
			"use letters, digits, dots, dashes and underscores: it names files")
	}
}

// maxID leaves room for the suffixes of file names: file systems accept 255 bytes.
const maxID = 200

// checkIDs reports two points with the same files, and file names that are too long.
func (r *reader) checkIDs(at string, points []experiment.Spec) {
	for i := range points {
		id := strings.ToLower(ID(&points[i]))
		switch {
		case len(id) > maxID:
			r.bad(at, fmt.Sprintf("its file names are too long (%d bytes)", len(id)),
				"shorten the row's name, or vary fewer keys")
			return
		case r.ids[id] && len(r.problems) == 0: // else another mistake can be the reason
			r.bad(at, fmt.Sprintf("two points are named %q", id), "rename the row, or remove a duplicate value")
		}
		r.ids[id] = true
	}
}

func looksForLoad(row map[string]any) bool {
	for _, key := range []string{"rate", "concurrency"} {
		if table, ok := row[key].(map[string]any); ok && table["search"] != nil {
			return true
		}
	}
	return false
}

// GateOf reads [gate] of a matrix and no other table: the rest may be written for another version.
func GateOf(file, text string) (experiment.Gate, error) {
	var g experiment.Gate
	doc, err := strict.Parse(file, []byte(text))
	if err != nil {
		return g, fmt.Errorf("reading the gate of the matrix: %w", err)
	}
	table, there := doc.Root["gate"]
	if !there {
		return g, nil
	}
	var problems strict.Problems
	g.DecodeTOML(table, func(key, problem, hint string) {
		problems = append(problems, doc.Problem(strict.Join("gate", key), problem, hint))
	})
	if len(problems) > 0 {
		return g, problems
	}
	return g, nil
}
