package endpoint

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"bench/experiment/openai"
)

func socketClient(t *testing.T, o openai.Options) *apiClient {
	t.Helper()
	c, err := openai.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return &apiClient{client: c}
}

// Counters are since the row's first reading, of all its clients; a reading that comes too early is left out, the
// last one is not.
func TestSocketReadings(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, "data: [DONE]\n\n")
	}))
	defer s.Close()
	one, two := socketClient(t, openai.Options{BaseURL: s.URL}), socketClient(t, openai.Options{BaseURL: s.URL})
	do := func(c *apiClient, n int) {
		for range n {
			var r openai.Result
			c.client.Do(t.Context(), &openai.Call{Body: []byte("{}"), Stream: true}, &r)
		}
	}
	do(one, 3) // before the row
	if one.client.Sockets().Connections == 0 {
		t.Skip("this system has no counters")
	}
	var ended atomic.Bool
	readings := socketReadings{clients: []*openai.Client{one.client, two.client}, ended: &ended}
	if r := readings.read(); r == nil || r.Open != 1 || r.SegmentsOut != 0 || r.SegmentsIn != 0 || *r.RTT <= 0 {
		t.Errorf("at the row's start: %+v", r)
	}
	do(one, 2)
	do(two, 5)
	readings.took = time.Hour // many connections
	if r := readings.read(); r != nil {
		t.Errorf("too early: %+v", r)
	}
	ended.Store(true)
	if r := readings.read(); r == nil || r.Open != 2 || r.SegmentsOut != 7 || r.SegmentsIn < 7 || r.Retransmits != 0 {
		t.Errorf("at its end: %+v", r)
	}
}

// Connections of net/http's transport have no counters.
func TestNoSocketReadings(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	c := socketClient(t, openai.Options{BaseURL: "http://server.invalid/v1", Proxy: s.URL})
	var r openai.Result
	c.client.Do(t.Context(), &openai.Call{Body: []byte("{}")}, &r)
	readings := socketReadings{clients: []*openai.Client{c.client}, ended: new(atomic.Bool)}
	if got := readings.read(); r.Status != http.StatusNotFound || got != nil {
		t.Errorf("status %d, %+v", r.Status, got)
	}
}
