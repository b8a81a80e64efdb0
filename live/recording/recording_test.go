package recording

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"bench/experiment/record"
)

// equal compares records too.
var equal = cmp.AllowUnexported(record.Micros{}, record.Packed{})

var began = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func header() Header {
	return Header{BlockBytes: 256, Recorded: Recorded{StartedAt: began, Bench: "v1", Shadow: &Shadow{Share: .1, WarmupS: 30}}}
}

// exchange is request i of a recording, as it is read.
func exchange(i int) *Exchange {
	at := int64(1000 * i)
	e := &Exchange{
		Timestamp: json.Number(fmt.Sprint(i)), Input: 100 + i, Output: 3, Bytes: 400, HashIDs: []uint64{7, 1<<53 - 1}, Session: i, Turn: 1,
		Class: "1", BlockedUs: int64(i),
		Request: record.Record{I: i, Phase: record.PhaseWindow, Arrival: record.At(at), Sent: record.At(at + 5), First: record.At(at + 10), Last: record.At(at + 30),
			End: record.At(at + 31), Gaps: record.Pack(8, 12), PromptTokens: new(100 + i), OutputTokens: 3, Outcome: "ok", Status: 200, Finish: "stop"},
	}
	if i%2 == 0 {
		shadow := e.Request
		shadow.Outcome, shadow.Finish = "timeout", ""
		e.Shadow = &shadow
	}
	return e
}

func write(t *testing.T, compress bool, n int, end bool) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := NewWriter(&b, header(), compress)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if err := w.Write(exchange(i)); err != nil {
			t.Fatal(err)
		}
		if err := w.Counts(Counts{Requests: i + 1}); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if end {
		if err := w.Counts(Counts{Requests: n, EndedAt: &began}); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func read(file []byte) (h Header, c Counts, all []*Exchange, err error) {
	h, c, err = Read(bytes.NewReader(file), func(e *Exchange) error {
		all = append(all, e)
		return nil
	})
	return h, c, all, err
}

func TestRoundTrip(t *testing.T) {
	for _, compress := range []bool{false, true} {
		h, c, got, err := read(write(t, compress, 4, true))
		if err != nil {
			t.Fatal(err)
		}
		want := header()
		want.Schema, want.TimeUnit = Schema, "ms"
		if d := cmp.Diff(want, h); d != "" {
			t.Error(d)
		}
		if d := cmp.Diff(Counts{Requests: 4, EndedAt: &began}, c); d != "" {
			t.Error(d)
		}
		if d := cmp.Diff([]*Exchange{exchange(0), exchange(1), exchange(2), exchange(3)}, got, equal); d != "" {
			t.Error(d)
		}
	}
}

// TestKilled cuts a file at every byte: what was flushed before is read, and the counts have no end.
func TestKilled(t *testing.T) {
	for _, compress := range []bool{false, true} {
		file := write(t, compress, 3, true)
		before := 0
		for n := range file {
			_, c, got, err := read(file[:n])
			if len(got) < before {
				t.Fatalf("compressed %v, %d bytes: %d requests, %d before", compress, n, len(got), before)
			}
			before = len(got)
			if err != nil && (len(got) > 0 || !strings.Contains(err.Error(), "header")) {
				t.Fatalf("compressed %v, %d bytes: %v", compress, n, err)
			}
			if c.EndedAt != nil && n < len(file)-8 {
				t.Fatalf("compressed %v, %d of %d bytes: an end", compress, n, len(file))
			}
		}
		if before != 3 {
			t.Errorf("%d requests", before)
		}
		for i := range 3 { // and each flush is enough
			open := write(t, compress, i, false)
			if _, c, got, err := read(open); err != nil || len(got) != i || c.Requests != i {
				t.Errorf("%d requests: %d, %+v, %v", i, len(got), c, err)
			}
		}
	}
}

// TestNoText: whatever records contain, no text of a server or a caller is stored.
func TestNoText(t *testing.T) {
	e := exchange(0)
	const secret = "s3cret"
	for _, r := range []*record.Record{&e.Request, e.Shadow} {
		r.Schema, r.ServerID, r.Class, r.Model, r.Category, r.PromptHash, r.Error, r.Invalid = secret, secret, secret, secret, secret, secret, secret, secret
		r.Finish, r.Outcome, r.Phase = secret, secret, secret
	}
	before := *e
	var b bytes.Buffer
	w, err := NewWriter(&b, header(), false)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(e); err != nil {
		t.Fatal(err)
	}
	if err := w.Counts(Counts{Shadow: &Copies{Stopped: secret}}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), secret) {
		t.Errorf("stored: %s", b.String())
	}
	if d := cmp.Diff(before, *e, equal); d != "" {
		t.Error("the caller's request was changed", d)
	}
}

func TestIs(t *testing.T) {
	plain, packed := write(t, false, 9, true), write(t, true, 9, true)
	for name, c := range map[string]struct {
		first []byte
		want  bool
	}{
		"plain": {plain, true}, "its beginning": {plain[:1000], true}, "zstd": {packed, true}, "its beginning, packed": {packed[:600], true},
		"another trace": {[]byte(`{"schema":"bench/trace/v1","time_unit":"ms"}` + "\n{}"), false}, "cut in the header": {plain[:20], false},
		"empty": {nil, false}, "page": {[]byte("<html>"), false}, "bad zstd": {packed[:9], false},
	} {
		if Is(c.first) != c.want {
			t.Errorf("%s: %v", name, !c.want)
		}
	}
}

func TestRefused(t *testing.T) {
	head := string(write(t, false, 0, false))
	for name, c := range map[string]struct{ text, want string }{
		"empty":            {"", "line 1: the file is empty"},
		"another trace":    {`{"schema":"bench/trace/v1"}` + "\n", "line 1: not a recording"},
		"another version":  {strings.Replace(head, "trace/v1", "trace/v9", 1), `unknown schema "bench/trace/v9"`},
		"another unit":     {strings.Replace(head, `"ms"`, `"s"`, 1), `unknown time_unit "s"`},
		"garbage inside":   {head + "oops\n{}\n", "line 2: "},
		"no timestamp":     {head + `{"request":{}}` + "\n", "line 2: timestamp"},
		"garbage request":  {head + `{"timestamp":1,"request":7}` + "\n", "line 2: "},
		"garbage shadow":   {head + `{"timestamp":1,"request":{},"shadow":7}` + "\n", "line 2: the shadow"},
		"negative time":    {head + `{"timestamp":-1,"request":{}}` + "\n", "line 2: timestamp"},
		"negative length":  {head + `{"timestamp":1,"turn":-1,"request":{}}` + "\n", "line 2: a length"},
		"unbounded header": {strings.Repeat("x", 32<<20+1), "line 1: longer than 32 MiB"},
	} {
		if _, _, _, err := read([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := Read(bytes.NewReader([]byte(head+`{"timestamp":1,"request":{}}`+"\n")), func(*Exchange) error { return io.EOF }); err != io.EOF {
		t.Error(err)
	}
	if _, c, got, err := read([]byte(head + `{"later":{"x":1}}` + "\n" + `{"timestamp":1,"request":{},"later":2,"counts":{"requests":7}}`)); err != nil || len(got) != 1 || c.Requests != 7 {
		t.Error(got, c, err)
	}
}

func FuzzRead(f *testing.F) {
	for _, compress := range []bool{false, true} {
		w := write(&testing.T{}, compress, 3, true)
		f.Add(w)
		f.Add(w[:len(w)-9])
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		_, _, all, err := read(file)
		if err == nil && !Is(file) && len(file) < sniffed {
			t.Error("read, but not recognised")
		}
		for _, e := range all {
			if e.Request.Error+e.Request.ServerID+e.Request.Model != "" {
				t.Errorf("%+v", e)
			}
		}
	})
}

func BenchmarkWrite(b *testing.B) {
	for _, compress := range []bool{false, true} {
		b.Run(map[bool]string{false: "plain", true: "zstd"}[compress], func(b *testing.B) {
			w, err := NewWriter(io.Discard, header(), compress)
			if err != nil {
				b.Fatal(err)
			}
			e, r := exchange(0), rand.New(rand.NewPCG(1, 2))
			gaps := make([]int64, 500)
			for i := range gaps {
				gaps[i] = 20_000 + r.Int64N(2000)
			}
			e.Request.Gaps = record.Pack(gaps...)
			for range 30 {
				e.HashIDs = append(e.HashIDs, r.Uint64()>>11)
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := w.Write(e); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
