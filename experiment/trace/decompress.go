package trace

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// Limits of decompression. Logs of numbers shrink to a tenth; a decompression bomb grows a thousandfold.
const (
	maxExpansion  = 256
	freeExpansion = 64 << 20 // bytes that any file may decompress to
)

// Decompressed decompresses r if its first bytes are those of gzip or zstd; closing it frees the decoder.
func Decompressed(r io.Reader) (io.ReadCloser, error) { return DecompressedTo(r, maxExpansion) }

// DecompressedTo is Decompressed to at most a multiple of the size, for files whose lines are much alike.
func DecompressedTo(r io.Reader, times int64) (io.ReadCloser, error) {
	packed := &counter{r: r}
	br := bufio.NewReader(packed)
	magic, _ := br.Peek(4) // a read error is returned by the next read
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(br)
		if err != nil {
			return nil, fmt.Errorf("reading gzip: %w", err)
		}
		return &bounded{ReadCloser: z, packed: packed, times: times}, nil
	case bytes.HasPrefix(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(br, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(128<<20))
		if err != nil {
			return nil, fmt.Errorf("reading zstd: %w", err)
		}
		return &bounded{ReadCloser: z.IOReadCloser(), packed: packed, times: times}, nil
	}
	return io.NopCloser(br), nil
}

type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

type bounded struct {
	io.ReadCloser
	packed *counter
	n      int64
	times  int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.n > freeExpansion && b.n > b.times*b.packed.n {
		return 0, fmt.Errorf("it decompresses to more than %d times its size\nhint: if you trust it, decompress it first", b.times)
	}
	n, err := b.ReadCloser.Read(p)
	b.n += int64(n)
	return n, err
}
