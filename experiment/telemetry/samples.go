package telemetry

import (
	"encoding/json"
	"errors"
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

// ReadSamples calls each for every sample of a complete stream, in order. At is zero.
func ReadSamples(r io.Reader, each func(Sample)) error {
	z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return fmt.Errorf("opening the telemetry stream: %w", err)
	}
	defer z.Close()
	d := json.NewDecoder(z)
	for n := 1; ; n++ {
		var s Sample
		err := d.Decode(&s)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading telemetry sample %d: %w", n, err)
		}
		s.Schema = ""
		each(s)
	}
}
