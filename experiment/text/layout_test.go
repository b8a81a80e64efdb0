package text

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestWrap(t *testing.T) {
	for _, tt := range []struct {
		lead, text, indent string
		width              int
		want               []string
	}{
		{"", "", "", 10, []string{""}},
		{"note:", "one two three", "  ", 11, []string{"note: one", "  two three"}},
		{" ", "one two", "    ", 7, []string{"  one", "    two"}},
		{"lead", "abcdefghijkl", " ", 8, []string{"lead", " abcdefg", " hijkl"}},
		{" ", "abcdefghijkl", "   ", 8, []string{"  abcdef", "   ghijk", "   l"}},
		{"a-lead-that-is-wide", "x", " ", 8, []string{"a-lead-that-is-wide", " x"}},
		{"", "名前 名前", "", 5, []string{"名前", "名前"}},
	} {
		if diff := cmp.Diff(tt.want, Wrap(tt.lead, tt.text, tt.indent, tt.width)); diff != "" {
			t.Errorf("%q %q in %d:\n%s", tt.lead, tt.text, tt.width, diff)
		}
	}
}

// No line is too wide, nothing is lost, and only a word wider than a line is broken.
func TestWrapKeepsWords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOf(rapid.StringMatching(`[a-z名]{1,30}`)).Draw(t, "words")
		width := rapid.IntRange(10, 60).Draw(t, "width")
		lines := Wrap("", strings.Join(words, " "), "  ", width)
		for _, line := range lines {
			if Width(line) > width {
				t.Fatalf("%d columns of %d: %q", Width(line), width, line)
			}
		}
		squeeze := func(s string) string { return strings.Join(strings.Fields(s), "") }
		if got := squeeze(strings.Join(lines, " ")); got != strings.Join(words, "") {
			t.Fatalf("%q became %q", words, lines)
		}
		seen := strings.Fields(strings.Join(lines, " "))
		at := 0
		for _, word := range words {
			if Width(word) > width-2 {
				for rest := word; rest != ""; at++ {
					rest = strings.TrimPrefix(rest, seen[at])
				}
				continue
			}
			if seen[at] != word {
				t.Fatalf("%q is broken: %q", word, lines)
			}
			at++
		}
	})
}

func TestNarrow(t *testing.T) {
	for _, tt := range []struct {
		widths, least []int
		room          int
		want          []int
	}{
		{[]int{5, 9, 3}, []int{1, 1, 1}, 20, []int{5, 9, 3}},
		{[]int{5, 9, 3}, []int{1, 1, 1}, 12, []int{4, 5, 3}},
		{[]int{5, 9, 3}, []int{1, 9, 1}, 14, []int{2, 9, 3}},
		{[]int{5, 9}, []int{5, 8}, 3, []int{5, 8}},
	} {
		Narrow(tt.widths, tt.least, tt.room)
		if diff := cmp.Diff(tt.want, tt.widths); diff != "" {
			t.Errorf("in %d: %s", tt.room, diff)
		}
	}
}

func TestTable(t *testing.T) {
	rows := [][]string{{"row", "n", "note"}, {"名前", "1", "two words"}, {"  b", "1,000", ""}}
	for width, want := range map[int]string{
		80: " row       n  note\n 名前      1  two words\n   b   1,000",
		18: " row       n  note\n 名前      1  two\n              words\n   b   1,000",
	} {
		if got := Table(rows, width, 1); got != want {
			t.Errorf("in %d:\n%s\nwant\n%s", width, got, want)
		}
	}
}
