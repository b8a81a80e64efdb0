package openai

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestSocketCountsAdd(t *testing.T) {
	closed := SocketCounts{Connections: 1, SegmentsOut: 5, Retransmits: 1}
	one := SocketCounts{Connections: 1, Open: 1, SegmentsOut: 1, SegmentsIn: 2, OutOfOrder: 3, Needless: 4, WindowLimited: 5, MinRTT: 10, RTT: 20}
	three := SocketCounts{Connections: 3, Open: 3, MinRTT: 4, RTT: 40}
	want := SocketCounts{Connections: 5, Open: 4, SegmentsOut: 6, SegmentsIn: 2, Retransmits: 1, OutOfOrder: 3, Needless: 4, WindowLimited: 5, MinRTT: 4, RTT: 35}
	for _, sum := range []SocketCounts{closed.Plus(one).Plus(three), three.Plus(closed).Plus(one), one.Plus(three.Plus(closed))} {
		if diff := cmp.Diff(want, sum); diff != "" {
			t.Error(diff)
		}
	}
}

// TestSockets: counters of open and closed connections, also while others open and close; none is lost or
// counted twice.
func TestSockets(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, token("a")+finish("length")+usage(1, 1)+doneEvent)
	}))
	defer s.Close()
	c, err := New(Options{BaseURL: s.URL + "/v1"})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := newReceiver(nil).counts(); ok {
		t.Error("no socket has counters")
	}
	do := func(fresh bool) {
		var r Result
		if c.Do(t.Context(), &Call{Body: []byte("{}"), Stream: true, Fresh: fresh}, &r); r.Outcome != OK {
			t.Errorf("%s: %s", r.Outcome, r.Error)
		}
	}
	do(false)
	one := c.Sockets()
	if one.Connections == 0 {
		t.Skip("this system has no counters")
	}
	if one.Connections != 1 || one.Open != 1 || one.SegmentsOut < 1 || one.SegmentsIn < 1 || one.Retransmits != 0 || one.RTT <= 0 || one.MinRTT <= 0 || one.RTT > time.Second {
		t.Errorf("one request: %+v", one)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 20 {
				do(true)
			}
		})
	}
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	last := one
	for open := true; open; {
		select {
		case <-done:
			open = false
		default:
		}
		now := c.Sockets()
		if now.Connections < last.Connections || now.SegmentsIn < last.SegmentsIn || now.SegmentsOut < last.SegmentsOut {
			t.Fatalf("%+v after %+v", now, last)
		}
		last = now
	}
	if last.Connections != 161 || last.Open != 1 || last.SegmentsOut < 161 || last.SegmentsIn < 161 {
		t.Errorf("161 connections, one open: %+v", last)
	}
	c.Close()
	if end := c.Sockets(); end.Connections != 161 || end.Open != 0 || end.RTT != 0 || end.SegmentsOut != last.SegmentsOut {
		t.Errorf("closed: %+v, before %+v", end, last)
	}
	if len(c.sockets.open) != 0 {
		t.Error("a closed connection is kept")
	}
}

func BenchmarkSockets(b *testing.B) {
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	c, err := New(Options{BaseURL: s.URL + "/v1"})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	const n = 200
	if _, err := c.Prepare(b.Context(), n); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		c.Sockets()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/socket")
}
