// Package target is the part of the [target] table that a request needs: address, API, timeout, headers, extra
// fields. It removes secrets from URLs before they are shown, and sends nothing.
package target

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

const (
	Completions = "completions" // POST /v1/completions: text or token-id prompts
	Chat        = "chat"        // POST /v1/chat/completions: text only
	Responses   = "responses"   // POST /v1/responses, OpenAI's later API: text only
	Messages    = "messages"    // POST /v1/messages, Anthropic's API: text only
)

var APIs = []string{Completions, Chat, Responses, Messages}

// InMessages reports whether an API's prompts are messages with roles: text, which the server puts into a template.
func InMessages(api string) bool { return api == Chat || api == Responses || api == Messages }

func APIProblem(api string) (problem, hint string) {
	if api == "" || slices.Contains(APIs, api) {
		return "", ""
	}
	if api == "embeddings" || api == "rerank" {
		return fmt.Sprintf("api %q writes no tokens", api), "use vllm bench serve, which measures it"
	}
	return fmt.Sprintf("unknown api %q", api), `choose "completions", "chat", "responses" or "messages"`
}

// Target is this package's part of the [target] table: the server and the requests' common fields.
//
// Endpoint may contain a password: pass it through Redact before it is shown or stored. Headers may contain
// secrets and are in no JSON.
type Target struct {
	// as typed; empty or "mock": the simulated server
	Endpoint string `toml:"endpoint" json:"endpoint"`
	API      string `toml:"api" json:"api,omitempty"`     // empty: "completions"
	Model    string `toml:"model" json:"model,omitempty"` // empty: discovered from /v1/models
	// of a request, until its last byte; 0: 10 minutes
	Timeout   time.Duration     `toml:"timeout" json:"timeout_ns,omitempty"`
	ExtraBody map[string]any    `toml:"extra_body" json:"extra_body,omitempty"` // fields of every body, as Params.Extra
	Headers   map[string]string `toml:"headers" json:"-"`                       // of every request
	// URL of an HTTP or SOCKS5 proxy, may contain a password; empty: none, not even from the environment
	Proxy string `toml:"proxy" json:"-"`
	// SessionHeader is the request header with the number of a conversation or agent session: empty = X-Session-ID;
	// "off" = none. Requests without a session have none.
	SessionHeader string `toml:"session_header" json:"session_header,omitempty"`
	Traceparent   bool   `toml:"traceparent" json:"traceparent,omitempty"` // W3C trace context in every request
	// requests share connections, without kernel timestamps
	HTTP2 bool `toml:"http2" json:"http2,omitempty"`
}

const maxTimeout = 24 * time.Hour

func (t Target) Check(bad func(key, problem, hint string)) {
	if t.Endpoint != "" && t.Endpoint != "mock" {
		if _, err := BaseURL(t.Endpoint); err != nil {
			hint := `write it as "http://host:port"`
			if call := (*CallError)(nil); errors.As(err, &call) {
				hint = fmt.Sprintf("write it as %q", call.Base)
			}
			bad("endpoint", err.Error(), hint)
		}
	}
	if problem, hint := APIProblem(t.API); problem != "" {
		bad("api", problem, hint)
	}
	if _, err := ParseProxy(t.Proxy); err != nil {
		bad("proxy", err.Error(), `write proxy = "http://host:3128", or leave it out`)
	}
	t.checkSessionHeader(bad)
	if t.Timeout < 0 {
		bad("timeout", "is negative", `write a duration such as "10m"; without it a request may take 10 minutes`)
	}
	if t.Timeout > maxTimeout {
		bad("timeout", fmt.Sprintf("%v is too long for one request", t.Timeout), `write timeout = "10m"; at most a day`)
	}
	for _, key := range slices.Sorted(maps.Keys(t.ExtraBody)) {
		if problem := ReservedField(key); problem != "" {
			bad("extra_body."+key, problem, "remove it; the model is target.model, streaming is a row's stream")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.Headers)) {
		if problem := HeaderProblem(name, t.Headers[name]); problem != "" {
			bad("headers."+name, problem, "")
		}
	}
}

const DefaultSessionHeader = "X-Session-ID"

func (t Target) Session() string {
	name := cmp.Or(t.SessionHeader, DefaultSessionHeader)
	if name == "off" || t.hasHeader(name) {
		return ""
	}
	return name
}

func (t Target) hasHeader(name string) bool {
	for own := range t.Headers {
		if strings.EqualFold(own, name) {
			return true
		}
	}
	return false
}

func (t Target) checkSessionHeader(bad func(key, problem, hint string)) {
	if name := t.SessionHeader; name != "" {
		if problem := HeaderProblem(name, ""); problem != "" {
			bad("session_header", name+" "+problem, `write session_header = "X-Session-ID", or "off"`)
		}
		if t.hasHeader(name) {
			bad("session_header", name+" is in [target.headers], too", "remove one of them")
		}
	}
	if t.Traceparent && t.hasHeader("traceparent") {
		bad("traceparent", "traceparent is in [target.headers], too", "remove one of them")
	}
}

var ReservedFields = []string{"prompt", "messages", "input", "model", "stream"}

func ReservedField(name string) string {
	if slices.Contains(ReservedFields, name) {
		return "is set by bench itself"
	}
	return ""
}

var secretHeader = regexp.MustCompile(`(?i)auth|token|key|secret|cookie|passw|cred|session|signature`)

func IsSecretHeader(name string) bool { return secretHeader.MatchString(name) }

func HeaderProblem(name, value string) string {
	const token = "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	switch strings.ToLower(name) {
	case "":
		return "has an empty name"
	case "content-length", "transfer-encoding", "connection", "accept-encoding", "expect", "upgrade", "trailer":
		return "belongs to the transport and can't be set"
	}
	if strings.Trim(name, token) != "" {
		return "is not a header name"
	}
	if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
		return "has a control character in its value"
	}
	return ""
}
