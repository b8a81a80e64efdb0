package main

import (
	"encoding/json"
	"io"
	"math"
	"sync"
	"time"

	"bench/experiment/endpoint"
	"bench/sweep"
)

// events writes what a sweep does as JSON lines, and how far the row is that runs every few seconds.
type events struct {
	w io.Writer

	mu     sync.Mutex
	agenda *agenda
	run    sweep.MessageRun
	row    *sweep.Begun // nil: none runs
	since  time.Time

	quit chan struct{}
	done sync.WaitGroup
}

// progressEvery is how often a row that runs is told.
const progressEvery = 5 * time.Second

func newEvents(w io.Writer, a *agenda) *events {
	e := &events{w: w, agenda: a, quit: make(chan struct{})}
	e.done.Go(e.tick)
	return e
}

func (e *events) tick() {
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			e.progress(now)
		case <-e.quit:
			return
		}
	}
}

// stop ends the events of progress.
func (e *events) stop() {
	close(e.quit)
	e.done.Wait()
}

// ended is the last event. The run has no directory where nothing was measured.
func (e *events) ended(result *sweep.Result) {
	if result == nil || result.Dir == "" {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.run.State = result.Manifest.State
	e.put(sweep.Message{Schema: sweep.SchemaEvent, At: time.Now().UTC(), Event: sweep.EventRunEnded, Run: &e.run})
}

func (e *events) event(ev sweep.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := time.Now()
	m := ev.Message(now)
	switch {
	case ev.Started != nil:
		e.run = *m.Run
	case ev.Begun != nil:
		e.row, e.since = ev.Begun, now
		e.agenda.reach(ev.Begun.ID)
	case ev.Finished != nil:
		if e.row != nil && !ev.Finished.Kept {
			e.agenda.learn(e.row.Spec, now.Sub(e.since))
		}
		e.row = nil
		e.agenda.reach(ev.Finished.Row.ID)
	case ev.Found != nil:
		e.agenda.hunting = false
	case ev.Starting != nil:
		e.agenda.variant = ev.Starting.Variant
	}
	e.put(m)
}

// put writes one line. What can't be written does not end a sweep, but a pipe without a reader does, as it ends any program.
func (e *events) put(m sweep.Message) { _ = json.NewEncoder(e.w).Encode(m) }

func (e *events) progress(now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.row == nil {
		return
	}
	r := e.row.Progress.Read()
	m := sweep.Event{Begun: e.row}.Message(now)
	m.Event, m.Progress = sweep.EventRowProgress, progressOf(r, now)
	left := e.agenda.left()
	left.add(e.agenda.rest(e.row.Spec, r, now))
	m.Progress.LeastS = left.least.Seconds()
	if !left.open {
		m.Progress.MostS = new(left.most.Seconds())
	}
	if !e.row.Spec.Streams() {
		m.Progress.TTFTP50, m.Progress.TTFTP99 = nil, nil
	}
	e.put(m)
}

func progressOf(r endpoint.Reading, now time.Time) *sweep.MessageProgress {
	p := &sweep.MessageProgress{
		Phase: "preparing", Sent: r.Sent, Done: r.Done, Failed: r.Failed, InFlight: r.InFlight, Tokens: r.Tokens,
		TTFTP50: known(r.First.P50), TTFTP99: known(r.First.P99), LagP99: known(r.Lag.P99),
	}
	if !r.Begun.IsZero() {
		p.Phase, p.ElapsedS = r.Phase, now.Sub(r.Begun).Seconds()
	}
	return p
}

// known is x, or nil where it is NaN.
func known(x float64) *float64 {
	if math.IsNaN(x) {
		return nil
	}
	return &x
}
