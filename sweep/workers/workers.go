// Package workers has several processes send the load of a row: a Leader, the process of bench sweep, and its workers,
// processes of bench work. It carries what they exchange over HTTP/1.1. How a load is divided and sent is package
// endpoint's.
//
// A worker joins with POST /v1/join, and gets its number and the name of its session. All else belongs to a session:
//
//	GET  /v1/commands  lines of JSON, as long as the session lasts: the row, its start and its end. An empty one each
//	                   second shows that the leader is there. After a lost connection: those after the last.
//	POST /v1/events    a batch of what a worker has: records, samples, its state. It has a number, is sent again
//	                   after a lost connection, and is taken once. One comes each second at least.
//	GET  /v1/clock     the leader's clock
//	GET  /v1/files/…   a file that the row names, by its SHA-256
//
// No message is needed while the load runs. Clocks are monotonic: the leader's counts from its start, and a worker
// estimates the difference before each row by the fastest of several round trips.
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

// protocol is the version of the messages, which leader and workers must have in common.
const protocol = 1

const (
	beat = time.Second // between signs of life, each way
	// silence is how long the other side may give no sign of life.
	silence = 10 * time.Second
	// ending is how long a worker may take to end a row that was cut: longer than requests in flight may go on.
	ending = 10 * time.Second
)

const MostWorkers = 10_000

// Build identifies a program. Leader and workers must be the same one, or their plans could differ.
type Build struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Hash    string `json:"hash,omitempty"` // of the executable, where version and commit do not identify it
}

func (b Build) String() string {
	text := b.Version
	if b.Commit != "" {
		text += " " + b.Commit
	}
	if b.Hash != "" {
		text += " (executable " + b.Hash[:min(12, len(b.Hash))] + ")"
	}
	return text
}

type hello struct {
	Protocol int    `json:"protocol"`
	Build    Build  `json:"build"`
	Host     string `json:"host"`
	Index    int    `json:"index"` // -1 = any
}

type welcome struct {
	Session string `json:"session"`
	Index   int    `json:"index"`
	Of      int    `json:"of"`
}

type refusal struct {
	Error string `json:"error"`
	Final bool   `json:"final,omitempty"` // it would be refused later, too
}

const (
	doRow     = "row"
	doStart   = "start"
	doRelease = "release"
	doClose   = "close"   // DriveConfig.Ends
	doDecided = "decided" // DriveConfig.Decided
	doCancel  = "cancel"
	doEnd     = "end" // the leader ends
)

type command struct {
	N   int    `json:"n,omitempty"`   // counts the commands of a session from 1; 0 = only a sign of life
	Row int    `json:"row,omitempty"` // counts the rows of a leader from 1
	Do  string `json:"do,omitempty"`

	Share  *endpoint.Share `json:"share,omitempty"`  // of row
	Server *server         `json:"server,omitempty"` // of row
	Files  []file          `json:"files,omitempty"`  // of row: those that its spec names
	StartN int64           `json:"start_ns,omitempty"`
	Reason string          `json:"reason,omitempty"` // of cancel and end
}

type server struct {
	endpoint.ServerAddress
	Headers map[string]string `json:"headers,omitempty"`
	Proxy   string            `json:"proxy,omitempty"`
}

func (s *server) address() endpoint.ServerAddress {
	a := s.ServerAddress
	a.Target.Headers, a.Target.Proxy = s.Headers, s.Proxy
	integers(a.Target.ExtraBody)
	return a
}

type file struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
}

// filesOf are the files that a spec names, each once.
func filesOf(s *experiment.Spec) []file {
	var out []file
	seen := map[string]bool{}
	s.EachFile(func(name *string, sha256 string) {
		if !seen[*name] {
			seen[*name] = true
			out = append(out, file{*name, sha256})
		}
	})
	return out
}

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
