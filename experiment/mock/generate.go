package mock

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// generate answers POST /v1/completions and /v1/chat/completions.
func (s *Server) generate(shape api) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		now := time.Now()
		arrival, n := now.Sub(s.start), s.requests.Add(1)
		f, err := s.faultsOf(r, n)
		if err != nil {
			badRequest("X-Mock-Fault: %v", err).write(w)
			return
		}
		if s.replaceByFault(w, f) {
			return
		}
		var req request
		if bad := decode(r, &req); bad != nil {
			bad.write(w)
			return
		}
		req.applyTools(&f)
		q, bad := s.sequence(&req, shape, arrival)
		if bad != nil {
			bad.write(w)
			return
		}
		if f.short < q.want {
			q.want, q.finish = f.short, "stop"
		}
		if bad := s.submit(q); bad != nil {
			bad.write(w)
			return
		}
		rec := s.record(r, shape, n)
		rec.ArrivalUnixNS, rec.ArrivalNS = now.UnixNano(), int64(arrival)
		if s.anchor != 0 {
			rec.ArrivalMonotonicNS = s.anchor + int64(arrival)
		}
		p := &reply{w: w, rc: http.NewResponseController(w), start: s.start, req: &req, shape: shape, q: q, f: f, rec: rec, sock: socketOf(r)}
		if s.cfg.PerRequestMetrics {
			p.engine = s
		}
		p.encoder = newEncoder(rec.ID, s.cfg.Model, now.Unix(), shape, f)
		s.answer(r.Context(), p)
	}
}

// answer writes p. Its record is stored before the client can see the end of the response.
func (s *Server) answer(ctx context.Context, p *reply) {
	whole := pause(ctx, p.f.slow)
	if whole && p.req.Stream {
		whole = p.stream(ctx)
	} else if whole {
		whole = p.writeWhole(ctx)
	}
	s.drop(p.q, p.rec)
	s.finishRecord(p, whole)
	switch {
	case whole && p.req.Stream:
		p.close()
	case !whole && p.f.ending != "" && ctx.Err() == nil:
		p.breakOff(ctx)
	}
}

// finishRecord completes and stores the record of p.
func (s *Server) finishRecord(p *reply, whole bool) {
	p.recordWrites() // of an unfinished write
	p.rec.PromptTokens, p.rec.OutputTokens, p.rec.Finish = len(p.q.prompt), p.sent, "abort"
	if whole {
		p.rec.Finish = p.finish()
	}
	s.records.add(p.rec)
}

// record starts the record of a request. Like vLLM's, its id contains the client's request id.
func (s *Server) record(r *http.Request, shape api, n uint64) *Record {
	rec := &Record{Model: s.cfg.Model, RequestID: r.Header.Get("X-Request-Id")}
	own := rec.RequestID
	if own == "" || len(own) > 128 {
		own = fmt.Sprintf("%016x", mix(s.cfg.Seed^mix(n)))
	}
	rec.ID = "cmpl-" + own
	if shape == chat {
		rec.ID = "chatcmpl-" + own
	}
	return rec
}

// replaceByFault sends the response of a fault that replaces the engine.
func (s *Server) replaceByFault(w http.ResponseWriter, f faults) bool {
	switch {
	case f.status != 0:
		(&apiError{status: f.status, message: "injected fault"}).write(w)
	case f.replacement == "reset-before":
		closeConnection(w, true)
	case f.replacement == "garbage":
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		fmt.Fprint(w, "\x00\xff{]garbage\n\ndata: {\"choices\": [\n\n"+strings.Repeat("\x7f?", 500)+"\n\n")
	case f.replacement == "html200":
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
