package target

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

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
type CallError struct{ text, Base string }

func (e *CallError) Error() string { return e.text }
