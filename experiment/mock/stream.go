package mock

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"
)

type reply struct {
	w       http.ResponseWriter
	rc      *http.ResponseController
	start   time.Time // of the server
	req     *request
	shape   api
	q       *seq
	f       faults
	answer  answer
	encoder encoder
	rec     *Record
	limit   int     // tokens to write
	sock    *socket // nil: only net/http writes
	engine  *Server

	buf     []byte
	sent    int             // tokens in finished events
	held    int             // tokens in the open event
	ids     []int32         // of these, if requested
	pending []time.Duration // due times of the events in buf, and in unsent

	answerEvent int           // number of the first event with an answer token; 0: none yet
	writing     time.Duration // start of the last write

	fromPacer bool   // the pacer writes to the socket
	unsent    []byte // chunks that the socket did not accept
	failed    bool   // a write of the pacer failed failed
}

// headers sends the headers of an event stream. Like vLLM, it does not wait for the first token.
func (p *reply) headers() {
	h := p.w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-cache")
	p.w.WriteHeader(http.StatusOK)
	_ = p.rc.Flush() // a closed connection fails at the next write
	p.rec.HeadersNS = int64(time.Since(p.start))
}

func (p *reply) stream(ctx context.Context) bool {
	p.headers()
	if p.encoder.early() && !p.write(p.encoder.begin(nil)) {
		return false
	}
	p.limit = p.q.want
	if p.f.breaks(p.limit) {
		p.limit = p.f[p.f.ending()].n
	}
	p.rec.reserve(p.limit)
	var sink func([]time.Duration) bool
	if p.sock != nil && !p.f.has("pause") {
		sink = p.writeFromPacer
	}
	for p.left() > 0 {
		due, err := p.q.mail.take(ctx, sink)
		if err != nil || !p.flushUnsent() || !p.pauseAfter(ctx, &due) || !p.events(due) {
			return false
		}
	}
	return !p.f.breaks(p.q.want)
}

// pauseAfter writes the tokens before the pause fault, pauses, and leaves the other tokens in due.
func (p *reply) pauseAfter(ctx context.Context, due *[]time.Duration) bool {
	n := p.f["pause"].n - p.sent - p.held
	if !p.f.has("pause") || n > len(*due) {
		return true
	}
	done := p.events((*due)[:n]) && pause(ctx, p.f["pause"].wait)
	*due = (*due)[n:]
	delete(p.f, "pause")
	return done
}

func (p *reply) left() int { return p.limit - p.sent - p.held }

// writeFromPacer writes tokens on the pacer's goroutine; false: the request's goroutine must continue.
func (p *reply) writeFromPacer(due []time.Duration) bool {
	p.fromPacer = true
	p.failed = !p.events(due)
	p.fromPacer = false
	return !p.failed && len(p.unsent) == 0 && p.left() > 0
}

func (p *reply) events(due []time.Duration) bool {
	if len(due) == 0 || p.left() == 0 {
		return true
	}
	if !p.begin() {
		return false
	}
	due = due[:min(len(due), p.left())]
	for i, at := range due {
		step := p.q.drafter.tokens > 0 && i+1 < len(due) && due[i+1] == at
		if !p.token(at, step) {
			return false
		}
	}
	return p.flush()
}

func (p *reply) begin() bool {
	if p.sent+p.held > 0 || p.encoder.early() {
		return true
	}
	head := p.encoder.begin(nil)
	return len(head) == 0 || p.write(head)
}

// token appends a token to the buffer, and closes its event if it is full or the last. With more, the next token is
// of the same step of speculative decoding, and hence of the same event.
func (p *reply) token(at time.Duration, more bool) bool {
	i := p.sent + p.held
	k := p.kind(i)
	if p.held == 0 {
		p.open(k)
	}
	if p.splits(k) && !p.splitRune() {
		return false
	}
	if p.hasText(k, i) {
		p.buf = p.appendText(p.buf, k, i, true)
	}
	if p.listsIDs() {
		p.ids = append(p.ids, p.q.generated(i))
	}
	p.held++
	if (more || p.held < p.f["multi"].n) && i+1 < p.limit && p.kind(i+1) == k {
		return true
	}
	p.sent += p.held
	if p.f["multi"].n > 1 || p.q.drafter.tokens > 0 {
		p.rec.TokensPerEvent = append(p.rec.TokensPerEvent, p.held)
	}
	p.held = 0
	p.buf = p.encoder.close(p.buf, k, p.ids)
	p.ids = p.ids[:0]
	p.pending = append(p.pending, at)
	if p.answerEvent == 0 && k != reasoningToken && p.hasText(k, i) {
		p.answerEvent = len(p.rec.DueNS) + len(p.pending)
	}
	return true
}

func (p *reply) open(k tokenKind) {
	if p.f.has("comments") {
		p.buf = p.encoder.comment(p.buf)
	}
	if p.f.has("empty-events") {
		p.buf = p.encoder.emptyEvent(p.buf)
		p.buf = p.encoder.textless(p.buf, k)
	}
	p.buf = p.encoder.open(p.buf, k)
}

func (p *reply) listsIDs() bool { return p.req.ReturnTokenIDs && !p.f.has("no-token-ids") }

func (p *reply) hasText(k tokenKind, i int) bool {
	if k != textToken && k != reasoningToken {
		return true
	}
	switch p.f["no-text"].text {
	case "all":
		return false
	case "first":
		return i > 0
	case "last":
		return i < p.q.want-1
	}
	return true
}

func (p *reply) splits(k tokenKind) bool {
	return p.f.has("split-utf8") && !k.isTool() && p.answer.words == nil
}

func (p *reply) splitRune() bool {
	e := "é"
	p.buf = append(p.buf, e[0])
	done := p.flush()
	p.buf = append(p.buf, e[1])
	return done
}

func (p *reply) close() {
	if b := p.encoder.end(nil); len(b) > 0 {
		p.write(b)
	}
}

func (p *reply) ownTimes() string {
	if !p.engine.cfg.PerRequestMetrics {
		return ""
	}
	p.engine.mu.Lock()
	defer p.engine.mu.Unlock()
	ms := func(from, to time.Duration) float64 { return (to - from).Seconds() * 1e3 }
	q := p.q
	times := fmt.Sprintf(`{"time_to_first_token_ms":%g,"generation_time_ms":%g,"queue_time_ms":%g`,
		ms(q.admitted, q.first), ms(q.first, q.last), ms(0, q.waited()))
	if drafts := q.drafter.metrics(); drafts != "" {
		times += `,"speculative_decoding":` + drafts
	}
	return times + "}"
}

func (p *reply) breakOff(ctx context.Context) {
	switch p.f.ending() {
	case "stall":
		<-ctx.Done()
	case "garbage-mid":
		p.write([]byte("data: {\"id\":\"half an event\n\ndata: \xff\x00}\n\n"))
	case "error-in-stream":
		p.write(p.encoder.fail(nil, &apiError{status: http.StatusInternalServerError,
			message: "EngineCore encountered an issue."}))
	case "reset-mid":
		closeConnection(p.w, true)
	case "fin-mid":
		closeConnection(p.w, false)
	}
}

func closeConnection(w http.ResponseWriter, reset bool) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return // already closed
	}
	if tcp, ok := conn.(*net.TCPConn); ok && reset {
		_ = tcp.SetLinger(0) // without it, close sends a FIN
	}
	conn.Close()
}
