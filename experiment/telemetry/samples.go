package telemetry

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// Writer writes samples as zstd-compressed JSON lines.
type Writer struct {
	z *zstd.Encoder
	e *json.Encoder
	n int
}

// NewWriter writes to w. The caller closes w.
func NewWriter(w io.Writer) (*Writer, error) {
	z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithZeroFrames(true))
	if err != nil {
		return nil, fmt.Errorf("starting the telemetry stream: %w", err)
	}
	return &Writer{z: z, e: json.NewEncoder(z)}, nil
}

// Write appends one sample. The first sample of a file has the schema.
func (w *Writer) Write(s *Sample) error {
	line := *s
	if w.n++; w.n == 1 {
		line.Schema = Schema
	}
	if err := w.e.Encode(&line); err != nil {
		return fmt.Errorf("writing a telemetry sample: %w", err)
	}
	return nil
}

// Lines is the number of samples so far.
func (w *Writer) Lines() int { return w.n }

// Close ends the stream. The file is incomplete before.
func (w *Writer) Close() error { return w.z.Close() }
