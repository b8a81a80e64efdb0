// Package strict reads a TOML file that a person wrote and reports all its mistakes at once, each with file,
// line, column, a caret and a hint, before anything is done with the file.
//
// [Parse] makes a [Document]: a tree of plain Go values, and the place of each key in the text. The caller
// may merge, copy and multiply parts of the tree. [Decode] fills structs from the result and reports mistakes
// by path, such as row[2].prefix.tokens. [Document.Problem] turns a path into a [Problem] with its place, and
// [Problems] renders them. BurntSushi/toml parses the text. It does not keep the positions of keys, so a
// locator also reads the text, for places alone.
//
// The file is untrusted: its text is escaped before it is shown, and its size and nesting are bounded.
package strict

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/BurntSushi/toml"
)

const mark = "\ufeff" // the byte order mark, with which some editors start a file

const (
	maxSize = 4 << 20 // bytes of text: about 100 000 rows
	// parts of a key plus brackets around it: the parser recurses on brackets and is quadratic in parts
	maxDepth = 64
)

// Document is a parsed file: a tree of plain Go values, and the places of their keys.
//
// A path names a place in the tree, such as row[2].prefix.tokens. Keys in it are written as by [quote]. The
// empty path is the whole file.
type Document struct {
	file string // as given to Parse, for messages
	Text string // without its byte order mark
	// values are string, int64, float64, bool, time.Time, map[string]any, []any and []map[string]any ([[…]])
	Root map[string]any

	places *node
	pieces []piece // of Text, in order
}

// Parse parses a TOML text. The error is of type [Problems] and has one problem, as a syntax error hides all
// later ones.
func Parse(file string, text []byte) (*Document, error) {
	if len(text) > maxSize {
		return nil, Problems{{File: file, Len: 1, Text: fmt.Sprintf("the file is larger than %d MiB", maxSize>>20),
			Hint: "split it into several files"}}
	}
	d := &Document{file: file, Text: strings.TrimPrefix(string(text), mark)}
	d.pieces = []piece{{text: d.Text, from: newSource(file, d.Text, false)}}
	if at := strayBytes(d.Text); at >= 0 {
		return nil, Problems{d.problemAt(at, 1, "", fmt.Sprintf("the byte 0x%02x is not UTF-8", d.Text[at]),
			"save the file as UTF-8")}
	}
	places := locate(d.Text)
	d.places = places.root
	if places.tooDeep >= 0 {
		return nil, Problems{d.problemAt(places.tooDeep, 1, "", fmt.Sprintf("nested deeper than %d levels", maxDepth),
			"use fewer levels")}
	}
	if err := d.decode(); err != nil {
		return nil, Problems{d.syntax(err, places)}
	}
	return d, nil
}

// strayBytes is the offset of the first byte that is not UTF-8; -1 if there is none.
func strayBytes(text string) int {
	for at, r := range text {
		if r == utf8.RuneError && !strings.HasPrefix(text[at:], string(utf8.RuneError)) {
			return at
		}
	}
	return -1
}

// decode runs the parser. The parser panics on internal errors, which are returned as errors here.
func (d *Document) decode() (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the TOML parser gave up: %v", r)
		}
	}()
	_, err = toml.Decode(mark+d.Text, &d.Root) // the parser strips one mark; a second one is then an error
	return err
}

// Decode decodes a table of the document, or all of it (""), into a struct. Its error is Problems with every mistake.
func (d *Document) Decode(table string, into any) error {
	keys := d.Root
	if table != "" {
		keys, _ = d.Root[table].(map[string]any)
	}
	var problems Problems
	Decode(keys, into, func(path, text, hint string) {
		problems = append(problems, d.Problem(Join(table, path), text, hint))
	})
	if len(problems) > 0 {
		return problems
	}
	return nil
}

// Keys returns the keys of the table at path in the order of the file; nil if there is no table.
func (d *Document) Keys(path string) []string {
	n, exact := d.places.find(path)
	if !exact {
		return nil
	}
	return append([]string(nil), n.keys...)
}

// Place is the place in the file of the last key of path; of a list element, the start of its value; of
// row[2], the name in the third [[row]]. line and col start at 1; col and length are in runes. line is 0 of a key that
// an argument of --set wrote.
func (d *Document) Place(path string) (line, col, length int, ok bool) {
	n, exact := d.places.find(path)
	if !exact || n == d.places {
		return 0, 0, 0, false
	}
	p := d.problemAt(int(n.at), int(n.size), "", "", "")
	return p.Line, p.Col, p.Len, true
}

// Problem makes a problem at the place of path or, if the file has no such key, of the nearest key around it.
// Its text starts with the names of the list tables around it (row "B-long"), and with the key unless text
// contains it.
func (d *Document) Problem(path, text, hint string) Problem {
	where, key := d.label(path)
	if !mentions(text, key) {
		text = shorten(key) + ": " + text
	}
	if where != "" {
		text = where + ": " + text
	}
	n, _ := d.places.find(path)
	if n == d.places {
		return Problem{File: d.file, Len: 1, Key: path, Text: text, Hint: hint}
	}
	return d.problemAt(int(n.at), int(n.size), path, text, hint)
}

func mentions(text, path string) bool {
	key, _ := tail(path)
	words := strings.FieldsFunc(text, func(r rune) bool { return r > 127 || !isBare(byte(r)) })
	return key == "" || slices.Contains(words, key) || strings.Contains(text, strconv.Quote(shorten(key)))
}

// label returns the names of the list tables along a path, and the rest of the path.
func (d *Document) label(path string) (where, rest string) {
	var at any = d.Root
	var key string
	rest = path
	for walk := path; walk != ""; {
		s, left, ok := cutStep(walk)
		if !ok {
			break
		}
		if walk, at = left, s.into(at); s.index < 0 {
			key = s.key
			continue
		}
		if table, ok := at.(map[string]any); ok {
			where, rest = strings.TrimPrefix(where+" "+title(key, s.index, table), " "), strings.TrimPrefix(left, ".")
		}
	}
	return where, rest
}

func title(key string, index int, table map[string]any) string {
	if name, ok := table["name"].(string); ok && name != "" {
		return quote(key) + " " + strconv.Quote(shorten(name))
	}
	return indexed(quote(key), index)
}
