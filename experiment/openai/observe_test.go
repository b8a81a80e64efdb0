package openai

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"bench/experiment/target"
)

var (
	sseHeader  = http.Header{"Content-Type": {"text/event-stream; charset=utf-8"}}
	jsonHeader = http.Header{"Content-Type": {"application/json"}}
)

// passed is an exchange as a proxy sees it.
type passed struct {
	status int // 0: no response
	header http.Header
	pieces []string
	end    error
}

// observe gives an exchange to an observer, a step of time after the other.
func (p *passed) observe(o *Observer, step time.Duration, pieces ...string) (r Result, measured bool) {
	epoch := time.Now()
	at := epoch
	tick := func() time.Time { at = at.Add(step); return at }
	x := o.Begin(epoch, &r)
	x.Sent(tick())
	if p.status != 0 {
		x.Response(p.status, p.header, tick())
	}
	for _, text := range pieces {
		b := []byte(text)
		x.Piece(b, tick())
		clear(b) // it is the proxy's
	}
	measured = x.End(p.end, tick())
	return r, measured
}

func observe(o *Observer, header http.Header, end error, pieces ...string) (r Result, measured bool) {
	p := passed{status: 200, header: header, end: end}
	return p.observe(o, time.Millisecond, pieces...)
}

func TestObserve(t *testing.T) {
	const ms = time.Millisecond
	o := NewObserver(target.Completions)
	for range 2 { // the second one has nothing of the first
		r, ok := observe(o, sseHeader, io.EOF, token("a"), token("b"), finish("stop"), usage(5, 2)+doneEvent, ": behind it\n")
		if !ok || r.Outcome != OK || r.Sent != ms || r.First != 3*ms || r.Last != 4*ms || r.End != 6*ms || r.OutputTokens != 2 || r.PromptTokens != 5 ||
			r.Finish != "stop" || len(r.Gaps) != 1 || r.Gaps[0] != ms || r.Status != 200 || r.UserStamps != 2 {
			t.Errorf("%+v", r)
		}
	}
	const document = `{"choices":[{"text":"x","finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":2}}`
	r, ok := observe(o, jsonHeader, io.EOF, document[:9], document[9:])
	if !ok || r.Outcome != OK || r.First != Never || r.Last != 4*ms || r.End != 5*ms || r.OutputTokens != 2 {
		t.Errorf("%+v", r)
	}
	var x Observation // ended
	x.Sent(time.Now())
	x.Response(200, sseHeader, time.Now())
	x.Piece([]byte("x"), time.Now())
	if x.End(nil, time.Now()) {
		t.Error("it ended twice")
	}
}

// TestObservedKind: without a content type of its own, the first byte says what an answer is.
func TestObservedKind(t *testing.T) {
	o := NewObserver(target.Completions)
	whole := token("a") + finish("stop") + doneEvent
	document := `{"choices":[{"text":"x","finish_reason":"stop"}]}`
	for name, c := range map[string]struct {
		kind, body string
		want       Outcome
		events     int
	}{
		"no type":             {"", whole, OK, 1},
		"text":                {"text/plain", "\n" + whole, OK, 1},
		"a document as text":  {"text/plain", " \n " + document, OK, 0},
		"spelling":            {"Text/Event-Stream ;charset=utf-8", whole, OK, 1},
		"HTML":                {"text/html", "<html>", Protocol, 0},
		"an error":            {"text/event-stream", `{"error":"boom"}`, Protocol, 0},
		"nothing":             {"", "", Truncated, 0},
		"problem of the type": {"application/problem+json", `{"error":"boom"}`, Protocol, 0},
	} {
		h := http.Header{"Content-Type": {c.kind}}
		all, _ := observe(o, h, io.EOF, c.body)
		bytes, _ := observe(o, h, io.EOF, strings.Split(c.body, "")...)
		if all.Outcome != c.want || bytes.Outcome != c.want || all.Events != c.events || bytes.Events != c.events {
			t.Errorf("%s: %q, %q; %d, %d events", name, all.Outcome, bytes.Outcome, all.Events, bytes.Events)
		}
	}
}

// TestObservedEnds: how the end of an exchange decides its outcome, and that no result has a text.
func TestObservedEnds(t *testing.T) {
	const secret = "10.1.2.3:8000"
	lost := &net.OpError{Op: "read", Net: "tcp", Err: errors.New(secret)}
	whole := token("a") + finish("stop") + usage(5, 1)
	for name, c := range map[string]struct {
		p      passed
		body   string
		want   Outcome
		output int
	}{
		"refused":                          {passed{end: lost}, "", Connect, 0},
		"no answer in time":                {passed{end: context.DeadlineExceeded}, "", Timeout, 0},
		"left before the answer":           {passed{end: ErrCallerLeft}, "", Left, 0},
		"left, wrapped":                    {passed{end: fmt.Errorf("x: %w", ErrCallerLeft)}, "", Left, 0},
		"left in the middle":               {passed{status: 200, header: sseHeader, end: ErrCallerLeft}, token("a") + token("b"), Left, 2},
		"left in an event":                 {passed{status: 200, header: sseHeader, end: ErrCallerLeft}, token("a") + `data: {"cho`, Left, 1},
		"left behind the finish":           {passed{status: 200, header: sseHeader, end: ErrCallerLeft}, whole, OK, 1},
		"left behind [DONE]":               {passed{status: 200, header: sseHeader, end: ErrCallerLeft}, whole + doneEvent, OK, 1},
		"left in a document":               {passed{status: 200, header: jsonHeader, end: ErrCallerLeft}, `{"choices":[`, Left, 0},
		"left with an error":               {passed{status: 500, header: jsonHeader, end: ErrCallerLeft}, secret, Status, 0},
		"cancelled":                        {passed{status: 200, header: sseHeader, end: context.Canceled}, token("a"), Cancelled, 1},
		"the recording ended":              {passed{status: 200, header: sseHeader, end: ErrUnfinished}, token("a"), Unfinished, 1},
		"lost":                             {passed{status: 200, header: sseHeader, end: lost}, token("a"), Truncated, 1},
		"cut":                              {passed{status: 200, header: sseHeader, end: io.ErrUnexpectedEOF}, token("a"), Truncated, 1},
		"stalled":                          {passed{status: 200, header: sseHeader, end: context.DeadlineExceeded}, token("a"), Timeout, 1},
		"reset by HTTP/2":                  {passed{status: 200, header: sseHeader, end: errors.New("stream error: " + secret)}, token("a"), Protocol, 1},
		"error status":                     {passed{status: 503, header: jsonHeader, end: io.EOF}, secret, Status, 0},
		"redirect":                         {passed{status: 307, header: http.Header{"Location": {secret}}, end: io.EOF}, secret, Status, 0},
		"error object":                     {passed{status: 200, header: sseHeader, end: io.EOF}, `data: {"error":"` + secret + `"}` + "\n\n", Protocol, 0},
		"an id, a header, a finish reason": {passed{status: 200, header: http.Header{"X": {secret}}, end: io.EOF}, strings.ReplaceAll(whole, "cmpl-7", secret), OK, 1},
	} {
		r, ok := c.p.observe(NewObserver(target.Completions), time.Millisecond, c.body)
		if !ok || r.Outcome != c.want || r.OutputTokens != c.output || r.Status != c.p.status {
			t.Errorf("%s: %v %q, %d tokens", name, ok, r.Outcome, r.OutputTokens)
		}
		if text := fmt.Sprintf("%+v", r); strings.Contains(text, "10.1") || r.Error != "" || r.ServerID != "" || r.Header != nil {
			t.Errorf("%s: %s", name, text)
		}
		checkTimes(t, &r)
	}
}

// TestObservedBounds: an answer that is not read is not measured, and takes no memory of the observer.
func TestObservedBounds(t *testing.T) {
	packed := http.Header{"Content-Type": {"text/event-stream"}, "Content-Encoding": {"gzip"}}
	large := "data: " + strings.Repeat("x", 1<<20) + "\n"
	for name, c := range map[string]struct {
		header http.Header
		pieces []string
		many   int
		budget int64
	}{
		"encoded":           {packed, []string{"\x1f\x8b"}, 1, maxObserved},
		"an endless event":  {sseHeader, []string{strings.Repeat("x", 1<<20)}, 20, maxObserved},
		"a large odd event": {sseHeader, []string{large, large, "\n"}, 1, maxObserved},
		"a large document":  {jsonHeader, []string{"{" + strings.Repeat(" ", 1<<20)}, 20, maxObserved},
		"many events":       {sseHeader, []string{token("a")}, 100_000, 200_000},
		"many empty events": {sseHeader, []string{`data: {"choices":[{"text":""}]}` + "\n\n"}, 100_000, 1 << 20},
	} {
		o := NewObserver(target.Completions)
		o.client.buffers.limit = c.budget
		var r Result
		x := o.Begin(time.Now(), &r)
		x.Response(200, c.header, time.Now())
		for range c.many {
			for _, piece := range c.pieces {
				x.Piece([]byte(piece), time.Now())
			}
		}
		if x.End(io.EOF, time.Now()) || r.Outcome != "" || r.End == Never || cap(r.Gaps) > 0 || r.Events > 0 && r.Gaps != nil {
			t.Errorf("%s: %q, %d events", name, r.Outcome, r.Events)
		}
		if used := o.client.buffers.used.Load(); used != 0 {
			t.Errorf("%s: %d bytes of the budget are used", name, used)
		}
		if r, ok := observe(o, sseHeader, io.EOF, token("a"), finish("stop")+doneEvent); !ok || r.Outcome != OK {
			t.Errorf("%s: the next one: %+v", name, r)
		}
	}
}

// BenchmarkPiece is a token-bearing event that passes.
func BenchmarkPiece(b *testing.B) {
	for api, event := range benchEvents {
		b.Run(api, func(b *testing.B) {
			const n = 1000
			o, piece := NewObserver(api), sse(event, 1)
			var r Result
			epoch := time.Now()
			for b.Loop() {
				x := o.Begin(epoch, &r)
				x.Response(200, sseHeader, epoch)
				for i := range n {
					x.Piece(piece, epoch.Add(time.Duration(i)))
				}
				x.End(ErrCallerLeft, epoch)
			}
			if r.Events != n {
				b.Fatal(r.Events, r.Outcome)
			}
			perEvent(b, n)
		})
	}
}

// TestPieceAllocates: nothing, in the middle of a stream.
func TestPieceAllocates(t *testing.T) {
	for api, event := range benchEvents {
		o, piece := NewObserver(api), sse(event, 1)
		r := Result{Gaps: make([]time.Duration, 0, 1000)}
		x := o.Begin(time.Now(), &r)
		x.Response(200, sseHeader, time.Now())
		x.Piece(piece, time.Now())
		at := time.Now()
		if n := testing.AllocsPerRun(100, func() { x.Piece(piece, at) }); n != 0 {
			t.Errorf("%s: %v allocations", api, n)
		}
		x.End(nil, at)
	}
}

// TestObserveAtOnce: observations of one observer do not disturb each other.
func TestObserveAtOnce(t *testing.T) {
	o := NewObserver(target.Chat)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range 50 {
				var pieces []string
				for range i + n + 1 {
					pieces = append(pieces, said(`{"content":"x"}`))
				}
				large := "data: " + strings.Repeat(" ", 100_000) // grows a buffer of the budget
				pieces = append(pieces, large, "[DONE]\n\n")
				if r, ok := observe(o, sseHeader, io.EOF, pieces...); !ok || r.Outcome != OK || r.Events != i+n+1 {
					t.Errorf("%d events, want %d: %s", r.Events, i+n+1, r.Outcome)
				}
			}
		})
	}
	wg.Wait()
	if used := o.client.buffers.used.Load(); used != 0 {
		t.Errorf("%d bytes of the budget are used", used)
	}
}
