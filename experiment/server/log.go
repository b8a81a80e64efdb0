package server

import (
	"bytes"
	"os"
	"strings"
)

// logFile is the file that a server writes its output to directly, to save the client the copying.
type logFile struct {
	f       *os.File
	lines   int
	counted int64 // offset up to which lines were counted
}

// lastOutput is the end of the output.
func (l *logFile) lastOutput() string {
	const most = lastLines * lineBytes
	info, err := l.f.Stat()
	if err != nil {
		return ""
	}
	text := make([]byte, min(info.Size(), most))
	n, _ := l.f.ReadAt(text, info.Size()-int64(len(text)))
	lines := strings.Split(strings.TrimRight(string(text[:n]), "\r\n"), "\n")
	lines = lines[max(0, len(lines)-lastLines):]
	for i, line := range lines {
		lines[i] = strings.TrimRight(line[:min(len(line), lineBytes)], "\r")
	}
	return strings.Join(lines, "\n")
}

// count is the number of lines so far.
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
