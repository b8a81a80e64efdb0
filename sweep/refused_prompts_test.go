package sweep

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"bench/experiment/mock"
	"bench/experiment/record"
)

// intercepted passes requests on to a simulated server, but for those that answer answers.
func intercepted(t *testing.T, answer func(w http.ResponseWriter, body []byte) bool) (base string) {
	t.Helper()
	to, _ := startMock(t, mock.Config{})
	at, err := url.Parse(strings.TrimSuffix(to, "/v1"))
	if err != nil {
		t.Fatal(err)
	}
	pass := httputil.NewSingleHostReverseProxy(at)
	pass.FlushInterval = -1 // streams arrive as they are sent
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if !answer(w, body) {
			pass.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL + "/v1"
}

// refusingPrompts refuses requests with a prompt TOOLONG as vLLM does a text beyond its context, with a quotation; and
// those with DENIED, whose refusal is not the prompt's. refused counts them.
func refusingPrompts(t *testing.T) (base string, refused *atomic.Int32) {
	refused = new(atomic.Int32)
	return intercepted(t, func(w http.ResponseWriter, body []byte) bool {
		status := 0
		switch {
		case bytes.Contains(body, []byte("TOOLONG")):
			status = http.StatusBadRequest
		case bytes.Contains(body, []byte("DENIED")):
			status = http.StatusUnauthorized
		default:
			return false
		}
		refused.Add(1)
		quoted, _ := json.Marshal("prompt too long: " + string(body))
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"error":{"message":%s}}`, quoted)
		return true
	}), refused
}

func promptFile(t *testing.T, lines ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "prompts.jsonl")
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// A prompt that the server refuses to count is left out, and the row says so; a row of such prompts alone fails. Neither
// ends the sweep.
func TestRefusedPromptsAreLeftOut(t *testing.T) {
	base, refused := refusingPrompts(t)
	rows := `name = "refused"
[target]
api = "messages"
[defaults]
output = 4
concurrency = 1
requests = 4
[[row]]
name = "all"
prompts = { file = %q, min_input = 1 }
[[row]]
name = "some"
prompts = { file = %q, min_input = 1 }
[[row]]
name = "again"
prompts = { file = %[2]q, min_input = 1 }
`
	all := promptFile(t, `{"prompt":"TOOLONG one"}`, `{"prompt":"TOOLONG two"}`)
	some := promptFile(t, `{"prompt":"short"}`, "", `{"prompt":"TOOLONG SECRETWORD"}`, `{"prompt":"also short"}`)
	result := complete(t, base, fmt.Sprintf(rows, all, some), Options{Out: filepath.Join(t.TempDir(), "out")})
	if !slices.Equal(result.AllFailed, []string{"all-r1"}) {
		t.Errorf("failed: %v", result.AllFailed)
	}
	if p := result.Manifest.Plan; p[0].State != "failed" || !strings.Contains(p[0].Error, "2 of 2 prompts left out") || p[1].State != "done" || p[2].State != "done" {
		t.Errorf("%+v", p)
	}
	for id, want := range map[string]record.Finding{
		"all-r1": {Code: "errors", Severity: record.Invalid}, "some-r1": {Code: "prompts", Severity: record.Caution},
		"again-r1": {Code: "prompts", Severity: record.Caution},
	} {
		b, err := os.ReadFile(filepath.Join(result.Dir, id+".json"))
		if err != nil {
			t.Fatal(err)
		}
		var row record.Row
		if err := json.Unmarshal(b, &row); err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(row.Findings, func(f record.Finding) bool {
			return f.Code == want.Code && f.Severity == want.Severity && strings.Contains(f.Text, "left out that the server refused to count: ")
		}) {
			t.Errorf("%s: %+v", id, row.Findings)
		}
		if bytes.Contains(b, []byte("SECRETWORD")) {
			t.Errorf("%s has text of a prompt", id)
		}
		if id == "all-r1" {
			continue
		}
		p := row.RefusedPrompts
		if p == nil || p.N != 1 || p.Counted != 3 || len(p.First) != 1 || p.First[0].Line != some+":3" || !strings.Contains(p.First[0].Error, "HTTP 400") || !strings.Contains(p.First[0].Error, "prompt too long") {
			t.Errorf("%s: %+v", id, p)
		}
		if row.Summary.Requests.Completed != 4 || row.Prompts.Different != 2 {
			t.Errorf("%s: %+v %+v", id, row.Summary.Requests, row.Prompts)
		}
	}
	if n := refused.Load(); n != 3 {
		t.Errorf("%d counts were refused: each prompt is asked about once in a run", n)
	}
	denied := promptFile(t, `{"prompt":"DENIED"}`)
	if _, err := sweepTo(t, t.Context(), base, fmt.Sprintf(rows, denied, denied), Options{Out: filepath.Join(t.TempDir(), "out")}); err == nil || !strings.Contains(err.Error(), "counting the tokens of "+denied+":1: HTTP 401") {
		t.Errorf("a refusal that is not the prompt's: %v", err)
	}
}
