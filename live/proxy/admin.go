package proxy

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// Admin are the pages for those who operate the proxy, for a listen.Door of their own: /healthz (the process lives),
// /readyz (it takes requests, and the server can be reached), /metrics, /shadow/stop (POST: copying to the candidate
// ends) and, with Server.Page, /.
func (s *Server) Admin() http.Handler {
	m := http.NewServeMux()
	m.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { plain(w, http.StatusOK, "ok") })
	m.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		switch {
		case s.Draining():
			plain(w, http.StatusServiceUnavailable, "draining")
		case !s.reach.able(r.Context(), s.Proxy):
			plain(w, http.StatusServiceUnavailable, "the server cannot be reached")
		default:
			plain(w, http.StatusOK, "ok")
		}
	})
	m.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", MetricsType)
		_ = s.writeMetrics(w) // a scraper that leaves disturbs nothing
	})
	m.HandleFunc("POST /shadow/stop", s.stopShadow)
	if s.Page != nil {
		m.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.Header().Set("Content-Security-Policy", s.PagePolicy+"; frame-ancestors 'none'")
			_, _ = w.Write(s.page())
		})
	}
	return m
}

func (s *Server) stopShadow(w http.ResponseWriter, _ *http.Request) {
	if s.Proxy.shadow == nil {
		plain(w, http.StatusNotFound, "there is no candidate")
		return
	}
	s.Proxy.shadow.stop(stoppedOperator)
	plain(w, http.StatusOK, "copying has ended: "+s.Proxy.shadow.counts().Stopped)
}

func plain(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text + "\n"))
}

const (
	reachEvery  = 5 * time.Second // between connections that test if the server can be reached
	reachWithin = time.Second
	pageEvery   = 30 * time.Second
	pageShare   = 20 // the time between two pages is a multiple of the time that one takes
)

type reach struct {
	mu      sync.Mutex
	checked time.Time
	ok      bool
}

// able reports whether the server accepts connections, or did a moment ago. It sends no request.
func (r *reach) able(ctx context.Context, p *Proxy) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.checked.IsZero() && time.Since(r.checked) < reachEvery {
		return r.ok
	}
	// a prober that leaves says nothing of the server
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reachWithin)
	defer cancel()
	dial := p.config.Dial
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	c, err := dial(ctx, "tcp", hostPort(p.config.To))
	if r.ok, r.checked = err == nil, time.Now(); r.ok {
		_ = c.Close()
	}
	return r.ok
}

// hostPort is the address of a URL, whose port can be that of its scheme.
func hostPort(u *url.URL) string {
	return net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme]))
}

func (s *Server) page() []byte {
	s.shown.mu.Lock()
	defer s.shown.mu.Unlock()
	if s.shown.made.IsZero() || time.Since(s.shown.made) >= max(pageEvery, pageShare*s.shown.took) {
		began := time.Now()
		s.shown.text, s.shown.made = s.Page(), time.Now()
		s.shown.took = s.shown.made.Sub(began)
	}
	return s.shown.text
}
