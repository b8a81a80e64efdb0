package telemetry

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// Writer writes samples as zstd-compressed JSON lines.
type Writer struct {
	z     *zstd.Encoder
	e     *json.Encoder
	begun bool
}

// NewWriter writes to w, which stays the caller's to close.
func NewWriter(w io.Writer) (*Writer, error) {
	z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithZeroFrames(true))
	if err != nil {
		return nil, fmt.Errorf("starting the telemetry stream: %w", err)
	}
	return &Writer{z: z, e: json.NewEncoder(z)}, nil
}

// Write appends one sample. The first one carries the file's schema.
func (w *Writer) Write(s *Sample) error {
	line := *s
	if !w.begun {
		line.Schema, w.begun = Schema, true
	}
	if err := w.e.Encode(&line); err != nil {
		return fmt.Errorf("writing a telemetry sample: %w", err)
	}
	return nil
}

// Close ends the stream; the file is whole only after it.
func (w *Writer) Close() error { return w.z.Close() }
