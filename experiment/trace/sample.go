package trace

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
)

// Sample writes n sessions of a trace, whole, or n requests, in the order of the trace and in the native
// format. Each choice of n is equally probable. open opens the trace; it is called twice, since their number is
// known only at the end; end ends the use of the last one. A request without a session is a session of its own.
func Sample(w io.Writer, open func() (*Reader, error), end func(), n int, sessions bool, r *rand.Rand,
	anonymize bool) (*Conversion, error) {
	s := sampler{sessions: sessions}
	if err := s.pass(open, end, s.count); err != nil {
		return nil, err
	}
	total := s.places.count
	if total < n {
		what := "requests"
		if sessions {
			what = "sessions"
		}
		return nil, fmt.Errorf("the trace has %d %s, fewer than %d\nhint: without --%s all are written",
			total, what, n, what)
	}
	s.choose(n, r)
	s.places = groups[int]{}
	var done *Conversion
	err := s.pass(open, end, func(r *Reader) (err error) {
		done, err = (&converter{anonymize: anonymize}).convert(w, r, s.keep)
		return err
	})
	return done, err
}

type sampler struct {
	sessions bool
	places   groups[int] // of sessions, or of requests
	chosen   []bool      // by place
}

func (s *sampler) pass(open func() (*Reader, error), end func(), read func(*Reader) error) error {
	r, err := open()
	if err != nil {
		return err
	}
	defer end()
	return read(r)
}

var errCutSessions = errors.New("single requests would be cut out of the sessions of this trace\nhint: set --sessions")

func (s *sampler) count(r *Reader) error {
	if r.Info.Grouped && !s.sessions {
		return errCutSessions
	}
	if r.Info.Grouped {
		return each(r.NextSession, func(Session) error { s.places.of(0); return nil })
	}
	return each(r.Next, func(e Entry) error { s.place(e); return nil })
}

func (s *sampler) place(e Entry) int {
	if !s.sessions {
		e.Session = 0
	}
	return s.places.of(e.Session)
}

// choose chooses n of all with equal probability (Knuth, The Art of Computer Programming 3.4.2, algorithm S).
func (s *sampler) choose(n int, r *rand.Rand) {
	s.chosen = make([]bool, s.places.count)
	for i := range s.chosen {
		if s.chosen[i] = r.IntN(len(s.chosen)-i) < n; s.chosen[i] {
			n--
		}
	}
}

func (s *sampler) keep(e Entry, i int) bool {
	if e.Input > 0 { // no graph
		i = s.place(e)
	}
	return s.chosen[i]
}
