package workers

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"bench/experiment"
	"bench/experiment/endpoint"
	"bench/experiment/record"
	"bench/experiment/telemetry"
	"bench/experiment/text"
)

// connected is the server under test, while rows follow each other on it.
type connected struct {
	key    string // what it was reached for
	server Sharer
}

func (c *connected) close() {
	if c.server != nil {
		c.server.Close()
	}
	*c = connected{}
}

// to returns the server for a row: the one of the row before, if it serves this one, too.
func (w *Worker) to(ctx context.Context, s *server, spec *experiment.Spec) (Sharer, error) {
	a := s.address()
	key := string(jsonBody([]any{s, experiment.Routes([]experiment.Spec{*spec}, a.Target)}))
	if w.target.server != nil && w.target.key == key {
		return w.target.server, nil
	}
	w.target.close()
	reached, err := w.Reach(ctx, a, spec)
	if err != nil {
		return nil, err
	}
	w.target = connected{key, reached}
	return reached, nil
}

func (s *session) serve(ctx context.Context) error {
	s.out.wake = make(chan struct{}, 1)
	s.files.at = map[file]string{}
	defer s.files.remove()
	outer := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	commands := make(chan *command)
	listened, sent := make(chan struct{}), make(chan struct{})
	sending, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	go func() {
		defer close(listened)
		cancel(s.listen(ctx, commands))
	}()
	go func() {
		defer close(sent)
		if err := s.send(sending); err != nil {
			cancel(fmt.Errorf("%w: %w", errLost, err))
		}
	}()
	r := &rows{s: s}
	err := r.obey(ctx, commands)
	switch { // the row is cut at once
	case outer.Err() != nil:
		_ = s.out.add(kindBye, "", true)
	case errors.Is(err, errUnread):
		_ = s.out.add(kindBye, err.Error(), true)
	}
	cancel(nil)
	r.cancel()
	r.wait()
	stop()
	<-listened
	<-sent
	return err
}

type rows struct {
	s      *session
	n      int
	over   chan struct{} // closed when it is over; nil = there was none
	start  chan time.Duration
	cancel func()
	ends   [3]func() // by release, close, decided
}

func (r *rows) obey(ctx context.Context, commands <-chan *command) error {
	r.cancel = func() {}
	for {
		var c *command
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case c = <-commands:
		}
		switch {
		case c.Do == doEnd:
			if c.Reason != "" {
				return fmt.Errorf("%w: %s", errEnded, text.Escape(c.Reason))
			}
			return errEnded
		case c.Do == doRow:
			r.wait() // the leader has given up the row before
			r.begin(ctx, c)
		case c.Row != r.n: // of a row that this worker does not have
		case c.Do == doStart:
			select {
			case r.start <- time.Duration(c.StartN):
			default: // a second one
			}
		case c.Do == doRelease:
			r.ends[0]()
		case c.Do == doClose:
			r.ends[1]()
		case c.Do == doDecided:
			r.ends[2]()
		case c.Do == doCancel:
			r.s.w.note("the row is cut: %s", c.Reason)
			r.cancel()
		}
	}
}

func (r *rows) wait() {
	if r.over != nil {
		<-r.over
	}
}

func (r *rows) begin(ctx context.Context, c *command) {
	session := ctx
	ctx, cancel := context.WithCancel(ctx)
	var until [3]context.Context
	for i := range until {
		until[i], r.ends[i] = context.WithCancel(context.WithoutCancel(ctx))
	}
	ends := r.ends
	r.n, r.over, r.start, r.cancel = c.Row, make(chan struct{}), make(chan time.Duration, 1), cancel
	over, start := r.over, r.start
	progress := new(endpoint.Progress)
	r.s.out.begin(c.Row, progress)
	go func() {
		defer close(over)
		defer cancel()
		err := r.s.share(ctx, c, start, until, progress)
		for _, end := range ends {
			end()
		}
		r.s.failed = nil
		if err != nil && ctx.Err() == nil {
			r.s.failed = err
		}
		if err != nil && session.Err() == nil {
			_ = r.s.out.add(kindError, err.Error(), true) // a text has a JSON form
		}
		r.s.out.finish()
	}()
}

func (s *session) share(ctx context.Context, c *command, start <-chan time.Duration, until [3]context.Context,
	progress *endpoint.Progress) error {
	if c.Share == nil || c.Share.Spec == nil || c.Server == nil {
		return errors.New("the leader sent a row without a spec or a server")
	}
	spec := c.Share.Spec
	s.w.note("row %s", c.Share.ID)
	if err := s.find(ctx, c); err != nil {
		return err
	}
	target, err := s.w.to(ctx, c.Server, spec)
	if err != nil {
		return err
	}
	records := 0
	r, err := target.RunShare(ctx, endpoint.ShareConfig{
		Share: *c.Share, Release: until[0], Ends: until[1], Decided: until[2], Progress: progress,
		Ready: func(ctx context.Context) (time.Time, error) { return s.ready(ctx, start) },
		Each: func(r *record.Record) error {
			records++
			return s.out.addText(kindRecord, r.AppendJSON)
		},
		// dropped if it has a NaN, or if the outbox is full
		Sample:  func(x telemetry.Sample) { _ = s.out.add(kindSample, &x, false) },
		Drained: sync.OnceFunc(func() { _ = s.out.add(kindDrained, nil, true) }),
	})
	if err != nil {
		return err
	}
	for _, m := range pieces(r) {
		if err := s.out.add(kindMore, m, false); err != nil {
			return err
		}
	}
	return s.out.add(kindResult, result{*r, records}, true)
}

// ready tells the leader that this worker is ready, and returns the common start, by this worker's clock.
func (s *session) ready(ctx context.Context, start <-chan time.Duration) (time.Time, error) {
	zero, rtt, err := s.synchronize(ctx)
	if err != nil {
		return time.Time{}, err
	}
	if err := s.out.add(kindReady, ready{int64(rtt)}, true); err != nil {
		return time.Time{}, err
	}
	select {
	case at := <-start:
		return zero.Add(at), nil
	case <-ctx.Done():
		return time.Time{}, ctx.Err()
	}
}
