package response

import (
	"strings"
	"unicode"
)

// correct reports whether a text is one of the expected answers: the whole text, its last line without "Answer:" or
// "####", or its last \boxed{}. Case, outer white space and Markdown, and a final mark do not count.
func correct(text string, expected []string) bool {
	candidates := []string{plain(text), lastLine(text)}
	if box, ok := boxed(text); ok {
		candidates = append(candidates, plain(box))
	}
	for _, want := range expected {
		for _, got := range candidates {
			if got == plain(want) {
				return true
			}
		}
	}
	return false
}

func plain(text string) string {
	for before := ""; before != text; {
		before = text
		text = strings.TrimFunc(text, func(r rune) bool {
			return unicode.IsSpace(r) ||
				strings.ContainsRune("*_`\"'“”$", r)
		})
		text = strings.TrimRight(text, ".!?,;:")
	}
	return strings.ToLower(text)
}

func lastLine(text string) string {
	text = strings.TrimRightFunc(text, unicode.IsSpace)
	line := plain(text[strings.LastIndexByte(text, '\n')+1:])
	for _, mark := range []string{"answer:", "answer is", "####"} {
		if i := strings.LastIndex(line, mark); i >= 0 {
			line = plain(line[i+len(mark):])
		}
	}
	return line
}

func boxed(text string) (string, bool) {
	const begin = `\boxed{`
	from := strings.LastIndex(text, begin)
	if from < 0 {
		return "", false
	}
	text, depth := text[from+len(begin):], 1
	for i, c := range text {
		switch c {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return text[:i], true
			}
		}
	}
	return "", false
}
