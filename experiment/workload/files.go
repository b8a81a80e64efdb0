package workload

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync"

	"bench/experiment/workload/trace"
)

// Files are the files that the points of a matrix name, each read once however many of them name it: an axis
// of a hundred values names one file a hundred times. The zero value has read nothing yet. It is for one goroutine.
type Files struct {
	texts   map[string]func() (content, error) // of lengths, by name
	columns map[string]func() (File, error)    // of a text, by its name and theirs
	hashes  map[string]func() (string, error)  // of traces, by name
	heads   map[trace.Options]func() (Head, error)
}

// content is a file's text and its hash.
type content struct {
	text   []byte
	sha256 string
}

// once is what read gives for a key, or gave when it was asked for first; a mistake is one every time.
func once[K comparable, V any](of *map[K]func() (V, error), key K, read func() (V, error)) (V, error) {
	if *of == nil {
		*of = map[K]func() (V, error){}
	}
	if (*of)[key] == nil {
		(*of)[key] = sync.OnceValues(read)
	}
	return (*of)[key]()
}

// Look reads the files of lengths that the workload names. A trace is looked at apart.
func (w *Workload) Look(files *Files, bad func(key, problem, hint string)) {
	only := w.only()
	only.look("", files, bad)
	for i := range w.Mix {
		w.Mix[i].look(fmt.Sprintf("mix[%d].", i), files, bad)
	}
}

// look reads the files of one class; key is the path of its table with a dot, or empty.
func (c *Class) look(key string, files *Files, bad func(key, problem, hint string)) {
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
			bad(key+n.key+".file", err.Error(), "the name is relative to the working directory; the file has one number of tokens a line, or is a CSV file whose column you name")
		}
	}
}

// look reads the lengths of the columns, or of the lines where none is named.
func (l *File) look(files *Files) (err error) {
	names := append([]string{l.Name}, l.Columns...)
	*l, err = once(&files.columns, fmt.Sprintf("%q", names), func() (File, error) { return l.read(files) })
	return err
}

// read is the file with what it holds.
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
