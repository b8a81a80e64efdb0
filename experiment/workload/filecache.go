package workload

import (
	"bytes"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"bench/experiment/prompts"
	"bench/experiment/trace"
)

// Files caches the files that the points of a matrix name: an axis of a hundred values names one file a
// hundred times. The zero value is an empty cache. It is not safe for concurrent use.
type Files struct {
	columns map[string]func() (File, error)   // lengths, by file name and column names
	hashes  map[string]func() (string, error) // traces, by name
	heads   map[trace.Options]func() (Head, error)
	prompts map[string]func() (*prompts.Index, error)
}

// once returns what read returned, value or error, when it was first called for a key.
func once[K comparable, V any](of *map[K]func() (V, error), key K, read func() (V, error)) (V, error) {
	if *of == nil {
		*of = map[K]func() (V, error){}
	}
	if (*of)[key] == nil {
		(*of)[key] = sync.OnceValues(read)
	}
	return (*of)[key]()
}

// Look reads the files of lengths and prompts that the workload names. Trace.Look reads a trace.
func (w *Workload) Look(files *Files, bad func(key, problem, hint string)) {
	for _, n := range namedIn(w) {
		n.look(files, bad)
	}
}

// EachFile calls f for every file that the workload names, the trace first. f may change the name. A file that a class
// and the row have in common is named twice.
func (w *Workload) EachFile(f func(name *string, sha256 string)) {
	if w.Trace != nil {
		f(&w.Trace.File, w.Trace.SHA256)
	}
	for _, n := range namedIn(w) {
		f(n.file())
	}
}

type named struct {
	key     string // path of the table that names it
	lengths *File
	prompts *prompts.Source
}

func namedIn(w *Workload) (all []named) {
	for key, c := range w.tables {
		all = append(all, c.named(key)...)
	}
	return all
}

// tables yields the row as a class and the classes of its mix, each with the path of its keys.
func (w *Workload) tables(yield func(key string, c *Class) bool) {
	only := w.only()
	more := yield("", &only)
	for i := range w.Mix {
		more = more && yield(fmt.Sprintf("mix[%d].", i), &w.Mix[i])
	}
}

func (c *Class) named(key string) (all []named) {
	if c.Prompts != nil {
		all = append(all, named{key: key + "prompts", prompts: c.Prompts})
	}
	lengths := func(inner string, f *File) {
		if f != nil {
			all = append(all, named{key: key + inner, lengths: f})
		}
	}
	lengths("input", c.Input.File)
	lengths("output", c.Output.File)
	if c.Pairs != nil {
		lengths("pairs", c.Pairs.File)
	}
	if s := c.Session; s != nil {
		lengths("session.turns", s.Turns.File)
		lengths("session.user", s.User.File)
	}
	return all
}

func (n *named) file() (name *string, sha256 string) {
	if n.prompts != nil {
		return &n.prompts.File, n.prompts.SHA256
	}
	return &n.lengths.Name, n.lengths.SHA256
}

func (n *named) look(files *Files, bad func(key, problem, hint string)) {
	if n.prompts != nil {
		n.prompts.Look(
			func(name string) (*prompts.Index, error) {
				return once(&files.prompts, name, func() (*prompts.Index, error) { return prompts.Open(name) })
			},
			func(inner, problem, hint string) { bad(n.key+"."+inner, problem, hint) })
		return
	}
	if err := n.lengths.look(files); err != nil {
		bad(n.key+".file", err.Error(),
			"the path is relative to the working directory; write one token count a line, or name a CSV column")
	}
}

func (l *File) look(files *Files) (err error) {
	names := append([]string{l.Name}, l.Columns...)
	*l, err = once(&files.columns, fmt.Sprintf("%q", names), l.read)
	return err
}

func (l File) read() (File, error) {
	info, err := prompts.Regular(l.Name) // a pipe or a device may never end
	if err == nil && info.Size() > maxFile {
		err = fmt.Errorf("%s is larger than %d MiB", l.Name, maxFile>>20)
	}
	var text []byte
	if err == nil {
		text, err = os.ReadFile(l.Name)
	}
	if err != nil {
		return l, fmt.Errorf("reading the lengths: %w", err)
	}
	if l.Read, err = lengthsOf(text, l.Columns); err != nil {
		return l, fmt.Errorf("reading %s: %w", l.Name, err)
	}
	sum := sha256.Sum256(text)
	l.SHA256, l.Count = hex.EncodeToString(sum[:]), len(l.Read[0])
	return l, nil
}

// File is a file of lengths. Its hash is part of a point's spec: a file with other content makes another point.
type File struct {
	Name    string   `json:"name"`              // relative to the working directory
	Columns []string `json:"columns,omitempty"` // of a CSV file with a header; none = one number a line
	Count   int      `json:"count"`             // lengths, or pairs of lengths
	SHA256  string   `json:"sha256"`

	Read [][]int `json:"-"` // lengths by column, shared between points: read-only; nil in the spec of a stored result
}

// maxFile bounds a file of lengths in bytes. It is kept in memory; this is about ten million lengths.
const maxFile = 64 << 20

// file reads the keys of a file of lengths; Look reads the file itself. It returns nil if a key is wrong.
func (f *fields) file(columns ...string) *File {
	out := &File{}
	out.Name, _ = f.t["file"].(string)
	if out.Name == "" {
		f.report("file", fmt.Sprintf("%s is not the name of a file", Found(f.t["file"])), `write file = "lengths.txt"`)
	}
	for _, key := range columns {
		v, there := f.get(key)
		name, ok := v.(string)
		if there && (!ok || name == "") {
			f.report(key, fmt.Sprintf("%s is not the name of a column", Found(v)), "write "+key+` = "ContextTokens"`)
		}
		if there {
			out.Columns = append(out.Columns, name)
		}
	}
	if f.wrong {
		return nil
	}
	return out
}

func (l *File) String() string {
	return strings.Join(append([]string{filepath.Base(l.Name)}, l.Columns...), " ")
}

// lengthsOf reads the columns of a CSV file; without any, one number a line.
func lengthsOf(text []byte, columns []string) (lengths [][]int, err error) {
	if len(columns) > 0 {
		lengths, err = columnsOf(text, columns)
	} else {
		lengths, err = linesOf(text)
	}
	if err == nil && len(lengths[0]) == 0 {
		return nil, errors.New("the file contains no lengths")
	}
	return lengths, err
}

// linesOf reads one number a line and skips empty lines and lines that start with #.
func linesOf(text []byte) ([][]int, error) {
	var out []int
	number := 0
	for line := range bytes.Lines(text) {
		number++
		word := strings.TrimSpace(string(line))
		if word == "" || word[0] == '#' {
			continue
		}
		n, err := tokenCount(word, number)
		if err != nil {
			return nil, err
		}
		out = append(out, n)
	}
	return [][]int{out}, nil
}

// columnsOf reads columns of a CSV file by the names in its header.
func columnsOf(text []byte, columns []string) ([][]int, error) {
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(text, []byte("\ufeff"))))
	header, err := r.Read()
	if err != nil {
		return nil, fmt.Errorf("reading the header: %w", err)
	}
	var at []int
	for _, c := range columns {
		i := slices.Index(header, c)
		if i < 0 {
			return nil, fmt.Errorf("no column is named %q; the columns are %s", c, strings.Join(header, ", "))
		}
		at = append(at, i)
	}
	out := make([][]int, len(columns))
	for {
		row, err := r.Read()
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return nil, err // has its line
		}
		line, _ := r.FieldPos(0)
		for c, i := range at {
			n, err := tokenCount(strings.TrimSpace(row[i]), line)
			if err != nil {
				return nil, err
			}
			out[c] = append(out[c], n)
		}
	}
}

func tokenCount(word string, line int) (int, error) {
	n, err := strconv.Atoi(word)
	if err != nil || n < 1 || n > maxTokens {
		return 0, fmt.Errorf("line %d: %.40q is not a token count from 1 to %d", line, word, maxTokens)
	}
	return n, nil
}
