package workers

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Leader has its workers send rows. It is an http.Handler: the caller serves it, without a time limit on a whole
// answer, since /v1/commands lasts, and with BodyTimeout.
type Leader struct {
	of     int
	tokens map[[sha256.Size]byte]int // by hash: the number of the worker that has it; -1 = each has it
	build  Build
	began  time.Time // zero of the leader's clock
	mux    *http.ServeMux

	unpackers unpackers

	mu       sync.Mutex
	members  []*member          // by number; nil = not there
	sessions map[string]*member // the same, by session
	changed  chan struct{}      // closed when members change
	driving  *driving           // nil = no row runs
	rows     int
	files    map[string]string // paths by hash, of the row
	ended    bool
}

// NewLeader leads a number of workers of a build. Each has a token of its own, by number, or all have the only one.
func NewLeader(workers int, tokens []string, build Build) *Leader {
	l := &Leader{
		of: workers, tokens: map[[sha256.Size]byte]int{}, build: build, began: time.Now(), mux: http.NewServeMux(),
		unpackers: newUnpackers(), members: make([]*member, workers), sessions: map[string]*member{},
		changed: make(chan struct{}),
	}
	for k, token := range tokens {
		if len(tokens) == 1 {
			k = -1
		}
		l.tokens[sha256.Sum256([]byte(token))] = k
	}
	l.mux.HandleFunc("POST /v1/join", l.join)
	l.mux.HandleFunc("GET /v1/commands", l.ofMember(l.commands))
	l.mux.HandleFunc("POST /v1/events", l.ofMember(l.events))
	l.mux.HandleFunc("GET /v1/clock", l.ofMember(l.clock))
	l.mux.HandleFunc("GET /v1/files/{sha256}", l.ofMember(l.sendFile))
	return l
}

// BodyTimeout is how long a worker's request may make no progress: it counts as a sign of life.
const BodyTimeout = 3 * silence

func NewTokens(n int) []string {
	all := make([]string, n)
	for k := range all {
		all[k] = rand.Text()
	}
	return all
}

// bearer is the number of the worker whose token a request has; -1 = any. The time of the search depends on hashes
// alone: it shows nothing of a token.
func (l *Leader) bearer(r *http.Request) (k int, known bool) {
	given, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	k, known = l.tokens[sha256.Sum256([]byte(given))]
	return k, known
}

func (l *Leader) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, known := l.bearer(r); !known {
		w.Header().Set("Connection", "close") // its body is not read
		answer(w, http.StatusUnauthorized, refusal{"this token differs from the leader's", true})
		return
	}
	l.mux.ServeHTTP(w, r)
}

// missing are the numbers of the workers that are not there. The caller has the lock.
func (l *Leader) missing() []int {
	var out []int
	for i, m := range l.members {
		if m == nil || m.connected == 0 {
			out = append(out, i)
		}
	}
	return out
}

// Await waits until all workers are there, for a bounded time. joined gets their number whenever it changes.
func (l *Leader) Await(ctx context.Context, most time.Duration, joined func(int)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, most, errAlone)
	defer cancel()
	t := time.NewTicker(beat)
	defer t.Stop()
	before := -1
	for {
		l.mu.Lock()
		l.expelSilent()
		missing, changed := l.missing(), l.changed
		l.mu.Unlock()
		if n := l.of - len(missing); n != before && joined != nil {
			joined(n)
			before = n
		}
		if len(missing) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			if context.Cause(ctx) == errAlone {
				return alone(missing, l.of, most)
			}
			return ctx.Err()
		case <-changed:
		case <-t.C:
		}
	}
}

// replacing is how long a row waits for the replacement of a worker that is gone.
const replacing = time.Minute

func (l *Leader) Complete(ctx context.Context) error { return l.Await(ctx, replacing, nil) }

var errAlone = errors.New("workers did not join")

func alone(missing []int, of int, waited time.Duration) error {
	const most = 10
	names := strings.Trim(strings.Join(strings.Fields(fmt.Sprint(missing[:min(most, len(missing))])), ", "), "[]")
	if len(missing) > most {
		names += ", …"
	}
	return fmt.Errorf("%d of %d workers did not join within %v: number %s", len(missing), of, waited, names)
}

// End tells all workers that the leader ends, and waits a moment for them to hear it. It serves nothing afterwards.
func (l *Leader) End(reason string) {
	l.mu.Lock()
	l.ended = true
	var streams []*member
	for _, m := range l.members {
		if m != nil {
			m.command(command{Do: doEnd, Reason: reason})
			streams = append(streams, m)
		}
	}
	l.mu.Unlock()
	deadline := time.After(2 * beat)
	for _, m := range streams {
		select {
		case <-m.told:
		case <-m.left:
		case <-deadline:
			return
		}
	}
}

func (l *Leader) now() time.Duration { return time.Since(l.began) }

// signal tells everybody who waits that members have changed. The caller has the lock.
func (l *Leader) signal() {
	close(l.changed)
	l.changed = make(chan struct{})
}

func answer(w http.ResponseWriter, status int, v any) {
	text := jsonBody(v)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(text) // the worker asks again
}
