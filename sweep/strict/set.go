package strict

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"bench/experiment/text"
)

// ParseSet parses a TOML text after the edits that arguments of --set ask for, such as row.chat.rate=10, one after the
// other. The first part of a path after a list of tables is the name of one of them, or * for all. A value that is not
// TOML is a string. Text is the edited text; a mistake in what an argument wrote is shown in that argument.
//
// An edit changes one value where it stands, or adds key = value to its table, and nothing else: each result is
// parsed and compared with the tree that the argument asks for. What that cannot do is refused. Beside Problems of
// arguments comes the document without them, so that its own mistakes can be shown, too.
func ParseSet(file string, text []byte, arguments []string) (*Document, error) {
	d, err := Parse(file, text)
	if err != nil {
		return nil, err
	}
	var problems Problems
	for _, text := range arguments {
		a, p := parseArgument(text)
		if p == nil {
			var edited *Document
			if edited, p = d.set(a); p == nil {
				d = edited
				continue
			}
		}
		problems = append(problems, *p)
	}
	if len(problems) > 0 {
		return d, problems
	}
	return d, nil
}

// IsSet reports whether an argument of --set wrote a key.
func (d *Document) IsSet(path string) bool {
	n, exact := d.places.find(path)
	if !exact || n == d.places {
		return false
	}
	s, _, _ := d.origin(int(n.at))
	return s.argument
}

type edit struct {
	from, to int
	by       []piece
}

// set is the document after the edits that an argument asks for.
func (d *Document) set(a *argument) (*Document, *Problem) {
	want := copied(d.Root).(map[string]any)
	s := setter{d: d, a: a}
	if p := s.walk(d.places, want, 0, place{}); p != nil {
		return nil, p
	}
	slices.SortStableFunc(s.edits, func(x, y edit) int { return y.from - x.from })
	pieces := d.pieces
	for _, e := range s.edits {
		pieces = slices.Concat(cut(pieces, 0, e.from), e.by, cut(pieces, e.to, math.MaxInt))
	}
	edited := &Document{file: d.file, pieces: pieces}
	for _, p := range pieces {
		edited.Text += p.text
	}
	places := locate(edited.Text)
	edited.places = places.root
	fits := len(edited.Text) <= maxSize && places.tooDeep < 0
	if !fits || edited.decode() != nil || !reflect.DeepEqual(edited.Root, want) {
		text := fmt.Sprintf("--set cannot write this key into %s as it stands", d.file)
		return nil, a.badPart(len(a.path)-1, text, "write it in the file")
	}
	return edited, nil
}

func cut(pieces []piece, from, to int) (out []piece) {
	at := 0
	for _, p := range pieces {
		begin, end := max(from-at, 0), min(to-at, len(p.text))
		at += len(p.text)
		if begin >= end {
			continue
		}
		if p.text = p.text[begin:end]; !p.made {
			p.at += begin
		}
		out = append(out, p)
	}
	return out
}

type setter struct {
	d     *Document
	a     *argument
	edits []edit
}

// place is where keys of a table can be added: to the lines of a table, behind a prefix if it has none of its own.
type place struct {
	table  *node
	prefix string
}

// walk follows the path from a part on, through a table or a list.
func (s *setter) walk(n *node, v any, i int, within place) *Problem {
	if i == len(s.a.path) {
		return s.a.badPart(i-1, s.a.path[i-1].key+" is a table", "set a key of it: "+s.a.upTo(i)+".key=value")
	}
	if elements, ok := list(v); ok {
		return s.element(n, elements, i)
	}
	table, ok := v.(map[string]any)
	if !ok {
		return s.a.badPart(i-1, fmt.Sprintf("%s is %s, not a table", s.a.path[i-1].key, found(v)),
			"set the whole: "+s.a.upTo(i)+"=value")
	}
	if n.end > 0 || n == s.d.places {
		within = place{table: n}
	}
	key, last := s.a.path[i], i == len(s.a.path)-1
	next := n.children[key.key]
	switch {
	case next == nil:
		s.add(within, i)
		setNew(table, s.a.path[i:], s.a.value)
		return nil
	case last && next.value > 0:
		s.edits = append(s.edits, edit{int(next.at), int(next.value), s.a.tail(i)})
		table[key.key] = s.a.value
		return nil
	case last:
		return s.a.badPart(i, fmt.Sprintf("%s has lines of its own in %s", key.key, s.d.file),
			"set its keys one by one: "+s.a.upTo(i+1)+".key=value")
	}
	return s.walk(next, table[key.key], i+1, place{within.table, within.prefix + quote(key.key) + "."})
}

// element follows the path into the table of a list that has the name of a part, or into all.
func (s *setter) element(n *node, elements []any, i int) *Problem {
	var names []string
	some := false
	for at, v := range elements {
		table, _ := v.(map[string]any)
		name, named := table["name"].(string)
		if named {
			names = append(names, name)
		}
		if table == nil || at >= len(n.items) || s.a.path[i].key != every && (!named || name != s.a.path[i].key) {
			continue
		}
		some = true
		if p := s.walk(n.items[at], v, i+1, place{}); p != nil {
			return p
		}
	}
	if some {
		return nil
	}
	return s.unknownName(names, i)
}

func (s *setter) unknownName(names []string, i int) *Problem {
	list, given := s.a.path[i-1].key, s.a.path[i]
	if len(names) == 0 {
		return s.a.badPart(i, list+" is a list without names", "set the whole list: "+s.a.upTo(i)+"=[…]")
	}
	for _, name := range names {
		if strings.HasPrefix(s.a.text[given.at:], name+".") && quote(name) != name {
			return s.a.bad(int(given.at), len(name),
				"a name with other characters than letters, digits, _ and - needs quotes",
				fmt.Sprintf("write '%s.%s…'", s.a.upTo(i), quote(name)))
		}
	}
	hint := "the names are " + strings.Join(names, ", ")
	if near, ok := text.Nearest(given.key, names); ok {
		hint = fmt.Sprintf("did you mean %q? %s", near, hint)
	}
	return s.a.badPart(i, fmt.Sprintf("no %s is named %q", list, shorten(given.key)), hint)
}

func (s *setter) add(to place, i int) {
	key, at := s.a.path[i], int(to.table.end)
	made := func(text string) piece { return s.a.made(text, int(key.at), int(key.size)) }
	before, after := s.around(to.table, &at)
	by := slices.Concat([]piece{made(before), made(to.prefix)}, s.a.tail(i), []piece{made(after)})
	s.edits = append(s.edits, edit{at, at, by})
}

// around is what stands before and after a new key = value of a table, whose place it moves to the end of a line.
func (s *setter) around(n *node, at *int) (before, after string) {
	text := s.d.Text
	switch {
	case n.inline && len(n.keys) > 0:
		return ", ", ""
	case n.inline:
		return " ", " "
	}
	newline := "\n"
	if first := strings.IndexByte(text, '\n'); first > 0 && text[first-1] == '\r' {
		newline = "\r\n"
	}
	if *at == 0 { // the file has no key before its first table
		return "", newline
	}
	end := strings.IndexByte(text[*at:], '\n')
	if end < 0 {
		*at = len(text)
		return newline, ""
	}
	*at += end + 1
	return "", newline
}

func setNew(table map[string]any, path []part, value any) {
	for _, p := range path[:len(path)-1] {
		inner := map[string]any{}
		table[p.key] = inner
		table = inner
	}
	table[path[len(path)-1].key] = value
}

func copied(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := maps.Clone(v)
		for key := range out {
			out[key] = copied(out[key])
		}
		return out
	case []map[string]any:
		out := slices.Clone(v)
		for i := range out {
			out[i] = copied(out[i]).(map[string]any)
		}
		return out
	case []any:
		out := slices.Clone(v)
		for i := range out {
			out[i] = copied(out[i])
		}
		return out
	}
	return v
}
