package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// watched has a search that ends soon, then a long row.
const watched = `name = "watched"
[slo]
error_rate = 0.5
[mock]
ttft = "2ms"
itl = "1ms"
[defaults]
input = 16
output = 4
[[row]]
name = "s"
concurrency = { search = "slo", min = 1, max = 2 }
requests = 40
[[row]]
name = "r"
rate = 50
duration = "10m"
`

// TestDashboardOnPrometheus lets Prometheus scrape a sweep: every query of the dashboard must return data.
func TestDashboardOnPrometheus(t *testing.T) {
	program, err := exec.LookPath("prometheus")
	if err != nil {
		t.Skip(err)
	}
	dir, address := t.TempDir(), freeAddress(t)
	matrix := filepath.Join(dir, "watched.toml")
	write(t, matrix, watched)
	ctx, cancel := context.WithCancel(t.Context())
	swept := make(chan int)
	go func() {
		swept <- bench(ctx, strings.NewReader(""), io.Discard, io.Discard, []string{"sweep", matrix, "--out", dir, "--metrics-listen", address})
	}()
	defer func() {
		cancel()
		if code := <-swept; code != codeInterrupted {
			t.Errorf("the sweep's exit code is %d", code)
		}
	}()
	base := prometheus(t, program, address)
	text, err := os.ReadFile("../../docs/grafana/bench.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard any
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	asked := expressions(dashboard)
	if len(asked) < 10 {
		t.Fatalf("the dashboard asks only %q", asked)
	}
	for _, q := range asked {
		q = strings.ReplaceAll(q, "$__rate_interval", "10s")
		drawn := 0
		for range 300 { // the search ends first, and a rate wants two scrapes
			if drawn = query(t, base, q); drawn > 0 {
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
		if drawn == 0 {
			t.Errorf("nothing to draw of %s", q)
		}
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// expressions are those of a dashboard's panels.
func expressions(v any) (out []string) {
	switch x := v.(type) {
	case map[string]any:
		if q, ok := x["expr"].(string); ok {
			out = append(out, q)
		}
		for _, inner := range x {
			out = append(out, expressions(inner)...)
		}
	case []any:
		for _, inner := range x {
			out = append(out, expressions(inner)...)
		}
	}
	return out
}

// prometheus starts a Prometheus that scrapes an address, and returns its URL.
func prometheus(t *testing.T, program, address string) string {
	t.Helper()
	dir := t.TempDir()
	config := filepath.Join(dir, "prometheus.yml")
	write(t, config, fmt.Sprintf("scrape_configs:\n  - job_name: bench\n    scrape_interval: 200ms\n    scrape_timeout: 200ms\n    static_configs: [{ targets: [%q] }]\n", address))
	listen := freeAddress(t)
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(program, "--config.file="+config, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+listen)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for range 300 {
		if resp, err := http.Get("http://" + listen + "/-/ready"); err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return "http://" + listen
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	said, _ := os.ReadFile(log.Name())
	t.Fatalf("Prometheus did not get ready:\n%s", said)
	return ""
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// query returns the number of series in an answer.
func query(t *testing.T, base, q string) int {
	t.Helper()
	resp, err := http.Get(base + "/api/v1/query?" + url.Values{"query": {q}}.Encode())
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var answer struct {
		Status string
		Error  string
		Data   struct{ Result []json.RawMessage }
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || answer.Status != "success" {
		t.Fatalf("%s: %v %s", q, err, answer.Error)
	}
	return len(answer.Data.Result)
}
