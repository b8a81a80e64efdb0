package main

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"github.com/spf13/pflag"

	"bench/experiment/mock"
	"bench/sweep/peers"
)

const secret = "sk-verysecret/0+1=="

// echo is a server that repeats the key everywhere: in its model's name, a header, /version, error bodies
// and streams.
func echo(pass http.Handler) http.Handler {
	var asked atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		auth := r.Header.Get("Authorization")
		key := strings.TrimPrefix(auth, "Bearer ")
		w.Header().Set("Server", "echo "+auth)
		w.Header().Set("Via", key)
		switch {
		case r.URL.Path == "/v1/models":
			fmt.Fprintf(w, `{"object":"list","data":[{"id":%q,"owned_by":%q}]}`, "model-"+key, auth)
			return
		case r.Method == http.MethodGet:
			fmt.Fprintf(w, `{"version":%q}`, auth)
			return
		}
		body, err := io.ReadAll(r.Body)
		row := bytes.Contains(body, []byte(`"max_tokens":4`))
		switch n := asked.Add(1); {
		case err != nil, row && n%3 == 0:
			http.Error(w, fmt.Sprintf(`{"error":{"message":"wrong key: %s"}}`, auth), http.StatusUnauthorized)
		case row && n%3 == 1:
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: {\"error\":{\"message\":\"key %s\"}}\n\n", key)
		default:
			body = regexp.MustCompile(`"model":"[^"]*"`).ReplaceAll(body, []byte(`"model":"bench-mock"`))
			r.Body = io.NopCloser(bytes.NewReader(body))
			r.ContentLength = -1
			pass.ServeHTTP(w, r)
		}
	})
}

func TestKeysStayOut(t *testing.T) {
	base, stop := startMock(mock.Config{})
	defer stop()
	server := httptest.NewServer(echo(forwarder(base)))
	defer server.Close()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	rows := "[[row]]\nname = \"a\"\ninput = 16\noutput = 4\nconcurrency = 2\nrequests = 9\n"
	plainMatrix := write("m.toml", "name = \"m\"\n"+rows)
	t.Setenv("OPENAI_API_KEY", "")
	t.Setenv("MY_KEY", secret)
	withUser := strings.Replace(server.URL, "http://", "http://me:"+"hunter22@", 1)
	tests := []struct {
		name string
		args []string
		sent bool // the key reaches the server
	}{
		{"env", []string{plainMatrix, "--endpoint", server.URL, "--api-key-env", "MY_KEY"}, true},
		{"file", []string{plainMatrix, "--endpoint", server.URL, "--api-key-file", write("key", secret+"\n")}, true},
		{"flag", []string{plainMatrix, "--endpoint", server.URL, "--api-key", secret}, true},
		{"flag with =", []string{"--api-key=" + secret, plainMatrix, "--endpoint=" + server.URL}, true},
		{"header", []string{write("h.toml", "name = \"m\"\n[target]\nendpoint = \""+server.URL+"\"\n[target.headers]\nAuthorization = \"Bearer "+secret+"\"\n"+rows)}, true},
		{"user info", []string{plainMatrix, "--endpoint", withUser}, true},
		{"user info with =", []string{plainMatrix, "--endpoint=" + withUser}, true},
		{"user info in the matrix", []string{write("u.toml", "name = \"m\"\n[target]\nendpoint = \""+withUser+"\"\n"+rows)}, true},
		{"flag of a wrong name", []string{plainMatrix, "--api_key=" + secret}, false},
		{"flag with one dash", []string{plainMatrix, "-api-key=" + secret}, false},
		{"an URL out of place", []string{plainMatrix, withUser}, false},
		{"a broken URL", []string{plainMatrix, "--endpoint", "http://me:hunter22@[::1"}, false},
		{"a key that no header can carry", []string{plainMatrix, "--api-key", secret + "\x01"}, false},
		{"nobody there", []string{plainMatrix, "--endpoint", "http://me:hunter22@127.0.0.1:1", "--api-key", secret}, false},
	}
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out := filepath.Join(dir, fmt.Sprint("out", i))
			var stdout, stderr bytes.Buffer
			args := append([]string{"sweep", "--out", out}, tt.args...)
			code := bench(t.Context(), nil, &stdout, &stderr, args)
			seen := map[string]string{"stdout": stdout.String(), "stderr": stderr.String()}
			if !tt.sent && code == codeDone {
				t.Error("it ran")
			}
			if tt.sent {
				if code > codeFailed { // 1: no row is valid
					t.Fatalf("exit code %d:\n%s", code, &stderr)
				}
				contents(t, out, seen)
				if len(seen) < 7 {
					t.Errorf("only %d files", len(seen))
				}
				if !strings.Contains(allOf(seen), "wrong key: Bearer") && !strings.Contains(allOf(seen), "wrong key: Basic") && !strings.Contains(allOf(seen), "wrong key: ***") {
					t.Error("the server's error is not in the results: the test tests nothing")
				}
			}
			for name, text := range seen {
				for _, s := range []string{secret, "verysecret", "hunter22", "bWU6aHVudGVyMjI" /* me:hunter22 in base64 */} {
					if strings.Contains(text, s) {
						t.Errorf("%s holds %q", name, s)
					}
				}
			}
		})
	}
}

func allOf(texts map[string]string) string {
	var b strings.Builder
	for _, text := range texts {
		b.WriteString(text)
	}
	return b.String()
}

// contents reads every file below a directory, unpacked.
func contents(t *testing.T, dir string, into map[string]string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if err == nil && strings.HasSuffix(path, ".zst") {
			var d *zstd.Decoder
			if d, err = zstd.NewReader(nil); err == nil {
				defer d.Close()
				b, err = d.DecodeAll(b, nil)
			}
		}
		into[path] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestRedacted(t *testing.T) {
	tests := []struct{ args, want string }{
		{"sweep m.toml --only a@b --only=c@d", "bench sweep m.toml --only a@b --only=c@d"},
		{"--api-key k sweep", "bench --api-key <redacted> sweep"},
		{"--api-key=k --api-key", "bench --api-key=<redacted> --api-key"},
		{"--api-key-env V --api-key-file=f", "bench --api-key-env V --api-key-file=f"},
		{"--endpoint me:pass@h:8000", "bench --endpoint ***@h:8000"},
		{"--endpoint=https://me:pa@ss@h/v1", "bench --endpoint=https://***@h/v1"},
		{"--endpoint h:8000 --out a@b", "bench --endpoint h:8000 --out a@b"},
		{"http://u:p@h http://h/?api_key=k", "bench http://***@h http://h/?api_key=***"},
		{"name=x@y", "bench name=x@y"},
		{"tile --bytes-per-token 131072 --bytes-per-token=131072 --auth-token k", "bench tile --bytes-per-token 131072 --bytes-per-token=131072 --auth-token <redacted>"},
		{"mock --set mock.step_per_context_token=10ns", "bench mock --set mock.step_per_context_token=10ns"},
		{"sweep --set target.headers.x-key=k", "bench sweep --set target.headers.x-key=*"},
		{"bisect --rev make-{rev} --rev=a-{rev}", "bench bisect --rev make-{rev} --rev=a-{rev}"},
		{"bisect --rev=--token=k", "bench bisect --rev='--token=<redacted>'"},
		{"sweep --set=target.endpoint=http://u:p@h", "bench sweep --set=target.endpoint=http://***@h"},
	}
	for _, tt := range tests {
		if got := strings.Join(redacted(strings.Fields(tt.args)), " "); got != tt.want {
			t.Errorf("%s: got %s", tt.args, got)
		}
	}
}

func TestKeyFlags(t *testing.T) {
	dir := t.TempDir()
	empty, key := filepath.Join(dir, "empty"), filepath.Join(dir, "key")
	if err := os.WriteFile(empty, []byte(" \n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(key, []byte("  from-file\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("OPENAI_API_KEY", "from-default")
	t.Setenv("MY_KEY", "from-env")
	tests := []struct {
		args      []string
		want, err string
		warns     bool
	}{
		{nil, "from-default", "", false},
		{[]string{"--api-key-env", "MY_KEY"}, "from-env", "", false},
		{[]string{"--api-key-env", "NO_SUCH_VARIABLE"}, "", "the environment variable NO_SUCH_VARIABLE is not set", false},
		{[]string{"--api-key-file", key}, "from-file", "", false},
		{[]string{"--api-key-file", empty}, "", "the API key in " + empty + " is empty", false},
		{[]string{"--api-key-env", "sk-a-key-in-the-wrong-place"}, "", "--api-key-env takes the name of an environment variable", false},
		{[]string{"--api-key-file", filepath.Join(dir, "none")}, "", "reading the file of --api-key-file: no such file", false},
		{[]string{"--api-key", "from-flag"}, "from-flag", "", true},
		{[]string{"--api-key", ""}, "", "is empty", true},
		{[]string{"--api-key", "a b"}, "", "not allowed in a header", true},
		{[]string{"--api-key", "a", "--api-key-env", "MY_KEY"}, "", "hint: give one", false},
	}
	for _, tt := range tests {
		var k keyFlags
		flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
		k.register(flags)
		if err := flags.Parse(tt.args); err != nil {
			t.Fatal(err)
		}
		var stderr bytes.Buffer
		got, err := k.resolve(flags, &stderr)
		if got != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%q: %q, %v", tt.args, got, err)
		}
		if warned := strings.Contains(stderr.String(), "warning: --api-key is visible to others"); warned != tt.warns {
			t.Errorf("%q: warning %q", tt.args, &stderr)
		}
	}
	if diff := cmp.Diff(` -H "Authorization: Bearer $MY_KEY"`, (&keyFlags{env: "MY_KEY"}).curl()); diff != "" {
		t.Error(diff)
	}
}

func TestRedactedWords(t *testing.T) {
	for _, tt := range []struct{ command, shown, secrets string }{
		{"make install-{rev}", "make install-{rev}", ""},
		{"get {rev} --token s3cret --password=pass", "get {rev} --token <redacted> --password=<redacted>", "s3cret pass"},
		{"HF_TOKEN=hugging get {rev}", "HF_TOKEN=******* get {rev}", "hugging"},
		{"pip install https://me:pass@h/{rev}", "pip install https://***@h/{rev}", "me:pass"},
		{"sh -c 'get {rev} --token \"s3cret\"'", "sh -c get {rev} --token <redacted>", "s3cret"},
		{"curl -H 'Authorization: Bearer-s3cret' {rev}", "curl -H Authorization: ************* {rev}", "Bearer-s3cret"},
	} {
		words, err := peers.OneCommand(tt.command)
		if err != nil {
			t.Fatal(err)
		}
		shown, secrets := redactedWords(words)
		if got := strings.Join(shown, " "); got != tt.shown || strings.Join(secrets, " ") != tt.secrets {
			t.Errorf("%s: %q, %q", tt.command, shown, secrets)
		}
	}
}
