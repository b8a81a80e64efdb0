package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

type counts struct {
	sent      atomic.Int64 // written in whole or in part
	ended     atomic.Int64 // answered to the end
	cancelled atomic.Int64 // by the caller
	failed    atomic.Int64 // neither
	huge      atomic.Int64 // of those sent
	problem   atomic.Pointer[string]
}

// caller is one stream: a request after the other on its own connection.
type caller struct {
	url    string
	client *http.Client
	random *rand.Rand
	slow   bool
	counts *counts
}

func newCaller(url string, i int, c *counts) *caller {
	slow := i%10 == 9
	dialer := net.Dialer{}
	transport := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, network, address)
		if tcp, ok := conn.(*net.TCPConn); ok && slow {
			_ = tcp.SetReadBuffer(4 << 10) // so that it really does not take what it does not read
		}
		return conn, err
	}}
	return &caller{url: url, client: &http.Client{Transport: transport}, random: rand.New(rand.NewPCG(1, uint64(i))), slow: slow, counts: c}
}

// run sends requests until loading ends; the last one goes on to its end.
func (c *caller) run(ctx, loading context.Context) {
	defer c.client.CloseIdleConnections()
	pause(loading, time.Duration(c.random.Int64N(int64(5*time.Second)))) // streams begin apart
	for loading.Err() == nil {
		c.request(ctx)
	}
}

func (c *caller) request(ctx context.Context) {
	tokens := 10 + c.random.IntN(190)
	leave := 0 // bytes after which the caller leaves; 0 = it stays
	if c.random.IntN(10) == 0 {
		leave = 1 + c.random.IntN(200*tokens)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	text := fmt.Sprintf("question %d", c.random.Int64())
	body := fmt.Sprintf(`{"model":"bench-mock","stream":true,"ignore_eos":true,"max_tokens":%d,"messages":[{"role":"user","content":%q}]}`, tokens, text)
	c.counts.sent.Add(1)
	resp, err := post(ctx, c.client, c.url, strings.NewReader(body))
	if err != nil {
		c.counts.fail(err.Error())
		return
	}
	defer resp.Body.Close()
	read, whole, err := c.read(ctx, resp.Body, leave)
	switch {
	case leave > 0 && read >= leave:
		c.counts.cancelled.Add(1)
	case err != nil:
		c.counts.fail(err.Error())
	case resp.StatusCode != http.StatusOK || !whole:
		c.counts.fail(resp.Status + ", an answer without an end")
	default:
		c.counts.ended.Add(1)
	}
}

// read reads an answer, and stops behind leave bytes (0 = never).
func (c *caller) read(ctx context.Context, r io.Reader, leave int) (n int, whole bool, err error) {
	buffer := make([]byte, 4<<10)
	var last []byte
	for {
		k, err := r.Read(buffer)
		n += k
		last = append(last[max(0, len(last)-64):], buffer[:k]...)
		if leave > 0 && n >= leave {
			return n, false, nil
		}
		switch {
		case err == io.EOF:
			return n, bytes.Contains(last, []byte("data: [DONE]")), nil
		case err != nil:
			return n, false, err
		}
		if c.slow {
			pause(ctx, time.Second)
		}
	}
}

func (c *counts) fail(problem string) {
	c.failed.Add(1)
	c.problem.CompareAndSwap(nil, &problem)
}

func post(ctx context.Context, client *http.Client, url string, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/chat/completions", body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	return client.Do(req)
}

// sendHuge sends a huge body now and then: the server refuses it for its length, after it has read it.
func sendHuge(ctx, loading context.Context, url string, c *counts) {
	text := strings.Repeat("word ", hugeBody/5)
	body := `{"model":"bench-mock","max_tokens":1,"messages":[{"role":"user","content":"` + text + `"}]}`
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for pause(loading, hugeEvery) {
		c.sent.Add(1)
		c.huge.Add(1)
		resp, err := post(ctx, client, url, strings.NewReader(body))
		if err != nil {
			c.fail(err.Error())
			continue
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			c.fail(err.Error())
		} else {
			c.ended.Add(1) // with the server's answer, whatever it is
		}
		resp.Body.Close()
	}
}

// pause waits, and reports whether ctx has not ended.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}
