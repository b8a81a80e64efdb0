package workload

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
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
	for _, n := range w.named() {
		n.look(files, bad)
	}
}

// EachFile calls f for every file that the workload names, the trace first. f may change the name. A file that a class
// and the row have in common is named twice.
func (w *Workload) EachFile(f func(name *string, sha256 string)) {
	if w.Trace != nil {
		f(&w.Trace.File, w.Trace.SHA256)
	}
	for _, n := range w.named() {
		f(n.file())
	}
}

type named struct {
	key     string // path of the table that names it
	lengths *File
	prompts *prompts.Source
}

func (w *Workload) named() []named {
	only := w.only()
	all := only.named("")
	for i := range w.Mix {
		all = append(all, w.Mix[i].named(fmt.Sprintf("mix[%d].", i))...)
	}
	return all
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
	text, err := readRegular(l.Name)
	if err != nil {
		return l, err
	}
	if len(l.Columns) > 0 {
		l.Read, err = columnsOf(text, l.Columns)
	} else {
		l.Read, err = linesOf(text)
	}
	if err != nil {
		return l, fmt.Errorf("reading %s: %w", l.Name, err)
	}
	sum := sha256.Sum256(text)
	l.SHA256, l.Count = hex.EncodeToString(sum[:]), len(l.Read[0])
	return l, nil
}
