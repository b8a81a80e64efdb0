package openai

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
)

// FuzzFraming: where net/http reads a response whole, the framing counts as many bytes of body, however it is split.
func FuzzFraming(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\r\nA: b\r\n\r\nhello"), []byte{3})
	f.Add([]byte("HTTP/1.1 103 Early\r\nA: b\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0A;x=y\r\n0123456789\r\n0\r\nT: r\r\n\r\n"), []byte{1, 7})
	f.Add([]byte("HTTP/1.1 200 OK\ntransfer-encoding:  Chunked\n\n5\nhello\r\n0\n\n"), []byte{})
	f.Fuzz(func(t *testing.T, in, cuts []byte) {
		var frames framing
		got := 0
		buf := make([]byte, 300)
		for r := splitReader(in, cuts); ; {
			n, err := r.Read(buf)
			if err != nil {
				break
			}
			got += frames.feed(buf[:n])
		}
		var whole framing
		if once := whole.feed(in); once != got {
			t.Fatalf("%q: %d bytes in one piece, %d in several", in, once, got)
		}
		if body, ok := response(in); ok && body != got {
			t.Errorf("%q: net/http reads %d bytes of body, the framing counts %d", in, body, got)
		}
	})
}

// response is net/http's length of the body, where it takes the response and the response is one that a server that
// means well could send: later bytes and odd headers are not compared.
func response(in []byte) (body int, ok bool) {
	r := bufio.NewReader(bytes.NewReader(in))
	resp, err := http.ReadResponse(r, nil)
	for err == nil && resp.StatusCode/100 == 1 {
		resp, err = http.ReadResponse(r, nil)
	}
	if err != nil || len(resp.TransferEncoding) == 0 && len(resp.Header["Transfer-Encoding"]) > 0 || resp.ContentLength >= 0 ||
		resp.ProtoMajor != 1 || resp.ProtoMinor != 1 || resp.StatusCode < 200 || !strings.HasPrefix(string(in), "HTTP/1.1 ") {
		return 0, false
	}
	data, err := io.ReadAll(resp.Body)
	if _, rest := r.Peek(1); err != nil || rest == nil {
		return 0, false
	}
	return len(data), true
}

// TestArrivals: each read is known by the body bytes that it brought, and the log is kept short.
func TestArrivals(t *testing.T) {
	c := &conn{clock: newClock(), rx: &receiver{}}
	c.begin()
	head := "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	c.note([]byte(head), c.clock.base.Add(1))
	c.note([]byte("a\r\n01234"), c.clock.base.Add(2))
	c.note([]byte("567"), c.clock.base.Add(3))
	c.note([]byte("89\r\n2\r"), c.clock.base.Add(4))
	c.note([]byte("\nab\r\n0\r\n\r\n"), c.clock.base.Add(5))
	for _, tt := range [][2]int64{{1, 2}, {5, 2}, {6, 3}, {8, 3}, {9, 4}, {10, 4}, {11, 5}, {12, 5}, {12, 5}, {99, 5}} {
		if got := c.arrival(tt[0]); int64(got.at) != tt[1] {
			t.Errorf("byte %d at %d, want %d", tt[0], got.at, tt[1])
		}
	}
	c.begin()
	c.note([]byte("HTTP/1.1 200 OK\r\n\r\n"), c.clock.base.Add(1))
	for i := range 10_000 {
		c.note([]byte("x"), c.clock.base.Add(2))
		c.arrival(int64(i + 1))
	}
	if cap(c.log) > 256 {
		t.Errorf("the log grew to %d", cap(c.log))
	}
}
