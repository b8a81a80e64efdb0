package mock

import (
	"context"
	"net"
	"net/http"
	"strconv"
	"time"
)

// reply is one answer being written.
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
	sock    *socket // nil: net/http alone writes

	buf     []byte
	sent    int             // tokens in events so far
	held    int             // tokens that wait for the rest of their event
	pending []time.Duration // due times of the events in buf, and in unsent
	writing time.Duration   // when the last write began

	fromPacer bool   // the pacer has the reply, and writes to the socket
	unsent    []byte // chunks that the socket has no room for
	failed    bool   // a write of the pacer
}

// headers sends the headers of an event stream, which vLLM does before there is a token.
func (p *reply) headers() {
	h := p.w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-cache")
	p.w.WriteHeader(http.StatusOK)
	_ = p.rc.Flush() // a connection that is gone shows at the next write
	p.rec.HeadersNS = int64(time.Since(p.start))
}

// stream writes the answer event by event as tokens come. It returns false if it did not get to the end.
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

// rest writes the tokens up to the one after which nothing is to come for some time, waits, and leaves the others in due.
func (p *reply) pauseAfter(ctx context.Context, due *[]time.Duration) bool {
	n := p.f.pauseAfter - p.sent - p.held
	if p.f.pause == 0 || n > len(*due) {
		return true
	}
	done := p.events((*due)[:n]) && pause(ctx, p.f.pause)
	*due, p.f.pause = (*due)[n:], 0
	return done
}

// left is how many tokens are still to come.
func (p *reply) left() int { return p.limit - p.sent - p.held }

// paced writes tokens from the pacer. It returns false when the goroutine of the request has to do the rest.
func (p *reply) writeFromPacer(due []time.Duration) bool {
	p.fromPacer = true
	p.failed = !p.events(due)
	p.fromPacer = false
	return !p.failed && len(p.unsent) == 0 && p.left() > 0
}

// events writes tokens that have fallen due.
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

// first does what is to be done once, when the first tokens are there: the prefix cache has been asked by now, and vLLM
// sends the role before the first token, in a write of its own.
func (p *reply) begin() bool {
	if p.sent+p.held > 0 {
		return true
	}
	p.encoder.prompt, p.encoder.cached = len(p.q.prompt), p.q.cached
	if p.shape != chat {
		return true
	}
	return p.f.roleEarly || p.write(p.encoder.roleEvent(nil))
}

// token adds a token to the buffer, and closes its event if that is full or the last.
func (p *reply) token(at time.Duration) bool {
	i := p.sent + p.held
	k := p.kind(i)
	if p.held == 0 {
		p.open(k)
	}
	if p.f.splitRunes && !p.splitRune() {
		return false
	}
	p.buf = p.appendPiece(p.buf, k, i)
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
	p.buf = p.encoder.close(p.buf, k, finish, usage)
	p.pending = append(p.pending, at)
	return true
}

func (p *reply) open(k tokenKind) {
	if p.f.comments {
		p.buf = p.encoder.comment(p.buf)
	}
	if p.f.empty {
		p.buf = p.encoder.emptyEvent(p.buf)
		p.buf = p.encoder.close(p.encoder.open(p.buf, textToken), textToken, "", -1)
	}
	p.buf = p.encoder.open(p.buf, k)
}

// kind is what output token i is.
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

// appendPiece is appendWord inside an event. The first token of a tool call is its name; the arguments are an object, in JSON that
// stands in a JSON string.
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

// tear sends what there is and the first byte of an "é", and leaves the second in the buffer.
func (p *reply) splitRune() bool {
	e := "é"
	p.buf = append(p.buf, e[0])
	done := p.flush()
	p.buf = append(p.buf, e[1])
	return done
}

// close writes what follows the tokens of a whole stream.
func (p *reply) close() {
	var b []byte
	if p.req.StreamOptions.IncludeUsage && !p.f.noUsage {
		b = p.encoder.usageEvent(b, p.sent)
	}
	if !p.f.noDone {
		b = p.encoder.data(b, "[DONE]")
	}
	if len(b) > 0 {
		p.write(b)
	}
}

// breakOff ends the answer as its fault wants it.
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

// sever closes the connection under an answer, by a TCP reset if wanted.
func closeConnection(w http.ResponseWriter, reset bool) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return // already gone
	}
	if tcp, ok := conn.(*net.TCPConn); ok && reset {
		_ = tcp.SetLinger(0) // without it a close is a FIN, which is the other fault
	}
	conn.Close()
}
