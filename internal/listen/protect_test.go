package listen

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
)

func ask(t *testing.T, to net.IP, method string, change func(*http.Request)) *httptest.ResponseRecorder {
	t.Helper()
	ctx := context.WithValue(t.Context(), http.LocalAddrContextKey, &net.TCPAddr{IP: to})
	r := httptest.NewRequestWithContext(ctx, method, "http://127.0.0.1:8484/", nil)
	change(r)
	w := httptest.NewRecorder()
	served := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "served") })
	Protect(served).ServeHTTP(w, r)
	if refused := w.Code == http.StatusForbidden; refused != (w.Header().Get("Connection") == "close") {
		t.Errorf("%d keeps its connection: %v", w.Code, w.Header())
	}
	return w
}

var loopback, network = net.IPv4(127, 0, 0, 1), net.IPv4(10, 0, 0, 7)

// TestHosts: a connection to the loopback gets answers under its names alone.
func TestHosts(t *testing.T) {
	own, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for host, ok := range map[string]bool{
		"127.0.0.1:8484": true, "127.0.0.1": true, "127.8.9.1:1": true,
		"localhost:9000": true, "LOCALHOST": true, "localhost.": true,
		own: true, own + ":8484": true, own + ".evil.example": false,
		"[::1]:8484": true, "[::1]": true, "[::1": true,
		"evil.example": false, "evil.example:8484": false, "localhost.evil.example": false, "127.0.0.1.evil.example": false,
		"10.0.0.7:8484": false, "": false, "0.0.0.0": false, "127.0.0.1@evil.example": false, "2130706433": false,
	} {
		named := func(r *http.Request) { r.Host = host }
		if w := ask(t, loopback, "GET", named); (w.Code == 200) != ok || (w.Body.String() == "served") != ok {
			t.Errorf("%q: %d", host, w.Code)
		}
		if w := ask(t, network, "GET", named); w.Code != 200 {
			t.Errorf("from the network, %q: %d", host, w.Code)
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
		w := ask(t, loopback, c.method, func(r *http.Request) {
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

// TestAllAddresses: a listener on all addresses has the loopback's too.
func TestAllAddresses(t *testing.T) {
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	served := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	defer (&Door{Handler: served}).Start(l)()
	for host, want := range map[string]int{"localhost": 200, "evil.example": 403} {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", l.Addr().(*net.TCPAddr).Port))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: "+host+"\r\n\r\n")
		if a, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || a.StatusCode != want {
			t.Errorf("%s: %v, error %v", host, a, err)
		}
	}
}
