package workers

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"

	"bench/experiment/text"
)

// member is a worker that is there. The leader's lock guards it, but for what takes batches.
type member struct {
	index   int
	host    string
	session string

	seen      time.Time // the last sign of life
	busy      int       // batches that are being taken
	streams   int       // open responses of /v1/commands
	connected int       // those that came so far
	log       []command // commands that the worker may not have yet
	last      int       // number of the last command
	more      chan struct{}
	told      chan struct{} // closed by tell, when the end was sent
	tell      sync.Once
	gone      string        // why it is not there any more; empty = it is there
	left      chan struct{} // closed when it is gone

	taking sync.Mutex // of batches, one at a time
	seq    int        // number of the last batch that was taken
}

// maxHost is the longest name of a host that is kept.
const maxHost = 253

func (l *Leader) join(w http.ResponseWriter, r *http.Request) {
	var h hello
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 16<<10)).Decode(&h); err != nil {
		answer(w, http.StatusBadRequest, refusal{"no request of a worker: " + err.Error(), true})
		return
	}
	own, _ := l.bearer(r)
	if h.Index == -1 {
		h.Index = own
	}
	if why := l.unfit(&h, own); why != "" {
		answer(w, http.StatusConflict, refusal{why, true})
		return
	}
	m := &member{
		host: text.Escape(h.Host[:min(maxHost, len(h.Host))]), session: rand.Text(), seen: time.Now(),
		more: make(chan struct{}), told: make(chan struct{}), left: make(chan struct{}),
	}
	if why := l.seat(m, h.Index); why != "" {
		answer(w, http.StatusConflict, refusal{Error: why})
		return
	}
	answer(w, http.StatusOK, welcome{m.session, m.index, l.of})
}

// unfit is why a worker whose token has a number can never join; empty = it can.
func (l *Leader) unfit(h *hello, own int) string {
	switch {
	case h.Protocol != protocol:
		return fmt.Sprintf("the worker speaks version %d of the protocol, the leader version %d", h.Protocol, protocol)
	case h.Build != l.build:
		return fmt.Sprintf("the worker is bench %s, the leader bench %s: all machines need the same", h.Build, l.build)
	case h.Index < -1 || h.Index >= l.of:
		return fmt.Sprintf("number %d: this leader has workers 0 to %d", h.Index, l.of-1)
	case own >= 0 && h.Index != own:
		return fmt.Sprintf("number %d: the token is worker %d's", h.Index, own)
	}
	return ""
}

// takeOver is for how long a worker without a connection must have given no sign of life before another process gets
// its number: one that lost its connection for a moment keeps it.
const takeOver = 3 * beat

// seat gives a worker its number: the one that it has, or with -1 the first that is free. why is empty if it got one.
func (l *Leader) seat(m *member, index int) (why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return "the leader is ending"
	}
	l.expelSilent()
	for i, other := range l.members {
		switch {
		case index >= 0 && i != index || other != nil && index < 0:
			continue
		case other != nil && (other.streams > 0 || other.connected == 0 || time.Since(other.seen) < takeOver):
			return fmt.Sprintf("worker %d has joined already, from %s", i, other.host)
		case other != nil:
			l.expel(other, "its connection was lost, and another process has its number")
		}
		m.index = i
		l.members[i], l.sessions[m.session] = m, m
		return ""
	}
	return fmt.Sprintf("all %d workers have joined: this one waits as a spare", l.of)
}

// expel removes a member. The caller has the lock.
func (l *Leader) expel(m *member, why string) {
	if m.gone != "" {
		return
	}
	m.gone = why
	close(m.left)
	delete(l.sessions, m.session)
	if l.members[m.index] == m {
		l.members[m.index] = nil
	}
	l.signal()
}

// expelSilent removes the members that give no sign of life. The caller has the lock.
func (l *Leader) expelSilent() {
	for _, m := range l.members {
		if m != nil && m.busy == 0 && time.Since(m.seen) > silence {
			l.expel(m, fmt.Sprintf("no sign of life for %v", silence))
		}
	}
}

// command sends a command. The caller has the leader's lock.
func (m *member) command(c command) {
	m.last++
	c.N = m.last
	m.log = append(m.log, c)
	close(m.more)
	m.more = make(chan struct{})
}

// ofMember serves a request of a worker that has joined, with its own token.
func (l *Leader) ofMember(serve func(http.ResponseWriter, *http.Request, *member)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		own, _ := l.bearer(r)
		l.mu.Lock()
		found := l.sessions[r.URL.Query().Get("session")]
		if found != nil && own >= 0 && own != found.index {
			found = nil
		} else if found != nil {
			found.seen = time.Now()
		}
		l.mu.Unlock()
		if found == nil {
			answer(w, http.StatusNotFound, refusal{Error: "the leader dropped this worker, or is another one"})
			return
		}
		serve(w, r, found)
	}
}

// commands sends a member its commands after the one that it has, and a sign of life each second.
func (l *Leader) commands(w http.ResponseWriter, r *http.Request, m *member) {
	after, err := strconv.Atoi(r.URL.Query().Get("after"))
	if err != nil {
		answer(w, http.StatusBadRequest, refusal{"after is no number", true})
		return
	}
	l.stream(m, 1)
	defer l.stream(m, -1)
	w.Header().Set("Content-Type", "application/x-ndjson")
	out := http.NewResponseController(w)
	t := time.NewTicker(beat)
	defer t.Stop()
	for ended := false; !ended; {
		l.mu.Lock()
		for len(m.log) > 0 && m.log[0].N <= after {
			m.log = m.log[1:]
		}
		next, more := m.log[:len(m.log):len(m.log)], m.more
		l.mu.Unlock()
		if len(next) == 0 {
			next = []command{{}}
		}
		_ = out.SetWriteDeadline(time.Now().Add(silence)) // a worker that does not read is gone
		for i := range next {
			if err := json.NewEncoder(w).Encode(&next[i]); err != nil {
				return
			}
			after = max(after, next[i].N)
			ended = ended || next[i].Do == doEnd
		}
		if out.Flush() != nil {
			return
		}
		if ended {
			m.tell.Do(func() { close(m.told) })
			return
		}
		select {
		case <-more:
		case <-t.C:
		case <-m.left:
			return
		case <-r.Context().Done():
			return
		}
	}
}

// stream counts a response of /v1/commands that begins (1) or ends (-1).
func (l *Leader) stream(m *member, change int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m.streams += change
	m.connected += max(change, 0)
	l.signal()
}

// clock answers with the leader's clock in ns.
func (l *Leader) clock(w http.ResponseWriter, _ *http.Request, _ *member) {
	_, _ = io.WriteString(w, strconv.FormatInt(int64(l.now()), 10)) // the worker asks again
}

func (l *Leader) sendFile(w http.ResponseWriter, r *http.Request, _ *member) {
	l.mu.Lock()
	path, known := l.files[r.PathValue("sha256")]
	l.mu.Unlock()
	if !known {
		answer(w, http.StatusNotFound, refusal{"the row names no such file", true})
		return
	}
	f, err := os.Open(path)
	if err != nil {
		answer(w, http.StatusNotFound, refusal{"the leader can't read the file: " + err.Error(), true})
		return
	}
	defer f.Close()
	w.Header().Set("Content-Type", "application/octet-stream")
	if _, err := io.Copy(w, f); err != nil {
		panic(http.ErrAbortHandler) // the worker sees that it is cut
	}
}
