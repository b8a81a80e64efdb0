package mock

import (
	"context"
	"encoding/json"
	"net/http"
	"time"
)

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
