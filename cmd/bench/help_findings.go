package main

import (
	"slices"
	"strings"

	"bench/experiment/record"
	"bench/experiment/text"
)

// findingLines are all codes of findings with their meanings.
func findingLines(width int) (lines []string) {
	const names = 22 // the longest code, and a space
	for _, code := range record.FindingCodes {
		lines = append(lines, text.Wrap(text.Pad(code.Name, names), code.Meaning, strings.Repeat(" ", names+1),
			width)...)
	}
	return append(lines, "", "bench help FINDING: its effect on the figures, and what to do")
}

// findingHelp explains a code of findings; nil: there is no such code.
func findingHelp(name string, width int) (lines []string) {
	at := slices.IndexFunc(record.FindingCodes, func(c record.Code) bool { return c.Name == name })
	if at < 0 {
		return nil
	}
	code := record.FindingCodes[at]
	for _, part := range []struct{ title, text string }{
		{code.Name, code.Meaning}, {"effect", code.Effect}, {"what to do", code.Remedy},
	} {
		title := text.Pad(part.title, max(len("what to do"), len(code.Name))+1)
		lines = append(lines, text.Wrap(title, part.text, strings.Repeat(" ", text.Width(title)+1), width)...)
	}
	return lines
}
