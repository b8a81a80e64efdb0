package strict

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/BurntSushi/toml"
)

func (d *Document) syntax(err error, places located) Problem {
	var pe toml.ParseError
	if !errors.As(err, &pe) {
		return Problem{File: d.file, Len: 1, Text: err.Error(), Hint: syntaxHint("")}
	}
	text, file := strings.TrimSuffix(lowerFirst(pe.Message), "."), d.pieces[0].from
	if line, _ := file.position(pe.Position.Start); places.again > 0 && strings.Contains(text, "already") {
		if again, _ := file.position(places.again); again == line {
			first, _ := file.position(places.first)
			return d.problemAt(places.again, places.size, pe.LastKey, text,
				fmt.Sprintf("it is also in line %d; keep one of them", first))
		}
	}
	at := pe.Position.Start
	if next := at + 1; next < len(d.Text) && strings.Contains(text, "control characters") &&
		unicode.IsControl(rune(d.Text[next])) {
		at = next // the parser reports the byte before it
	}
	hint := syntaxHint(text)
	line, _ := file.position(at)
	if quoted := bareDuration.FindStringSubmatch(file.line(line)); quoted != nil &&
		strings.Contains(text, "to end with a newline") {
		hint = fmt.Sprintf("write a duration in quotes: %s = %q", quoted[1], quoted[2])
	}
	return d.problemAt(at, pe.Position.Len, pe.LastKey, text, hint)
}

// bareDuration is a line whose value is a duration without quotes.
var bareDuration = regexp.MustCompile(`^\s*([\w.-]+)\s*=\s*(\d[\d.]*(?:ns|us|µs|ms|s|m|h)[\dnuµmsh.]*)\s*(?:#.*)?$`)

// syntaxHints are hints for common mistakes; the first whose part is in the parser's message applies.
var syntaxHints = []struct{ part, hint string }{
	{"already", "rename it or merge the two"},
	{"cannot contain newlines", `end the string with a quote, or write it between """ and """`},
	{"EOF; expected value", "write a value, or close the list with ]"},
	{"EOF; expected", "end the string with its quotes"},
	{"end of file", "close the list with ] or the table with }"},
	{"control characters: '0x0d'", "end lines with LF or CR LF"},
	{"control characters", `remove it, or write it as \u and four digits between double quotes`},
	{"invalid escape", `write \\ for a backslash, or put the string in single quotes`},
	{"expected '.' or '='",
		"write key = value; put a key with other characters than letters, digits, _ and - in quotes"},
	{"appears blank", "write key = value"},
	{"to end table name",
		"write [table] or [[list]]; put a name with other characters than letters, digits, _ and - in quotes"},
	{"floats must start with a digit", "write 0.5, not .5"},
	{"leading zeroes", "remove the leading zeroes"},
	{"out of range", "write a smaller number"},
	{"datetime", "write a date as 2026-01-31 or 2026-01-31T07:30:00Z, or as a string in quotes"},
	{"expected a comma", "put a comma between the values"},
	{`found '\n'`, "write a value after the ="},
	{"expected value", `put a string in quotes: key = "text"`},
	{"expected a top-level item to end", "write one key a line"},
}

func syntaxHint(text string) string {
	for _, h := range syntaxHints {
		if strings.Contains(text, h.part) {
			return h.hint
		}
	}
	return "see https://toml.io for the syntax of TOML"
}

func lowerFirst(s string) string {
	r, size := utf8.DecodeRuneInString(s)
	if size == len(s) || unicode.IsUpper(rune(s[size])) { // TOML, UTF-8
		return s
	}
	return string(unicode.ToLower(r)) + s[size:]
}
