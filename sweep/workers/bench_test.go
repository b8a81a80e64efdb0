package workers

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"bench/experiment/endpoint"
	"bench/experiment/record"
)

// streamed is a request of 200 tokens, one about every 10 ms.
func streamed(i int, r *rand.Rand) *record.Record {
	at := time.Duration(i) * time.Millisecond
	first := at + 50*time.Millisecond + time.Duration(r.NormFloat64()*float64(5*time.Millisecond))
	var gaps []time.Duration
	last := first
	for range 199 {
		gap := 10*time.Millisecond + time.Duration(r.ExpFloat64()*float64(200*time.Microsecond))
		gaps, last = append(gaps, gap), last+gap
	}
	us := func(d time.Duration) record.Micros { return record.At(record.RoundMicros(d)) }
	return &record.Record{I: i, ServerID: fmt.Sprintf("cmpl-%032x", r.Uint64()), Phase: record.PhaseWindow, Arrival: us(at), Ready: us(at), Sent: us(at + 30*time.Microsecond),
		FirstEvent: us(first), First: us(first), Last: us(last), End: us(last + time.Millisecond), Gaps: record.RoundGaps(first, gaps),
		PromptRequested: 256, PromptTokens: new(256), OutputRequested: 200, OutputTokens: 200, Outcome: "ok", Status: 200, Finish: "length"}
}

// BenchmarkRecords is what the leader does with a record of 200 tokens before it stores it: a batch has 100 of them.
func BenchmarkRecords(b *testing.B) {
	const n = 100
	r, p := rand.New(rand.NewPCG(1, 2)), must(newPacker())
	var lines []byte
	for i := range n {
		lines = append(streamed(i, r).AppendJSON(append(lines, kindRecord)), '\n')
	}
	batch := bytes.Clone(must(p.pack(lines)))
	u := newUnpacker(new(sync.Mutex))
	b.ReportAllocs()
	for b.Loop() {
		seen := record.Indexes{}
		err := u.unpack(batch, true, func(events []event) bool {
			for _, e := range events {
				if err := new(allowed).check(e.record, time.Hour); err != nil || !seen.Add(e.record.I) {
					b.Fatal(err)
				}
			}
			return true
		})
		if err != nil || len(seen) == 0 {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/n, "µs/record")
	b.ReportMetric(float64(len(batch))/n, "B/record")
}

// BenchmarkRecordsSent is what a worker does to send such a record.
func BenchmarkRecordsSent(b *testing.B) {
	const n = 100
	r, p := rand.New(rand.NewPCG(1, 2)), must(newPacker())
	var all []*record.Record
	for i := range n {
		all = append(all, streamed(i, r))
	}
	b.ReportAllocs()
	for b.Loop() {
		var lines []byte
		for _, one := range all {
			lines = append(one.AppendJSON(append(lines, kindRecord)), '\n')
		}
		must(p.pack(lines))
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/n, "µs/record")
}

// BenchmarkBatches is a batch without records, of which each worker sends four a second: its part of the leader's work that
// grows with the number of workers.
func BenchmarkBatches(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			l := NewLeader(n, []string{"token"}, Build{})
			for i := range n {
				m := &member{session: fmt.Sprint("session", i), seen: time.Now(), more: make(chan struct{}), told: make(chan struct{}), left: make(chan struct{}),
					streams: 1, connected: 1}
				if why := l.seat(m, i); why != "" {
					b.Fatal(why)
				}
			}
			d := &driving{l: l, n: 1, inbox: make(chan delivery), over: make(chan struct{}), records: record.Indexes{}, parts: make([]part, n),
				counts: make([]endpoint.Counts, n), members: l.members, c: endpoint.DriveConfig{Progress: new(endpoint.Progress)}}
			l.driving = d
			ctx, cancel := context.WithCancel(b.Context())
			defer cancel()
			go func() { // as Drive does
				for {
					select {
					case x := <-d.inbox:
						_ = d.take(&x)
						x.wanted <- d.wants(x.m)
					case <-ctx.Done():
						return
					}
				}
			}()
			p := must(newPacker())
			body := bytes.Clone(must(p.pack(must(appendLine(nil, kindCounts, endpoint.Counts{})))))
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				request := httptest.NewRequest(http.MethodPost, fmt.Sprintf("/v1/events?session=session%d&seq=%d&row=1", i%n, i/n+1), bytes.NewReader(body))
				request.Header.Set("Authorization", "Bearer token")
				w := httptest.NewRecorder()
				if l.ServeHTTP(w, request); w.Code != http.StatusNoContent {
					b.Fatal(w.Code, w.Body)
				}
				i++
			}
		})
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
