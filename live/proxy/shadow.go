package proxy

import (
	"cmp"
	"context"
	"errors"
	"hash/maphash"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"bench/experiment/openai"
	"bench/live/recording"
)

type ShadowConfig struct {
	To    *url.URL // base URL of the candidate; paths are joined as Config.To's are
	Share float64  // of the conversations, 0 to 1
	Key   string   // API key in place of the caller's secrets, which stay here; empty = the caller's go. Never stored

	timeout     time.Duration // of a copy, from its sending to its answer's end; 0 = 10 minutes
	concurrency int           // copies in flight at once, others wait in the queue; 0 = 256
	queueCopies int           // copies that wait; 0 = 1024. More are dropped
	queueBytes  int64         // bodies of waiting and sent copies together; 0 = 256 MiB
}

// shadow copies requests of whole conversations to the candidate. Nothing in it waits for the candidate: a copy that
// finds the queue full is dropped, counted, and with it the rest of its conversation, whose turns would find a colder
// cache there than at the primary; likewise after a turn that failed there. All methods are safe for concurrent use,
// and on a nil shadow (no candidate).
//
// For each request: offer when its body and its Sent time are known, ended when both answers have ended.
type shadow struct {
	config        ShadowConfig // with its defaults
	sessionHeader string       // as Config.SessionHeader
	via           string       // as Proxy.via
	transport     http.RoundTripper
	started       time.Time
	seed          maphash.Seed
	observers     map[string]*openai.Observer // by API
	running       sync.WaitGroup              // copies in flight

	mu        sync.Mutex
	waiting   []*copied // the oldest first
	flying    map[*copied]context.CancelCauseFunc
	dismissed []*copied // were taken and will not be sent: locked calls their done
	bytes     int64     // bodies of waiting and flying
	lostUpTo  int       // conversations up to this number may miss a turn at the candidate
	closed    bool
	copies    recording.Copies
	rules     stopRules
}

// newShadow prepares copying and sends nothing. transport is for the candidate alone, of the kind that the primary has,
// with a MaxResponseHeaderBytes of maxCandidateHeader; the times of results count from started.
func newShadow(c ShadowConfig, transport http.RoundTripper, started time.Time) *shadow {
	c.timeout = cmp.Or(c.timeout, 10*time.Minute)
	c.concurrency = cmp.Or(c.concurrency, 256)
	c.queueCopies = cmp.Or(c.queueCopies, 1024)
	c.queueBytes = cmp.Or(c.queueBytes, 256<<20)
	return &shadow{config: c, transport: transport, started: started, seed: maphash.MakeSeed(),
		observers: newObservers(), flying: map[*copied]context.CancelCauseFunc{}, rules: newStopRules()}
}

const maxCandidateHeader = 256 << 10

type original struct {
	turn   turn   // by conversations.find
	api    string // one of target.APIs
	url    *url.URL
	header http.Header // as the caller sent it; neither kept beyond done nor changed
	body   []byte      // as the caller sent it, not to be changed until done; nil = too large to keep: the turn is lost
	// done gets the copy's result, once, from any goroutine but never within offer; it must not block. nil: the copy
	// was not sent, copying ended before its answer did, or the answer cannot be measured (see openai.Observation.End).
	// Outcome Left: the caller of the primary left.
	done func(*openai.Result)
}

// copied is a copy that waits or is in flight. Its methods do nothing for nil.
type copied struct {
	original
	shadow *shadow
}

var errStopped = errors.New("copying ended")

// callerLeft ends the copy because the primary's caller left: the pair is not compared. It may call done.
func (c *copied) callerLeft() {
	if c == nil {
		return
	}
	s := c.shadow
	s.locked(func() {
		if cancel := s.flying[c]; cancel != nil {
			cancel(openai.ErrCallerLeft)
		} else if i := slices.Index(s.waiting, c); i >= 0 {
			s.waiting = slices.Delete(s.waiting, i, i+1)
			s.dismiss(c)
		}
	})
}

// offer takes a copy if the conversation is chosen, known from its first turn and complete at the candidate so far. It
// never blocks. Call it after the primary's request was sent. nil: not taken, done is not called.
func (s *shadow) offer(o original) (taken *copied) {
	of := o.turn.conversation
	if s == nil || of == nil || !o.turn.fromStart || !s.chosen(of) {
		return nil
	}
	s.locked(func() {
		switch size := int64(len(o.body)); {
		case s.closed || s.copies.Stopped != "":
		case of.lost || of.session <= s.lostUpTo:
			s.copies.Dropped++
		case o.turn.atServer:
			of.lost = true
			s.copies.Stateful++
		case o.body == nil || s.bytes+size > s.config.queueBytes || len(s.waiting) >= s.config.queueCopies:
			of.lost = true
			s.copies.Dropped++
		default:
			s.bytes += size
			taken = &copied{original: o, shadow: s}
			s.waiting = append(s.waiting, taken)
			s.sendWaiting()
			s.copies.Queued = max(s.copies.Queued, len(s.waiting))
		}
	})
	return taken
}

func (s *shadow) lose(session int) {
	if s != nil {
		s.locked(func() { s.lostUpTo = max(s.lostUpTo, session) })
	}
}

func (s *shadow) chosen(of *conversation) bool {
	return float64(maphash.Comparable(s.seed, of.session)>>11)/(1<<53) < s.config.Share
}

func (s *shadow) locked(f func()) {
	s.mu.Lock()
	f()
	dismissed := s.dismissed
	s.dismissed = nil
	s.mu.Unlock()
	for _, c := range dismissed {
		c.done(nil)
	}
}

func (s *shadow) dismiss(c *copied) {
	s.bytes -= int64(len(c.body))
	s.copies.Dropped++
	c.turn.conversation.lost = true
	s.dismissed = append(s.dismissed, c)
}

func (s *shadow) sendWaiting() {
	for len(s.waiting) > 0 && len(s.flying) < s.config.concurrency {
		c := s.waiting[0]
		s.waiting = slices.Delete(s.waiting, 0, 1)
		ctx, cancel := context.WithCancelCause(context.Background())
		s.flying[c] = cancel
		if s.copies.Sent++; s.copies.Sent == 1 {
			s.copies.FirstUs = time.Since(s.started).Microseconds()
		}
		s.running.Go(func() {
			defer cancel(nil)
			c.done(s.landed(c, s.measure(ctx, c)))
		})
	}
}

func (s *shadow) landed(c *copied, m measurement) *openai.Result {
	s.locked(func() {
		delete(s.flying, c)
		s.bytes -= int64(len(c.body))
		switch {
		case m.end == errStopped:
			s.copies.Cut++
			return
		case m.failed():
			s.copies.Failed++
		case m.result == nil:
			s.copies.Unread++
		}
		if m.failed() || m.result == nil {
			c.turn.conversation.lost = true
		}
		if s.rules.landed(m) {
			s.stopLocked(stoppedErrors, time.Now())
		}
		s.sendWaiting()
	})
	return m.result
}

func (s *shadow) load() (queued, inFlight int) {
	if s == nil {
		return 0, 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.waiting), len(s.flying)
}

// close takes no more copies, waits for those in flight until ctx is done, and cancels the rest.
func (s *shadow) close(ctx context.Context) {
	if s == nil {
		return
	}
	s.locked(func() {
		s.closed = true
		s.dismissWaiting()
	})
	defer context.AfterFunc(ctx, func() { s.locked(s.cancelFlying) })()
	s.running.Wait()
	if t, ok := s.transport.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}
