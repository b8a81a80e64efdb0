package browse

import (
	"net/http"
	"time"
)

const (
	stalledTimeout = 30 * time.Second // a reader that takes no bytes for so long is gone
	chunk          = 64 << 10         // bytes that a reader must take within stalledTimeout
)

// timedWriter ends the connection of a reader that stops, and of no slow one.
type timedWriter struct{ http.ResponseWriter }

func (w timedWriter) WriteHeader(status int) {
	w.extend()
	w.ResponseWriter.WriteHeader(status)
}

func (w timedWriter) Write(text []byte) (n int, err error) {
	for {
		w.extend()
		k, err := w.ResponseWriter.Write(text[n:min(n+chunk, len(text))])
		if n += k; err != nil || n == len(text) {
			return n, err
		}
	}
}

func (w timedWriter) extend() {
	// A writer that is no connection has no deadline.
	_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Now().Add(stalledTimeout))
}
