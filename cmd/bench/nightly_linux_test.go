package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"bench/experiment/mock"
)

// nightlyMatrix has a threshold that a busy machine seldom exceeds: the slow server is fifteen times slower.
const nightlyMatrix = `name = "nightly"
[gate]
e2e_p50 = "+300%"
[defaults]
requests = 6
repeats = 2
input = 16
concurrency = 1
[[row]]
name = "a"
output = 3
[[row]]
name = "b"
output = 4
`

// nightServer is the server under test: well, slow in row a, or failing in row b.
type nightServer struct {
	http.Handler
	slow, fails atomic.Bool
}

func newNightServer(t *testing.T) (s *nightServer, base string) {
	t.Helper()
	s = &nightServer{}
	mockBase, stop := startMock(mock.Config{Drift: "900%@0s"}) // 40 ms for row a
	t.Cleanup(stop)
	server := forwarder(mockBase)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		switch {
		case s.fails.Load() && bytes.Contains(body, []byte(`"max_tokens":4`)):
			http.Error(w, `{"error": {"message": "out of memory"}}`, http.StatusInternalServerError)
		case s.slow.Load() && bytes.Contains(body, []byte(`"max_tokens":3`)):
			time.Sleep(560 * time.Millisecond)
			server.ServeHTTP(w, r)
		default:
			server.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(front.Close)
	return s, front.URL
}

// TestNightly: each example of deploy/ runs as written through a first night, good ones, one with a regression, one
// with a failed row, and one without a server. cron prints only what has to be mailed. The sweeps of the first example
// are kept and stand for those of the others, which differ in what is around them.
func TestNightly(t *testing.T) {
	for _, name := range []string{"flock", "bash", "git", "make"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip(err)
		}
	}
	t.Parallel()
	kept := keepSweeps(t)
	examples := []struct {
		name string
		job  func(t *testing.T, home, program string) job
	}{{"cron", cron}, {"github", github}, {"gitlab", gitlab}, {"kubernetes", kubernetes}}
	for i, example := range examples {
		t.Run(example.name, func(t *testing.T) {
			n := nights{T: t, job: example.job(t, t.TempDir(), filepath.Join(kept, "bench")),
				mailed: example.name == "cron", first: i == 0, kept: kept}
			write(t, filepath.Join(n.home, "nightly.toml"), nightlyMatrix)
			if n.first {
				n.server, n.base = newNightServer(t)
				write(t, filepath.Join(kept, "keep"), "")
				defer os.Remove(filepath.Join(kept, "keep"))
			} else {
				n.server, n.base = &nightServer{}, "http://127.0.0.1:1"
			}
			n.all()
		})
	}
}

// keptSweeps is bench for the examples of deploy/: $kept/night names the night. While $kept/keep exists, a sweep's
// results and output are kept; later each is printed and copied in place of a sweep.
const keptSweeps = `#!/bin/sh
night=$kept/$(cat $kept/night)
[ "$1" = sweep ] && [ "$night" != "$kept/no server" ] || exec $bench "$@"
for word; do [ "$last" != --out ] || out=$word; last=$word; done
if [ -e $kept/keep ]; then
    rm -rf "$night" && mkdir "$night" && code=0
    $bench "$@" > "$night/stdout" 2> "$night/stderr" || code=$?
    echo $code > "$night/code" && cp -r "$out" "$night/results"
else
    cp -rn "$night/results/." "$out"
fi
cat "$night/stdout" && cat "$night/stderr" >&2 && exit $(cat "$night/code")
`

// keepSweeps writes keptSweeps as bench into a directory.
func keepSweeps(t *testing.T) (kept string) {
	t.Helper()
	kept = t.TempDir()
	write(t, filepath.Join(kept, "bench"), strings.NewReplacer("$kept", kept, "$bench", program(t)).Replace(keptSweeps))
	return kept
}

// program is the path of bench.
func program(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("bench")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

type nights struct {
	*testing.T
	job
	mailed bool // the exit code is not seen: what is printed is mailed
	first  bool // its sweeps are done and kept
	kept   string
	server *nightServer
	base   string
}

func (n *nights) all() {
	n.night("first night", n.base, codeDone)
	n.wrote("<skipped")
	n.night("good night", n.base, codeDone)
	n.wrote("<testcase")
	n.server.slow.Store(true)
	n.night("regression", n.base, codeNotMet, "a e2e_p50: FAIL")
	n.wrote("<failure")
	n.server.slow.Store(false)
	n.server.fails.Store(true)
	n.night("failed row", n.base, codeFailed, "no request completed in: b-r1, b-r2")
	n.wrote("<testcase")
	n.night("no server", "http://127.0.0.1:1", codeFailed, "hint: is the server up?", "nothing is compared")
	for _, file := range []string{"gate.xml", "gate.md", "trends.html"} {
		if _, err := os.Stat(filepath.Join(n.home, file)); err == nil {
			n.Errorf("%s of an earlier night is left", file)
		}
	}
}

// night runs one night. It must exit with a code and print some texts.
func (n *nights) night(what, endpoint string, code int, texts ...string) {
	n.Helper()
	write(n.T, filepath.Join(n.kept, "night"), what)
	got, printed := n.run(endpoint)
	for range 3 { // nights of a busy machine differ so much that a regression is UNDECIDED; PASS is an error
		if !n.first || code != codeNotMet || !undecided(n.T, n.home) {
			break
		}
		forget(n.T, n.home)
		n.server.slow.Store(false) // one more good night in the base
		n.run(endpoint)
		n.server.slow.Store(true)
		got, printed = n.run(endpoint)
	}
	if got != code && (!n.mailed || printed == "" || code == 0) {
		n.Errorf("%s: exit code %d, want %d; it printed\n%s", what, got, code, printed)
	}
	if n.mailed && code == 0 && printed != "" {
		n.Errorf("%s: a mail\n%s", what, printed)
	}
	for _, text := range texts {
		if !strings.Contains(printed, text) {
			md, _ := os.ReadFile(filepath.Join(n.home, "gate.md"))
			n.Errorf("%s: %q is not in\n%s%s", what, text, printed, md)
		}
	}
}

func (n *nights) wrote(gate string) {
	n.Helper()
	wanted := map[string]string{"gate.xml": gate, "gate.md": "base: ", "trends.html": "nightly"}
	for file, text := range wanted {
		content, err := os.ReadFile(filepath.Join(n.home, file))
		if err != nil || !strings.Contains(string(content), text) {
			n.Errorf("%s has no %q: %v\n%s", file, text, err, content)
		}
	}
}

// undecided reports whether the gate left row a's figure UNDECIDED, which the job skips.
func undecided(t *testing.T, home string) bool {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(home, "gate.xml"))
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(text), `<testcase classname="a" name="e2e_p50">`)
	if !found {
		t.Fatalf("a's e2e_p50 is not in\n%s", text)
	}
	return strings.HasPrefix(strings.TrimSpace(after), "<skipped")
}

// forget removes the last run.
func forget(t *testing.T, home string) {
	t.Helper()
	runs, err := filepath.Glob(filepath.Join(home, "results", "nightly", "*Z*"))
	if len(runs) == 0 { // in a pod all of home is for results
		runs, err = filepath.Glob(filepath.Join(home, "nightly", "*Z*"))
	}
	if err != nil || len(runs) == 0 {
		t.Fatal(runs, err)
	}
	if err := os.RemoveAll(runs[len(runs)-1]); err != nil {
		t.Fatal(err)
	}
}

// TestNightlyAlone: a night that begins before the last one has ended leaves it alone.
func TestNightlyAlone(t *testing.T) {
	if _, err := exec.LookPath("flock"); err != nil {
		t.Skip(err)
	}
	j := cron(t, t.TempDir(), program(t))
	if err := os.Mkdir(filepath.Join(j.home, "results"), 0o755); err != nil {
		t.Fatal(err)
	}
	lock, err := os.Create(filepath.Join(j.home, "results", "nightly.lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(j.home, "gate.xml"), "of the running night")
	if _, printed := j.run("http://127.0.0.1:1"); printed != "the job of the night before still runs\n" {
		t.Errorf("it printed %q", printed)
	}
	if _, err := os.Stat(filepath.Join(j.home, "gate.xml")); err != nil {
		t.Error(err)
	}
}

// TestNightlyLinks: docs/nightly.md leads to the files of deploy/.
func TestNightlyLinks(t *testing.T) {
	page, err := os.ReadFile("../../docs/nightly.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"bench-nightly", "crontab", "github-actions.yml", "gitlab-ci.yml"} {
		if !strings.Contains(string(page), "(../deploy/"+name+")") {
			t.Errorf("docs/nightly.md has no link to deploy/%s", name)
		}
	}
}
