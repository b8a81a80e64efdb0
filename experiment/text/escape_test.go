package text

import (
	"io"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestEscape(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"empty", "", ""},
		{"plain", `chat "A" \ 10 %`, `chat "A" \ 10 %`},
		{"scripts", "é漢字 ключ e\u0301 🚀", "é漢字 ключ e\u0301 🚀"},
		{"spaces", "1\u00a0000\u3000x", "1\u00a0000\u3000x"},
		{"replacement character", "a\ufffdb", "a\ufffdb"},
		{"colour", "\x1b[31mred\x1b[0m", `\x1b[31mred\x1b[0m`},
		{"line ends", "a\r\n\tb\x00\x7f", `a\r\n\tb\x00\x7f`},
		{"C1 control", "\u009b31m\u0085", `\u009b31m\u0085`},
		{"separators", "a\u2028b\u2029", `a\u2028b\u2029`},
		{"private use", "\ue000\U000f0000", `\ue000\U000f0000`},
		{"byte order mark", "\ufeffa\u200b\u00ad", `\ufeffa\u200b\u00ad`},
		{"unassigned", "\u0378", `\u0378`},
		{"not UTF-8", "a\xff\xc3", `a\xff\xc3`},
		{"surrogate", "\xed\xa0\x80", `\xed\xa0\x80`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Escape(c.in); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
	for _, r := range "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069" {
		if got := Escape(string(r)); len(got) != len(`\u202e`) || got[0] != '\\' {
			t.Errorf("bidi control %U is shown as %q", r, got)
		}
	}
}

func TestEscapeLines(t *testing.T) {
	if got, want := EscapeLines("a\n\tb\r\u202e\xff"), "a\n\tb\\r\\u202e\\xff"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// FuzzEscape: the result is one line of graphic UTF-8, safe text stays as it is, and nothing is lost.
func FuzzEscape(f *testing.F) {
	for _, s := range []string{"", "a b", "\x1b]0;x\a", "\u202e\u2028\xff\xed\xa0\x80", "é\ue000\U0010ffff", "\r\n\t"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		line, lines := Escape(s), EscapeLines(s)
		for _, r := range line {
			if !unicode.IsGraphic(r) {
				t.Fatalf("%U is left in %q", r, line)
			}
		}
		if !utf8.ValidString(line) || !utf8.ValidString(lines) {
			t.Fatalf("%q or %q is not UTF-8", line, lines)
		}
		if Escape(line) != line || len(line) < len(s) {
			t.Fatalf("%q becomes %q, then %q", s, line, Escape(line))
		}
		if got := strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(lines); got != line {
			t.Fatalf("EscapeLines has %q, Escape %q", got, line)
		}
	})
}

func TestPage(t *testing.T) {
	var b strings.Builder
	text := "a\u202eb\u2066c é漢"
	if n, err := io.WriteString(Page(&b), text); n != len(text) || err != nil || b.String() != "a\ufffdb\ufffdc é漢" {
		t.Errorf("%d, %v, %q", n, err, b.String())
	}
}
