package hostile

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"
)

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
