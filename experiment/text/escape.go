package text

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
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

// Page is a writer of a page without the characters that turn the direction of text around (Unicode's bidirectional
// embeddings, overrides and isolates): what a server chose to be called could look like another word. Each becomes
// U+FFFD, which takes as many bytes. A Write has whole characters.
func Page(w io.Writer) io.Writer { return page{w} }

type page struct{ io.Writer }

func (p page) Write(text []byte) (int, error) {
	if bytes.IndexFunc(text, turns) < 0 {
		return p.Writer.Write(text)
	}
	_, err := io.WriteString(p.Writer, strings.Map(func(r rune) rune {
		if turns(r) {
			return utf8.RuneError
		}
		return r
	}, string(text)))
	return len(text), err
}

func turns(r rune) bool { return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 }

// JSON returns a JSON text in which the characters that Escape escapes are \u escapes, as json.Marshal writes those
// below U+0020: a terminal shows them, and a parser reads the same value. Outside of strings JSON has none of them.
func JSON(text []byte) []byte {
	unsafe := func(r rune) bool { return r > 0x7e && !unicode.IsGraphic(r) }
	if bytes.IndexFunc(text, unsafe) < 0 {
		return text
	}
	var out bytes.Buffer
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		switch {
		case !unsafe(r):
			out.Write(text[:size])
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&out, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
		text = text[size:]
	}
	return out.Bytes()
}
