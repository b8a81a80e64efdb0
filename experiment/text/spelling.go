package text

import (
	"slices"
	"strings"
	"unicode/utf8"
)

const likeness = 2 // largest number of edits between a word and a suggestion

// Nearest returns the known word that was probably meant: one edit away (a swap of neighbours is one), else a prefix
// of the other, else two edits away. Case is ignored; at least half of the letters must agree.
func Nearest(word string, known []string) (string, bool) {
	best, least := nearest(word, known, func(k string, d int) bool {
		return 2*d <= max(utf8.RuneCountInString(word), utf8.RuneCountInString(k))
	})
	if least > 1 {
		for _, k := range known {
			if len(word) >= 3 && strings.HasPrefix(k, word) || len(k) >= 3 && strings.HasPrefix(word, k) {
				return k, true
			}
		}
	}
	return best, least <= likeness
}

// Slip is Nearest by edits only, with the same digits: another digit is another product (h100, h200).
func Slip(word string, known []string) (string, bool) {
	best, least := nearest(word, known, func(k string, d int) bool {
		return digits(word) == digits(k) && 2*d <= utf8.RuneCountInString(word)
	})
	return best, least <= likeness
}

func nearest(word string, known []string, may func(k string, d int) bool) (best string, least int) {
	least = likeness + 1
	for _, k := range known {
		if d := distance(strings.ToLower(word), strings.ToLower(k)); d < least && may(k, d) {
			best, least = k, d
		}
	}
	return best, least
}

func digits(word string) string {
	var out []rune
	for _, r := range word {
		if r >= '0' && r <= '9' {
			out = append(out, r)
		}
	}
	slices.Sort(out)
	return string(out)
}

func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	if max(len(x), len(y))-min(len(x), len(y)) > likeness {
		return likeness + 1
	}
	two, one := make([]int, len(y)+1), make([]int, len(y)+1) // the rows of x[:i-1] and x[:i]
	for j := range one {
		one[j] = j
	}
	for i := 1; i <= len(x); i++ {
		row := make([]int, len(y)+1)
		row[0] = i
		for j := 1; j <= len(y); j++ {
			change := 1
			if x[i-1] == y[j-1] {
				change = 0
			}
			row[j] = min(one[j]+1, row[j-1]+1, one[j-1]+change)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], two[j-2]+1)
			}
		}
		two, one = one, row
	}
	return one[len(y)]
}
