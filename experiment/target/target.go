// Package target is the part of the [target] table that a request needs: address, API, timeout, headers, extra
// fields. It removes secrets from URLs before they are shown, and sends nothing.
package target

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
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
				hint = fmt.Sprintf("write it as %q", call.base)
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

// BaseURL is the API's base for an endpoint as people type it: "h:8000" and "http://h:8000/v1/" give
// "http://h:8000/v1". https, another path and user info stay: pass the result through Redact before it is shown.
// Errors contain no user info.
func BaseURL(endpoint string) (string, error) {
	text := strings.TrimSpace(endpoint)
	if text == "" {
		return "", errors.New("the endpoint is empty: write http://host:port")
	}
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	shown := Redact(text)
	u, err := url.Parse(text)
	if err != nil { // its text repeats the URL with the password
		return "", fmt.Errorf("%s is not a URL: write http://host:port, and IPv6 addresses in brackets", shown)
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return "", fmt.Errorf("%s: scheme %q is neither http nor https", shown, u.Scheme)
	case u.Hostname() == "":
		return "", fmt.Errorf("%s has no host: write http://host:port", shown)
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return "", fmt.Errorf("%s has a query or fragment: remove it, and put keys in [target.headers] or --api-key-env", shown)
	}
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), strings.TrimRight(u.RawPath, "/")
	if base, _, cut := cutCall(u.Path); cut {
		u.Path, u.RawPath = base, ""
		return "", &CallError{fmt.Sprintf("%s is the address of one call: write the base, which ends in %q", shown,
			base), Redact(u.String())}
	}
	if u.Path == "" {
		u.Path = "/v1"
	}
	return u.String(), nil
}

// calls are the ends of addresses of calls, with their API; empty: it measures none, or lists models.
var calls = []struct{ path, api string }{
	{"/chat/completions", Chat}, {"/completions", Completions}, {"/responses", Responses}, {"/messages", Messages},
	{"/embeddings", ""}, {"/rerank", ""}, {"/models", ""},
}

func cutCall(path string) (base, api string, cut bool) {
	path = strings.TrimRight(path, "/")
	for _, c := range calls {
		if base, cut := strings.CutSuffix(path, c.path); cut {
			return base, c.api, true
		}
	}
	return path, "", false
}

// OfCall is the endpoint and the API of an address of one call, as in a command of curl. Another address stays as it
// is.
func OfCall(address string) (endpoint, api string) {
	if base, api, cut := cutCall(address); cut {
		return base, api
	}
	return address, ""
}

var (
	userInfo    = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]*://)?.*@`)
	secretQuery = regexp.MustCompile(`(?i)([?&][^=&#]*(?:key|token|secret|sig|pass|auth|cred)[^=&#]*=)[^&#]*`)
)

// Redact returns the URL with user info and secret query values replaced by "***". It takes any text: a
// password may contain an unescaped slash, so everything up to the last @ is replaced.
func Redact(url string) string {
	return secretQuery.ReplaceAllString(userInfo.ReplaceAllString(url, "${1}***@"), "${1}***")
}

func SplitUser(base string) (*url.URL, *url.Userinfo, error) {
	u, err := url.Parse(base)
	if err != nil || u.Hostname() == "" {
		return nil, nil, fmt.Errorf("%s is not a base URL", Redact(base))
	}
	user := u.User
	u.User = nil
	return u, user, nil
}

func ParseProxy(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || text != "" && (u.Host == "" ||
		!slices.Contains([]string{"http", "https", "socks5", "socks5h"}, u.Scheme)) {
		return nil, fmt.Errorf("%s is not the URL of a proxy: write http://host:port or socks5://host:port",
			Redact(text))
	}
	return u, nil
}

// CallError: the address names one call, with a path below the API's Base.
type CallError struct{ text, base string }

func (e *CallError) Error() string { return e.text }
