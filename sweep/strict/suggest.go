package strict

import (
	"strings"
	"unicode/utf8"
)

const likeness = 2 // largest number of edits between a word and a suggestion

// suggest returns the known word that was probably meant: one that differs by one edit (a swap of neighbours
// is one), else one that is a prefix of word or has it as a prefix, else one that differs by two edits. Case
// is ignored, and at least half of the letters must agree.
func suggest(word string, known []string) (string, bool) {
	best, least := "", likeness+1
	for _, k := range known {
		if d := distance(strings.ToLower(word), strings.ToLower(k)); d < least && 2*d <= max(utf8.RuneCountInString(word), utf8.RuneCountInString(k)) {
			best, least = k, d
		}
	}
	if least > 1 {
		for _, k := range known {
			if len(word) >= 3 && strings.HasPrefix(k, word) || len(k) >= 3 && strings.HasPrefix(word, k) {
				return k, true
			}
		}
	}
	return best, least <= likeness
}

// distance counts edits: the optimal string alignment distance; everything above likeness is likeness+1.
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

// shorten shortens a text of the file for a message.
func shorten(s string) string {
	const most = 40
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most-1]) + "…"
}
