package endpoint

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"bench/experiment/record"
	"bench/experiment/telemetry"
)

// samples are the telemetry of a running row. They are kept in memory, since writing would load the client;
// those of a row that may be very long go to a file, and are read back when the load is over.
type samples struct {
	mu   sync.Mutex
	kept []telemetry.Sample

	file  io.ReadWriteSeeker // nil: they are kept in memory
	w     *telemetry.Writer
	since time.Time // zero of the times in the file
	err   error     // the first failed write
}

func newSamples(file io.ReadWriteSeeker) (*samples, error) {
	s := &samples{file: file, since: time.Now()}
	if file == nil {
		return s, nil
	}
	var err error
	s.w, err = telemetry.NewWriter(file)
	return s, err
}

func (s *samples) add(sample telemetry.Sample) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		s.kept = append(s.kept, sample)
		return
	}
	sample.TUs = record.RoundMicros(sample.At.Sub(s.since))
	if err := s.w.Write(&sample); s.err == nil {
		s.err = err
	}
}

// all returns the samples; none can be added after it. Those of a file are rounded to microseconds.
func (s *samples) all() ([]telemetry.Sample, error) {
	if s.file == nil {
		return s.kept, nil
	}
	if err := errors.Join(s.err, s.w.Close()); err != nil {
		return nil, err
	}
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("reading the samples again: %w", err)
	}
	err := record.ReadSamples(s.file, func(sample *telemetry.Sample) error {
		sample.Schema, sample.At = "", s.since.Add(time.Duration(sample.TUs)*time.Microsecond)
		s.kept = append(s.kept, *sample)
		return nil
	})
	return s.kept, err
}
