package load

import (
	"context"
	"testing"
	"testing/synctest"

	"bench/experiment/workload"
)

// encodedAhead is how many bodies of that size are encoded before the first is taken, and their bytes.
func encodedAhead(c Config, size int) (count, bytes int) {
	b := newBodies(&c)
	for full := false; !full; {
		full = b.add(prepared{body: make([]byte, size)})
	}
	return len(b.list), b.bytes
}

// What is ahead is bounded by bytes: a million tokens of one worker are a few prompts, not 128.
func TestBodiesAhead(t *testing.T) {
	closed := func(n int) Config { return Config{Load: workload.Load{Concurrency: n}} }
	for _, tt := range []struct {
		what        string
		c           Config
		size, count int
	}{
		{"short ones", closed(4), 300, ahead},
		{"one for each worker", closed(5000), 300, 5001},
		{"a burst", Config{Rate: inf.Rate, Load: workload.Load{Requests: 3000}}, 300, 3000},
		{"a fast open loop", Config{Rate: 5000}, 300, 500},
		{"a million tokens, one worker", closed(1), 7 << 20, 10},
		{"huge ones", closed(1), 40 << 20, 2},
		{"long ones of many workers", closed(64), 1 << 20, 65},
		{"long ones of an open loop", Config{Rate: 10}, 1 << 20, 64},
	} {
		if n, bytes := encodedAhead(tt.c, tt.size); n != tt.count {
			t.Errorf("%s: %d bodies, %d bytes, want %d", tt.what, n, bytes, tt.count)
		}
	}
}

// The encoder goes on when a quarter is used up; no body is lost, and the end comes once all are taken.
func TestBodiesRefill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBodies(&Config{})
		const all = 10 * ahead
		rounds := 0
		go func() {
			for i := range all {
				if b.add(prepared{request: workload.Request{Index: i}}) {
					rounds++
					<-b.taken
				}
			}
			b.end()
		}()
		for i := range all {
			if p, ok, _ := b.next(t.Context()); !ok || p.request.Index != i {
				t.Fatal(i, p.request.Index, ok)
			}
		}
		if _, ok, ended := b.next(t.Context()); ok || !ended {
			t.Error("no end")
		}
		if rounds > 60 {
			t.Errorf("the encoder was woken %d times", rounds)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, ok, ended := newBodies(&Config{}).next(ctx); ok || ended {
			t.Error("a body after the end of the context")
		}
	})
}

// Goroutines are reused, and end with the crew.
func TestCrew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c crew
		done := 0
		for range 100 {
			c.run(func() { done++ })
			synctest.Wait()
		}
		if done != 100 || len(c.idle) != 1 {
			t.Errorf("%d done by %d goroutines", done, len(c.idle))
		}
		release := make(chan struct{})
		for range 10 {
			c.run(func() { <-release })
		}
		synctest.Wait()
		close(release)
		synctest.Wait()
		if len(c.idle) != 10 {
			t.Errorf("%d goroutines", len(c.idle))
		}
		c.end() // a goroutine that is left fails the bubble
	})
}

// BenchmarkCrew is a hand-over of a function.
func BenchmarkCrew(b *testing.B) {
	var c crew
	defer c.end()
	done := make(chan struct{})
	f := func() { done <- struct{}{} }
	b.ReportAllocs()
	for b.Loop() {
		c.run(f)
		<-done
	}
}
