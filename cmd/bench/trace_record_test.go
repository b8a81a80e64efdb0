package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	marker = "MARKER"
	okHead = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	ended  = "Content-Length: 2\r\n\r\n{}"
	events = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
	chunks = okHead + "Transfer-Encoding: chunked\r\n\r\n"
	// long stands for a million markers. The table below is made at each start of the tests' bench, without them.
	long = "LONG"
)

// broken are answers of broken servers, each with text that must reach none but the caller. A server that does not
// close the connection leaves it idle.
var broken = map[string]struct {
	answer string
	later  string // on the idle connection
	close  bool
}{
	"bytes on an idle connection": {answer: okHead + ended, later: marker},
	"an answer unasked": {
		answer: okHead + ended,
		later:  "HTTP/1.1 408 " + marker + "\r\nContent-Length: 6\r\n\r\n" + marker,
	},
	"longer than its length":    {answer: okHead + ended + marker},
	"shorter than its length":   {answer: okHead + "Content-Length: 99\r\n\r\n" + marker, close: true},
	"no HTTP":                   {answer: marker + "\r\n\r\n"},
	"no HTTP, closed":           {answer: marker, close: true},
	"another protocol":          {answer: "ICY 200 " + marker + "\r\n\r\n" + marker, close: true},
	"no status":                 {answer: "HTTP/1.1 " + marker + " OK\r\n\r\n"},
	"no header":                 {answer: "HTTP/1.1 200 OK\r\n" + marker + "\r\n\r\n"},
	"a header with NUL":         {answer: okHead + "X-A: \x00" + marker + "\r\n" + ended},
	"a header name with spaces": {answer: okHead + marker + " b: c\r\n" + ended},
	"no chunk size":             {answer: chunks + "" + marker + "\r\n"},
	"cut in a chunk":            {answer: chunks + "ff\r\n" + marker, close: true},
	"a trailer without a name":  {answer: chunks + "2\r\n{}\r\n0\r\n" + marker + "\r\n\r\n"},
	"no transfer encoding": {
		answer: okHead + "Transfer-Encoding: " + marker + "\r\n\r\n" + marker,
		close:  true,
	},
	"two lengths": {answer: okHead + "Content-Length: 2\r\nContent-Length: 3" + marker + "\r\n\r\n{}"},
	"a length and chunks": {
		answer: okHead + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n6\r\n" + marker + "\r\n0\r\n\r\n",
	},
	"a negative length":  {answer: okHead + "Content-Length: -1" + marker + "\r\n\r\n" + marker, close: true},
	"a length with text": {answer: "HTTP/1.1 204 No Content\r\nContent-Length: 6\r\n\r\n" + marker},
	"out of HTTP": {
		answer: "HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: " + marker + "\r\n\r\n" + marker,
	},
	"many early hints": {
		answer: strings.Repeat("HTTP/1.1 103 Hints\r\nLink: "+marker+"\r\n\r\n", 30) + okHead + ended,
	},
	"a redirection": {
		answer: "HTTP/1.1 302 Found\r\nLocation: http://" + marker + ".invalid/\r\nContent-Length: 0\r\n\r\n",
	},
	"gzip that is none": {answer: okHead + "Content-Encoding: gzip\r\nContent-Length: 6\r\n\r\n" + marker},
	"events that are none": {
		answer: events + "data: {" + marker + "\n\nevent: " + marker + "\n\n" + marker,
		close:  true,
	},
	"an error":      {answer: "HTTP/1.1 500 " + marker + "\r\nContent-Length: 6\r\n\r\n" + marker},
	"a long header": {answer: okHead + "X-A: " + long + "\r\n" + ended},
	"nothing":       {close: true},
}

// brokenServer answers each request as its query names. It returns the address.
func brokenServer(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				r, err := http.ReadRequest(bufio.NewReader(c))
				if err != nil {
					return
				}
				_, _ = io.Copy(io.Discard, r.Body)
				b := broken[r.URL.Query().Get("kind")]
				_, _ = io.WriteString(c, strings.Replace(b.answer, long, strings.Repeat(marker, 1<<20), 1))
				if b.close {
					return
				}
				if b.later != "" {
					time.Sleep(100 * time.Millisecond) // the recorder has read the answer
					_, _ = io.WriteString(c, b.later)
				}
				time.Sleep(300 * time.Millisecond) // idle
			}()
		}
	}()
	return l.Addr().String()
}

// TestRecordBroken: whatever a server writes, and a caller, the recorder's output and file have no text of it.
func TestRecordBroken(t *testing.T) {
	path, err := exec.LookPath("bench")
	if err != nil {
		t.Fatal(err)
	}
	dir, server := t.TempDir(), "http://"+brokenServer(t)
	cmd := exec.Command(path, "trace", "record", "--to", server, "--shadow", server, "--share", "100%",
		"--listen", "127.0.0.1:0", "-o", "live.jsonl")
	var stdout, stderr bytes.Buffer
	cmd.Dir, cmd.Stderr = dir, &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	lines := bufio.NewScanner(io.TeeReader(out, &stdout))
	recorder, page := "", ""
	for page == "" && lines.Scan() {
		if at := regexp.MustCompile(`http://\S+`).FindString(lines.Text()); recorder == "" {
			recorder = at
		} else {
			page = at
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(broken)) {
		askBroken(t, recorder, kind)
	}
	time.Sleep(500 * time.Millisecond) // the recorder reads what comes on idle connections
	for _, at := range []string{"", "metrics", "readyz"} {
		if status, text := readPage(t, page+at, ""); status != http.StatusOK || strings.Contains(text, marker) {
			t.Errorf("/%s: %d, or text of a server", at, status)
		}
		if status, _ := readPage(t, page+at, "evil.example"); status != http.StatusForbidden {
			t.Errorf("/%s under another name: %d", at, status)
		}
	}
	status, _ := readPage(t, recorder+"/v1/models?kind=an+error", "gateway.example")
	if status != http.StatusInternalServerError {
		t.Errorf("traffic under another name: %d", status)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() {
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	file, err := os.ReadFile(filepath.Join(dir, "live.jsonl"))
	if err != nil {
		t.Error(err)
	}
	for name, text := range map[string]string{
		"stdout": stdout.String(), "stderr": stderr.String(), "the recording": string(file),
	} {
		if i := strings.Index(text, marker); i >= 0 {
			t.Errorf("%s: %.300q", name, text[max(0, i-100):])
		}
	}
	if n := bytes.Count(file, []byte("\n")); n < len(broken) {
		t.Errorf("%d lines of %d requests", n, len(broken))
	}
}

func askBroken(t *testing.T, recorder, kind string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, recorder+"/v1/chat/completions?kind="+url.QueryEscape(kind),
		strings.NewReader(fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":%q}]}`, marker, marker+kind)))
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Authorization", "Bearer "+marker)
	if a, err := http.DefaultTransport.RoundTrip(q); err == nil {
		_, _ = io.Copy(io.Discard, a.Body)
		a.Body.Close()
	}
}

// readPage reads a page under the name of a host; empty = its own.
func readPage(t *testing.T, at, host string) (status int, text string) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at, nil)
	if err != nil {
		t.Fatal(err)
	}
	q.Host = host
	a, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	all, err := io.ReadAll(a.Body)
	if err != nil {
		t.Error(err)
	}
	return a.StatusCode, string(all)
}
