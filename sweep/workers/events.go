package workers

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"bench/experiment/endpoint"
	"bench/experiment/telemetry"
	"bench/experiment/text"
)

// delivery are events of a worker. wanted gets whether more of its batch are, when they were taken.
type delivery struct {
	m      *member
	events []event
	wanted chan bool
}

func (l *Leader) events(w http.ResponseWriter, r *http.Request, m *member) {
	seq, errSeq := strconv.Atoi(r.URL.Query().Get("seq"))
	row, errRow := strconv.Atoi(r.URL.Query().Get("row"))
	if errSeq != nil || errRow != nil {
		answer(w, http.StatusBadRequest, refusal{"a batch without a number or row", true})
		return
	}
	m.taking.Lock()
	defer m.taking.Unlock()
	l.mu.Lock()
	m.busy++
	d := l.driving
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		m.busy--
		m.seen = time.Now()
		l.mu.Unlock()
	}()
	switch {
	case seq == m.seq: // sent again: its answer was lost
	case seq != m.seq+1:
		answer(w, http.StatusConflict, refusal{fmt.Sprintf("batch %d follows batch %d", seq, m.seq), true})
		return
	default:
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostBody))
		large := new(http.MaxBytesError)
		if err != nil && !errors.As(err, &large) { // it is sent again: the connection is lost, or was too slow
			answer(w, http.StatusRequestTimeout, refusal{"the batch came no further", false})
			return
		}
		m.seq = seq
		if err == nil {
			err = l.unpack(d, m, row, body)
		}
		if err != nil {
			l.mu.Lock()
			l.expel(m, err.Error())
			l.mu.Unlock()
			answer(w, http.StatusBadRequest, refusal{err.Error(), true})
			return
		}
	}
	w.WriteHeader(http.StatusNoContent)
}

// unpack hands the events of a batch to the row that it is of, while that runs. It drops those of other rows.
func (l *Leader) unpack(d *driving, m *member, row int, body []byte) error {
	u := <-l.unpackers
	defer func() { l.unpackers <- u }()
	return u.unpack(body, d != nil && d.n == row, func(events []event) bool { return l.deliver(d, m, row, events) })
}

// deliver hands events to the row that they are of. wanted is false if no more of them are.
func (l *Leader) deliver(d *driving, m *member, row int, events []event) (wanted bool) {
	for i := range events {
		if events[i].kind == kindBye {
			l.mu.Lock()
			l.expel(m, cmp.Or(shown(events[i].text), "was interrupted"))
			l.mu.Unlock()
		}
	}
	if d == nil || d.n != row {
		return false
	}
	x := delivery{m, events, make(chan bool, 1)}
	select {
	case d.inbox <- x:
		return <-x.wanted
	case <-d.over:
		return false
	}
}

func shown(s string) string {
	const most = 4 << 10 // bytes
	return text.EscapeLines(s[:min(most, len(s))])
}

func (d *driving) take(x *delivery) error {
	if !d.wants(x.m) {
		return nil
	}
	k := x.m.index
	for i := range x.events {
		e := &x.events[i]
		err := d.event(k, e)
		if bad := new(badEvent); errors.As(err, &bad) {
			d.l.mu.Lock()
			d.l.expel(x.m, bad.Error())
			d.l.mu.Unlock()
			err = d.failed(k, x.m.host, bad.Error())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// wants reports whether a member has its part, which is not over: not one that joined later.
func (d *driving) wants(m *member) bool { return d.members[m.index] == m && !d.parts[m.index].over }

type badEvent struct{ error }

func (d *driving) event(k int, e *event) error {
	p, m := &d.parts[k], d.members[k]
	if d.start == 0 && (e.kind == kindRecord || e.kind == kindSample || e.kind == kindDrained || e.kind == kindMore ||
		e.kind == kindResult) {
		return &badEvent{fmt.Errorf("sent the line %q before the start", e.kind)}
	}
	switch e.kind {
	case kindRecord:
		return d.record(k, e)
	case kindSample:
		if err := p.sample(e.sample, d.l.now()-d.start); err != nil {
			return &badEvent{err}
		}
		if d.c.Sample != nil {
			d.c.Sample(k, *e.sample)
		}
	case kindCounts:
		d.counts[k] = e.counts
	case kindReady:
		return d.isReady(p, time.Duration(e.ready.RTT))
	case kindDrained:
		return d.isDrained(p)
	case kindMore:
		return p.add(&e.more)
	case kindResult:
		if err := p.end(e.result, d.l.now()-d.start); err != nil {
			return err
		}
		d.results++
		d.counts[k].Done = d.counts[k].Sent
	case kindError:
		p.over = true
		return &endpoint.WorkerError{Worker: k, Host: m.host, Text: shown(e.text), Reported: true}
	}
	return nil
}

// Bounds of the samples of a worker, which takes one each 250 ms.
const (
	mostSamples      = 1000
	samplesPerSecond = 100
)

// sample checks a sample of a worker. now is the time since the common start.
func (p *part) sample(s *telemetry.Sample, now time.Duration) error {
	if p.samples++; p.samples > mostSamples+samplesPerSecond*int(max(0, now.Seconds())) {
		return fmt.Errorf("sent %d samples in %v", p.samples, now)
	}
	return checkSample(s)
}

// mostOpened bounds the connections that a worker opens ahead of its requests.
const mostOpened = 1 << 19

// add takes a piece of the result. A request opens one connection at most, and has one answer.
func (p *part) add(m *more) error {
	if n := max(len(m.Setups), len(m.Overhead)); n > fullMore {
		return &badEvent{fmt.Errorf("sent a piece of a result with %d entries", n)}
	}
	p.more.Setups = append(p.more.Setups, m.Setups...)
	p.more.Overhead = append(p.more.Overhead, m.Overhead...)
	if most := p.records + mostOpened; max(len(p.more.Setups), len(p.more.Overhead)) > most {
		return &badEvent{fmt.Errorf("opened more than %d connections for %d requests", most, p.records)}
	}
	return nil
}

// end takes the result. now is the time since the common start.
func (p *part) end(r *result, now time.Duration) error {
	if err := checkResult(&r.Share, now); err != nil {
		return &badEvent{err}
	}
	if r.Records != p.records {
		return &badEvent{fmt.Errorf("has sent %d records, and %d came", r.Records, p.records)}
	}
	p.result, p.over = &r.Share, true
	p.result.Setups, p.result.Gateway.Overhead = p.more.Setups, p.more.Overhead
	return nil
}

func (d *driving) record(k int, e *event) error {
	r, p := e.record, &d.parts[k]
	if err := p.allowed.check(r, d.l.now()-d.start); err != nil {
		return &badEvent{err}
	}
	if !d.records.Add(r.I) {
		return &badEvent{fmt.Errorf("sent record %d, which the leader has", r.I)}
	}
	p.records++
	r.Schema, r.Worker = "", new(k)
	return d.c.Each(r)
}

// Bounds of the time from the last worker's readiness to the start: commands must reach all of them.
const (
	leastLead = 100 * time.Millisecond
	mostLead  = 5 * time.Second
	leadRTTs  = 4
)

// isReady notes that a worker is ready. When all are, it states the common start.
func (d *driving) isReady(p *part, rtt time.Duration) error {
	if rtt <= 0 || rtt > silence || p.rtt > 0 {
		return &badEvent{fmt.Errorf("was ready twice, or after a round trip of %v", rtt)}
	}
	p.rtt = rtt
	if d.ready++; d.ready < len(d.parts) {
		return nil
	}
	slowest := time.Duration(0)
	for _, p := range d.parts {
		slowest = max(slowest, p.rtt)
	}
	d.start = d.l.now() + min(max(leastLead, leadRTTs*slowest), mostLead)
	d.tell(command{Do: doStart, StartN: int64(d.start)})
	if d.c.Started != nil {
		d.c.Started(d.l.began.Add(d.start))
	}
	return nil
}

// isDrained notes that a worker's own window has ended. When all have, none needs to go on.
func (d *driving) isDrained(p *part) error {
	if p.done {
		return &badEvent{errors.New("has drained twice")}
	}
	p.done = true
	if d.drained++; d.drained == len(d.parts) {
		d.tell(command{Do: doRelease})
	}
	return nil
}
