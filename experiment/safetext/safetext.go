// Package safetext makes untrusted text safe to show. Names from files and answers of servers can contain
// characters that move a terminal's cursor, set its title, or reverse the reading direction of a line. Escape
// writes such a character as a Go escape, so that the reader sees that it is there. It never hides or deletes
// one.
package safetext

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Escape returns s as one line. It writes as Go escapes (\n, \x1b, \u202e, \xff): control characters (Cc),
// format characters with all bidi controls (Cf), line and paragraph separators (Zl, Zp), private use (Co),
// surrogates, unassigned code points, and each byte that is not UTF-8. Spaces of every script stay, and so
// does a backslash: the result is for reading, not for parsing back.
func Escape(s string) string { return escape(s, "") }

// EscapeLines is Escape for text of several lines: line feeds and tabs stay.
func EscapeLines(s string) string { return escape(s, "\n\t") }

func escape(s, kept string) string {
	unsafe := func(r rune) bool { return !unicode.IsGraphic(r) && !strings.ContainsRune(kept, r) }
	if utf8.ValidString(s) && strings.IndexFunc(s, unsafe) < 0 {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		if unsafe(r) || r == utf8.RuneError && size == 1 {
			quoted := strconv.Quote(s[:size])
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteString(s[:size])
		}
		s = s[size:]
	}
	return b.String()
}
