package workload

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"sync"

	"bench/experiment/workload/prompts"
	"bench/experiment/workload/trace"
)

// Files caches the files that the points of a matrix name: an axis of a hundred values names one file a
// hundred times. The zero value is an empty cache. It is not safe for concurrent use.
type Files struct {
	texts   map[string]func() (content, error) // files of lengths, by name
	columns map[string]func() (File, error)    // parsed lengths, by file name and column names
	hashes  map[string]func() (string, error)  // traces, by name
	heads   map[trace.Options]func() (Head, error)
	prompts map[string]func() (*prompts.Index, error)
}

// Names are the names of the files that were read, sorted.
func (f *Files) Names() []string {
	all := slices.Collect(maps.Keys(f.texts))
	all = slices.AppendSeq(all, maps.Keys(f.hashes))
	all = slices.AppendSeq(all, maps.Keys(f.prompts))
	slices.Sort(all)
	return slices.Compact(all)
}

// content is a file's text and its hash.
type content struct {
	text   []byte
	sha256 string
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

// Look reads the files of lengths that the workload names. Trace.Look reads a trace.
func (w *Workload) Look(files *Files, bad func(key, problem, hint string)) {
	only := w.only()
	only.look("", files, bad)
	for i := range w.Mix {
		w.Mix[i].look(fmt.Sprintf("mix[%d].", i), files, bad)
	}
}

// look reads the files of one class; key is the path of its table with a trailing dot, or empty.
func (c *Class) look(key string, files *Files, bad func(key, problem, hint string)) {
	if c.Prompts != nil {
		c.Prompts.Look(
			func(name string) (*prompts.Index, error) {
				return once(&files.prompts, name, func() (*prompts.Index, error) { return prompts.Open(name) })
			},
			func(inner, problem, hint string) { bad(key+"prompts."+inner, problem, hint) })
	}
	type named struct {
		key  string
		file *File
	}
	all := []named{{"input", c.Input.File}, {"output", c.Output.File}}
	if c.Pairs != nil {
		all = append(all, named{"pairs", c.Pairs.File})
	}
	if s := c.Session; s != nil {
		all = append(all, named{"session.turns", s.Turns.File}, named{"session.user", s.User.File})
	}
	for _, n := range all {
		if n.file == nil {
			continue
		}
		if err := n.file.look(files); err != nil {
			bad(key+n.key+".file", err.Error(), "the path is relative to the working directory; write one token count a line, or name a CSV column")
		}
	}
}

// look reads the lengths of the named columns, or one a line if no column is named.
func (l *File) look(files *Files) (err error) {
	names := append([]string{l.Name}, l.Columns...)
	*l, err = once(&files.columns, fmt.Sprintf("%q", names), func() (File, error) { return l.read(files) })
	return err
}

// read returns the file with its lengths, count and hash.
func (l File) read(files *Files) (File, error) {
	c, err := once(&files.texts, l.Name, func() (content, error) {
		text, err := readRegular(l.Name)
		sum := sha256.Sum256(text)
		return content{text, hex.EncodeToString(sum[:])}, err
	})
	if err != nil {
		return l, err
	}
	if len(l.Columns) > 0 {
		l.Read, err = columnsOf(c.text, l.Columns)
	} else {
		l.Read, err = linesOf(c.text)
	}
	if err != nil {
		return l, fmt.Errorf("reading %s: %w", l.Name, err)
	}
	l.SHA256, l.Count = c.sha256, len(l.Read[0])
	return l, nil
}
