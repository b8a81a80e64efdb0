package openai

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

const testKey = "sk-test-0123456789"

// peer is the server's end of a connection, with helpers for the protocol.
type peer struct {
	net.Conn
	in *bufio.Reader
}

func (p *peer) request() (*http.Request, []byte, error) {
	req, err := http.ReadRequest(p.in)
	if err != nil {
		return nil, nil, err
	}
	body, err := io.ReadAll(req.Body)
	return req, body, err
}

func (p *peer) say(parts ...string) { _, _ = io.WriteString(p, strings.Join(parts, "")) }

func chunked(data string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(data), data) }

const (
	streamHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
	plainHead  = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
	lastChunk  = "0\r\n\r\n"
	doneEvent  = "data: [DONE]\n\n"
)

func token(text string) string {
	return fmt.Sprintf(`data: {"id":"cmpl-7","object":"text_completion","choices":[{"index":0,"text":%q,"finish_reason":null}],"usage":null}`+"\n\n", text)
}

func finish(reason string) string {
	return fmt.Sprintf(`data: {"id":"cmpl-7","choices":[{"index":0,"text":"","finish_reason":%q}]}`+"\n\n", reason)
}

func usage(prompt, output int) string {
	return fmt.Sprintf(`data: {"id":"cmpl-7","choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d,"prompt_tokens_details":{"cached_tokens":3}}}`+"\n\n", prompt, output)
}

// listen serves raw TCP on loopback: handle gets each connection, numbered from 0, which is closed when it
// returns.
func listen(t testing.TB, handle func(n int, p *peer)) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	var open []net.Conn
	wg.Go(func() {
		for n := 0; ; n++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, c)
			mu.Unlock()
			wg.Go(func() {
				defer c.Close()
				handle(n, &peer{c, bufio.NewReader(c)})
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		for _, c := range open {
			c.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
	return l.Addr().String()
}

// answer serves every request of every connection with say.
func answer(say func(p *peer)) func(int, *peer) {
	return func(_ int, p *peer) {
		for {
			if _, _, err := p.request(); err != nil {
				return
			}
			say(p)
		}
	}
}

// once serves one request of a connection with say, and closes the connection.
func once(say func(p *peer)) func(int, *peer) {
	return func(_ int, p *peer) {
		if _, _, err := p.request(); err == nil {
			say(p)
		}
	}
}

func testClient(t testing.TB, addr string, change ...func(*Options)) *Client {
	t.Helper()
	o := Options{BaseURL: "http://" + addr + "/v1", APIKey: testKey, Timeout: time.Minute}
	for _, f := range change {
		f(&o)
	}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// pipes makes the client dial in-memory pipes to handle, for use in a synctest bubble.
func pipes(c *Client, handle func(n int, p *peer)) {
	n := 0
	var mu sync.Mutex
	c.dialTCP = dialFunc(func() (net.Conn, error) {
		mu.Lock()
		defer mu.Unlock()
		near, far := net.Pipe()
		i := n
		n++
		go func() {
			defer far.Close()
			handle(i, &peer{far, bufio.NewReader(far)})
		}()
		return near, nil
	})
}

var streamCall = Call{Body: []byte(`{"prompt":"x","stream":true}`), Stream: true}
