package browse

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"bench/experiment/safetext"
	"bench/report/page"
)

const (
	readHeaderTimeout = 10 * time.Second // connections that send nothing would stay for ever
	idleTimeout       = 2 * time.Minute
	longestHeader     = 256 << 10 // bytes: a URL that selects a thousand runs fits
)

type Server struct {
	archive *Archive
	shell   page.Shell
	policy  string        // of the pages of package page
	turn    chan struct{} // of one page at a time that reads whole runs: they need memory and all cores

	anyHost bool // answers under every name; else only under those of this machine's loopback
}

// NewServer serves an archive. A server that only this machine can reach must answer only under the names of
// its loopback: another name can be that of a page in the reader's browser, which its owner points to
// 127.0.0.1 (DNS rebinding). Set anyHost for one that the network can reach.
func NewServer(a *Archive, anyHost bool) *Server {
	return &Server{archive: a, shell: page.NewShell(tableCSS, tableScript), policy: page.Policy(), turn: make(chan struct{}, 1), anyHost: anyHost}
}

// Serve answers on a listener until ctx is done. It closes the listener, and returns when every handler has.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var parts sync.WaitGroup // connections and the goroutine below
	srv := &http.Server{
		Handler: s.Handler(), ReadHeaderTimeout: readHeaderTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: longestHeader,
		BaseContext: func(net.Listener) context.Context { return ctx },
		ConnState: func(_ net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew:
				parts.Add(1)
			case http.StateClosed, http.StateHijacked:
				parts.Done()
			}
		},
	}
	parts.Go(func() {
		<-ctx.Done()
		srv.Close()
	})
	err := srv.Serve(l)
	cancel()
	parts.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serving: %w", err)
}

// Handler answers GET and HEAD from this machine's browser, with headers that keep a page to itself.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.table)
	mux.HandleFunc("GET /report", s.report)
	mux.HandleFunc("GET /compare", s.compare)
	mux.HandleFunc("GET /trend", s.trend)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w = timedWriter{w}
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cache-Control", "no-store") // results change, and stay on their machine
		switch {
		case !s.anyHost && !isLoopback(r.Host):
			http.Error(w, "This server answers only as localhost, 127.0.0.1 or [::1]. To use another name: bench serve --listen HOST:PORT", http.StatusForbidden)
		case r.Header.Get("Sec-Fetch-Site") == "cross-site" && r.Header.Get("Sec-Fetch-Mode") != "navigate":
			http.Error(w, "This server answers no requests of other sites' pages.", http.StatusForbidden)
		default:
			mux.ServeHTTP(w, r)
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

func (s *Server) table(w http.ResponseWriter, r *http.Request) {
	q, err := ParseQuery(r.URL.Query())
	if err != nil {
		s.wrong(w, r, http.StatusBadRequest, err)
		return
	}
	if canonical := q.Encode(); canonical != r.URL.RawQuery { // a form sends its empty fields too
		http.Redirect(w, r, "./?"+canonical, http.StatusSeeOther)
		return
	}
	s.writeTable(w, r, q, http.StatusOK, "")
}

func (s *Server) wrong(w http.ResponseWriter, r *http.Request, status int, err error) {
	q, invalid := ParseQuery(r.URL.Query())
	if invalid != nil {
		q = Query{}
	}
	s.writeTable(w, r, q, status, err.Error())
}

func (s *Server) writeTable(w http.ResponseWriter, r *http.Request, q Query, status int, wrong string) {
	nights, _, err := s.archive.Update(r.Context())
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	v := newTable(s.shell, s.archive.Dir, q, nights)
	v.Wrong = wrong
	text, err := tableText(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	writePage(w, status, s.shell.Policy, text)
}

func tableText(v tableView) ([]byte, error) {
	var b bytes.Buffer
	err := tableTemplate().Execute(safetext.Page(&b), v)
	return b.Bytes(), err
}

func writePage(w http.ResponseWriter, status int, policy string, text []byte) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", policy+"; frame-ancestors 'none'")
	w.WriteHeader(status)
	_, _ = w.Write(text) // the reader may have left
}
