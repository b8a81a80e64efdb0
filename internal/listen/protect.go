package listen

import (
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
)

// Protect keeps a handler's answers from the pages of other sites, in the browser of somebody who reaches it. A
// connection to a loopback address gets answers only under the names of the loopback, and this machine's: another name
// can be that of a page, whose owner points it to 127.0.0.1 (DNS rebinding). A refusal ends the connection. A handler
// can set a Content-Security-Policy of its own.
func Protect(h http.Handler) http.Handler {
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
		case onLoopback(r) && !isLoopback(r.Host):
			refuse(w, "On a loopback address this server answers only as localhost, 127.0.0.1 or [::1]. "+
				"To use another name, have it listen on another address, and connect to that.")
		case site == "cross-site" && mode != "navigate", origins.Check(r) != nil:
			refuse(w, "This server answers no requests of other sites' pages.")
		default:
			h.ServeHTTP(w, r)
		}
	})
}

func refuse(w http.ResponseWriter, why string) {
	w.Header().Set("Connection", "close")
	http.Error(w, why, http.StatusForbidden)
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
	if own, err := os.Hostname(); err == nil && strings.EqualFold(host, own) { // which /etc/hosts can give 127.0.1.1
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

// onLoopback reports whether a request came to a loopback address: a listener on all addresses has some.
func onLoopback(r *http.Request) bool {
	to, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return ok && to.IP.IsLoopback()
}
