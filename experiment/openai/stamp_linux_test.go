package openai

import (
	"errors"
	"io"
	"log"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func pair(t *testing.T) (near *receiver, far net.Conn) {
	t.Helper()
	far2 := make(chan net.Conn, 1)
	addr := listen(t, func(_ int, p *peer) {
		far2 <- p.Conn
		<-t.Context().Done()
	})
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	near = newReceiver(c)
	if near.raw == nil {
		t.Skip("this kernel gives no receive stamps")
	}
	return near, <-far2
}

// TestStamp: the kernel's stamp is between the write and the read, however late the read is.
func TestStamp(t *testing.T) {
	near, far := pair(t)
	stamped := 0
	for range 50 {
		before := time.Now().UnixNano()
		if _, err := far.Write([]byte("hello")); err != nil {
			t.Fatal(err)
		}
		written := time.Now().UnixNano()
		time.Sleep(2 * time.Millisecond)
		var buf [16]byte
		n, err := near.Read(buf[:])
		if err != nil || string(buf[:n]) != "hello" {
			t.Fatal(n, err)
		}
		if near.stamp == 0 {
			continue // the first segments may arrive before the kernel has turned stamps on
		}
		stamped++
		if near.stamp < before || near.stamp > time.Now().UnixNano() {
			t.Errorf("stamp %d outside of %d..%d", near.stamp, before, written)
		}
	}
	if stamped == 0 {
		t.Skip("this kernel stamps no loopback segments")
	}
}

func TestReceiverEnds(t *testing.T) {
	near, far := pair(t)
	var buf [16]byte
	near.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
	if _, err := near.Read(buf[:]); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a deadline gives %v", err)
	}
	near.SetReadDeadline(time.Time{})
	if bytes, end := near.peek(); bytes || end {
		t.Error("an open connection is called closed, or has bytes")
	}
	far.Write([]byte("x"))
	for bytes, end := near.peek(); !bytes; bytes, end = near.peek() { // hangs if it never reports them
		if end {
			t.Fatal("an open connection is reported as closed")
		}
		time.Sleep(time.Millisecond)
	}
	near.Read(buf[:])
	far.(*net.TCPConn).CloseWrite()
	if n, err := near.Read(buf[:]); n != 0 || err != io.EOF {
		t.Errorf("the end gives %d, %v", n, err)
	}
	if _, end := near.peek(); !end {
		t.Error("a closed connection is called open")
	}
	near.Close()
	if _, err := near.Read(buf[:]); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a closed connection gives %v", err)
	}
}

func TestReceiverUnblocks(t *testing.T) {
	near, _ := pair(t)
	done := make(chan error)
	go func() {
		_, err := near.Read(make([]byte, 1))
		done <- err
	}()
	time.Sleep(5 * time.Millisecond)
	near.Close()
	if err := <-done; !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
}

func TestReset(t *testing.T) {
	near, far := pair(t)
	far.(*net.TCPConn).SetLinger(0)
	far.Close()
	if _, err := near.Read(make([]byte, 1)); err == nil || err == io.EOF || !connectionLost(err) {
		t.Errorf("a reset gives %v", err)
	}
}

// stampedStream serves a stream by net/http, an event each 2 ms, and requests it.
func stampedStream(t *testing.T, s *httptest.Server, c *Client) {
	var r Result
	for range 3 {
		c.Do(t.Context(), &streamCall, &r)
		if r.Outcome != OK || r.Events != 20 {
			t.Fatalf("%+v", r)
		}
		checkTimes(t, &r)
		if r.KernelStamps+r.UserStamps != 20 || r.ReadLag < 0 || r.ReadLagSum < r.ReadLag {
			t.Errorf("%d kernel and %d user stamps, lag %v of %v", r.KernelStamps, r.UserStamps, r.ReadLag, r.ReadLagSum)
		}
	}
	if r.KernelStamps == 0 {
		t.Skip("this kernel gives no receive stamps")
	}
	if r.KernelStamps == 20 && r.Last-r.First < 19*time.Millisecond {
		t.Errorf("20 events, 2 ms apart, within %v", r.Last-r.First)
	}
}

func TestStampedStream(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(ticking))
	defer s.Close()
	stampedStream(t, s, testClient(t, s.Listener.Addr().String()))
}

func TestStampedStreamTLS(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(ticking))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	c := testClient(t, "", func(o *Options) { o.BaseURL = s.URL + "/v1" })
	c.tls.RootCAs = s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	c.tls.ServerName = "example.com"
	if n, err := c.Prepare(t.Context(), 2); len(n) != 2 || err != nil {
		t.Fatal(n, err)
	}
	stampedStream(t, s, c)
	c.tls.RootCAs = nil
	c.Close()
	var r Result
	c.Do(t.Context(), &streamCall, &r)
	if r.Outcome != Connect {
		t.Errorf("an unknown certificate gives %q: %s", r.Outcome, r.Error)
	}
}

// TestStampEach: events that wait together, because the client is late, have a stamp each. The kernel may
// merge acknowledged segments at any time, so one good attempt of several is enough.
func TestStampEach(t *testing.T) {
	worst := time.Duration(math.MaxInt64)
	for range 10 {
		worst = min(worst, stampEach(t))
		if worst < 2*time.Millisecond {
			return
		}
	}
	t.Errorf("a stamp %v behind its write, at best, for writes that are 3 ms apart", worst)
}

// stampEach reads five events late, all at once, and returns how far the worst stamp is behind its write.
func stampEach(t *testing.T) (worst time.Duration) {
	near, far := pair(t)
	const n = 5
	err := near.raw.Control(func(fd uintptr) { // a new connection acknowledges at once
		if err := unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_QUICKACK, 0); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	event := chunked("data: a short one\n\n")
	var written []int64
	for range n {
		written = append(written, time.Now().UnixNano())
		if _, err := io.WriteString(far, event); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Millisecond)
	}
	var stamps []int64
	got := ""
	err = near.readLoop(func(b []byte, _ time.Time) bool {
		got += string(b)
		stamps = append(stamps, near.stamp)
		return len(got) == n*len(event)
	})
	if err != nil || got != strings.Repeat(event, n) || len(stamps) != n {
		t.Fatalf("%v: %d pieces: %q", err, len(stamps), got)
	}
	for i, stamp := range stamps {
		if i < 2 && stamp == 0 { // may arrive before the kernel has turned stamps on
			continue
		}
		late := time.Duration(stamp - written[i])
		if late < 0 {
			t.Errorf("event %d: stamp %v before its write", i, -late)
		}
		worst = max(worst, late)
	}
	return worst
}

func TestFirstEvent(t *testing.T) {
	for _, tt := range []struct{ first, rest string }{
		{"data: a\n\n", "data: b\n\n"},
		{"5\r\ndata: a\n\n", "\r\n5\r\ndata: b\n\n\r\n"},
		{"5\r\ndata: a\n\n\r\n", ""},
		{"data: a\r\n\r\n", "data: b\r\n"},
		{"data: a", ""},
		{"data: a\n", ""},
		{"\r\n\n", "abc"},
		{"", ""},
	} {
		if got := firstEvent([]byte(tt.first + tt.rest)); got != len(tt.first) {
			t.Errorf("%q: %d, want %d", tt.first+tt.rest, got, len(tt.first))
		}
	}
}

// TestDeadlineInFlood: a peer that always has more to send does not keep the loop from its deadline.
func TestDeadlineInFlood(t *testing.T) {
	near, far := pair(t)
	go func() {
		for _, err := far.Write(make([]byte, 64<<10)); err == nil; {
			_, err = far.Write(make([]byte, 64<<10))
		}
	}()
	reads := 0
	err := near.readLoop(func([]byte, time.Time) bool {
		if reads++; reads == 1 {
			near.SetReadDeadline(time.Unix(1, 0))
		}
		time.Sleep(200 * time.Microsecond) // slower than the peer: there is always more
		return reads == 10*readsAtOnce
	})
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%v after %d reads", err, reads)
	}
	near.Close()
}
