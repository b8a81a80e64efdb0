package mock

import (
	"context"
	"encoding/json"
	"net/http"
	"time"
)

func (p *reply) flushUnsent() bool {
	if p.failed || len(p.unsent) == 0 {
		return !p.failed
	}
	_, err := p.sock.conn.Write(p.unsent)
	p.unsent = p.unsent[:0]
	p.recordWrites()
	return err == nil
}

func (p *reply) flush() bool {
	if len(p.buf) == 0 {
		return true
	}
	done := p.write(p.buf)
	p.buf = p.buf[:0]
	if len(p.unsent) == 0 {
		p.recordWrites()
	}
	return done
}

func (p *reply) recordWrites() {
	if len(p.pending) == 0 {
		return
	}
	now := int64(time.Since(p.start))
	for _, at := range p.pending {
		p.rec.DueNS = append(p.rec.DueNS, int64(at))
		p.rec.WritingNS = append(p.rec.WritingNS, int64(p.writing))
		p.rec.WrittenNS = append(p.rec.WrittenNS, now)
	}
	p.pending = p.pending[:0]
}

func (p *reply) write(b []byte) bool {
	if p.fromPacer {
		return p.writeSocket(b)
	}
	p.writing = time.Since(p.start)
	if _, err := p.w.Write(b); err != nil {
		return false
	}
	return p.rc.Flush() == nil
}

// writeSocket writes b as one chunk, bypassing net/http. It keeps what the socket does not accept.
func (p *reply) writeSocket(b []byte) bool {
	blocked := len(p.unsent) > 0
	p.unsent = appendChunk(p.unsent, b)
	if blocked {
		return true
	}
	p.writing = time.Since(p.start)
	n, err := p.sock.try(p.unsent)
	p.unsent = p.unsent[:copy(p.unsent, p.unsent[n:])]
	return err == nil
}

// writeWhole writes the response without streaming after its last token; false: it did not reach the end.
func (p *reply) writeWhole(ctx context.Context) bool {
	last, ok := p.q.wait(ctx)
	if !ok {
		return false
	}
	body, _ := json.Marshal(p.encoder.object()) // always encodes
	p.w.Header().Set("Content-Type", "application/json")
	p.w.WriteHeader(http.StatusOK)
	p.rec.HeadersNS = int64(time.Since(p.start))
	if p.f.breaks(p.q.want) && p.f.ending() != "error-in-stream" {
		p.write(body[:len(body)/2])
		return false
	}
	writing := time.Since(p.start)
	// Flushed, hence chunked: the end of the body is sent after the record is stored, so that a client that
	// has read the whole response finds the record.
	done := p.write(body)
	p.sent = p.q.want
	p.rec.DueNS = []int64{int64(last)}
	p.rec.WritingNS = []int64{int64(writing)}
	p.rec.WrittenNS = []int64{int64(time.Since(p.start))}
	p.rec.TokensPerEvent = []int{p.sent}
	return done
}

func (q *seq) wait(ctx context.Context) (last time.Duration, ok bool) {
	for n := 0; n < q.want; {
		due, err := q.mail.take(ctx, nil)
		if err != nil {
			return 0, false
		}
		if len(due) > 0 { // a signal can refer to tokens that were taken before
			n += len(due)
			last = due[len(due)-1]
		}
	}
	return last, true
}
