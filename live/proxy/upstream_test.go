package proxy

import (
	"net/url"
	"testing"
)

func TestUpstream(t *testing.T) {
	for _, c := range []struct{ to, caller, want string }{
		{"http://a", "/v1/chat/completions", "http://a/v1/chat/completions"},
		{"http://a/", "/v1/chat/completions?x=1", "http://a/v1/chat/completions?x=1"},
		{"http://a/v1", "/v1/chat/completions", "http://a/v1/chat/completions"},
		{"http://a/v1/", "/chat/completions", "http://a/v1/chat/completions"},
		{"http://a/x/v1", "/v1/models", "http://a/x/v1/models"},
		{"http://a/x/v1", "/v10/models", "http://a/x/v10/models"},
		{"http://a/x/v1", "/health", "http://a/x/health"},
		{"http://a/x/v1", "/messages/count_tokens", "http://a/x/v1/messages/count_tokens"},
		{"http://a/x", "/x/y", "http://a/x/x/y"},
		{"http://a/v1", "/v1", "http://a/v1"},
		{"http://a/v1", "/", "http://a/"},
		{"http://a", "/", "http://a/"},
		{"http://a", "", "http://a/"},
		{"http://a?k=1", "/v1/m?x=%20&x", "http://a/v1/m?k=1&x=%20&x"},
		{"http://a/v1", "/v1/models/org%2Fname", "http://a/v1/models/org%2Fname"},
		{"http://a", "//v1", "http://a//v1"},
		{"http://a", "/v1?", "http://a/v1?"},
	} {
		to, err := url.Parse(c.to)
		if err != nil {
			t.Fatal(err)
		}
		caller, err := url.ParseRequestURI(c.caller)
		if err != nil {
			caller = &url.URL{Path: c.caller}
		}
		if got := upstream(to, caller).String(); got != c.want {
			t.Errorf("%s at %s: %s, want %s", c.caller, c.to, got, c.want)
		}
	}
}
