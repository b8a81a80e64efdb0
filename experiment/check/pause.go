package check

import (
	"slices"

	"bench/experiment/record"
	"bench/experiment/telemetry"
	"bench/experiment/unit"
)

// disturbance is a pause of the client or a stall of the server: other checks leave out what it explains.
type disturbance struct {
	paused   []span    // the client, or one of its load workers, did not run
	clients  int       // that share the load
	stalled  []silence // the server sent nothing; the longest first
	backlogs []span    // of the stalls, until the requests that waited were gone
	spans    []span    // of both, with their backlog
}

func (e *evidence) findDisturbances() (d disturbance) {
	d.clients = max(1, len(e.Workers))
	for _, machine := range e.Clients() {
		d.paused = append(d.paused, pausesOf(machine)...)
	}
	d.stalled = stalls(e, d.paused)
	if len(d.paused)+len(d.stalled) == 0 {
		return d
	}
	recovered := recoveries(e)
	for _, s := range d.paused {
		d.spans = append(d.spans, recovered(s))
	}
	for _, s := range d.stalled {
		d.backlogs = append(d.backlogs, recovered(s.span))
	}
	d.spans = append(d.spans, d.backlogs...)
	return d
}

func pausesOf(u *telemetry.Usage) (out []span) {
	if u != nil {
		for _, p := range u.Pauses {
			out = append(out, span{p.FromUs, p.ToUs})
		}
	}
	return out
}

func (d *disturbance) without(records []*record.Record) []*record.Record {
	if len(d.spans) == 0 {
		return records
	}
	return slices.DeleteFunc(slices.Clone(records), func(r *record.Record) bool { return during(r, d.spans) })
}

func during(r *record.Record, spans []span) bool {
	return slices.ContainsFunc(spans, func(s span) bool {
		return s.overlaps(r.Arrival.Us(), max(r.End.Us(), r.Arrival.Us()+1))
	})
}

func (d *disturbance) share(w record.Window) float64 {
	var sum int64
	for _, s := range d.paused {
		sum += max(0, min(s.to, w.EndUs)-max(s.from, w.StartUs)) / int64(max(1, d.clients))
	}
	for _, s := range d.stalled {
		sum += s.length()
	}
	return float64(sum) / float64(max(1, w.EndUs-w.StartUs))
}

// recoveries extends a disturbance until no more requests are waiting or in flight than at its start; if that does
// not happen in the window, the load alone is too high.
func recoveries(e *evidence) func(span) span {
	inFlight := record.OverlapOf(func(yield func(from, to int64) bool) {
		for _, r := range e.records {
			if !r.Arrival.IsZero() && !r.End.IsZero() {
				yield(r.Arrival.Us(), r.End.Us())
			}
		}
	})
	level, ends := inFlight.At, inFlight.Ends()
	return func(s span) span {
		before := level(s.from)
		if level(s.to) <= before {
			return s
		}
		next, _ := slices.BinarySearch(ends, s.to)
		for _, end := range ends[next:] {
			if end < e.Window.EndUs && level(end) <= before {
				return span{s.from, end}
			}
		}
		return s
	}
}

func checkPaused(e *evidence) result {
	if e.Client == nil {
		return noData
	}
	if len(e.disturbed.paused) == 0 {
		return passed()
	}
	longest := 0.0
	for _, p := range e.Client.Pauses {
		longest = max(longest, p.Length())
	}
	lag := func(r *record.Record) float64 {
		if !during(r, e.disturbed.paused) {
			return 0
		}
		return ownLag(r)
	}
	touched := number(e.records, func(r *record.Record) bool {
		return r.Phase == record.PhaseWindow && during(r, e.disturbed.paused)
	})
	effects := exactly(record.Inflated, most(slices.Values(e.records), lag), lag, fromArrival)
	if e.Clock.KernelStamps == 0 { // tokens of the pause are stamped after it
		effects = append(effects, onRequests(record.Unknown, touched, firstToken, lastToken, betweenIt)...)
	}
	return caution("don't suspend bench, and give it cores of its own; then run again",
		"client paused for about %.1f s (suspended, or starved of CPU): latencies of up to %s include it", longest,
		unit.Plural(touched, "request")).
		touching(effects, e.thinned())
}

func checkStalled(e *evidence) result {
	if !slices.ContainsFunc(e.records, func(r *record.Record) bool { return r.Gaps.Len() > 0 }) {
		return noData
	}
	if len(e.disturbed.stalled) == 0 {
		return passed()
	}
	s := e.Stalls[0]
	hint, because := "read the server's log of that time; look for a checkpoint, garbage collection, "+
		"a throttled GPU or a lost network", ""
	if host := checkHost(e); host.severity != "" && localServer(e.Row) {
		hint, because = host.hint, "; its machine was short of CPU (client_machine)"
	}
	return caution(hint, "the server sent nothing for %.1f s with %s in flight, from second %.1f of the row%s",
		s.Seconds(), unit.Plural(s.InFlight, "request"), float64(s.FromUs)/1e6, because)
}
