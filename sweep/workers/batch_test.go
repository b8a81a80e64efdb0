package workers

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/klauspost/compress/zstd"

	"bench/experiment/endpoint"
	"bench/experiment/record"
)

// packed compresses lines as a worker does.
func packed(t testing.TB, lines string) []byte {
	t.Helper()
	p, err := newPacker()
	if err != nil {
		t.Fatal(err)
	}
	b, err := p.pack([]byte(lines))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// unpackAll is a whole batch.
func unpackAll(u *unpacker, body []byte) (all []event, err error) {
	err = u.unpack(body, true, func(events []event) bool {
		all = append(all, events...)
		return true
	})
	return all, err
}

func TestBatch(t *testing.T) {
	want := &record.Record{I: 7, Phase: "window", Sent: record.At(5), Gaps: record.Pack(3, 4), Outcome: "ok"}
	lines := want.AppendJSON([]byte{kindRecord})
	lines = append(lines, '\n')
	for _, l := range []struct {
		kind byte
		v    any
	}{
		{kindSample, record.Sample{Source: "client", TUs: 9}}, {kindCounts, endpoint.Counts{Sent: 3, Phase: 1}},
		{kindReady, ready{77}}, {kindDrained, nil}, {kindMore, more{Overhead: []float64{5}}}, {kindResult, result{endpoint.ShareResult{Procs: 2}, 3}}, {kindError, "disk full"}, {kindBye, ""},
	} {
		var err error
		if lines, err = appendLine(lines, l.kind, l.v); err != nil {
			t.Fatal(err)
		}
	}
	u := newUnpacker(new(sync.Mutex))
	for range 2 { // batches
		got, err := unpackAll(u, packed(t, string(lines)))
		if err != nil || len(got) != 9 {
			t.Fatalf("%d events, error %v", len(got), err)
		}
		if r := got[0].record; string(r.AppendJSON(nil)) != string(want.AppendJSON(nil)) {
			t.Errorf("the record is %s", r.AppendJSON(nil))
		}
		if got[1].sample.TUs != 9 || got[2].counts.Sent != 3 || got[3].ready.RTT != 77 || got[4].kind != kindDrained ||
			got[5].more.Overhead[0] != 5 || got[6].result.Share.Procs != 2 || got[6].result.Records != 3 || got[7].text != "disk full" || got[8].kind != kindBye {
			t.Errorf("the events are %+v", got)
		}
	}
}

// hostile are bodies that no worker sends, with a part of the error of each.
func hostile(t testing.TB) map[string][]byte {
	bomb := func(line string, n int) []byte { return bytes.Clone(packed(t, strings.Repeat(line, n))) }
	z, err := zstd.NewWriter(nil, zstd.WithWindowSize(2*widestWindow))
	if err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{
		"magic number mismatch":                       []byte("r{}\n"),
		"unknown kind":                                packed(t, "?{}\n"),
		"line 2 of a batch: unexpected EOF":           packed(t, "d\nr{}"),
		"line 1 of a batch: it is empty":              packed(t, "\n"),
		"line 1 of a batch: reading a request":        packed(t, "r{]\n"),
		"cannot unmarshal string":                     packed(t, `s"client"`+"\n"),
		"cannot unmarshal number 1e99":                packed(t, `y{"rtt_ns":1e99}`+"\n"),
		"line 1 of a batch: longer than 8 MiB":        bomb("x", longestLine+1),
		"line 1 of a batch: longer than 8 MiB\x00":    bomb("x", 4*longestLine),
		"line 1 of a batch: a line 'e' of":            packed(t, `e"`+strings.Repeat("x", longestNote)+"\"\n"),
		"has no content":                              packed(t, "d{}\n"),
		"line 2 of a batch: a second line 'd'":        bomb("d\n", 1_000_000),
		"a batch has at most 100000 lines and 12":     bomb("s{}\n", mostLines+1),
		"a batch has at most 100000 lines and 12\x00": bomb("s{"+strings.Repeat(" ", 1<<20)+"}\n", 13),
		"window size exceeded":                        z.EncodeAll(bytes.Repeat([]byte("s{}\n"), widestWindow), nil),
	}
}

func TestHostileBatch(t *testing.T) {
	u := newUnpacker(new(sync.Mutex))
	for want, body := range hostile(t) {
		want, _, _ = strings.Cut(want, "\x00")
		if _, err := unpackAll(u, body); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	if got, err := unpackAll(u, packed(t, "d\n")); err != nil || len(got) != 1 {
		t.Errorf("a good batch after them: %v, error %v", got, err)
	}
}

// One unpacker at a time holds a long line, until its event is passed on.
func TestLongLinesInTurn(t *testing.T) {
	long := new(sync.Mutex)
	free := func() bool {
		if long.TryLock() {
			long.Unlock()
			return true
		}
		return false
	}
	u, spaces := newUnpacker(long), strings.Repeat(" ", 100<<10)
	for _, lines := range []string{"s{" + spaces + "}\n", "s{" + spaces + "}\nd\n", "d\ns{" + spaces + "\n"} {
		_ = u.unpack(packed(t, lines), true, func(events []event) bool {
			if last := events[len(events)-1]; free() != (last.kind == kindDrained) {
				t.Errorf("%q is passed on, and the turn is free: %v", last.kind, free())
			}
			return true
		})
		if !free() {
			t.Errorf("the turn is kept after %.5q", lines)
		}
	}
}

func FuzzUnpack(f *testing.F) {
	for _, body := range hostile(f) {
		if len(body) < 1<<10 {
			f.Add(body)
		}
	}
	f.Add(packed(f, `r{"i":1,"phase":"window","prompt_asked":1,"output_asked":1,"output_tokens":1,"estimated":false,"outcome":"ok"}`+"\nd\n"))
	u := newUnpacker(new(sync.Mutex))
	f.Fuzz(func(t *testing.T, body []byte) {
		_ = u.unpack(body, true, func(events []event) bool {
			if len(events) > piece {
				t.Errorf("%d events at once", len(events))
			}
			for i := range events {
				if r := events[i].record; r != nil {
					_ = new(allowed).check(r, time.Minute)
				}
			}
			return true
		})
	})
}

// TestBomb reads batches of a few kB that have millions of lines. Neither a row that runs nor one that does not makes the
// leader need memory for all of them.
func TestBomb(t *testing.T) {
	u := newUnpacker(new(sync.Mutex))
	for _, line := range []string{"d\n", "s{}\n", "p\n", "?\n", "b\"\"\n", "\n"} {
		body := bytes.Clone(packed(t, strings.Repeat(line, mostBatch/len(line)*2)))
		for _, wanted := range []bool{true, false} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if err := u.unpack(body, wanted, func([]event) bool { return true }); err == nil {
				t.Errorf("%q, wanted %v: no error", line, wanted)
			}
			runtime.ReadMemStats(&after)
			if spent := after.TotalAlloc - before.TotalAlloc; spent > 128<<20 || cap(u.events) > 2*piece {
				t.Errorf("%q, wanted %v: %d MiB for %d bytes, room for %d events", line, wanted, spent>>20, len(body), cap(u.events))
			}
		}
	}
}

// TestUnwantedBatch parses nothing of a row that does not run, but that its worker leaves.
func TestUnwantedBatch(t *testing.T) {
	u := newUnpacker(new(sync.Mutex))
	var got []event
	err := u.unpack(packed(t, "r{]\n?\n\nb\"no space\"\ns]\n"), false, func(events []event) bool {
		got = append(got, events...)
		return false
	})
	if err != nil || len(got) != 1 || got[0].text != "no space" {
		t.Errorf("%+v, error %v", got, err)
	}
}

// TestLongTexts reads records with texts that are too long: each ends its batch, and none stays.
func TestLongTexts(t *testing.T) {
	u := newUnpacker(new(sync.Mutex))
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	for i := range 16 {
		body := packed(t, fmt.Sprintf(`r{"i":1,"class":"%d%s"}`+"\n", i, strings.Repeat("x", 1<<20)))
		got, err := unpackAll(u, body)
		if err == nil || !strings.Contains(err.Error(), "has a text of 10485") || len(got) > 0 {
			t.Errorf("%d events, error %v", len(got), err)
		}
	}
	if after := heap(); after > before+4<<20 {
		t.Errorf("%d MiB stay", (after-before)>>20)
	}
	runtime.KeepAlive(u)
}

// TestWanted: of a worker whose part is over, or another's, no more is wanted.
func TestWanted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLeader(2, []string{"token"}, Build{})
		first, second := &member{index: 0, seen: time.Now()}, &member{index: 1, seen: time.Now()}
		d := &driving{l: l, n: 1, inbox: make(chan delivery), over: make(chan struct{}), parts: []part{{over: true}, {}},
			counts: make([]endpoint.Counts, 2), members: []*member{first, second}}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- d.run(ctx) }()
		for m, want := range map[*member]bool{first: false, second: true, {index: 1}: false} {
			if got := l.deliver(d, m, 1, []event{{kind: kindCounts}}); got != want {
				t.Errorf("more of worker %d: %v, want %v", m.index, got, want)
			}
		}
		cancel()
		<-ended
	})
}

// TestSlowBatch answers a batch that does not come in time so that it comes again.
func TestSlowBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newRig(t, 1)
		w := x.worker(0, each)
		next, n := w.Client.Transport, 0
		var slow atomic.Int64
		w.Client.Transport = tripper(func(r *http.Request) (*http.Response, error) {
			if !strings.HasSuffix(r.URL.Path, "/events") {
				return next.RoundTrip(r)
			}
			if n++; n%3 != 1 {
				return next.RoundTrip(r)
			}
			r = r.Clone(r.Context())
			r.Body = io.NopCloser(iotest.ErrReader(os.ErrDeadlineExceeded))
			answer := httptest.NewRecorder()
			if x.leader.ServeHTTP(answer, r); answer.Code == http.StatusRequestTimeout {
				slow.Add(1)
			}
			return answer.Result(), nil
		})
		x.run(x.ctx, w)
		x.complete()
		got, _, err := x.drive(x.ctx, endpoint.DriveConfig{})
		if err != nil || len(got) != 100 || slow.Load() < 2 {
			t.Errorf("%d records, %d slow batches, error %v", len(got), slow.Load(), err)
		}
	})
}

// TestBatchNumbers sends batches by hand: one that comes again is taken once, and one that is missing is missed.
func TestBatchNumbers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newRig(t, 1)
		ctx, cancel := context.WithCancel(x.ctx)
		defer cancel()
		x.run(ctx, x.worker(0, each))
		x.complete()
		m := x.leader.members[0]
		post := func(seq int, body []byte) (int, string) {
			return x.ask(http.MethodPost, "/v1/events", url.Values{"session": {m.session}, "seq": {strconv.Itoa(seq)}, "row": {"1"}}, bytes.NewReader(body))
		}
		m.taking.Lock()
		m.seq = 1000
		m.taking.Unlock()
		for _, c := range []struct{ seq, status int }{{1001, 204}, {1001, 204}, {1002, 204}, {1001, 409}, {1004, 409}, {1002, 204}} {
			if status, text := post(c.seq, packed(t, "d\n")); status != c.status {
				t.Errorf("batch %d: %d %s, want %d", c.seq, status, text, c.status)
			}
		}
		if status, text := x.ask(http.MethodPost, "/v1/events", url.Values{"session": {m.session}}, nil); status != 400 {
			t.Errorf("a batch without a number: %d %s", status, text)
		}
		if status, text := post(1003, make([]byte, mostBody+1)); status != 400 || !strings.Contains(text, "too large") {
			t.Errorf("a batch that is too long: %d %s", status, text)
		}
		if status, _ := post(1004, nil); status != 404 {
			t.Errorf("a batch after it: %d", status)
		}
	})
}

// TestCutBatch loses the connection in a batch, which comes again.
func TestCutBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newRig(t, 1)
		cut := 0
		x.run(x.ctx, x.cutting(x.worker(0, each), func() bool { cut++; return cut%3 == 1 }))
		x.complete()
		got, _, err := x.drive(x.ctx, endpoint.DriveConfig{})
		if err != nil || len(got) != 100 || cut < 4 {
			t.Errorf("%d records, %d batches, error %v", len(got), cut, err)
		}
	})
}

// cutting makes a worker lose some of its batches in their middle.
func (x *rig) cutting(w *Worker, now func() bool) *Worker {
	next := w.Client.Transport
	w.Client.Transport = tripper(func(r *http.Request) (*http.Response, error) {
		if strings.HasSuffix(r.URL.Path, "/events") && now() {
			r = r.Clone(r.Context())
			r.Body, r.GetBody = io.NopCloser(io.LimitReader(r.Body, r.ContentLength/2)), nil
		}
		return next.RoundTrip(r)
	})
	return w
}
