package recording

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/klauspost/compress/zstd"
)

// Writer writes a recording. It stores no text that a server or a caller wrote, whatever the records contain. What
// it has flushed survives a kill. It is not safe for concurrent use.
type Writer struct {
	out  io.Writer
	z    *zstd.Encoder // nil: not compressed
	line []byte        // room
}

// NewWriter writes the header and flushes it. w stays the caller's to close.
func NewWriter(w io.Writer, h Header, compress bool) (*Writer, error) {
	h.Schema, h.TimeUnit = Schema, timeUnit
	out := &Writer{out: w}
	if compress {
		z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(128<<10))
		if err != nil {
			return nil, fmt.Errorf("starting the recording: %w", err)
		}
		out.out, out.z = z, z
	}
	if err := out.encode(h); err != nil {
		return nil, err
	}
	return out, out.Flush()
}

const timeUnit = "ms"

func (w *Writer) Write(e *Exchange) error {
	if _, err := strconv.ParseFloat(string(e.Timestamp), 64); err != nil {
		return errors.New("writing the recording: a request without a timestamp")
	}
	b := append(append(w.line[:0], `{"timestamp":`...), e.Timestamp...)
	b = strconv.AppendInt(append(b, `,"input_length":`...), int64(e.Input), 10)
	b = strconv.AppendInt(append(b, `,"output_length":`...), int64(e.Output), 10)
	b = appendCount(b, "prompt_bytes", int64(e.Bytes))
	b = appendCount(b, "media_parts", int64(e.Media))
	b = appendIDs(b, e.HashIDs)
	b = appendCount(b, "session", int64(e.Session))
	b = appendCount(b, "turn", int64(e.Turn))
	if e.Class != "" {
		quoted, _ := json.Marshal(e.Class) // a string always has an encoding
		b = append(append(b, `,"class":`...), quoted...)
	}
	b = appendCount(b, "client_blocked_us", e.BlockedUs)
	b = append(b, `,"request":`...)
	b = Stripped(&e.Request).AppendJSON(b)
	if e.Shadow != nil {
		b = append(b, `,"shadow":`...)
		b = Stripped(e.Shadow).AppendJSON(b)
	}
	w.line = append(b, '}')
	return w.write(w.line)
}

func appendCount(b []byte, key string, n int64) []byte {
	if n == 0 {
		return b
	}
	b = append(append(append(b, `,"`...), key...), `":`...)
	return strconv.AppendInt(b, n, 10)
}

func appendIDs(b []byte, ids []uint64) []byte {
	if len(ids) == 0 {
		return b
	}
	b = append(b, `,"hash_ids":[`...)
	for i, id := range ids {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendUint(b, id, 10)
	}
	return append(b, ']')
}

func (w *Writer) Counts(c Counts) error {
	if c.Shadow != nil && !knownStops[c.Shadow.Stopped] {
		own := *c.Shadow
		own.Stopped = other
		c.Shadow = &own
	}
	return w.encode(struct {
		Counts Counts `json:"counts"`
	}{c})
}

// Flush hands everything so far to the writer below, so that a reader gets it.
func (w *Writer) Flush() error {
	if w.z == nil {
		return nil
	}
	if err := w.z.Flush(); err != nil {
		return fmt.Errorf("writing the recording: %w", err)
	}
	return nil
}

func (w *Writer) Close() error {
	if w.z == nil {
		return nil
	}
	return w.z.Close()
}

func (w *Writer) encode(v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("writing the recording: %w", err)
	}
	return w.write(text)
}

func (w *Writer) write(line []byte) error {
	if _, err := w.out.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("writing the recording: %w", err)
	}
	return nil
}
