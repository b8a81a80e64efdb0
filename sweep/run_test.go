package sweep

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	stdlog "log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"bench/experiment"
	"bench/experiment/endpoint"
	"bench/experiment/mock"
	"bench/experiment/record"
	"bench/sweep/matrix"
)

// tiny are two rows of some 50 ms.
const tiny = `name = "tiny"
[defaults]
input = 16
output = 4
[[row]]
name = "a"
concurrency = 2
requests = 6
[[row]]
name = "b"
rate = 200
requests = 10
`

// startMock serves a simulated server with exact times until the test or stop ends it.
func startMock(t *testing.T, config mock.Config) (base string, stop func()) {
	t.Helper()
	return startMockAt(t, "127.0.0.1:0", config)
}

func startMockAt(t *testing.T, address string, config mock.Config) (base string, stop func()) {
	t.Helper()
	config.TTFT, config.ITL = 2*time.Millisecond, time.Millisecond
	server, err := mock.New(config)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx, l) }()
	stopped := false
	stop = func() {
		if !stopped {
			stopped = true
			cancel()
			<-done
		}
	}
	t.Cleanup(stop)
	return "http://" + l.Addr().String() + "/v1", stop
}

func reach(t *testing.T, base string, m *matrix.Matrix) *endpoint.Server {
	t.Helper()
	s, err := endpoint.Reach(t.Context(), m.Target, base, "", experiment.APIs(m.Points, m.Target), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// sweepTo runs a matrix against a server.
func sweepTo(t *testing.T, ctx context.Context, base, text string, o Options) (*Result, error) {
	t.Helper()
	m := mustParse(t, text)
	o.Server = reach(t, base, m)
	o.Command = []string{"bench", "sweep", "test.toml"}
	return Run(ctx, m, o)
}

// complete is sweepTo for a run that ends well.
func complete(t *testing.T, base, text string, o Options) *Result {
	t.Helper()
	result, err := sweepTo(t, t.Context(), base, text, o)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// files are the names in a directory with their contents.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, e := range entries {
		if e.IsDir() {
			out[e.Name()+"/"] = ""
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		out[e.Name()] = string(b)
	}
	return out
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	for name := range files(t, dir) {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

func manifestOf(t *testing.T, dir string) record.Manifest {
	t.Helper()
	var m record.Manifest
	if err := (directory{path: dir}).readJSON(manifestFile, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// states are the rows of a plan with what became of them.
func states(m record.Manifest) string {
	var out []string
	for _, p := range m.Plan {
		out = append(out, p.ID+" "+p.State)
	}
	return strings.Join(out, ", ")
}

// log notes a run's events.
func log(into *[]string) func(Event) {
	return func(e Event) {
		switch {
		case e.Started != nil:
			*into = append(*into, "started")
		case e.Begun != nil:
			*into = append(*into, "begun "+e.Begun.ID)
		case e.Finished.Kept:
			*into = append(*into, "kept "+e.Finished.Row.ID)
		default:
			*into = append(*into, "finished "+e.Finished.Row.ID)
		}
	}
}

var tinyFiles = []string{".lock", "a-r1.json", "a-r1.requests.jsonl.zst", "a-r1.telemetry.jsonl.zst",
	"b-r1.json", "b-r1.requests.jsonl.zst", "b-r1.telemetry.jsonl.zst", "run.json"}

func TestRun(t *testing.T) {
	base, _ := startMock(t, mock.Config{})
	out := t.TempDir()
	var events []string
	result := complete(t, base, tiny, Options{Out: out, Event: log(&events), Client: Client("1.2.3", "abc")})

	if ok, _ := regexp.MatchString(`^\d{8}T\d{6}Z(-\d+)?$`, filepath.Base(result.Dir)); !ok || filepath.Dir(result.Dir) != filepath.Join(out, "tiny") {
		t.Errorf("the directory is %s", result.Dir)
	}
	if diff := cmp.Diff(tinyFiles, names(t, result.Dir)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"started", "begun a-r1", "finished a-r1", "begun b-r1", "finished b-r1"}, events); diff != "" {
		t.Error(diff)
	}
	m := manifestOf(t, result.Dir)
	if m.State != "done" || states(m) != "a-r1 done, b-r1 done" || m.Schema != record.SchemaRun || m.Run != filepath.Base(result.Dir) {
		t.Errorf("%s: %s; %s %s", m.State, states(m), m.Schema, m.Run)
	}
	if m.MatrixText != tiny || m.MatrixHash == "" || m.Salt == "" || m.Seed != 1 || m.EndedAt.Before(m.StartedAt) || m.Client.Version != "1.2.3" {
		t.Errorf("manifest: %+v", m)
	}
	if len(m.Attempts) != 1 || m.Attempts[0].Ended != "done" || m.Attempts[0].EndedAt.IsZero() {
		t.Errorf("attempts: %+v", m.Attempts)
	}
	row, ok := directory{path: result.Dir}.row("b-r1")
	if !ok || row.Summary.Requests.Completed != 10 || row.SpecHash != m.Plan[1].SpecHash {
		t.Errorf("row b: %v %+v", ok, row)
	}
	if second := complete(t, base, tiny, Options{Out: out}); second.Dir == result.Dir || second.Manifest.Salt == m.Salt {
		t.Errorf("two runs share %s or the salt", second.Dir)
	}
}

func TestOnly(t *testing.T) {
	base, _ := startMock(t, mock.Config{})
	out := t.TempDir()
	result := complete(t, base, tiny, Options{Out: out, Only: []string{"b*"}})
	if got := states(result.Manifest); got != "b-r1 done" {
		t.Error(got)
	}
	if _, err := sweepTo(t, t.Context(), base, tiny, Options{Out: filepath.Join(out, "none"), Only: []string{"z"}}); err == nil || !strings.Contains(err.Error(), "no row matches") {
		t.Errorf("got %v", err)
	}
	if left := names(t, filepath.Join(out, "none", "tiny")); len(left) != 0 {
		t.Errorf("a run that was never begun left %v", left)
	}
	// What is not picked on resume stays in the plan.
	result = complete(t, base, tiny, Options{Resume: result.Dir})
	if err := os.Remove(filepath.Join(result.Dir, "a-r1.json")); err != nil {
		t.Fatal(err)
	}
	result = complete(t, base, tiny, Options{Resume: result.Dir, Only: []string{"b"}})
	if got := states(result.Manifest); got != "a-r1 planned, b-r1 done" {
		t.Error(got)
	}
}

func TestLock(t *testing.T) {
	base, _ := startMock(t, mock.Config{})
	result := complete(t, base, tiny, Options{Out: t.TempDir()})
	unlock, err := directory{path: result.Dir}.lock()
	if err != nil {
		t.Fatal(err)
	}
	before := files(t, result.Dir)
	if _, err := sweepTo(t, t.Context(), base, tiny, Options{Resume: result.Dir}); err == nil || !strings.Contains(err.Error(), "another bench is running") {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff(before, files(t, result.Dir)); diff != "" {
		t.Errorf("files changed:\n%s", diff)
	}
	unlock()
	complete(t, base, tiny, Options{Resume: result.Dir})
}

func TestNoPlaceForResults(t *testing.T) {
	base, _ := startMock(t, mock.Config{})
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := sweepTo(t, t.Context(), base, tiny, Options{Out: file})
	if err == nil || !strings.Contains(err.Error(), "hint: choose another with --out DIR") {
		t.Errorf("got %v", err)
	}
}

// failing is a proxy that answers POSTs with an error while broken is set.
func failing(t *testing.T, base string) (proxy string, broken *atomic.Bool) {
	t.Helper()
	broken = &atomic.Bool{}
	return refusing(t, base, broken.Load), broken
}

// refusing is a proxy that answers POSTs with an error where refuse says so.
func refusing(t *testing.T, base string, refuse func() bool) (proxy string) {
	t.Helper()
	target, err := url.Parse(strings.TrimSuffix(base, "/v1"))
	if err != nil {
		t.Fatal(err)
	}
	pass := httputil.NewSingleHostReverseProxy(target)
	pass.ErrorLog = stdlog.New(io.Discard, "", 0)             // requests that are cut at a row's end
	pass.Transport = &http.Transport{DisableKeepAlives: true} // a request that is cut must not cost the next its connection
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && refuse() {
			http.Error(w, `{"error":{"message":"out of order"}}`, http.StatusInternalServerError)
			return
		}
		// Whole, since a body that streams through httputil's proxy now and then ends the answer early.
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client left
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		pass.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v1"
}

func TestFailedRowIsRedone(t *testing.T) {
	base, _ := startMock(t, mock.Config{})
	proxy, broken := failing(t, base)
	event := func(e Event) {
		if e.Begun != nil {
			broken.Store(e.Begun.ID == "a-r1")
		}
	}
	result := complete(t, proxy, tiny, Options{Out: t.TempDir(), Event: event})
	m := manifestOf(t, result.Dir)
	if states(m) != "a-r1 failed, b-r1 done" || m.State != "failed" || !slices.Equal(result.AllFailed, []string{"a-r1"}) || !strings.Contains(m.Plan[0].Error, "out of order") {
		t.Errorf("%s: %s (%s), all failed: %v", m.State, states(m), m.Plan[0].Error, result.AllFailed)
	}
	// Not picked, it stays what it is.
	if part := complete(t, proxy, tiny, Options{Resume: result.Dir, Only: []string{"b"}}); states(part.Manifest) != "a-r1 failed, b-r1 done" {
		t.Errorf("%s", states(part.Manifest))
	}
	var events []string
	again := complete(t, proxy, tiny, Options{Resume: result.Dir, Event: func(e Event) { broken.Store(false); log(&events)(e) }})
	if diff := cmp.Diff([]string{"started", "begun a-r1", "finished a-r1", "kept b-r1"}, events); diff != "" {
		t.Error(diff)
	}
	if m := manifestOf(t, again.Dir); states(m) != "a-r1 done, b-r1 done" || m.State != "done" || len(again.AllFailed) != 0 || m.Plan[0].Error != "" {
		t.Errorf("%s: %s", m.State, states(m))
	}
	newSalt(t, m, again.Dir, "a-r1")
}

func TestServerGone(t *testing.T) {
	base, stop := startMock(t, mock.Config{})
	text := tiny + "[[row]]\nname = \"c\"\nrate = 100\nrequests = 4\n"
	result, err := sweepTo(t, t.Context(), base, text, Options{Out: t.TempDir(), Event: func(e Event) {
		if e.Finished != nil && e.Finished.Row.ID == "a-r1" {
			stop()
		}
	}})
	if err == nil || !strings.Contains(err.Error(), "no request reached the server any more") || !strings.Contains(err.Error(), "--resume "+result.Dir) {
		t.Fatalf("got %v", err)
	}
	if m := manifestOf(t, result.Dir); states(m) != "a-r1 done, b-r1 failed, c-r1 planned" || m.State != "failed" {
		t.Errorf("%s: %s", m.State, states(m))
	}
}

// TestSecretsStayOut holds that what a matrix says in confidence is in no file of its run.
func TestSecretsStayOut(t *testing.T) {
	base, _ := startMock(t, mock.Config{})
	withUser := strings.Replace(base, "http://", "http://user:hunter22@", 1)
	text := strings.Replace(tiny, "[defaults]", `hypothesis = "the gateway takes sk-verysecret"
notes = ["behind http://user:hunter22@proxy, key sk-verysecret"]
[target]
endpoint = "http://old:hunter33@h:8000"
[target.facts]
api_key = "sk-othersecret"
[target.headers]
Authorization = "Bearer sk-verysecret" # from sk-vault
[defaults]`, 1)
	result := complete(t, withUser, text, Options{Out: t.TempDir()})
	for name, content := range files(t, result.Dir) {
		for _, secret := range []string{"hunter22", "hunter33", "verysecret", "othersecret", "sk-vault"} {
			if strings.Contains(content, secret) {
				t.Errorf("%s holds %s", name, secret)
			}
		}
	}
}

func TestCutFilesAreNoRows(t *testing.T) {
	base, _ := startMock(t, mock.Config{})
	result := complete(t, base, tiny, Options{Out: t.TempDir()})
	d := directory{path: result.Dir}
	whole, err := os.ReadFile(d.file("a-r1.json"))
	if err != nil {
		t.Fatal(err)
	}
	for name, break_ := range map[string]func() error{
		"half a summary":   func() error { return os.WriteFile(d.file("a-r1.json"), whole[:len(whole)/2], 0o644) },
		"an empty summary": func() error { return os.WriteFile(d.file("a-r1.json"), nil, 0o644) },
		"no records":       func() error { return os.Remove(d.file("a-r1" + record.RequestsSuffix)) },
		"another's name": func() error {
			return errors.Join(os.Rename(d.file("b-r1.json"), d.file("a-r1.json")), os.Rename(d.file("b-r1"+record.RequestsSuffix), d.file("a-r1"+record.RequestsSuffix)))
		},
	} {
		if err := break_(); err != nil {
			t.Fatal(err)
		}
		if _, ok := d.row("a-r1"); ok {
			t.Errorf("%s passes for a row", name)
		}
		complete(t, base, tiny, Options{Resume: result.Dir})
		if _, ok := d.row("a-r1"); !ok {
			t.Errorf("%s was not redone", name)
		}
	}
}

func TestWriteLeavesNothingHalf(t *testing.T) {
	d := directory{path: t.TempDir()}
	if err := d.writeJSON("x.json", map[string]any{"a": "<&>"}); err != nil {
		t.Fatal(err)
	}
	var got map[string]string
	if err := json.Unmarshal([]byte(files(t, d.path)["x.json"]), &got); err != nil || got["a"] != "<&>" {
		t.Errorf("%v %v", got, err)
	}
	if err := d.writeJSON("y.json", func() {}); err == nil {
		t.Error("a function was written as JSON")
	}
	if err := (directory{path: filepath.Join(d.path, "none")}).write("z", nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff([]string{"x.json"}, names(t, d.path)); diff != "" {
		t.Error(diff)
	}
}

// A row that no machine has the ports for is refused with all others of its kind, before any row is run.
func TestLimitsAreCheckedFirst(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells its ports")
	}
	base, _ := startMock(t, mock.Config{})
	out := t.TempDir()
	text := strings.Replace(tiny, "concurrency = 2", "repeats = 2\nconcurrency = [2, 65535]", 1)
	begun := false
	result, err := sweepTo(t, t.Context(), base, text, Options{Out: out, Event: func(e Event) { begun = begun || e.Begun != nil }})
	if err == nil || result != nil || begun || !strings.Contains(err.Error(), "a concurrency=65535 needs") || !strings.Contains(err.Error(), "\nhint: ") {
		t.Errorf("%v; a row was begun: %t", err, begun)
	}
	if err != nil && strings.Count(err.Error(), "65535 needs") != 1 {
		t.Errorf("repeats say it again: %v", err)
	}
	if left := names(t, filepath.Join(out, "tiny")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// A hint names --resume only where the command line has it.
func TestAgain(t *testing.T) {
	for once, want := range map[bool]string{false: "free some space, then resume with --resume d", true: "free some space, then run it again"} {
		o := Options{NoResume: once}
		if got := o.resumeHint("free some space", "d"); got != want {
			t.Errorf("once %v: %s", once, got)
		}
	}
}

// parse reads a matrix as the command does, with the table of the simulated server.
func parse(file, text string) (*matrix.Matrix, error) {
	return matrix.ParseSet(file, []byte(text), nil, matrix.Extension{Table: "mock", Into: &mock.Config{}})
}

func mustParse(t *testing.T, text string) *matrix.Matrix {
	t.Helper()
	m, err := parse("test.toml", text)
	if err != nil {
		t.Fatalf("parsing:\n%v", err)
	}
	return m
}
