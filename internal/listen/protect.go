package listen

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// Protect keeps a handler's answers from the pages of other sites, in the browser of somebody who reaches it. With
// loopback it answers only under the names of this machine's loopback: another name can be that of a page, whose owner
// points it to 127.0.0.1 (DNS rebinding). A handler can set a Content-Security-Policy of its own.
func Protect(h http.Handler, loopback bool) http.Handler {
	origins := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := w.Header()
		answer.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		answer.Set("X-Content-Type-Options", "nosniff")
		answer.Set("X-Frame-Options", "DENY")
		answer.Set("Referrer-Policy", "no-referrer")
		answer.Set("Cross-Origin-Resource-Policy", "same-origin")
		answer.Set("Cross-Origin-Opener-Policy", "same-origin")
		answer.Set("Cache-Control", "no-store") // what is shown changes, and stays on its machine
		switch site, mode := r.Header.Get("Sec-Fetch-Site"), r.Header.Get("Sec-Fetch-Mode"); {
		case loopback && !isLoopback(r.Host):
			http.Error(w, "This server answers only as localhost, 127.0.0.1 or [::1]. "+
				"To use another name, have it listen on another address.", http.StatusForbidden)
		case site == "cross-site" && mode != "navigate", origins.Check(r) != nil:
			http.Error(w, "This server answers no requests of other sites' pages.", http.StatusForbidden)
		default:
			h.ServeHTTP(w, r)
		}
	})
}

// isLoopback accepts any port: a tunnel has its own.
func isLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if strings.EqualFold(strings.TrimSuffix(host, "."), "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

func isLoopbackAddr(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}
