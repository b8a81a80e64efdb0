package listen

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
)

func ask(t *testing.T, loopback bool, method string, change func(*http.Request)) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, "http://127.0.0.1:8484/", nil)
	change(r)
	w := httptest.NewRecorder()
	served := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "served") })
	Protect(served, loopback).ServeHTTP(w, r)
	return w
}

// TestHosts: a listener on the loopback answers under its names alone.
func TestHosts(t *testing.T) {
	for host, ok := range map[string]bool{
		"127.0.0.1:8484": true, "127.0.0.1": true, "127.8.9.1:1": true,
		"localhost:9000": true, "LOCALHOST": true, "localhost.": true,
		"[::1]:8484": true, "[::1]": true, "[::1": true,
		"evil.example": false, "evil.example:8484": false, "localhost.evil.example": false, "127.0.0.1.evil.example": false,
		"10.0.0.7:8484": false, "": false, "0.0.0.0": false, "127.0.0.1@evil.example": false, "2130706433": false,
	} {
		named := func(r *http.Request) { r.Host = host }
		if w := ask(t, true, "GET", named); (w.Code == 200) != ok || (w.Body.String() == "served") != ok {
			t.Errorf("%q: %d", host, w.Code)
		}
		if w := ask(t, false, "GET", named); w.Code != 200 {
			t.Errorf("open to the network, %q: %d", host, w.Code)
		}
	}
}

// TestSites: pages of other sites read nothing and change nothing, and a link opens.
func TestSites(t *testing.T) {
	for _, c := range []struct {
		method, site, mode, origin string
		want                       int
	}{
		{"GET", "", "", "", 200}, {"POST", "", "", "", 200}, {"GET", "cross-site", "navigate", "", 200},
		{"GET", "cross-site", "no-cors", "", 403}, {"GET", "cross-site", "cors", "", 403},
		{"POST", "cross-site", "navigate", "", 403}, {"POST", "same-site", "cors", "", 403},
		{"POST", "same-origin", "cors", "", 200},
		{"POST", "", "", "http://evil.example", 403}, {"DELETE", "", "", "null", 403},
		{"POST", "", "", "http://127.0.0.1:8484", 200},
	} {
		w := ask(t, true, c.method, func(r *http.Request) {
			for name, value := range map[string]string{"Sec-Fetch-Site": c.site, "Sec-Fetch-Mode": c.mode, "Origin": c.origin} {
				if value != "" {
					r.Header.Set(name, value)
				}
			}
		})
		h := w.Header()
		if w.Code != c.want || h.Get("X-Frame-Options") != "DENY" || h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%+v: %d %v", c, w.Code, h)
		}
	}
}
