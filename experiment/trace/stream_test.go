package trace

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
)

// endless gives a head once and then the same text for ever; it fails the test when more is read than anybody
// needs.
type endless struct {
	t          *testing.T
	head, text string
	rest       string
	given      int
}

func (e *endless) Read(p []byte) (int, error) {
	if e.given > 80<<20 {
		e.t.Error("reads on and on")
		return 0, io.ErrUnexpectedEOF
	}
	if e.rest == "" {
		e.rest, e.head = e.head+e.text, ""
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	e.given += n
	return n, nil
}

// TestStreams reads the first requests of files without an end.
func TestStreams(t *testing.T) {
	for name, f := range map[string]*endless{
		"mooncake": {text: `{"timestamp": 1, "input_length": 600, "output_length": 2, "hash_ids": [0, 1]}` + "\n"},
		"azure":    {head: "TIMESTAMP,ContextTokens,GeneratedTokens\n", text: "2023-11-16 18:17:03.9799600,4808,10\n"},
		"sharegpt": {head: "[", text: `{"conversations":[{"from":"human","value":"a"},{"from":"gpt","value":"b"}]},`},
		"log":      {text: `{"prompt":"a","output":"b"}` + "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			f.t = t
			r, err := New(f, Options{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			for range 100 {
				if _, err := r.Next(); err != nil {
					t.Fatal(err)
				}
			}
			if f.given > 1<<20 {
				t.Errorf("read %d bytes for a hundred rows", f.given)
			}
		})
	}
}

// TestLong: lines and values without an end are refused, with their line, in bounded memory.
func TestLong(t *testing.T) {
	for name, f := range map[string]struct {
		file *endless
		want string
	}{
		"first line": {&endless{text: strings.Repeat("x", 4000)}, "x:1: longer than 32 MiB"},
		"later line": {&endless{head: `{"timestamp": 1, "input_length": 6, "output_length": 2}` + "\n", text: strings.Repeat(" x", 2000)}, "x:2: longer than 32 MiB"},
		"array":      {&endless{head: "[\n{\"conversations\":[]},\n{\"conversations\":[{\"from\":\"", text: strings.Repeat("human", 800)}, "x:3: conversation 2: conversations: longer than 32 MiB"},
		"blanks":     {&endless{head: "[\n", text: strings.Repeat(" ", 4000)}, "x:2: conversation 1: 1 MiB of blanks"},
	} {
		t.Run(name, func(t *testing.T) {
			f.file.t = t
			r, err := New(f.file, Options{File: "x"}, nil)
			for err == nil {
				_, err = r.Next()
			}
			if !strings.HasPrefix(err.Error(), f.want) {
				t.Errorf("got %q, want %q", err, f.want)
			}
		})
	}
}

func gzipped(t *testing.T, text []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(text); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zstded(t *testing.T, text []byte) []byte {
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return z.EncodeAll(text, nil)
}

func TestCompressed(t *testing.T) {
	text, err := os.ReadFile("testdata/mooncake.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	want := all(t, open(t, Options{File: "mooncake.jsonl"}))
	for name, packed := range map[string][]byte{"gzip": gzipped(t, text), "zstd": zstded(t, text), "mark": append([]byte("\ufeff\n"), text...)} {
		r, err := New(bytes.NewReader(packed), Options{}, nil)
		if err != nil {
			t.Fatal(name, err)
		}
		got := all(t, r)
		if name == "mark" {
			for i := range got {
				got[i].Line-- // of the blank one
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if err := r.Close(); err != nil {
			t.Error(name, err)
		}
	}
}

// TestBombs: small files that expand without measure, and broken ones, end in an error with the line.
func TestBombs(t *testing.T) {
	row := []byte(`{"timestamp": 1, "input_length": 6, "output_length": 2}` + "\n")
	// More than freeExpansion in all: a MiB is compressed once, and its frame repeated.
	many := func(pack func(*testing.T, []byte) []byte, mib []byte) []byte {
		return append(pack(t, row), bytes.Repeat(pack(t, mib), 66)...)
	}
	spaces := bytes.Repeat([]byte(" "), 1<<20)
	blanks := bytes.Repeat(append(spaces[:1<<12-1:1<<12-1], '\n'), 1<<8)
	for name, c := range map[string]struct {
		packed []byte
		want   string
	}{
		"gzip":      {many(gzipped, blanks), "times its size"},
		"zstd":      {many(zstded, blanks), "times its size"},
		"one line":  {bytes.Repeat(zstded(t, spaces), 66), "times its size"},
		"cut gzip":  {gzipped(t, row)[:30], "unexpected EOF"},
		"cut zstd":  {zstded(t, blanks)[:30], "x:1: "},
		"bad gzip":  {[]byte{0x1f, 0x8b, 9, 9}, "x: reading gzip"},
		"bad zstd":  {[]byte{0x28, 0xb5, 0x2f, 0xfd, 0xff, 0xff, 0xff, 0xff}, "x:1: "},
		"only gzip": {[]byte{0x1f, 0x8b}, "x: reading gzip"},
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			r, err := New(bytes.NewReader(c.packed), Options{File: "x"}, nil)
			for err == nil {
				_, err = r.Next()
			}
			if errors.Is(err, io.EOF) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q (%v)", err, c.want, time.Since(start))
			}
		})
	}
}
