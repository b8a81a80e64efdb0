package server

import (
	"regexp"
	"strings"
	"sync"
)

const causeBytes = 256 << 10

func lazy(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

var (
	// exception matches the line that Python prints last for an exception, behind a log's prefix or not:
	// "ValueError: …", "torch.OutOfMemoryError: …".
	exception = lazy(`(?:^|\s|\])((?:[a-zA-Z_]\w*\.)*[A-Z]\w*(?:Error|Exception|OutOfMemory|Exit): \S.*)$`)
	// message matches the last words of other programs: argparse's "vllm: error: unrecognized arguments: …",
	// llama.cpp's "error: invalid argument: …" and "couldn't bind HTTP server socket", CUDA's, the linker's and the
	// kernel's.
	message = lazy(`(?i)((?:\S+: )?(?:error: |fatal: |panic: ).*|.*(?:out of memory|address already in use|` +
		`couldn't bind |failed to load model|error loading model|no such file or directory|permission denied|` +
		`cannot open shared object).*)$`)
	// logPrefix is what vLLM and others write before a line: "(EngineCore pid=7) ERROR 11-22 10:35:58 [core.py:936] ".
	logPrefix = lazy(`^(?:\([^)]*pid=\d+\)\s*)?(?:(?:ERROR|CRITICAL|FATAL)\s+[\d-]+ [\d:.,]+ )?` +
		`(?:\[[^\]]*\.py:\d+\]\s*)?`)
	// harmless matches lines that report no fault, whatever they quote.
	harmless = lazy(`^.{0,60}\b(?:DEBUG|INFO|WARN|WARNING)\b`)
	// consequence matches exceptions that only report that another process has failed, and warnings at the exit.
	consequence = lazy(`(?i)see (?:the )?(?:root cause|stack trace|error|log)|above for|resource_tracker|` +
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
