package strict

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/BurntSushi/toml"
)

// syntax turns the parser's error into a problem.
func (d *Document) syntax(err error, places located) Problem {
	var pe toml.ParseError
	if !errors.As(err, &pe) {
		return Problem{File: d.File, Len: 1, Text: err.Error(), Hint: syntaxHint("")}
	}
	text := strings.TrimSuffix(lowerFirst(pe.Message), ".")
	if line, _ := d.position(pe.Position.Start); places.again > 0 && strings.Contains(text, "already") {
		if again, _ := d.position(places.again); again == line {
			first, _ := d.position(places.first)
			return d.problemAt(places.again, places.size, pe.LastKey, text, fmt.Sprintf("it stands in line %d too; keep one of them", first))
		}
	}
	at := pe.Position.Start
	if next := at + 1; next < len(d.Text) && strings.Contains(text, "control characters") && unicode.IsControl(rune(d.Text[next])) {
		at = next // the parser points at what is before it
	}
	return d.problemAt(at, pe.Position.Len, pe.LastKey, text, syntaxHint(text))
}

// syntaxHints are what helps against the commonest mistakes; the first whose part is in the parser's message counts.
var syntaxHints = []struct{ part, hint string }{
	{"already", "rename it or put the two together"},
	{"cannot contain newlines", `end the text with a quote, or write it between """ and """`},
	{"EOF; expected value", "write a value, or close the list with ]"},
	{"EOF; expected", "end the text with its quotes"},
	{"end of file", "close the list with ] or the table with }"},
	{"control characters: '0x0d'", "end lines with LF or with CR and LF"},
	{"control characters", `remove it, or write it as \u and four digits between double quotes`},
	{"invalid escape", `write \\ for a backslash, or put the text between single quotes`},
	{"expected '.' or '='", "write key = value; a key with more than letters, digits, _ and - wants quotes"},
	{"appears blank", "write key = value"},
	{"to end table name", "write [table] or [[list]]; a name with more than letters, digits, _ and - wants quotes"},
	{"floats must start with a digit", "write 0.5, not .5"},
	{"leading zeroes", "leave the leading zeroes out"},
	{"out of range", "write a smaller number"},
	{"datetime", "write a date as 2026-01-31 or 2026-01-31T07:30:00Z, or as text in quotes"},
	{"expected a comma", "put a comma between the values"},
	{`found '\n'`, "write a value behind the ="},
	{"expected value", `text wants quotes: key = "text"`},
	{"expected a top-level item to end", "write one key a line"},
}

func syntaxHint(text string) string {
	for _, h := range syntaxHints {
		if strings.Contains(text, h.part) {
			return h.hint
		}
	}
	return "see https://toml.io for how TOML is written"
}

func lowerFirst(s string) string {
	r, size := utf8.DecodeRuneInString(s)
	if size == len(s) || unicode.IsUpper(rune(s[size])) { // TOML, UTF-8
		return s
	}
	return string(unicode.ToLower(r)) + s[size:]
}
