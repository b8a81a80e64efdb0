package target

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestBaseURL(t *testing.T) {
	for in, want := range map[string]string{
		"http://h:8000":                "http://h:8000/v1",
		"h:8000":                       "http://h:8000/v1",
		"localhost:8000":               "http://localhost:8000/v1",
		"h":                            "http://h/v1",
		" http://h:8000/ ":             "http://h:8000/v1",
		"http://h:8000/v1":             "http://h:8000/v1",
		"http://h:8000/v1//":           "http://h:8000/v1",
		"HTTPS://h":                    "https://h/v1",
		"https://h/openai/v1/":         "https://h/openai/v1",
		"https://h/api":                "https://h/api",
		"https://h/a%2Fb/v1":           "https://h/a%2Fb/v1",
		"https://me:p%40ss@h/v1":       "https://me:p%40ss@h/v1",
		"me:pw@h:1":                    "http://me:pw@h:1/v1",
		"[::1]:8000":                   "http://[::1]:8000/v1",
		"http://[fe80::1%25eth0]:8000": "http://[fe80::1%25eth0]:8000/v1",
	} {
		got, err := BaseURL(in)
		if err != nil || got != want {
			t.Errorf("%q: %q, %v; want %q", in, got, err, want)
		}
		if again, err := BaseURL(got); err != nil || again != got {
			t.Errorf("%q: again %q, %v", got, again, err)
		}
	}
	for in, want := range map[string]string{
		"": "empty", "  ": "empty", "ftp://h": "scheme", "http://": "no host", "http://:80": "no host", "http://h?x=1": "query",
		"http://h/#a": "fragment", "http://h:port": "not a URL", "::1": "brackets", "http://h\x00": "not a URL",
		"http://h/v1/chat/completions": `ends in "/v1"`, "http://h/v1/models/": `ends in "/v1"`,
		"http://h/v1/responses": `ends in "/v1"`, "https://h/anthropic/v1/messages": `ends in "/anthropic/v1"`, "h/v1/rerank": `ends in "/v1"`, "h/v1/embeddings": `ends in "/v1"`,
		"http://me:secret@h?x": "***@h", "http://me:sec/ret@h:1": "***@h:1",
	} {
		got, err := BaseURL(in)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(fmt.Sprint(err), "sec") {
			t.Errorf("%q: %q, %v; want %q", in, got, err, want)
		}
	}
}

func TestRedact(t *testing.T) {
	for in, want := range map[string]string{
		"http://h:8000/v1":              "http://h:8000/v1",
		"http://me:pw@h/v1":             "http://***@h/v1",
		"http://me@h":                   "http://***@h",
		"me:pw@h:1":                     "***@h:1",
		"http://me:p@ss/wo@rd@h":        "http://***@h",
		"http://h?a=1&api_key=s3&b=2":   "http://h?a=1&api_key=***&b=2",
		"http://h?Access-Token=s3#frag": "http://h?Access-Token=***#frag",
		"mock":                          "mock",
		"":                              "",
	} {
		if got := Redact(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func FuzzBaseURL(f *testing.F) {
	f.Add("http://me:hush@h:8000/v1/")
	f.Add("h:8000")
	f.Fuzz(func(t *testing.T, in string) {
		base, err := BaseURL(in)
		if err != nil {
			return
		}
		if again, err := BaseURL(base); err != nil || again != base {
			t.Errorf("%q: %q, then %q, %v", in, base, again, err)
		}
		if _, _, err := SplitUser(base); err != nil {
			t.Errorf("%q: %v", base, err)
		}
	})
}

func TestCheck(t *testing.T) {
	var got []string
	bad := func(key, problem, hint string) { got = append(got, key) }
	Target{}.Check(bad)
	Target{Endpoint: "mock", API: "chat", Timeout: time.Minute, ExtraBody: map[string]any{"top_k": 1}, Headers: map[string]string{"X-A": "b"}}.Check(bad)
	if got != nil {
		t.Error(got)
	}
	Target{Endpoint: "ftp://h", API: "grpc", Timeout: -1, ExtraBody: map[string]any{"prompt": 1, "model": 2, "seed": 3},
		Headers: map[string]string{"Content-Length": "1", "a b": "c", "X-Ok": "x\ny"}}.Check(bad)
	want := []string{"endpoint", "api", "timeout", "extra_body.model", "extra_body.prompt", "headers.Content-Length", "headers.X-Ok", "headers.a b"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
