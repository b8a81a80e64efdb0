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
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"

	"bench/experiment/mock"
	"bench/experiment/record"
)

// echoing passes requests on to a simulated server and keeps their bodies. Of four requests with a canary it refuses the
// first with a message that repeats the whole body, and answers the second with a stream that is none and repeats it.
func echoing(t *testing.T, canary string) (base string, bodies func() []string) {
	t.Helper()
	var mu sync.Mutex
	var seen []string
	base = intercepted(t, func(w http.ResponseWriter, body []byte) bool {
		n := -1
		if strings.Contains(string(body), canary) {
			mu.Lock()
			n = len(seen)
			seen = append(seen, string(body))
			mu.Unlock()
		}
		quoted, _ := json.Marshal("invalid request: input=" + string(body))
		switch n % 4 {
		case 0:
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"error":{"message":%s,"type":"BadRequestError","code":400}}`, quoted)
		case 1:
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: you said %s\n\n", quoted)
		default:
			return false
		}
		return true
	})
	return base, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(seen)
	}
}

// Real prompts arrive byte for byte, and nothing of them is in any file of the results.
func TestPromptsArriveAndAreNotStored(t *testing.T) {
	const canary = "ZANZIBARCANARY"
	messages := []string{
		`[ {"role": "system","content":"ZANZIBARCANARY1 \u00e9"}, {"role":"user", "content":"\"quoted\" \\ 漢字 \ud83d\ude00\n<b>&</b>"} ]`,
		`[{"role":"user","content":[{"type":"text","text":"ZANZIBARCANARY2 parts"}]}]`,
		`[{"role":"user","content":"ZANZIBARCANARY3"}]`,
	}
	tools := `[ {"type":"function","function":{"name":"ZANZIBARCANARYTOOL","parameters":{ "type":"object"}}} ]`
	var text strings.Builder
	for i, m := range messages {
		fmt.Fprintf(&text, `{"messages":%s,"tools":%s,"category":"c%d","temperature":0.70,"max_tokens":3}`+"\n", m, tools, i)
	}
	text.WriteString(`{"prompt":"ZANZIBARCANARY4 \u00fc","category":"text"}` + "\n")
	text.WriteString(`{"prompt":"ZANZIBARCANARY5","category":"turns","turns":["ZANZIBARCANARY6 later"]}` + "\n")
	file := filepath.Join(t.TempDir(), "prompts.jsonl")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	base, bodies := echoing(t, canary)
	dir := complete(t, base, fmt.Sprintf(`name = "real"
[target]
api = "chat"
[[row]]
name = "a"
output = 4
concurrency = 2
requests = 40
[row.prompts]
file = %q
`, file), Options{Out: filepath.Join(t.TempDir(), "out")}).Dir

	for _, want := range append(messages, tools, `"temperature":0.70`, `"max_tokens":3`, `[{"role":"user","content":"ZANZIBARCANARY4 \u00fc"}]`,
		`{"role":"user","content":"ZANZIBARCANARY6 later"}]`) {
		if !slices.ContainsFunc(bodies(), func(b string) bool { return strings.Contains(b, want) && json.Valid([]byte(b)) }) {
			t.Errorf("no body has %s", want)
		}
	}
	failed := false
	for name, stored := range files(t, dir) {
		if strings.HasSuffix(name, ".zst") {
			stored = unpacked(t, stored)
			failed = failed || strings.Contains(stored, `"status":400`)
		}
		if strings.Contains(strings.ToUpper(stored), "ZANZIBAR") {
			i := strings.Index(strings.ToUpper(stored), "ZANZIBAR")
			t.Errorf("%s has text of a prompt: %.100q", name, stored[max(0, i-50):])
		}
	}
	if !failed {
		t.Error("no refusal was stored")
	}
	checkRealRow(t, dir)
}

// A count that computes has another cache_salt than the row: it must not warm its prompts.
func TestCountWarmsNoPrompt(t *testing.T) {
	to, _ := startMock(t, mock.Config{})
	at, err := url.Parse(strings.TrimSuffix(to, "/v1"))
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	salts := map[bool]map[string]bool{true: {}, false: {}} // by whether the request is a count
	pass := httputil.NewSingleHostReverseProxy(at)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		var q struct {
			Salt string `json:"cache_salt"`
			Max  int    `json:"max_tokens"`
		}
		if json.Unmarshal(body, &q) == nil && strings.Contains(string(body), "SALTED") {
			mu.Lock()
			salts[q.Max == 1][q.Salt] = true
			mu.Unlock()
		}
		pass.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "prompts.jsonl")
	if err := os.WriteFile(file, []byte(`{"prompt":"SALTED one"}`+"\n"+`{"prompt":"SALTED two"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	complete(t, server.URL+"/v1", fmt.Sprintf(`name = "salted"
[target]
api = "messages"
[[row]]
name = "a"
output = 4
concurrency = 1
requests = 6
[row.prompts]
file = %q
min_input = 1
cache_salt = true
`, file), Options{Out: filepath.Join(t.TempDir(), "out")})
	for salt := range salts[true] {
		if salt == "" || salts[false][salt] || len(salts[false]) != 1 {
			t.Errorf("counts and the row share a salt: %v", salts)
		}
	}
	if len(salts[true]) != 1 {
		t.Errorf("%v", salts)
	}
}

func unpacked(t *testing.T, stored string) string {
	t.Helper()
	r, err := zstd.NewReader(strings.NewReader(stored))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// checkRealRow checks what is stored of the prompts.
func checkRealRow(t *testing.T, dir string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "a-r1.json"))
	if err != nil {
		t.Fatal(err)
	}
	var row record.Row
	if err := json.Unmarshal(b, &row); err != nil {
		t.Fatal(err)
	}
	if row.PromptForm != "prompts" || len(row.Categories) != 5 || row.Prompts == nil || row.Prompts.Different != 5 || row.Prompts.Repeated == 0 {
		t.Errorf("%s %v %+v", row.PromptForm, row.Categories, row.Prompts)
	}
	if row.Lengths.PromptRequested != nil || row.Lengths.PromptTokens == nil || row.Spec.ClassIgnoresEOS("") {
		t.Errorf("%+v", row.Lengths)
	}
	for _, f := range row.Findings {
		if f.Severity != record.Note && slices.Contains([]string{"prompts", "prefix_cache", "token_counts"}, f.Code) {
			t.Errorf("%+v", f)
		}
	}
}
