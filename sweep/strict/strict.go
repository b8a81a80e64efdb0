// Package strict reads a TOML file that a person wrote and says everything that is wrong with it at once, each mistake with
// its file, line and column, a caret under it and a hint, before anything is done with the file.
//
// The order is: [Parse] makes a [Document], a tree of plain Go values that knows where in the text each key stands; the caller
// may merge, copy and multiply parts of that tree; [Decode] fills structs from the outcome and reports mistakes by path, such as
// row[2].prefix.tokens; [Document.Problem] turns a path into a [Problem] with its place; [Problems] renders them. The grammar is
// BurntSushi/toml's. It keeps no positions of keys, so a locator of our own reads the text too, for places alone.
//
// The package never prints, opens no file, and knows nothing of what the keys mean. The file is untrusted: what is shown of it
// has its control characters made visible, and its size and nesting are bounded.
package strict

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/BurntSushi/toml"
)

const mark = "\ufeff" // the byte order mark that some editors begin a file with

const (
	maxSize  = 4 << 20 // bytes of text: some 100 000 rows
	maxDepth = 64      // parts of a key and brackets around it: the parser recurses on the one and is quadratic in the other
)

// Document is a parsed file: a tree of plain Go values, and where each key of it stands.
//
// Paths name places in the tree: row[2].prefix.tokens; a key that is more than letters, digits, _ and - is in
// double quotes, as [Quote] writes it; the empty path is the whole file.
type Document struct {
	File string         // as given to Parse, for messages
	Text string         // without its byte order mark
	Root map[string]any // values are string, int64, float64, bool, time.Time, map[string]any, []any and []map[string]any ([[…]])

	places *node
	lines  []int // offsets of the lines' first bytes
}

// Parse reads a TOML text. The error is of type [Problems] and holds one problem, as a syntax error hides what comes after it.
func Parse(file string, text []byte) (*Document, error) {
	if len(text) > maxSize {
		return nil, Problems{{File: file, Len: 1, Text: fmt.Sprintf("the file is larger than %d MiB", maxSize>>20), Hint: "split it into several files"}}
	}
	d := &Document{File: file, Text: strings.TrimPrefix(string(text), mark)}
	d.lines = lineStarts(d.Text)
	if at := strayBytes(d.Text); at >= 0 {
		return nil, Problems{d.problemAt(at, 1, "", fmt.Sprintf("the byte 0x%02x is not UTF-8", d.Text[at]), "save the file as UTF-8")}
	}
	places := locate(d.Text)
	d.places = places.root
	if places.deep >= 0 {
		return nil, Problems{d.problemAt(places.deep, 1, "", fmt.Sprintf("nested deeper than %d levels", maxDepth), "use fewer levels")}
	}
	if err := d.decode(); err != nil {
		return nil, Problems{d.syntax(err, places)}
	}
	return d, nil
}

// strayBytes finds the first byte that is not UTF-8; -1 if there is none.
func strayBytes(text string) int {
	for at, r := range text {
		if r == utf8.RuneError && !strings.HasPrefix(text[at:], string(utf8.RuneError)) {
			return at
		}
	}
	return -1
}

// decode has the text parsed. The parser reports what it can't explain of its own state by a panic; to the caller it is one more
// text that can't be read.
func (d *Document) decode() (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the TOML parser gave up: %v", r)
		}
	}()
	_, err = toml.Decode(mark+d.Text, &d.Root) // it takes a mark off, and a second one is a mistake
	return err
}

// Keys returns the keys of the table at path in the order of the file; nil where there is no table.
func (d *Document) Keys(path string) []string {
	n, exact := d.places.find(path)
	if !exact {
		return nil
	}
	return append([]string(nil), n.keys...)
}

// Place says where the key of path stands, its last part alone; for an element of a list, where its value begins, and for
// row[2], where the third [[row]] has its name. Line and col count from 1, col and length in runes.
func (d *Document) Place(path string) (line, col, length int, ok bool) {
	n, exact := d.places.find(path)
	if !exact || n == d.places {
		return 0, 0, 0, false
	}
	line, col = d.position(int(n.at))
	return line, col, d.columns(int(n.at), int(n.size)), true
}

// Problem makes a problem at the place of path or, where the file has no such key, at the nearest key around it. Its text
// begins with the names of the tables of lists around it (row "B-long"), and with the key unless text itself has it.
func (d *Document) Problem(path, text, hint string) Problem {
	where, key := d.label(path)
	if !mentions(text, key) {
		text = clip(key) + ": " + text
	}
	if where != "" {
		text = where + ": " + text
	}
	n, _ := d.places.find(path)
	if n == d.places {
		return Problem{File: d.File, Len: 1, Key: path, Text: text, Hint: hint}
	}
	return d.problemAt(int(n.at), int(n.size), path, text, hint)
}

// mentions says whether a text has the last key of a path.
func mentions(text, path string) bool {
	key, _ := tail(path)
	words := strings.FieldsFunc(text, func(r rune) bool { return r > 127 || !isBare(byte(r)) })
	return key == "" || slices.Contains(words, key) || strings.Contains(text, strconv.Quote(clip(key)))
}

// label names the tables of lists on the way of a path by what they call themselves, and returns what of the path is left.
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
		return Quote(key) + " " + strconv.Quote(clip(name))
	}
	return indexed(Quote(key), index)
}

// problemAt makes a problem of size bytes from an offset on.
func (d *Document) problemAt(at, size int, key, text, hint string) Problem {
	line, col := d.position(at)
	return Problem{File: d.File, Line: line, Col: col, Len: d.columns(at, size), Key: key, Text: text, Hint: hint, Source: d.line(line)}
}

// position turns an offset into a line and a column.
func (d *Document) position(at int) (line, col int) {
	at = max(0, min(at, len(d.Text)))
	for at > 0 && at < len(d.Text) && !utf8.RuneStart(d.Text[at]) {
		at--
	}
	line = sort.SearchInts(d.lines, at+1)
	return line, utf8.RuneCountInString(d.Text[d.lines[line-1]:at]) + 1
}

// columns counts the runes of a span, which ends with its line.
func (d *Document) columns(at, size int) int {
	at = max(0, min(at, len(d.Text)))
	span := d.Text[at:min(at+max(size, 0), len(d.Text))]
	if end := strings.IndexAny(span, "\r\n"); end >= 0 {
		span = span[:end]
	}
	return max(1, utf8.RuneCountInString(span))
}

// line returns a line's text without its end.
func (d *Document) line(n int) string {
	text, _, _ := strings.Cut(d.Text[d.lines[n-1]:], "\n")
	return strings.TrimSuffix(text, "\r")
}

func lineStarts(text string) []int {
	starts := []int{0}
	for i := range len(text) {
		if text[i] == '\n' {
			starts = append(starts, i+1)
		}
	}
	return starts
}
