package openai

import (
	"bufio"
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// slowDials makes each connection take the time that took returns, or fail with its error, and end with its
// context. Each connection answers every request after a second.
func slowDials(c *Client, took func(n int) (time.Duration, error)) (begun, ended *atomic.Int64) {
	begun, ended = new(atomic.Int64), new(atomic.Int64)
	c.dialTCP = func(ctx context.Context, _, _ string) (net.Conn, error) {
		n := int(begun.Add(1)) - 1
		defer ended.Add(1)
		d, err := took(n)
		select {
		case <-time.After(d):
		case <-ctx.Done():
			err = ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		near, far := net.Pipe()
		go func() {
			defer far.Close()
			answer(func(p *peer) {
				time.Sleep(time.Second)
				p.say(streamHead, chunked(token("a")+finish("stop")+doneEvent), lastChunk)
			})(0, &peer{far, bufio.NewReader(far)})
		}()
		return near, nil
	}
	return begun, ended
}

// together sends n requests at once, and returns their results.
func together(ctx context.Context, c *Client, n int) []Result {
	results := make([]Result, n)
	var all sync.WaitGroup
	for i := range results {
		all.Go(func() { c.Do(ctx, &streamCall, &results[i]) })
	}
	all.Wait()
	return results
}

// A request that waits for a slow server to accept takes the connection that another one frees.
func TestFreedConnectionIsTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testClient(t, "test")
		defer c.Close()
		begun, ended := slowDials(c, func(n int) (time.Duration, error) { return time.Duration(n) * 10 * time.Second, nil })
		start := time.Now()
		for i, r := range together(t.Context(), c, 3) { // each takes a second on the connection that was there at once
			if r.Outcome != OK {
				t.Errorf("request %d: %s %s", i, r.Outcome, r.Error)
			}
		}
		if took := time.Since(start); took != 3*time.Second {
			t.Errorf("took %v", took)
		}
		if begun.Load() != 3 || ended.Load() != 1 {
			t.Errorf("%d connections, %d of them open", begun.Load(), ended.Load())
		}
		c.Close()
		if ended.Load() != 3 {
			t.Error("Close left a connection that was being opened")
		}
	})
}

// A request is billed no more than it waited for its connection.
func TestConnectIsWhatTheRequestWaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testClient(t, "test")
		defer c.Close()
		slowDials(c, func(int) (time.Duration, error) { return 4 * time.Second, nil })
		var first, second Result
		var all sync.WaitGroup
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		all.Go(func() { c.Do(t.Context(), &streamCall, &first) })
		synctest.Wait()
		all.Go(func() { c.Do(short, &streamCall, &Result{}) })
		time.Sleep(3 * time.Second)
		all.Go(func() { c.Do(t.Context(), &streamCall, &second) })
		all.Wait()
		if first.Outcome != OK || second.Outcome != OK || first.Connect != 4*time.Second {
			t.Errorf("%s %s, %s %s, connect %v", first.Outcome, first.Error, second.Outcome, second.Error, first.Connect)
		}
		if second.Reused || second.Connect != time.Second { // the one that was opened for the request that gave up
			t.Errorf("reused %v, connect %v", second.Reused, second.Connect)
		}
	})
}

// Each connection that fails ends the wait of one request, and no other.
func TestFailedDials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testClient(t, "test")
		defer c.Close()
		begun, _ := slowDials(c, func(n int) (time.Duration, error) {
			if n%2 == 1 {
				return time.Second, errors.New("refused")
			}
			return time.Second, nil
		})
		outcomes := map[Outcome]int{}
		for _, r := range together(t.Context(), c, 2*dialAtOnce) {
			outcomes[r.Outcome]++
		}
		if outcomes[Connect] == 0 || outcomes[OK]+outcomes[Connect] != 2*dialAtOnce || begun.Load() > 2*dialAtOnce {
			t.Errorf("%v, %d connections begun", outcomes, begun.Load())
		}
	})
}

// A request that gives up leaves no one behind, and its connection is for the next one.
func TestGivingUpTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testClient(t, "test")
		defer c.Close()
		begun, ended := slowDials(c, func(n int) (time.Duration, error) { return time.Hour, nil })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for _, r := range together(ctx, c, 2*dialAtOnce) {
			if r.Outcome != Timeout || r.Sent != Never {
				t.Fatal(r.Outcome, r.Error)
			}
		}
		synctest.Wait()
		if begun.Load() != dialAtOnce || ended.Load() != dialAtOnce || len(c.idle.waiting) > 0 {
			t.Errorf("%d begun, %d ended, %d waiting", begun.Load(), ended.Load(), len(c.idle.waiting))
		}
	})
}

// A repeated header is parsed once; another one is not mistaken for it, and secrets are hidden in both.
func TestRepeatedHeader(t *testing.T) {
	c := testClient(t, "test")
	one, err := c.parseHead([]byte("HTTP/1.1 200 OK\r\nX-Key: " + testKey + "\r\nContent-Length: 3\r\n\r\n"))
	if err != nil || one.Header.Get("X-Key") == testKey {
		t.Fatal(one, err)
	}
	same, _ := c.parseHead([]byte("HTTP/1.1 200 OK\r\nX-Key: " + testKey + "\r\nContent-Length: 3\r\n\r\n"))
	other, _ := c.parseHead([]byte("HTTP/1.1 200 OK\r\nX-Key: " + testKey + "\r\nContent-Length: 4\r\n\r\n"))
	if same != one || other == one || other.ContentLength != 4 {
		t.Error(same == one, other.ContentLength)
	}
}
