package browse

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"bench/experiment/record"
	"bench/internal/listen"
	fixture "bench/internal/reporttest"
	"bench/report/compare"
)

// get asks the server as a browser on this machine does.
func get(t *testing.T, h http.Handler, target string) (status int, header http.Header, body string) {
	t.Helper()
	return ask(t, h, func(r *http.Request) {}, http.MethodGet, target)
}

func ask(t *testing.T, h http.Handler, change func(*http.Request), method, target string) (status int, header http.Header, body string) {
	t.Helper()
	ctx := context.WithValue(t.Context(), http.LocalAddrContextKey, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	r := httptest.NewRequestWithContext(ctx, method, "http://127.0.0.1:8484"+target, nil)
	change(r)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, w.Header(), w.Body.String()
}

// second is a run of the setup of first: the thirteenth of fixture.WriteMany.
const second = "chat/20261202T120000Z"

func query(runs ...string) string { return url.Values{"run": runs}.Encode() }

func TestRoutes(t *testing.T) {
	dir := many(t, 14)
	h := listen.Protect(NewServer(open(t, dir)).Handler())
	for _, c := range []struct {
		target string
		status int
		want   []string
	}{
		{"/", 200, []string{">14 of 14 runs<", `value="chat/20261120T120000Z"`, "vllm 0.11.2", "SHIP", "2 × a100-sxm"}},
		{"/?matrix=chat", 200, []string{">5 of 14 runs<", `<option value="chat" selected>`}},
		{"/?matrix=none", 200, []string{">0 of 14 runs<", "No run matches the filters"}},
		{"/?" + query(first), 200, []string{` value="chat/20261120T120000Z" aria-label="select chat 2026-11-20 12:00" checked>`}},
		{"/?matrix=rag&" + query(first), 200, []string{"Also selected", ` value="chat/20261120T120000Z" aria-label="select chat 2026-11-20 12:00" checked>`}},
		{"/?sort=-ttft", 200, []string{`aria-sort="descending"><a href="./?sort=ttft">TTFT ↓`}},
		{"/?sort=color", 400, []string{"no column has this name", "14 of 14"}},
		{"/report?" + query(first), 200, []string{"SHIP D-saturation at concurrency 16", `<nav><a href="./?run=chat%2F20261120T120000Z">All runs</a>`}},
		{"/report?" + query(first, second), 200, []string{"<h1>20261202T120000Z against 20261120T120000Z</h1>"}},
		{"/report", 400, []string{"select at least 1 of the runs, not 0"}},
		{"/compare?" + query(second, first), 200, []string{"bench compare", "D-saturation"}},
		{"/compare?" + query(first), 400, []string{"select at least 2 of the runs, not 1"}},
		{"/compare?" + query(first, second) + "&allow=everything", 400, []string{"allow=&#34;everything&#34;: use"}},
		{"/compare?" + query(first, "rag/20261121T120000Z"), 200, []string{"bench compare"}},
		{"/trend?" + query(first, second), 200, []string{"bench history"}},
		{"/trend?matrix=chat&model=llama-3.1-8b", 200, []string{"bench history", `<a href="./?matrix=chat&amp;model=llama-3.1-8b">All runs</a>`}},
		{"/trend?matrix=none", 400, []string{"no run matches the filters"}},
		{"/run.json", 404, nil},
		{"/" + first + "/run.json", 404, nil},
		{"/.bench-history.json", 404, nil},
	} {
		status, header, body := get(t, h, c.target)
		if status != c.status {
			t.Errorf("%s: %d, want %d: %.300s", c.target, status, c.status, body)
		}
		for _, want := range c.want {
			if !strings.Contains(body, want) {
				t.Errorf("%s lacks %s", c.target, want)
			}
		}
		policy := header.Get("Content-Security-Policy")
		if !strings.HasPrefix(policy, "default-src 'none'") || !strings.Contains(policy, "frame-ancestors 'none'") || strings.Contains(policy, "unsafe") ||
			header.Get("X-Content-Type-Options") != "nosniff" || header.Get("Cache-Control") != "no-store" || header.Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%s: %v", c.target, header)
		}
		if status, _, body := ask(t, h, func(*http.Request) {}, http.MethodHead, c.target); status != c.status {
			t.Errorf("HEAD %s: %d %.100s", c.target, status, body)
		}
	}
}

// The pages are those of the files, but for the link to the table.
func TestPagesAreTheFiles(t *testing.T) {
	dir := many(t, 14)
	s := NewServer(open(t, dir))
	for _, target := range []string{"/report?" + query(first), "/compare?" + query(first, second), "/trend?" + query(first, second)} {
		_, header, body := get(t, s.Handler(), target)
		before, rest, _ := strings.Cut(body, "\n<nav>")
		_, after, found := strings.Cut(rest, "</nav>")
		if !found || !strings.HasSuffix(before, "<main>") || !strings.HasPrefix(after, "\n") {
			t.Errorf("%s: the link is elsewhere", target)
		}
		// What the page's own policy allows, the header's allows too: else a script would not run.
		own, _, _ := strings.Cut(body[strings.Index(body, `Content-Security-Policy" content="`)+len(`Content-Security-Policy" content="`):], `"`)
		own = strings.NewReplacer("&#39;", "'", "&#43;", "+").Replace(own)
		for _, source := range strings.FieldsFunc(own, func(r rune) bool { return r == ' ' || r == ';' }) {
			if !strings.Contains(header.Get("Content-Security-Policy"), source) {
				t.Errorf("%s: the header lacks %s", target, source)
			}
		}
	}
}

// A form sends its empty fields; the address to bookmark has none.
func TestCanonicalAddress(t *testing.T) {
	h := NewServer(open(t, many(t, 1))).Handler()
	status, header, _ := get(t, h, "/?matrix=chat&model=&from=&q=+&run="+url.QueryEscape(first))
	if want := "/?matrix=chat&" + query(first); status != http.StatusSeeOther || header.Get("Location") != want {
		t.Errorf("%d to %s, want %s", status, header.Get("Location"), want)
	}
}

// A request names runs, and no file: whatever it looks like, nothing else is opened.
func TestHostileAddresses(t *testing.T) {
	dir := many(t, 1)
	check(t, os.WriteFile(filepath.Join(dir, "..", "run.json"), []byte("S3CRET"), 0o644))
	h := NewServer(open(t, dir)).Handler()
	for _, run := range []string{"..", ".", "/", "../results/" + first, first + "/", first + "/../20261120T120000Z", "/etc/passwd", "../../../../etc/passwd", first + "/run.json",
		first + "\x00", strings.ToUpper(first), `chat\20261120T120000Z`, "chat%2F20261120T120000Z", "\xff\xfe", strings.Repeat("a/", 10000)} {
		for _, page := range []string{"report", "compare", "trend"} {
			status, _, body := get(t, h, "/"+page+"?"+query(run, first))
			if status != http.StatusNotFound || strings.Contains(body, "S3CRET") {
				t.Errorf("%s of %.40q: %d", page, run, status)
			}
		}
	}
	for _, path := range []string{"/../run.json", "/..%2frun.json", "/%2e%2e/run.json", "//run.json", "/report/../../run.json", "/chat/20261120T120000Z/report.html"} {
		if status, _, body := get(t, h, path); status == 200 || strings.Contains(body, "S3CRET") {
			t.Errorf("%s: %d", path, status)
		}
	}
	for _, raw := range []string{"/?%zz", "/?a;b", "/report?run=%", "/trend?sort=%00"} {
		if status, _, _ := get(t, h, raw); status >= 500 {
			t.Errorf("%s: %d", raw, status)
		}
	}
}

// It answers requests that read, for its own pages: package listen tests the refusals.
func TestRefusals(t *testing.T) {
	h := listen.Protect(NewServer(open(t, many(t, 1))).Handler())
	for _, path := range []string{"/", "/report", "/compare", "/trend"} {
		for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"} {
			if status, _, _ := ask(t, h, func(*http.Request) {}, method, path); status != http.StatusMethodNotAllowed {
				t.Errorf("%s %s: %d", method, path, status)
			}
		}
		if status, _, body := ask(t, h, func(r *http.Request) { r.Host = "evil.example" }, "GET", path); status != http.StatusForbidden || strings.Contains(body, first) {
			t.Errorf("%s under another name: %d", path, status)
		}
	}
}

// unseen is what a page does not show: the values of form fields and the data for scripts.
var unseen = regexp.MustCompile(` value="[^"]*"|(?s)<script type="application/json".*?</script>`)

// hostileRun gives the first run of a directory hostile names, and adds one that cannot be read.
func hostileRun(t *testing.T, dir string) {
	t.Helper()
	odd := filepath.Join(dir, `<img src=x onerror=alert(1)>"'&`+"\u202e\n", "odd")
	check(t, os.MkdirAll(filepath.Dir(odd), 0o755))
	check(t, os.Rename(filepath.Join(dir, first), odd))
	rewrite(t, filepath.Join(odd, "run.json"), func(m *record.Manifest) {
		m.Matrix, m.Run, m.State, m.Target.Model, m.Target.Hardware = fixture.Hostile, fixture.Hostile, fixture.Hostile, fixture.Hostile+"\x1b[31m\u202e", fixture.Hostile
		m.Target.Version = map[string]any{"version": fixture.Hostile}
	})
	check(t, os.MkdirAll(filepath.Join(dir, "<script>alert(2)</script>"), 0o755))
	check(t, os.WriteFile(filepath.Join(dir, "<script>alert(2)</script>", "run.json"), []byte(`{"schema":"`+"<script>alert(3)</script>"+`"}`), 0o644))
}

// Names that runs and files give themselves are text.
func TestHostileNames(t *testing.T) {
	dir := many(t, 3)
	hostileRun(t, dir)
	a := open(t, dir)
	nights, _ := update(t, a)
	h := NewServer(a).Handler()
	var hostile string
	for _, n := range nights {
		if strings.Contains(n.Dir, "onerror") {
			hostile = n.Dir
		}
	}
	for _, target := range []string{"/", "/?" + query(hostile), "/?matrix=" + url.QueryEscape(fixture.Hostile), "/?q=" + url.QueryEscape(fixture.Hostile), "/?sort=" + url.QueryEscape(fixture.Hostile),
		"/report?" + query(hostile), "/report?" + query(fixture.Hostile), "/compare?" + query(hostile, "rag/20261121T120000Z"), "/trend?" + query(hostile)} {
		status, _, body := get(t, h, target)
		body = unseen.ReplaceAllString(body, "")
		for _, bad := range []string{"<script>window", "<script>alert", "<img", "\u202e", "\x1b"} {
			if strings.Contains(body, bad) {
				i := strings.Index(body, bad)
				t.Errorf("%s: %d, %q runs: %.300q", target, status, bad, body[max(0, i-100):])
			}
		}
	}
	if _, _, body := get(t, h, "/"); !strings.Contains(body, "Not readable") || !strings.Contains(body, "alert(3)") {
		t.Error("the run that cannot be read is not listed with the reason")
	}
}

// Whatever is asked, nothing is written but the index.
func TestReadOnly(t *testing.T) {
	dir := many(t, 14)
	list := func() string {
		var out strings.Builder
		check(t, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if filepath.Base(name) != compare.IndexName && !d.IsDir() {
				fmt.Fprintln(&out, name, info.Size(), info.ModTime())
			}
			return err
		}))
		return out.String()
	}
	before := list()
	h := NewServer(open(t, dir)).Handler()
	for _, target := range []string{"/", "/report?" + query(first), "/compare?" + query(first, second), "/trend"} {
		if status, _, _ := get(t, h, target); status != 200 {
			t.Errorf("%s: %d", target, status)
		}
	}
	if after := list(); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}

// Serve ends with its context, also while it renders, and leaves no goroutine.
func TestServeEnds(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	a := open(t, many(t, 14))
	g := newGated(a)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	door := listen.Door{Handler: NewServer(a).Handler()}
	go func() { ended <- door.Serve(ctx, l) }()
	base := "http://" + l.Addr().String()
	response, err := http.Get(base + "/")
	check(t, err)
	body, err := io.ReadAll(response.Body)
	check(t, err)
	response.Body.Close()
	if response.StatusCode != 200 || !bytes.Contains(body, []byte("14 of 14 runs")) {
		t.Errorf("%d: %.200s", response.StatusCode, body)
	}
	idle, err := net.Dial("tcp", l.Addr().String()) // sends nothing
	check(t, err)
	defer idle.Close()
	g.shut.Store(true) // the request below waits
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		if response, err := http.Get(base + "/trend"); err == nil {
			response.Body.Close()
		}
	}()
	<-g.entered
	cancel()
	close(g.open)
	check(t, <-ended)
	<-asked
	http.DefaultClient.CloseIdleConnections()
	for _, of := range []string{"browse.(*Server)", "net/http.(*conn).serve", "net/http.(*Server)"} {
		var left string
		for range 500 { // the goroutine of a closed connection has some lines to go when the server has ended
			if left = goroutines(t); !strings.Contains(left, of) {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		if strings.Contains(left, of) {
			t.Errorf("%s is left: %s", of, left)
		}
	}
}

// goroutines are the stacks of all goroutines.
func goroutines(t *testing.T) string {
	t.Helper()
	var stacks bytes.Buffer
	check(t, pprof.Lookup("goroutine").WriteTo(&stacks, 1))
	return stacks.String()
}
