package proxy

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestNoText: whatever a server echoes, what leaves the proxy has no text of a request or an answer, and no header.
// Nothing of it is in the exchange, which the live page shows, nor in the metrics.
func TestNoText(t *testing.T) {
	const secret = "hunter2secret"
	event := func(finish string) string {
		return fmt.Sprintf(`{"id":"%[1]s","model":"%[1]s","choices":[{"index":0,"delta":{"role":"%[1]s","content":"%[1]s"},"finish_reason":%[2]s}]}`, secret, finish)
	}
	hostile := map[string]http.HandlerFunc{
		"stream": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "id: %s\ndata: %s\n\ndata: %s\n\ndata: [DONE]\n\n", secret, event("null"), event(`"`+secret+`"`))
		},
		"error": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, secret, http.StatusInternalServerError) },
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/"+secret, http.StatusTemporaryRedirect)
		},
		"garbage": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, secret+"\n\ndata: "+secret+"\n\n")
		},
	}
	for name, answer := range hostile {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				echo := func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("X-Request-Id", secret)
					answer(w, r)
				}
				shadow := &ShadowConfig{To: &url.URL{Scheme: "http", Host: "b", Path: "/v1"}, Share: 1}
				r := newRig(t, Config{Shadow: shadow, SessionHeader: "X-Session"}, echo)
				q, err := http.NewRequest(http.MethodPost, "http://p/v1/chat/completions?"+secret, strings.NewReader(
					fmt.Sprintf(`{"model":"%[1]s","user":"%[1]s","messages":[{"role":"user","content":"%[1]s"}],"stream":true}`, secret)))
				if err != nil {
					t.Fatal(err)
				}
				for _, name := range []string{"Authorization", "X-Session", "Cookie", "X-Forwarded-For"} {
					q.Header.Set(name, secret)
				}
				resp, err := r.caller.Transport.RoundTrip(q)
				if err != nil {
					t.Fatal(err)
				}
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				time.Sleep(time.Second)
				metrics := httptest.NewRecorder()
				r.server.Admin().ServeHTTP(metrics, httptest.NewRequest(http.MethodGet, "/metrics", nil))
				if len(r.all()) != 1 || r.all()[0].Shadow == nil {
					t.Fatalf("recorded %d", len(r.all()))
				}
				text, err := json.Marshal([]any{r.all(), r.Counts(), metrics.Body.String()})
				if err != nil {
					t.Fatal(err)
				}
				if strings.Contains(string(text), secret) {
					t.Errorf("%s", text)
				}
			})
		})
	}
}
