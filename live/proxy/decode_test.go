package proxy

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// packer is a writer of a compressed format.
type packer interface {
	io.WriteCloser
	Flush() error
}

var packers = map[string]func(io.Writer) packer{
	"gzip": func(w io.Writer) packer { return gzip.NewWriter(w) },
	"zlib": func(w io.Writer) packer { return zlib.NewWriter(w) },
	"flate": func(w io.Writer) packer {
		f, _ := flate.NewWriter(w, flate.BestCompression)
		return f
	},
}

func encodingOf(packer string) string {
	if packer == "gzip" {
		return "gzip"
	}
	return "deflate"
}

// packed compresses what a handler answers, with a flush where it flushes.
type packed struct {
	http.ResponseWriter
	packer
}

func (p packed) Write(b []byte) (int, error) { return p.packer.Write(b) }

func (p packed) FlushError() error {
	if err := p.packer.Flush(); err != nil {
		return err
	}
	return http.NewResponseController(p.ResponseWriter).Flush()
}

func pack(how string, h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", encodingOf(how))
		p := packed{w, packers[how](w)}
		h(p, r)
		_ = p.packer.Close()
	}
}

// TestEncodedStream: a compressed stream has the times of its pieces, and passes as it is.
func TestEncodedStream(t *testing.T) {
	for how := range packers {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, Config{}, pack(how, words(3)))
				a, err := r.post(t.Context(), question)
				if err != nil {
					t.Fatal(err)
				}
				got, err := io.ReadAll(a.Body)
				if err != nil || a.Header.Get("Content-Encoding") != encodingOf(how) || bytes.Contains(got, []byte("word")) {
					t.Error(err, a.Header, len(got))
				}
				q := r.all()[0].Request
				if q.Outcome != "ok" || q.OutputTokens != 3 || q.First.Us() != 20_000 || q.Last.Us() != 40_000 || r.Counts().Unreadable != 0 {
					t.Errorf("%+v", q)
				}
			})
		})
	}
}

const document = `{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":2}}`

func zipped(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte(text))
	_ = z.Close()
	return b.String()
}

// TestEncodings: what of answers that are encoded, or say so, is measured. All of them pass.
func TestEncodings(t *testing.T) {
	whole := zipped(document)
	broken := whole[:20] + "\xff\xff\xff\xff" + whole[24:]
	for name, c := range map[string]struct {
		encoding, body string
		status         int
		outcome        string // empty = not read
	}{
		"a document":      {"GZIP", whole, 200, "ok"},
		"its old name":    {"x-gzip", whole, 200, "ok"},
		"two members":     {"gzip", zipped(document[:30]) + zipped(document[30:]), 200, "ok"},
		"identity":        {"identity", document, 200, "ok"},
		"cut":             {"gzip", whole[:30], 200, "truncated"},
		"broken":          {"gzip", broken, 200, ""},
		"not encoded":     {"gzip", document, 200, ""},
		"another":         {"br", whole, 200, ""},
		"twice":           {"gzip, gzip", zipped(whole), 200, ""},
		"a bomb":          {"gzip", zipped(`{"choices":[` + strings.Repeat(" ", 8<<20)), 200, ""},
		"an error":        {"gzip", whole, 503, "status"},
		"another's error": {"br", whole, 503, "status"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, Config{}, func(w http.ResponseWriter, q *http.Request) {
					_, _ = io.Copy(io.Discard, q.Body)
					w.Header().Set("Content-Type", "application/json")
					w.Header().Set("Content-Encoding", c.encoding)
					w.WriteHeader(c.status)
					for rest := c.body; rest != ""; { // in pieces
						n := min(len(rest), 7)
						_, _ = io.WriteString(w, rest[:n])
						if rest = rest[n:]; len(c.body) < 1000 {
							_ = http.NewResponseController(w).Flush()
						}
					}
				})
				a, err := r.post(t.Context(), question)
				if err != nil {
					t.Fatal(err)
				}
				if got, err := io.ReadAll(a.Body); err != nil || string(got) != c.body {
					t.Error(err, len(got))
				}
				unread := 0
				if c.outcome == "" {
					unread = 1
				}
				if q := r.all()[0].Request; q.Outcome != c.outcome || r.Counts().Unreadable != unread {
					t.Errorf("%+v, %d unreadable", q, r.Counts().Unreadable)
				}
			})
		})
	}
}

// TestEncodedBudget: without memory for a decoder the answer passes and is not measured.
func TestEncodedBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Config{}, pack("gzip", words(3)))
		all := defaultMaxCopies - decoderBytes + 1
		r.copies.take(all)
		defer r.copies.give(all)
		a, err := r.post(t.Context(), question)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(a.Body); err != nil || r.all()[0].Request.Outcome != "" || r.Counts().Unreadable != 1 {
			t.Error(err, r.Counts())
		}
	})
}

// TestEncodedLeft: the decoder ends with an exchange whose caller left; a bubble reports what stays.
func TestEncodedLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Config{}, pack("gzip", words(1000)))
		for range 20 {
			ctx, cancel := context.WithTimeout(t.Context(), 55*time.Millisecond)
			a, err := r.post(ctx, question)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.ReadAll(a.Body)
			cancel()
		}
		for _, x := range r.all() {
			if x.Request.Outcome != "left" || x.Request.OutputTokens != 4 {
				t.Errorf("%+v", x.Request)
			}
		}
		if len(r.all()) != 20 {
			t.Error(len(r.all()))
		}
	})
}

// TestDecoder: however an encoded text is cut, what a flush completed comes out with its last byte.
func TestDecoder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		how := rapid.SampledFrom([]string{"gzip", "zlib", "flate"}).Draw(t, "how")
		var in, text bytes.Buffer
		p := packers[how](&in)
		type flush struct{ in, out int }
		var flushes []flush
		for range rapid.IntRange(1, 8).Draw(t, "parts") {
			part := strings.Repeat(rapid.StringN(0, 50, -1).Draw(t, "text"), rapid.IntRange(0, 200).Draw(t, "times"))
			text.WriteString(part)
			_, _ = io.WriteString(p, part)
			_ = p.Flush()
			flushes = append(flushes, flush{in.Len(), text.Len()})
		}
		_ = p.Close()
		d := newDecoder(encodingOf(how))
		defer d.end()
		var out []byte
		given := 0
		for rest := in.Bytes(); len(rest) > 0; {
			n := rapid.IntRange(1, min(len(rest), 300)).Draw(t, "piece")
			if !d.add(rest[:n], func(b []byte) { out = append(out, b...) }) {
				t.Fatal("it gave up")
			}
			clear(rest[:n]) // not kept
			rest, given = rest[n:], given+n
			for _, f := range flushes {
				if given >= f.in && len(out) < f.out {
					t.Fatalf("of %d bytes %d came out with the byte that completes them", f.out, len(out))
				}
			}
		}
		if !bytes.Equal(out, text.Bytes()) {
			t.Fatalf("%d bytes, want %d", len(out), text.Len())
		}
	})
}

// FuzzDecoder: nothing from a server breaks it, and what comes out is bounded.
func FuzzDecoder(f *testing.F) {
	f.Add("gzip", []byte(zipped(document)), 3)
	f.Add("deflate", []byte("\x78\x9c\x00"), 1)
	f.Fuzz(func(t *testing.T, encoding string, in []byte, size int) {
		d := newDecoder(encoding)
		if d == nil || size < 1 {
			t.Skip()
		}
		defer d.end()
		for rest := in; len(rest) > 0; {
			n := min(len(rest), size)
			out := 0
			ok := d.add(rest[:n], func(b []byte) { out += len(b) })
			if out > 2*freeExpansion+maxExpansion*n {
				t.Fatal(out, "bytes")
			}
			if !ok {
				return
			}
			rest = rest[n:]
		}
	})
}
