package proxy

import (
	"net/url"
	"strings"
)

// upstream is the address, at a server whose base URL is to, for a request of the caller's URL. A version that ends
// the base and begins the path is not doubled: /v1/chat/completions at http://a/x/v1 is http://a/x/v1/chat/completions.
// Without a version a call of the API is below the base, and other paths, such as /health, are beside its version.
// Queries are joined, and escapes stay as the caller wrote them. Both stay unchanged.
func upstream(to, caller *url.URL) *url.URL {
	base, path, raw := strings.TrimRight(to.Path, "/"), caller.Path, caller.EscapedPath()
	above := 0 // bytes of the base that the path does not lie below
	if i := strings.LastIndexByte(base, '/'); i >= 0 && isVersion(base[i+1:]) {
		if v := base[i:]; path == v || strings.HasPrefix(path, v+"/") {
			path, raw = path[len(v):], raw[len(v):]
		} else if !isCall(path) {
			base, above = base[:i], len(v)
		}
	}
	u := &url.URL{Scheme: to.Scheme, Host: to.Host, User: to.User, RawQuery: to.RawQuery}
	u.Path = base + path
	escaped := strings.TrimRight(to.EscapedPath(), "/")
	u.RawPath = escaped[:len(escaped)-above] + raw
	if u.Path == "" {
		u.Path, u.RawPath = "/", ""
	}
	if u.RawQuery != "" && caller.RawQuery != "" {
		u.RawQuery += "&"
	}
	u.RawQuery += caller.RawQuery
	u.ForceQuery = caller.ForceQuery && u.RawQuery == ""
	return u
}

func isVersion(segment string) bool {
	digits, ok := strings.CutPrefix(segment, "v")
	return ok && digits != "" && strings.Trim(digits, "0123456789") == ""
}
