package server

import (
	"bytes"
	"os"
	"slices"
	"strings"
)

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
