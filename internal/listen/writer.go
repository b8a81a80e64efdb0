package listen

import (
	"net/http"
	"time"
)

const (
	stalledTimeout = 30 * time.Second // a caller that takes no bytes for so long is gone
	chunk          = 64 << 10         // bytes that a caller must take within stalledTimeout
)

// writer ends the connection of a caller that stops reading, and of no slow one. A handler that sets a deadline for its
// writes keeps that.
type writer struct {
	http.ResponseWriter
	own bool // the handler sets its deadlines
}

// WriteHeader implements http.ResponseWriter.
func (w *writer) WriteHeader(status int) {
	w.extend()
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *writer) Write(text []byte) (n int, err error) {
	for {
		w.extend()
		k, err := w.ResponseWriter.Write(text[n:min(n+chunk, len(text))])
		if n += k; err != nil || n == len(text) {
			return n, err
		}
	}
}

// FlushError flushes, for http.ResponseController.
func (w *writer) FlushError() error {
	w.extend()
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// SetWriteDeadline sets the handler's own deadline, for http.ResponseController.
func (w *writer) SetWriteDeadline(t time.Time) error {
	w.own = true
	return http.NewResponseController(w.ResponseWriter).SetWriteDeadline(t)
}

// Unwrap lets http.ResponseController do everything else.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *writer) extend() {
	if !w.own { // a writer of tests has none
		_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Now().Add(stalledTimeout))
	}
}
