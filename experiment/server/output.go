package server

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"sync"

	"bench/experiment/text"
)

const (
	lastLines = 20
	lineBytes = 400
)

const causeBytes = 256 << 10

var (
	// exception matches the line that Python prints last for an exception, behind a log's prefix or not:
	// "ValueError: …", "torch.OutOfMemoryError: …".
	exception = text.Lazy(`(?:^|\s|\])((?:[a-zA-Z_]\w*\.)*[A-Z]\w*(?:Error|Exception|OutOfMemory|Exit): \S.*)$`)
	// message matches the last words of other programs: argparse's "vllm: error: unrecognized arguments: …",
	// llama.cpp's "error: invalid argument: …" and "couldn't bind HTTP server socket", CUDA's, the linker's and the
	// kernel's.
	message = text.Lazy(`(?i)((?:\S+: )?(?:error: |fatal: |panic: ).*|.*(?:out of memory|address already in use|` +
		`couldn't bind |failed to load model|error loading model|no such file or directory|permission denied|` +
		`cannot open shared object).*)$`)
	// logPrefix is what vLLM and others write before a line: "(EngineCore pid=7) ERROR 11-22 10:35:58 [core.py:936] ".
	logPrefix = text.Lazy(`^(?:\([^)]*pid=\d+\)\s*)?(?:(?:ERROR|CRITICAL|FATAL)\s+[\d-]+ [\d:.,]+ )?` +
		`(?:\[[^\]]*\.py:\d+\]\s*)?`)
	// harmless matches lines that report no fault, whatever they quote.
	harmless = text.Lazy(`^.{0,60}\b(?:DEBUG|INFO|WARN|WARNING)\b`)
	// consequence matches exceptions that only report that another process has failed, and warnings at the exit.
	consequence = text.Lazy(`(?i)see (?:the )?(?:root cause|stack trace|error|log)|above for|resource_tracker|` +
		`died unexpectedly|initialization failed|warning:|engine core|enginedead`)
)

// Cause finds in a failed server's log the line that names the fault: the first exception, since those after it
// are its consequences in other processes; without one, the first message of an error. Empty: no line does.
func Cause(log string) string {
	var other, last string
	for line := range strings.Lines(log) {
		line = strings.TrimSpace(line[strings.LastIndexByte(strings.TrimRight(line, "\r\n"), '\r')+1:])
		if harmless().MatchString(line) {
			continue
		}
		m := exception().FindStringSubmatch(line)
		switch {
		case m != nil && !consequence().MatchString(m[1]):
			return clip(m[1])
		case m != nil && last == "":
			last = m[1]
		case m == nil && other == "" && !consequence().MatchString(line):
			if m := message().FindStringSubmatch(logPrefix().ReplaceAllString(line, "")); m != nil {
				other = m[1]
			}
		}
	}
	if other == "" {
		other = last
	}
	return clip(strings.TrimSpace(other))
}

func clip(line string) string {
	if len(line) <= lineBytes {
		return line
	}
	return strings.ToValidUTF8(line[:lineBytes], "") + "…"
}

type DiedError struct {
	Status string // for example "exit status 1" or "signal: killed"
	cause  string // the line of its output that names the fault; empty: none was found
	Output string // its last lines

	Withheld []string // variables of bench's environment that it did not get
}

func (e *DiedError) Error() string {
	return "the server exited early (" + e.Status + ")" + outputSuffix(e.cause, e.Output)
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

// output keeps the last lines of a server without a log.
type output struct {
	announce string
	url      chan string // the first announced URL

	mu    sync.Mutex
	line  []byte // the unfinished line, at most lineBytes
	lines []string
}

func newOutput(announce string) *output {
	return &output{announce: announce, url: make(chan string, 1)}
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := len(p)
	for {
		line, rest, whole := bytes.Cut(p, []byte("\n"))
		o.line = append(o.line, line[:min(len(line), lineBytes-len(o.line))]...)
		if !whole {
			return n, nil
		}
		o.add(strings.TrimRight(string(o.line), "\r"))
		o.line, p = o.line[:0], rest
	}
}

func (o *output) add(line string) {
	if len(o.lines) == lastLines {
		o.lines = append(o.lines[:0], o.lines[1:]...)
	}
	o.lines = append(o.lines, line)
	if _, after, found := strings.Cut(line, o.announce); found && o.announce != "" {
		url, _, _ := strings.Cut(strings.TrimSpace(after), " ")
		select {
		case o.url <- url:
		default: // already announced
		}
	}
}

func (o *output) lastOutput() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	lines := o.lines
	if len(o.line) > 0 {
		lines = append(lines[:len(lines):len(lines)], string(o.line))
	}
	return strings.Join(lines, "\n")
}

// logFile is the file that a server writes its output to directly, to save the client the copying.
type logFile struct {
	f       *os.File
	lines   int
	counted int64 // offset up to which lines were counted
}

func (l *logFile) lastOutput(secrets Secrets) string {
	const most = lastLines * lineBytes
	text := secrets.Hide(l.end(most + int64(secrets.longest()))) // whole ones
	lines := strings.Split(strings.TrimRight(text[max(0, len(text)-most):], "\r\n"), "\n")
	lines = lines[max(0, len(lines)-lastLines):]
	for i, line := range lines {
		lines[i] = strings.TrimRight(line[:min(len(line), lineBytes)], "\r")
	}
	return strings.Join(lines, "\n")
}

func (l *logFile) end(n int64) string {
	info, err := l.f.Stat()
	if err != nil {
		return ""
	}
	text := make([]byte, min(info.Size(), n))
	read, _ := l.f.ReadAt(text, info.Size()-int64(len(text)))
	return string(text[:read])
}

// LastLine returns the last line of a server's log that is not blank, at most its last 4 KiB; empty: there is none,
// or the log is closed. A carriage return begins a line: servers draw progress bars. It may be called while the
// server writes.
func LastLine(log *os.File) string {
	text := (&logFile{f: log}).end(4 << 10)
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
	for _, line := range slices.Backward(lines) {
		if line = strings.Join(strings.Fields(line), " "); line != "" {
			return line
		}
	}
	return ""
}

func (l *logFile) count() int {
	buf := make([]byte, 64<<10)
	for {
		n, err := l.f.ReadAt(buf, l.counted)
		l.lines += bytes.Count(buf[:n], []byte("\n"))
		l.counted += int64(n)
		if err != nil { // usually io.EOF
			return l.lines
		}
	}
}
