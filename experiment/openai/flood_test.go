package openai

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bench/experiment/target"
)

// flood repeats a piece of an answer until the connection ends.
func flood(head, piece string) func(p *peer) {
	return func(p *peer) {
		p.say(head)
		many := strings.Repeat(piece, 1+32<<10/len(piece))
		for _, err := io.WriteString(p, many); err == nil; {
			_, err = io.WriteString(p, many)
		}
	}
}

// TestInterim: interim responses are skipped, up to a number and a size.
func TestInterim(t *testing.T) {
	early := "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
	whole := stream(token("a"), finish("stop"), doneEvent)
	tests := map[string]struct {
		server func(p *peer)
		want   Outcome
		text   string
	}{
		"the most":    {func(p *peer) { p.say(strings.Repeat(early, maxInterim)); whole(p) }, OK, ""},
		"too many":    {func(p *peer) { p.say(strings.Repeat(early, maxInterim+1)); whole(p) }, Protocol, "more than 1000 interim (1xx) responses"},
		"without end": {flood("", early), Protocol, "more than 1000 interim (1xx) responses"},
		"too long":    {flood("", "HTTP/1.1 103 Early Hints\r\nLink: <"+strings.Repeat("x", 10<<10)+">\r\n\r\n"), Protocol, "longer than 1 MiB"},
		"byte by byte": {func(p *peer) {
			for i := range len(early) {
				p.say(early[i : i+1])
				time.Sleep(100 * time.Microsecond)
			}
			whole(p)
		}, OK, ""},
		"switching protocols": {func(p *peer) { p.say("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n") }, Status, "HTTP 101"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := testClient(t, listen(t, once(tt.server)))
			var r Result
			c.Do(t.Context(), &streamCall, &r)
			if r.Outcome != tt.want || !strings.Contains(r.Error, tt.text) {
				t.Errorf("%s: %s", r.Outcome, r.Error)
			}
		})
	}
}

// TestFramingBounds: what is not data ends.
func TestFramingBounds(t *testing.T) {
	for name, text := range map[string]string{
		"extension": "1;" + strings.Repeat("x", 8<<10),
		"trailer":   "0\r\n" + strings.Repeat("X: y\r\n", 20<<10),
	} {
		f := framing{state: inSize}
		if _, _, err := f.next([]byte(text)); err != errChunk {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// hostile is a stream with an event that does not end.
var hostile = flood(plainHead, "data: {\"choices\":[{\"text\":\"")

// TestBudget: large buffers of all requests together are bounded, ordinary answers do not count, and every
// request gives back what it took.
func TestBudget(t *testing.T) {
	servers := map[string]func(p *peer){
		"a line":    hostile,
		"a list":    flood(plainHead, "data: 1,\n"),
		"an answer": flood("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", "{\"choices\":["),
	}
	for name, server := range servers {
		t.Run(name, func(t *testing.T) {
			c := testClient(t, listen(t, once(server)))
			c.buffers.limit = 1 << 20
			call := streamCall
			call.Stream = name != "an answer"
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					var r Result
					c.Do(t.Context(), &call, &r)
					if want := errBudget.Error(); r.Outcome != Protocol || !strings.Contains(r.Error, want) {
						t.Errorf("%s: %s", r.Outcome, r.Error)
					}
				})
			}
			wg.Wait()
			if left := c.buffers.used.Load(); left != 0 {
				t.Errorf("%d bytes are still taken", left)
			}
		})
	}
}

// TestLargeEvent: an event of 8 MiB is fine, and its memory is free before the stream ends.
func TestLargeEvent(t *testing.T) {
	long := strings.Repeat("x", 8<<20)
	var client atomic.Pointer[Client]
	var freed atomic.Bool
	c := testClient(t, listen(t, once(func(p *peer) {
		p.say(plainHead, token(long), token("b"))
		for range 5000 { // until the client has read the second event
			if freed.Store(client.Load().buffers.used.Load() == 0); freed.Load() {
				break
			}
			time.Sleep(time.Millisecond)
		}
		p.say(finish("stop"), doneEvent)
	})))
	client.Store(c)
	var r Result
	c.Do(t.Context(), &streamCall, &r)
	if r.Outcome != OK || r.Events != 2 {
		t.Errorf("%s: %s, %d events", r.Outcome, r.Error, r.Events)
	}
	if !freed.Load() {
		t.Error("the event's memory is still taken")
	}
}

// TestExhaustedBudget: ordinary answers of both kinds don't need the budget.
func TestExhaustedBudget(t *testing.T) {
	for _, api := range []string{target.Completions, target.Chat} {
		c := testClient(t, listen(t, once(stream(token("a"), finish("stop"), doneEvent))), func(o *Options) { o.API = api })
		c.buffers.limit = 0
		var r Result
		c.Do(t.Context(), &streamCall, &r)
		if r.Outcome != OK {
			t.Errorf("%s: %s: %s", api, r.Outcome, r.Error)
		}
	}
}

// TestBudgetAppend: the budget's append gives the builtin's bytes, and counts exactly what is in use.
func TestBudgetAppend(t *testing.T) {
	b := budget{limit: 1 << 30}
	var got []byte
	want := 0
	for n := 1; want < 20<<20; n = n*3/2 + 1 {
		piece := make([]byte, min(n, 1<<20))
		piece[0] = byte(n)
		var err error
		if got, err = b.append(got, piece); err != nil {
			t.Fatal(err)
		}
		if want += len(piece); len(got) != want || got[want-len(piece)] != byte(n) || b.used.Load() != counted(cap(got)) {
			t.Fatal(fmt.Sprint(len(got), want, b.used.Load(), cap(got)))
		}
		if cap(got) > 2*growStep && cap(got) > len(got)+growStep {
			t.Fatalf("%d bytes have a buffer of %d", len(got), cap(got))
		}
	}
	if b.reuse(got); b.used.Load() != 0 {
		t.Error(b.used.Load())
	}
}

// TestManyEvents: the events of one answer are bounded.
func TestManyEvents(t *testing.T) {
	c := testClient(t, listen(t, once(flood(plainHead, "data: {\"choices\":[{\"text\":\"\"}]}\n\n"))))
	var r Result
	c.Do(t.Context(), &streamCall, &r)
	if r.Outcome != Protocol || !strings.Contains(r.Error, errEmpties.Error()) {
		t.Errorf("%s: %s", r.Outcome, r.Error)
	}
}

// TestLargeJSON: large errors and answers in one piece wait for their turn, no longer than the request may take.
func TestLargeJSON(t *testing.T) {
	list := strings.Repeat("1,", largeJSON/2) // with what is around it just large
	for name, stream := range map[string]bool{"stream": true, "document": false} {
		t.Run(name, func(t *testing.T) {
			c := testClient(t, listen(t, once(func(p *peer) {
				document := `{"error":{"message":"boom"},"x":[` + list + `1]}`
				if stream {
					p.say(plainHead, "data: ", document, "\n\n", doneEvent)
				} else {
					p.say("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", document)
				}
			})))
			call := streamCall
			call.Stream = stream
			c.decoding <- struct{}{}
			c.timeout = 100 * time.Millisecond
			var r Result
			c.Do(t.Context(), &call, &r)
			if r.Outcome != Timeout {
				t.Errorf("%s: %s", r.Outcome, r.Error)
			}
			<-c.decoding
			c.timeout = time.Minute
			c.Do(t.Context(), &call, &r)
			if r.Outcome != Protocol || !strings.Contains(r.Error, "boom") || len(c.decoding) != 0 {
				t.Errorf("%s: %s", r.Outcome, r.Error)
			}
		})
	}
}
