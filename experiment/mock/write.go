package mock

import "time"

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
