package workers

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"time"

	"bench/experiment"
	"bench/experiment/endpoint"
	"bench/experiment/text"
)

// Worker is a process that sends its share of the rows of a leader.
type Worker struct {
	Join   string // URL of the leader
	Token  string
	Client *http.Client // as NewClient makes
	Build  Build
	Host   string        // name of this machine
	Index  int           // its number; -1 = the leader gives it one
	Wait   time.Duration // how long it tries to join, at first and when the leader is gone
	// Reach connects to the server under test. It is called again for a row that needs other APIs or models.
	Reach func(ctx context.Context, a endpoint.ServerAddress, s *experiment.Spec) (Sharer, error)
	// Note gets a line for people, safe to show; nil = none.
	Note func(line string)

	target connected
}

// Sharer sends a worker's share of a row: an *endpoint.Server.
type Sharer interface {
	RunShare(ctx context.Context, c endpoint.ShareConfig) (*endpoint.ShareResult, error)
	Close()
}

var (
	errEnded = errors.New("the leader has ended")
	errLost  = errors.New("the leader is gone")
)

// Run joins the leader and serves it until it ends. If it is gone, Run joins again.
func (w *Worker) Run(ctx context.Context) error {
	defer w.target.close()
	defer w.Client.CloseIdleConnections()
	for {
		s, err := w.join(ctx)
		if err != nil {
			return err
		}
		w.note("joined %s as worker %d (of 0 to %d)", w.Join, s.welcome.Index, s.welcome.Of-1)
		err = s.serve(ctx)
		switch {
		case errors.Is(err, errEnded):
			w.note("%v", err)
			return s.failed
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, errUnread):
			return err
		}
		w.note("%v; trying to join again for %v", err, w.Wait)
	}
}

func (w *Worker) note(format string, args ...any) {
	if w.Note != nil {
		w.Note(text.Escape(fmt.Sprintf(format, args...)))
	}
}

const retryAfter = 500 * time.Millisecond

// join joins the leader, for a bounded time.
func (w *Worker) join(ctx context.Context) (*session, error) {
	until := time.Now().Add(w.Wait)
	h := hello{Protocol: protocol, Build: w.Build, Host: w.Host, Index: w.Index}
	noted := ""
	for {
		s := &session{w: w}
		err := s.call(ctx, http.MethodPost, "join", nil, jsonBody(h), &s.welcome)
		if err == nil {
			return s, nil
		}
		refused := new(refusedError)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.As(err, new(*tls.CertificateVerificationError)):
			return nil, fmt.Errorf("joining the leader at %s: %w\nhint: --tls-ca FILE, with the certificate that the leader has", w.Join, err)
		case errors.As(err, &refused) && refused.Final:
			return nil, fmt.Errorf("the leader at %s refuses this worker: %w", w.Join, err)
		case time.Now().After(until):
			return nil, fmt.Errorf("joining the leader at %s for %v: %w", w.Join, w.Wait, err)
		}
		if text := err.Error(); text != noted {
			noted = text
			w.note("waiting for the leader at %s: %v", w.Join, err)
		}
		if err := pause(ctx, retryAfter); err != nil {
			return nil, err
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
