package trace

import (
	"fmt"
	"io"
	"slices"
	"time"
)

// spread spreads what has one timestamp uniformly over the step of the timestamps, in order, but not beyond
// the next timestamp, since the steps of real files are not all equal.
type spread[T any] struct {
	group []T // remaining ones with the current timestamp
	ahead *T  // the first one with the next timestamp
}

// maxGroup bounds the number of requests with one timestamp under jitter, which are kept in memory.
const maxGroup = 1 << 16

// read returns the next one, with its time changed. next reads them without jitter.
func (s *spread[T]) read(r *Reader, next func() (T, error), at func(*T) *time.Duration) (one T, err error) {
	if len(s.group) == 0 {
		if err := s.gather(r, next, at); err != nil {
			return one, err
		}
	}
	one = s.group[0]
	s.group = s.group[1:]
	return one, nil
}

func (s *spread[T]) gather(r *Reader, next func() (T, error), at func(*T) *time.Duration) error {
	s.group = s.group[:0]
	if s.ahead != nil {
		s.group = append(s.group, *s.ahead)
		s.ahead = nil
	}
	step := r.o.scaled(r.o.Jitter)
	for {
		one, err := next()
		if err != nil && (err != io.EOF || len(s.group) == 0) {
			return err
		}
		if err == io.EOF {
			break
		}
		if len(s.group) > 0 && *at(&one) != *at(&s.group[0]) {
			s.ahead = &one
			step = min(step, *at(&one)-*at(&s.group[0]))
			break
		}
		if s.group = append(s.group, one); len(s.group) > maxGroup {
			r.err = fmt.Errorf("%s: more than %d requests with one timestamp\nhint: remove jitter", r.name, maxGroup)
			return r.err
		}
	}
	offsets := make([]time.Duration, len(s.group))
	for i := range offsets {
		offsets[i] = time.Duration(r.rand.Float64() * float64(step))
	}
	slices.Sort(offsets)
	for i := range s.group {
		*at(&s.group[i]) += offsets[i]
	}
	return nil
}
