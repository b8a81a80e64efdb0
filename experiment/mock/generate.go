package mock

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"time"
)

func (s *Server) generate(shape api) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		now, n := time.Now(), s.requests.Add(1)
		arrival := now.Sub(s.start)
		p, bad := s.accept(w, r, shape, n, arrival)
		if bad != nil {
			bad.writeTo(w, shape)
		}
		if p == nil {
			note(&s.records, &s.records.refused, arrival)
			return
		}
		p.rec = s.record(r, p.req, shape, n)
		p.rec.ArrivalUnixNS, p.rec.ArrivalNS = now.UnixNano(), int64(arrival)
		p.encoder = p.newEncoder()
		s.answer(r.Context(), p)
	}
}

// accept gives a request to the engine. Without a reply it is refused, or a fault has answered it.
func (s *Server) accept(w http.ResponseWriter, r *http.Request, shape api, n uint64,
	arrival time.Duration) (*reply, *apiError) {
	f, err := s.faultsOf(r, n)
	if err != nil {
		return nil, badRequest("X-Mock-Fault: %v", err)
	}
	if s.replaceByFault(w, shape, f) {
		return nil, nil
	}
	if d := f["freeze"].wait; d > 0 {
		s.frozenUntil.Store(int64(arrival + d))
		note(&s.records, &s.records.frozen, Span{arrival, arrival + d})
	}
	req, bad := readRequest(r, shape)
	if bad != nil {
		return nil, bad
	}
	q, limit, bad := s.sequence(req, shape, arrival)
	if bad != nil {
		return nil, bad
	}
	q.tenant = r.Header.Get(TenantHeader)
	s.adapt(q, req.Model)
	q.drafter = newDrafter(s.cfg.Speculation)
	answer := s.plan(req, shape, q, limit, f)
	if bad := s.submit(q); bad != nil {
		return nil, bad
	}
	return &reply{w: w, rc: http.NewResponseController(w), start: s.start, req: req, shape: shape, q: q, f: f,
		answer: answer, sock: socketOf(r), engine: s}, nil
}

// answer writes p. Its record is stored before the client can see the end of the response.
func (s *Server) answer(ctx context.Context, p *reply) {
	whole := pause(ctx, p.f["slow-headers"].wait)
	if whole && p.req.Stream {
		whole = p.stream(ctx)
	} else if whole {
		whole = p.writeWhole(ctx)
	}
	s.drop(p.q, p.rec)
	p.rec.Aborted = !whole && (p.f.ending() == "" || ctx.Err() != nil)
	s.finishRecord(p, whole)
	switch {
	case whole && p.req.Stream:
		p.close()
	case !whole && p.f.ending() != "" && ctx.Err() == nil:
		p.breakOff(ctx)
	}
}

func (s *Server) finishRecord(p *reply, whole bool) {
	p.recordWrites() // of an unfinished write
	p.rec.PromptTokens, p.rec.OutputTokens, p.rec.Finish = len(p.q.prompt), p.sent, "abort"
	p.rec.Valid, p.rec.Correct = p.answer.valid, p.answer.correct
	p.rec.ReasoningTokens = min(p.sent, p.answer.reasoning)
	if p.answerEvent > 0 && p.answerEvent <= len(p.rec.DueNS) {
		p.rec.FirstAnswerDueNS, p.rec.FirstAnswerWrittenNS = p.rec.DueNS[p.answerEvent-1], p.rec.WrittenNS[p.answerEvent-1]
	}
	if whole {
		p.rec.Finish = p.finish()
	}
	s.records.add(p.rec)
}

// record starts the record of a request. Like vLLM's, its id contains the client's request id.
func (s *Server) record(r *http.Request, req *request, shape api, n uint64) *Record {
	rec := &Record{
		API: shape.String(), Model: cmp.Or(req.Model, s.cfg.Model), RequestID: r.Header.Get("X-Request-Id"),
		Session: r.Header.Get("X-Session-ID"), Traceparent: r.Header.Get("Traceparent"), Category: req.category(),
		PromptBytes: len(req.raw), Images: req.images(),
	}
	sum := sha256.Sum256(req.raw)
	rec.PromptSHA256 = hex.EncodeToString(sum[:])
	own := rec.RequestID
	if own == "" || len(own) > 128 {
		own = fmt.Sprintf("%016x", mix(s.cfg.Seed^mix(n)))
	}
	rec.ID = shape.idPrefix() + own
	return rec
}

func (s *Server) replaceByFault(w http.ResponseWriter, shape api, f faults) bool {
	switch {
	case f.has("status"):
		(&apiError{status: f["status"].n, message: "injected fault"}).writeTo(w, shape)
	case f.has("reset-before"):
		closeConnection(w, true)
	case f.has("garbage"):
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		fmt.Fprint(w, "\x00\xff{]garbage\n\ndata: {\"choices\": [\n\n"+strings.Repeat("\x7f?", 500)+"\n\n")
	case f.has("html200"):
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<!doctype html><title>gateway</title><h1>It works</h1><script>document.title='ran'</script>\n")
	default:
		return false
	}
	return true
}

// pause waits for d; false: ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	if d == 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
