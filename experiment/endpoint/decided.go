package endpoint

import (
	"context"
	"maps"
	"slices"

	"bench/experiment/load"
	"bench/experiment/record"
	"bench/experiment/verdict"
)

// earlyEnd ends a row as soon as its SLO is decided, and makes the requests that decided it the row's window.
//
// It passes the records on in the order of the requests. Those behind the last one that decided are of the cool-down,
// however they ended: the server failed none that bench cancelled, and those that had ended by then were the fast ones.
type earlyEnd struct {
	test  *verdict.SequentialTest
	end   context.CancelFunc
	store func(*record.Record) error

	ended     map[int]*record.Record // after the first request that has not ended
	next      int                    // the first request that has not ended
	seen      int64                  // latest end so far, µs
	at        int64                  // of the decision, µs
	isDecided bool
	last      int64          // latest arrival of the window, µs
	behind    *record.Record // the first request behind the window; nil: none
	cancelled int
}

// newEarlyEnd is nil for a row that runs to its end. The context ends with the decision.
func newEarlyEnd(m *measurement) (context.Context, *earlyEnd) {
	if !verdict.EndsEarly(m.t.Spec) {
		return nil, nil
	}
	ctx, end := context.WithCancel(context.Background())
	return ctx, &earlyEnd{test: verdict.NewSequentialTest(m.t.Spec), end: end, store: m.store,
		ended: map[int]*record.Record{}}
}

func (d *earlyEnd) add(r *record.Record) error {
	d.ended[r.I], d.seen = r, max(d.seen, r.End.Us())
	for {
		r, ok := d.ended[d.next]
		if !ok || d.decided() {
			return nil
		}
		delete(d.ended, d.next)
		d.next++
		if r.Phase == record.PhaseWindow {
			d.last = max(d.last, r.Arrival.Us())
		}
		if d.test.Add(r) {
			d.isDecided, d.at = true, d.seen
			d.end()
		}
		if err := d.store(r); err != nil {
			return err
		}
	}
}

func (d *earlyEnd) decided() bool { return d != nil && d.isDecided }

func (d *earlyEnd) finish() error {
	for _, i := range slices.Sorted(maps.Keys(d.ended)) {
		r := d.ended[i]
		if d.decided() {
			d.pass(r)
		}
		if err := d.store(r); err != nil {
			return err
		}
	}
	return nil
}

func (d *earlyEnd) pass(r *record.Record) {
	if r.Phase == record.PhaseWarmup {
		return
	}
	r.Phase = record.PhaseCooldown
	if d.behind == nil {
		d.behind = r
	}
	if r.Outcome == "unfinished" && !r.Sent.IsZero() {
		d.cancelled++
	}
}

// shorten ends a decided window at the first arrival behind it, else, if all arrived at once, with the decision.
func (d *earlyEnd) shorten(w *record.Window) {
	w.DecidedUs, w.Cancelled = d.at, d.cancelled
	if d.behind == nil {
		return
	}
	if end := max(d.last, min(w.EndUs, d.behind.Arrival.Us())); end > w.StartUs {
		w.EndUs = end
	}
}

func (m *measurement) windowOf(l *load.Measured) record.Window {
	w := record.Window{StartUs: record.RoundMicros(l.Start), EndUs: record.RoundMicros(l.End), Cut: l.Cut}
	if m.early.decided() {
		m.early.shorten(&w)
	}
	return w
}
