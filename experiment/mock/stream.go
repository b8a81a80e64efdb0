package mock

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"
)

// reply is one response being written.
type reply struct {
	w       http.ResponseWriter
	rc      *http.ResponseController
	start   time.Time // of the server
	req     *request
	shape   api
	q       *seq
	f       faults
	encoder encoder
	rec     *Record
	limit   int     // tokens to write
	sock    *socket // nil: only net/http writes
	engine  *Server // for ownTimes; nil: the answer has none

	buf     []byte
	sent    int             // tokens in finished events
	held    int             // tokens in the open event
	ids     []int32         // of these, if requested
	pending []time.Duration // due times of the events in buf, and in unsent
	writing time.Duration   // start of the last write

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

// stream writes the response event by event as tokens are emitted; false: it did not reach the end.
func (p *reply) stream(ctx context.Context) bool {
	p.headers()
	if p.shape == chat && p.f.roleEarly && !p.write(p.encoder.roleEvent(nil)) {
		return false
	}
	p.limit = p.q.want
	if p.f.breaks(p.limit) {
		p.limit = p.f.after
	}
	p.rec.reserve(p.limit)
	var sink func([]time.Duration) bool
	if p.sock != nil && p.f.pause == 0 {
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
	n := p.f.pauseAfter - p.sent - p.held
	if p.f.pause == 0 || n > len(*due) {
		return true
	}
	done := p.events((*due)[:n]) && pause(ctx, p.f.pause)
	*due, p.f.pause = (*due)[n:], 0
	return done
}

// left is the number of tokens to come.
func (p *reply) left() int { return p.limit - p.sent - p.held }

// writeFromPacer writes tokens on the pacer's goroutine; false: the request's goroutine must continue.
func (p *reply) writeFromPacer(due []time.Duration) bool {
	p.fromPacer = true
	p.failed = !p.events(due)
	p.fromPacer = false
	return !p.failed && len(p.unsent) == 0 && p.left() > 0
}

// events writes due tokens.
func (p *reply) events(due []time.Duration) bool {
	if len(due) == 0 || p.left() == 0 {
		return true
	}
	if !p.begin() {
		return false
	}
	for _, at := range due[:min(len(due), p.left())] {
		if !p.token(at) {
			return false
		}
	}
	return p.flush()
}

// begin runs before the first token: the number of cached tokens is known now, and vLLM sends the role event
// before the first token in a separate write.
func (p *reply) begin() bool {
	if p.sent+p.held > 0 {
		return true
	}
	p.encoder.prompt, p.encoder.cached = len(p.q.prompt), p.q.cached
	if p.f.wrongUsage {
		p.encoder.wrong, p.encoder.cached = &p.f.wrongOutput, p.f.wrongCached
	}
	if p.listsIDs() {
		p.encoder.promptIDs = p.q.prompt
	}
	if p.shape != chat {
		return true
	}
	return p.f.roleEarly || p.write(p.encoder.roleEvent(nil))
}

// token appends a token to the buffer, and closes its event if it is full or the last.
func (p *reply) token(at time.Duration) bool {
	i := p.sent + p.held
	k := p.kind(i)
	if p.held == 0 {
		p.open(k)
	}
	if p.f.splitRunes && !p.splitRune() {
		return false
	}
	if p.hasText(k, i) {
		p.buf = p.appendPiece(p.buf, k, i)
	}
	if p.listsIDs() {
		p.ids = append(p.ids, p.q.generated(i))
	}
	p.held++
	if p.held < p.f.perEvent && i+1 < p.limit && p.kind(i+1) == k {
		return true
	}
	p.sent += p.held
	if p.f.perEvent > 1 {
		p.rec.TokensPerEvent = append(p.rec.TokensPerEvent, p.held)
	}
	p.held = 0
	finish, usage := "", -1
	if p.sent == p.q.want {
		finish = p.finish()
	}
	if p.req.StreamOptions.ContinuousUsageStats && p.req.StreamOptions.IncludeUsage && !p.f.noUsage {
		usage = p.sent
	}
	p.buf = p.encoder.close(p.buf, k, finish, usage, p.ids)
	p.ids = p.ids[:0]
	p.pending = append(p.pending, at)
	return true
}

func (p *reply) open(k tokenKind) {
	if p.f.comments {
		p.buf = p.encoder.comment(p.buf)
	}
	if p.f.empty {
		p.buf = p.encoder.emptyEvent(p.buf)
		p.buf = p.encoder.close(p.encoder.open(p.buf, textToken), textToken, "", -1, nil)
	}
	p.buf = p.encoder.open(p.buf, k)
}

// listsIDs reports whether the events list the ids of their tokens.
func (p *reply) listsIDs() bool { return p.req.ReturnTokenIDs && !p.f.noIDs }

// hasText reports whether output token i has text; special tokens have none.
func (p *reply) hasText(k tokenKind, i int) bool {
	if k != textToken && k != reasoningToken {
		return true
	}
	switch p.f.noText {
	case "all":
		return false
	case "first":
		return i > 0
	case "last":
		return i < p.q.want-1
	}
	return true
}

// kind is the kind of output token i.
func (p *reply) kind(i int) tokenKind {
	switch {
	case p.shape == chat && p.f.tools && i == 0:
		return toolNameToken
	case p.shape == chat && p.f.tools:
		return toolArgumentToken
	case p.shape == chat && p.f.reasoning && i < (p.q.want+1)/2:
		return reasoningToken
	}
	return textToken
}

func (p *reply) finish() string {
	if p.shape == chat && p.f.tools {
		return "tool_calls"
	}
	return p.q.finish
}

// appendWord appends the text of output token i.
func (p *reply) appendWord(b []byte, i int) []byte {
	return strconv.AppendInt(append(b, " w"...), int64(p.q.generated(i)), 10)
}

// appendPiece is appendWord inside an event. The first token of a tool call is its name. The arguments are a
// JSON object inside a JSON string.
func (p *reply) appendPiece(b []byte, k tokenKind, i int) []byte {
	switch {
	case k == toolNameToken:
		return b
	case k == toolArgumentToken && i == 1:
		b = append(b, `{\"words\":\"`...)
	}
	b = p.appendWord(b, i)
	if k == toolArgumentToken && i == p.q.want-1 {
		b = append(b, `\"}`...)
	}
	return b
}

// splitRune sends the buffer with the first byte of "é" and leaves the second byte in the buffer.
func (p *reply) splitRune() bool {
	e := "é"
	p.buf = append(p.buf, e[0])
	done := p.flush()
	p.buf = append(p.buf, e[1])
	return done
}

// close writes the events after the tokens of a complete stream.
func (p *reply) close() {
	var b []byte
	if p.req.StreamOptions.IncludeUsage && !p.f.noUsage {
		b = p.encoder.usageEvent(b, p.sent, p.ownTimes())
	}
	if !p.f.noDone {
		b = p.encoder.data(b, "[DONE]")
	}
	if len(b) > 0 {
		p.write(b)
	}
}

// ownTimes are the engine's times of the request in vLLM's form; empty: not reported.
func (p *reply) ownTimes() string {
	if p.engine == nil {
		return ""
	}
	p.engine.mu.Lock()
	defer p.engine.mu.Unlock()
	ms := func(from, to time.Duration) float64 { return (to - from).Seconds() * 1e3 }
	q := p.q
	return fmt.Sprintf(`{"time_to_first_token_ms":%g,"generation_time_ms":%g,"queue_time_ms":%g}`,
		ms(q.admitted, q.first), ms(q.first, q.last), ms(0, q.waited()))
}

// breakOff ends the response according to its fault.
func (p *reply) breakOff(ctx context.Context) {
	switch p.f.ending {
	case "stall":
		<-ctx.Done()
	case "garbage-mid":
		p.write([]byte("data: {\"id\":\"half an event\n\ndata: \xff\x00}\n\n"))
	case "error-in-stream":
		lost := apiError{status: http.StatusInternalServerError, message: "EngineCore encountered an issue."}
		p.write(p.encoder.data(p.encoder.data(nil, string(lost.object())), "[DONE]"))
	case "reset-mid":
		closeConnection(p.w, true)
	case "fin-mid":
		closeConnection(p.w, false)
	}
}

// closeConnection closes the connection of a response, with a TCP reset if reset is set.
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
