// Package hostile is a corpus of what peers of a client, a gateway and a file reader can do to them: servers that
// misbehave, raw requests, and files that expand without measure. One table has them all; the texts are generated.
//
// No case does harm by itself. Texts that must not get through contain Mark.
package hostile

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
)

type Kind string

const (
	Server  Kind = "server"  // answers requests for completions, see Case.Serve
	Request Kind = "request" // bytes that a client sends on one connection
	File    Kind = "file"    // a trace, or records of a sweep
)

// Mark is what servers try to bring into logs, terminals, pages and spreadsheets.
const Mark = "MARKED"

// evil has Mark, as text for a terminal, a page and a spreadsheet.
const evil = "=cmd|'/C calc'!A0 \x1b[31m" + Mark + "</script><script>alert(1)</script>\u202e"

// Other is where a client or gateway never connects to: redirects and requests name it.
const Other = "127.0.0.1:25099"

// Case is a case of the corpus.
type Case struct {
	Name string // as a user types it
	Kind Kind
	Text string // what it does, in one line

	answer   func(x *exchange) // of a server; it ends the connection
	on       string            // beginning of the path that a server answers so; empty: that of completions
	contents []content         // of a request or a file
}

// Cases are all cases, by kind.
func Cases() []Case {
	return slices.Concat(heads(), streams(), others(), requests(), bodies(), files())
}

// Find is the case of a name.
func Find(name string) (c Case, ok bool) {
	for _, c := range Cases() {
		if c.Name == name {
			return c, true
		}
	}
	return Case{}, false
}

// Write writes the bytes of a request or a file.
func (c *Case) Write(w io.Writer) error { return write(w, c.contents...) }

// content is a text that is repeated. It is made when it is written, so that the table takes no memory.
type content struct {
	times int
	text  func() string
}

func one(text string) content { return times(1, text) }

func times(n int, text string) content { return content{n, func() string { return text }} }

// bunch is about the number of bytes that a short text is repeated to for a write.
const bunch = 64 << 10

// write writes contents one after the other.
func write(w io.Writer, all ...content) error {
	for _, c := range all {
		text := c.text()
		many := max(1, bunch/max(1, len(text)))
		for n := c.times; n > 0; n -= many {
			if _, err := io.WriteString(w, strings.Repeat(text, min(n, many))); err != nil {
				return err
			}
		}
	}
	return nil
}

// gzipped is a text in gzip. A file of several members is one of their contents.
func gzipped(times int, text content) content {
	return compressed(times, text, func(w io.Writer) (io.WriteCloser, error) {
		return gzip.NewWriterLevel(w, gzip.BestCompression)
	})
}

// zstded is a text in zstd. A file of several frames is one of their contents.
func zstded(times int, text content) content {
	return compressed(times, text, func(w io.Writer) (io.WriteCloser, error) {
		return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
	})
}

func compressed(times int, text content, to func(io.Writer) (io.WriteCloser, error)) content {
	return content{times, func() string {
		var b bytes.Buffer
		z, err := to(&b)
		if err != nil {
			panic(err) // the options are constant
		}
		_ = write(z, text) // a buffer takes all
		_ = z.Close()
		return b.String()
	}}
}

// sizeOf is the header field of a body of a size.
func sizeOf(body string) string { return fmt.Sprintf("Content-Length: %d\r\n", len(body)) }
