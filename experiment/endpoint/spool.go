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

// samples are those of a running row, of the client and of the server. They are kept in memory, where writing would be load of its
// own; those of a row that may be very long go to a file as they come, and are taken from it when the load is over.
type samples struct {
	mu   sync.Mutex
	kept []telemetry.Sample

	file  io.ReadWriteSeeker // nil = they are kept
	w     *telemetry.Writer
	since time.Time // the times in the file count from here
	err   error     // of the first write that failed
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

// all gives the samples back; none can be added after it. A file's are of whole microseconds.
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
	err := telemetry.ReadSamples(s.file, func(sample telemetry.Sample) {
		sample.At = s.since.Add(time.Duration(sample.TUs) * time.Microsecond)
		s.kept = append(s.kept, sample)
	})
	return s.kept, err
}
