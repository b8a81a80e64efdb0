package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bench/experiment/text"
)

// openTerminal returns both ends of an 80×24 pseudo terminal.
func openTerminal(t *testing.T) (user, program *os.File) {
	t.Helper()
	user, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo terminal here: %v", err)
	}
	t.Cleanup(func() { user.Close() })
	fd := int(user.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Col: 80, Row: 24})
	}
	if err != nil {
		t.Fatal(err)
	}
	if program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Skipf("no pseudo terminal here: %v", err)
	}
	return user, program
}

// onTerminal runs a command whose stderr is a terminal. screen is what it shows in the end, raw what it was
// sent.
func onTerminal(t *testing.T, args ...string) (screen, raw string, code int) {
	t.Helper()
	user, program := openTerminal(t)
	before, err := unix.IoctlGetTermios(int(program.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	var sent bytes.Buffer
	g := &grid{t: t}
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(io.MultiWriter(g, &sent), user) // ends when the other end is closed
	}()
	code = bench(t.Context(), nil, io.Discard, program, args)
	after, err := unix.IoctlGetTermios(int(program.Fd()), unix.TCGETS)
	if err != nil || *before != *after {
		t.Errorf("the terminal's settings are not what they were (%v)", err)
	}
	program.Close()
	<-read
	return g.String(), sent.String(), code
}

func TestLiveOnATerminal(t *testing.T) {
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "")
	dir := t.TempDir()
	file := filepath.Join(dir, "m.toml")
	matrix := `name = "m"
[mock]
ttft = "2ms"
itl = "1ms"
[slo]
e2e_p50 = "10s"
[[row]]
name = "a"
input = 16
output = 8
concurrency = 1
requests = 40
[[row]]
name = "b"
input = 16
output = 8
concurrency = [1, 2]
requests = 100
`
	if err := os.WriteFile(file, []byte(matrix), 0o644); err != nil {
		t.Fatal(err)
	}
	args := []string{"sweep", file, "--out", dir}
	screen, raw, code := onTerminal(t, args...)
	want := regexp.MustCompile(`^results go to \S+\n` +
		`1/3  a +\x1b\[32mPASS\x1b\[0m, .*tok/s.*\n` +
		`2/3  b concurrency=1 +\x1b\[32mPASS\x1b\[0m, .*tok/s.*\n` +
		`3/3  b concurrency=2 +\x1b\[32mPASS\x1b\[0m, .*tok/s.*$`)
	if code != codeDone || !want.MatchString(screen) {
		t.Errorf("exit code %d, on the screen:\n%s", code, screen)
	}
	for _, part := range []string{"m  0 of 3 rows done", "m  2 of 3 rows done", " in flight", "TTFT  ", "3  b concurrency=2"} {
		if !strings.Contains(raw, part) {
			t.Errorf("no frame had %q:\n%q", part, raw)
		}
	}

	t.Setenv("NO_COLOR", "1")
	if screen, _, _ := onTerminal(t, append(args, "--only", "a")...); strings.Contains(screen, "\x1b") || !strings.Contains(screen, "PASS") {
		t.Errorf("with NO_COLOR:\n%s", screen)
	}
	if screen, raw, _ := onTerminal(t, append(args, "--only", "a", "--plain")...); strings.Contains(raw, "\x1b") || !regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d \[1/1\] a ….*\n\d\d:\d\d:\d\d \[1/1\] a: PASS, .*n=40, `).MatchString(screen) {
		t.Errorf("with --plain:\n%s", screen)
	}
}

// What a command prints on a terminal fits it.
func TestTextOnATerminal(t *testing.T) {
	t.Setenv("TERM", "xterm")
	runs, err := filepath.Glob("../../results/example/*/run.json")
	if err != nil || len(runs) == 0 {
		t.Fatalf("no example: %v", err)
	}
	example := filepath.Dir(runs[0])
	for _, args := range [][]string{
		{"report", example, "--format", "text"}, {"sweep", "../../matrices/production.toml", "--dry-run"}, {"sweep", "--help"},
		{"predict", "--model", "llama-3.1-70b", "--hardware", "h100-sxm"},
	} {
		user, program := openTerminal(t)
		var screen bytes.Buffer
		read := make(chan struct{})
		go func() {
			defer close(read)
			_, _ = io.Copy(&screen, user) // ends when the other end is closed
		}()
		code := bench(t.Context(), nil, program, io.Discard, args)
		program.Close()
		<-read
		if code != codeDone || screen.Len() == 0 {
			t.Errorf("%q: exit code %d", args, code)
		}
		for line := range strings.Lines(screen.String()) {
			if n := text.Width(strings.TrimRight(line, "\r\n")); n > 80 && !strings.HasPrefix(line, "  bench ") { // a command is one line
				t.Errorf("%q: %d columns: %s", args, n, line)
			}
		}
	}
}
