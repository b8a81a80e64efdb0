package text

import (
	"bytes"
	"fmt"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

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
