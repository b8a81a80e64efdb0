package workers

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"bench/experiment/endpoint"
)

type outbox struct {
	mu    sync.Mutex
	row   int
	lines []byte
	wake  chan struct{}      // has an entry when lines should be sent at once
	of    *endpoint.Progress // of the row that runs; nil = none
}

// mostWaiting bounds the memory for lines that a slow leader has not taken.
const mostWaiting = 256 << 20

// begin begins a row. What an earlier one left is dropped.
func (o *outbox) begin(row int, of *endpoint.Progress) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.row, o.lines, o.of = row, o.lines[:0], of
}

// finish ends a row: its progress is sent no more.
func (o *outbox) finish() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.of = nil
}

// add adds a line, or nothing if v has no JSON form. If it is urgent, it is sent at once.
func (o *outbox) add(kind byte, v any, urgent bool) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.added(func(b []byte) ([]byte, error) { return appendLine(b, kind, v) }, urgent)
}

// addText adds a line whose JSON is made by appending.
func (o *outbox) addText(kind byte, text func([]byte) []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.added(func(b []byte) ([]byte, error) { return append(text(append(b, kind)), '\n'), nil }, false)
}

func (o *outbox) added(more func([]byte) ([]byte, error), urgent bool) (err error) {
	if len(o.lines) > mostWaiting {
		return fmt.Errorf("the leader takes results too slowly: %d MiB wait for it", mostWaiting>>20)
	}
	if o.lines, err = more(o.lines); err != nil {
		return err
	}
	if urgent || len(o.lines) >= fullBatch {
		select {
		case o.wake <- struct{}{}:
		default:
		}
	}
	return nil
}

// take takes up to a full batch of lines, appended to room; more: others are left.
func (o *outbox) take(room []byte) (row int, lines []byte, more bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.of != nil {
		room, _ = appendLine(room, kindCounts, o.of.Counts()) // a struct of numbers has a JSON form
	}
	n := len(o.lines)
	if n > fullBatch {
		for n = fullBatch; n < len(o.lines) && o.lines[n-1] != '\n'; n++ {
		}
	}
	room = append(room, o.lines[:n]...)
	if n < len(o.lines) {
		o.lines = o.lines[n:] // the next growth frees what was taken
	} else {
		o.lines = o.lines[:0]
	}
	return o.row, room, len(o.lines) > 0
}

// sendEvery is how long a line waits, with few workers.
const sendEvery = 250 * time.Millisecond

// send sends what comes into the outbox until ctx ends; then the rest, bounded in time.
func (s *session) send(ctx context.Context) error {
	p, err := newPacker()
	if err != nil {
		return err
	}
	defer p.z.Close()
	posting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(2*beat, cancel) })()
	every := min(max(sendEvery, time.Duration(s.welcome.Of)*time.Millisecond), beat) // the leader has batches of all
	t := time.NewTicker(every)
	defer t.Stop()
	var lines []byte
	sent := time.Now()
	for seq, over := 1, false; !over; {
		select {
		case <-ctx.Done():
			over = true
		case <-t.C:
		case <-s.out.wake:
		}
		for more := true; more; {
			var row int
			row, lines, more = s.out.take(lines[:0])
			if len(lines) == 0 && time.Since(sent) < beat {
				break
			}
			if err := s.post(posting, seq, row, lines, p); err != nil {
				return err
			}
			seq++
			sent = time.Now()
		}
	}
	return nil
}

// post sends a batch, again if the connection is lost or was too slow.
func (s *session) post(ctx context.Context, seq, row int, lines []byte, p *packer) error {
	body, err := p.pack(lines)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, silence)
	defer cancel()
	for {
		err := s.call(ctx, http.MethodPost, "events",
			url.Values{"seq": {strconv.Itoa(seq)}, "row": {strconv.Itoa(row)}}, body, nil)
		refused := new(refusedError)
		if err == nil || errors.As(err, &refused) && refused.status != http.StatusRequestTimeout {
			return err
		}
		if pause(ctx, retryAfter) != nil {
			return err
		}
	}
}
