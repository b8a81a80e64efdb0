package server

import "strings"

type DiedError struct {
	Status string // for example "exit status 1" or "signal: killed"
	Cause  string // the line of its output that names the fault; empty: none was found
	Output string // its last lines

	Withheld []string // variables of bench's environment that it did not get
}

func (e *DiedError) Error() string {
	return "the server exited early (" + e.Status + ")" + outputSuffix(e.Cause, e.Output)
}

func outputSuffix(cause, output string) string {
	switch {
	case output == "":
		return " without output"
	case cause == "":
		return "; last output:\n" + output
	case cause == strings.TrimSpace(output):
		return ": " + cause
	}
	lines := strings.Split(output, "\n")
	return ": " + cause + "\nlast output:\n" + strings.Join(lines[max(0, len(lines)-linesWithCause):], "\n")
}

// linesWithCause is the number of last lines beside a cause: most are the end of its traceback.
const linesWithCause = 5
