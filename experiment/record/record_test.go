package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"
)

var sameTime = cmp.AllowUnexported(Micros{}, Packed{})

// fixture reads records that are stored as plain lines.
func fixture(t testing.TB, name string) []*Record {
	t.Helper()
	f, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []*Record
	for d := json.NewDecoder(f); d.More(); {
		var r Record
		if err := d.Decode(&r); err != nil {
			t.Fatalf("%s, record %d: %v", name, len(out)+1, err)
		}
		out = append(out, &r)
	}
	return out
}

// stored is the records as a row's file holds them.
func stored(t testing.TB, records []*Record) []byte {
	t.Helper()
	var file bytes.Buffer
	w, err := NewRecordWriter(&file)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// read gives the records of a file up to its end or its first error, without the file's schema, which
// its first record must carry and no other.
func read(file []byte) (out []*Record, err error) {
	err = ReadRecords(bytes.NewReader(file), func(r *Record) error {
		if (r.Schema == schemaRecord) != (len(out) == 0) {
			return fmt.Errorf("record %d has the schema %q", len(out)+1, r.Schema)
		}
		r.Schema = ""
		out = append(out, r)
		return nil
	})
	return out, err
}

func TestRecordsRoundTrip(t *testing.T) {
	records := fixture(t, "records.jsonl")
	records = slices.Concat(records, records, records)
	for _, n := range []int{0, 1, 3, flushEvery, flushEvery + 1} {
		want := append([]*Record(nil), records[:n]...)
		got, err := read(stored(t, want))
		if err != nil {
			t.Errorf("%d records: %v", n, err)
		}
		if d := cmp.Diff(want, got, sameTime); d != "" {
			t.Errorf("%d records come back otherwise:\n%s", n, d)
		}
	}
}

func TestRecordKeepsAbsentApartFromZero(t *testing.T) {
	zero, none := 0, Record{Phase: PhaseWindow, Outcome: "connect"}
	some := Record{Phase: PhaseWarmup, Outcome: "ok", Arrival: At(0), Sent: At(-3), First: At(0), PromptTokens: &zero, CachedTokens: &zero}
	text, err := json.Marshal([]Record{none, some})
	if err != nil {
		t.Fatal(err)
	}
	const want = `[{"i":0,"phase":"window","prompt_asked":0,"output_asked":0,"output_tokens":0,"estimated":false,"outcome":"connect"},` +
		`{"i":0,"phase":"warmup","at_us":0,"sent_us":-3,"first_us":0,"prompt_asked":0,"prompt_tokens":0,"cached_tokens":0,` +
		`"output_asked":0,"output_tokens":0,"estimated":false,"outcome":"ok"}]`
	if string(text) != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
	var back []Record
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]Record{none, some}, back, sameTime); d != "" {
		t.Error(d)
	}
	if us, ok := back[1].First.Get(); us != 0 || !ok {
		t.Errorf("offset 0 came back as %d, %t", us, ok)
	}
	if _, ok := back[0].First.Get(); ok {
		t.Error("an absent time came back as one that happened")
	}
}

func TestMicrosJSON(t *testing.T) {
	for text, ok := range map[string]bool{"null": true, "-1": true, "0": true, "9223372036854775807": true, "1.5": false, `"3"`: false, "1e3": false, "true": false} {
		m := At(7)
		if err := json.Unmarshal([]byte(text), &m); (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
		if text == "null" && !m.IsZero() {
			t.Error("null is a time that happened")
		}
	}
	if b, err := json.Marshal(Micros{}); err != nil || string(b) != "null" {
		t.Errorf("an absent time is %s, %v", b, err)
	}
}

func TestReadRecordsOfACutStream(t *testing.T) {
	records := fixture(t, "records.jsonl")
	var whole bytes.Buffer
	w, err := NewRecordWriter(&whole)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range slices.Concat(records, records, records) {
		r := *r
		r.I = i
		if err := w.Write(&r); err != nil {
			t.Fatal(err)
		}
	}
	flushed := whole.Len() // what was on disk before the end
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	cuts := []int{0, 1, 3, 4, 5, 6, 7, 9, 100, flushed - 1, flushed, flushed + 1, whole.Len() - 5, whole.Len() - 1}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 40 {
		cuts = append(cuts, rng.IntN(whole.Len()))
	}
	for _, cut := range cuts {
		got, err := read(whole.Bytes()[:cut])
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("cut at %d of %d: %d records, error %v", cut, whole.Len(), len(got), err)
		}
		if cut >= flushed && len(got) < flushEvery {
			t.Errorf("cut at %d: %d records, %d were flushed", cut, len(got), flushEvery)
		}
		for i, r := range got {
			if r.I != i {
				t.Fatalf("cut at %d: record %d is number %d", cut, i, r.I)
			}
		}
	}
}

func TestReadRecordsStopsWithTheCaller(t *testing.T) {
	stop, n := errors.New("enough"), 0
	err := ReadRecords(bytes.NewReader(stored(t, fixture(t, "records.jsonl"))), func(*Record) error {
		if n++; n == 3 {
			return stop
		}
		return nil
	})
	if err != stop || n != 3 {
		t.Errorf("%d records, error %v", n, err)
	}
}

func TestReadRecordsIsBounded(t *testing.T) {
	var file bytes.Buffer
	z, err := zstd.NewWriter(&file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.CopyN(z, spaces{}, longestRecord+longestRecord/2); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := read(file.Bytes()); err == nil || !strings.Contains(err.Error(), "record 1: longer than") || len(got) > 0 {
		t.Errorf("%d KiB that unpack to %d MiB: %d records, %v", file.Len()>>10, longestRecord>>20*3/2, len(got), err)
	}
}

// spaces is an endless run of them: no JSON value ever begins.
type spaces struct{}

func (spaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

func TestRecordWriterReportsAFullDisk(t *testing.T) {
	w, err := NewRecordWriter(full{})
	if err != nil {
		t.Fatal(err)
	}
	var failed error
	for i := 0; i < 2*flushEvery && failed == nil; i++ {
		failed = w.Write(&Record{I: i})
	}
	if err := errors.Join(failed, w.Close()); !errors.Is(err, errFull) {
		t.Errorf("the error is %v", err)
	}
	if failed == nil {
		t.Error("a full disk shows only at the end")
	}
}

var errFull = errors.New("no space left on device")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

func FuzzReadRecords(f *testing.F) {
	whole := stored(f, fixture(f, "records.jsonl")[:20])
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add([]byte("(\xb5/\xfd"))
	f.Add([]byte(`{"i":0}`))
	z, err := zstd.NewWriter(nil)
	if err != nil {
		f.Fatal(err)
	}
	for _, text := range []string{`{"i":1}{"i":2}`, `[]`, `{"at_us":1e99}`, `{"gaps_us":[null]}`, "\x00", `{"i":1`, strings.Repeat("[", 1<<15)} {
		f.Add(z.EncodeAll([]byte(text), nil))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		got, err := read(file)
		if err != nil {
			return
		}
		for _, r := range got { // what was read can be used and stored
			countInParts([]*Record{r}, Window{EndUs: 10}, 1)
			r.tpot()
		}
		again, err := read(stored(t, got))
		if err != nil || len(again) != len(got) {
			t.Errorf("%d records became %d, %v", len(got), len(again), err)
		}
	})
}

func TestRoundMicrosRoundsAsTimeDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.OneOf(rapid.Int64Range(-3000, 3000), rapid.Int64Range(-1<<60, 1<<60)).Draw(t, "ns"))
		if got, want := RoundMicros(d), int64(d.Round(time.Microsecond)/time.Microsecond); got != want {
			t.Fatalf("%d ns are %d µs, want %d", d, got, want)
		}
	})
}
