package recording

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"bench/experiment/record"
	"bench/experiment/trace"
)

// request is one of the live traffic of this test.
type request struct {
	at, took time.Duration
	session  int
	turn     int
	messages []map[string]string
	output   int
}

// traffic is some conversations that share a system prompt, in order of their arrivals.
func traffic(r *rand.Rand) []request {
	text := func(n int) string {
		var b strings.Builder
		for b.Len() < n {
			fmt.Fprintf(&b, "%x ", r.Uint64())
		}
		return b.String()[:n]
	}
	const users = 30
	system := text(5000)
	var all []request
	history := make([][]map[string]string, users)
	for turn := range 5 {
		for user := range users {
			if turn == 0 {
				history[user] = []map[string]string{{"role": "system", "content": system}}
			}
			history[user] = append(history[user], map[string]string{"role": "user", "content": text(200 + r.IntN(3000))})
			all = append(all, request{at: time.Duration(turn*users+user) * 1037 * time.Millisecond, took: time.Duration(1+r.IntN(9000)) * time.Millisecond,
				session: user + 1, turn: turn + 1, messages: append([]map[string]string(nil), history[user]...), output: 1 + r.IntN(300)})
			history[user] = append(history[user], map[string]string{"role": "assistant", "content": text(400)})
		}
	}
	return all
}

// logged is the traffic as a log with text.
func logged(t *testing.T, all []request) []byte {
	var b bytes.Buffer
	for _, q := range all {
		row := map[string]any{"timestamp": q.at.Seconds(), "messages": q.messages, "output_tokens": q.output, "session": q.session}
		if err := json.NewEncoder(&b).Encode(row); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

// recordedTraffic is the traffic as a recording: in order of ends, at 4 bytes for a token. usage: the server counts them.
func recordedTraffic(t *testing.T, all []request, usage bool) []byte {
	var b bytes.Buffer
	w, err := NewWriter(&b, Header{BlockBytes: 256, Recorded: Recorded{StartedAt: began}}, true)
	if err != nil {
		t.Fatal(err)
	}
	prints := trace.NewPrints(256)
	pending := map[int]*Exchange{}
	for i, q := range all {
		body, err := json.Marshal(map[string]any{"messages": q.messages})
		if err != nil {
			t.Fatal(err)
		}
		p, err := prints.Request(body)
		if err != nil {
			t.Fatal(err)
		}
		tokens := (p.Bytes + 3) / 4
		e := &Exchange{Timestamp: json.Number(fmt.Sprint(q.at.Milliseconds())), Input: tokens, Output: q.output, HashIDs: p.Blocks, Bytes: p.Bytes,
			Session: q.session, Turn: q.turn, Request: record.Record{Outcome: "ok", Arrival: record.At(q.at.Microseconds()), End: record.At((q.at + q.took).Microseconds())}}
		if usage {
			e.Request.PromptTokens = &tokens
		}
		pending[i] = e
	}
	for len(pending) > 0 { // in order of ends
		next := -1
		for i, e := range pending {
			if next < 0 || e.Request.End.Us() < pending[next].Request.End.Us() {
				next = i
			}
		}
		if err := w.Write(pending[next]); err != nil {
			t.Fatal(err)
		}
		delete(pending, next)
	}
	if err := w.Write(&Exchange{Timestamp: "7", Input: 9, Request: record.Record{Outcome: "status", Status: 500}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Counts(Counts{Requests: len(all)}); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil { // and no Close: it was killed
		t.Fatal(err)
	}
	return b.Bytes()
}

func openTrace(t *testing.T, file []byte, o trace.Options) *trace.Reader {
	t.Helper()
	o.File = "live.jsonl"
	r, err := trace.New(bytes.NewReader(file), o, rand.New(rand.NewPCG(1, 2)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// TestReplay: a recording read as a trace has the arrivals, the lengths and the curve of possible cache hits of the
// texts that it was made of.
func TestReplay(t *testing.T) {
	all := traffic(rand.New(rand.NewPCG(1, 2)))
	want, err := trace.Inspect(openTrace(t, logged(t, all), trace.Options{TimeUnit: "s"}), math.MaxInt)
	if err != nil {
		t.Fatal(err)
	}
	for _, usage := range []bool{true, false} {
		file := recordedTraffic(t, all, usage)
		got, err := trace.Inspect(openTrace(t, file, trace.Options{}), math.MaxInt)
		if err != nil {
			t.Fatal(err)
		}
		if got.Requests != len(all) || got.Failed != 1 || got.Estimated == usage || !got.Ends || got.Grouped || got.BlockTokens != 64 {
			t.Errorf("usage %v: %+v", usage, got)
		}
		if got.Input.Mean != want.Input.Mean || got.Output != want.Output || got.SpanS != want.SpanS || got.Sessions.Count != 30 || got.Sessions.MaxTurns != 5 {
			t.Errorf("usage %v: %+v, want %+v", usage, got, want)
		}
		if d := got.Cache.HitRate - want.Cache.HitRate; math.Abs(d) > .001 || want.Cache.HitRate < .5 {
			t.Errorf("usage %v: hit rate %v, want %v", usage, got.Cache.HitRate, want.Cache.HitRate)
		}
		for i, c := range got.Cache.Sizes {
			if math.Abs(c.LRU-want.Cache.Sizes[i].LRU) > .001 {
				t.Errorf("usage %v, %d blocks: %v, want %v", usage, c.Blocks, c.LRU, want.Cache.Sizes[i].LRU)
			}
		}
		r := openTrace(t, file, trace.Options{})
		for i, q := range all {
			e, err := r.Next()
			if err != nil || e.At != q.at || e.Session == 0 || e.Turn != q.turn || e.Output != q.output {
				t.Fatalf("request %d: %+v, %v, want %+v", i, e, err, q)
			}
		}
		if _, err := r.Next(); err != io.EOF {
			t.Error(err)
		}
	}
}

// TestReplaySessions: a turn waits for the end of the one before.
func TestReplaySessions(t *testing.T) {
	all := traffic(rand.New(rand.NewPCG(1, 2)))
	r := openTrace(t, recordedTraffic(t, all, true), trace.Options{})
	for n := range 30 {
		s, err := r.NextSession()
		if err != nil || len(s.Nodes) != 5 {
			t.Fatal(s, err)
		}
		for i, node := range s.Nodes {
			q := all[n+30*i]
			if node.Took != q.took || i > 0 && (len(node.Parents) != 1 || node.Wait != q.at-all[n+30*(i-1)].at-all[n+30*(i-1)].took) {
				t.Errorf("session %d, node %d: %+v", n, i, node)
			}
		}
	}
}

// TestConverted: a converted recording has the same requests, and nothing of what was measured.
func TestConverted(t *testing.T) {
	all := traffic(rand.New(rand.NewPCG(1, 2)))
	var b bytes.Buffer
	c, err := trace.Convert(&b, openTrace(t, recordedTraffic(t, all, true), trace.Options{}), true)
	if err != nil || !strings.Contains(strings.Join(c.Lost, "\n"), "what was measured") {
		t.Fatal(c, err)
	}
	if strings.Contains(b.String(), "outcome") || Is(b.Bytes()) {
		t.Errorf("%.300s", b.String())
	}
	got, err := trace.Inspect(openTrace(t, b.Bytes(), trace.Options{}), math.MaxInt)
	if err != nil || got.Requests != len(all) || got.Sessions.Count != 30 || got.Ends || got.Cache.HitRate < .5 {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestWithoutSessions: a request without a session is in none.
func TestWithoutSessions(t *testing.T) {
	all := traffic(rand.New(rand.NewPCG(1, 2)))
	for i := range all {
		all[i].session, all[i].turn = 0, 0
	}
	got, err := trace.Inspect(openTrace(t, recordedTraffic(t, all, true), trace.Options{}), math.MaxInt)
	if err != nil || got.Sessions != nil {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestCutTrace: a recording cut anywhere is a trace of what comes before.
func TestCutTrace(t *testing.T) {
	all := traffic(rand.New(rand.NewPCG(1, 2)))[:20]
	whole := recordedTraffic(t, all, true)
	plain, err := trace.Decompressed(bytes.NewReader(whole))
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	text, _ := io.ReadAll(plain) // its end is missing
	for n, before := 200, 0; n < len(text); n += 13 {
		r, err := trace.New(bytes.NewReader(text[:n]), trace.Options{File: "cut"}, nil)
		if err != nil {
			t.Fatalf("%d bytes: %v", n, err)
		}
		count := 0
		for err == nil {
			if _, err = r.Next(); err == nil {
				count++
			}
		}
		if err != io.EOF || count < before {
			t.Fatalf("%d bytes: %d requests, %d before; %v", n, count, before, err)
		}
		before = count
	}
}
