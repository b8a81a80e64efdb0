package runner

import (
	"cmp"
	"slices"
	"time"

	"bench/experiment/load"
	"bench/experiment/openai"
	"bench/experiment/selftest"
)

// clientRecord is the client's record of one request; times are since the epoch.
type clientRecord struct {
	id                      string
	window                  bool // in the measurement window
	ready, sent, first, end time.Duration
	gaps                    []time.Duration
	outcome                 openai.Outcome
	err                     string
}

type clientLog struct {
	epoch      time.Time
	start, end time.Duration  // of the window
	samples    []clientRecord // of all phases
	cores      coreUsage      // of all phases

	kernel, user   int // events in the window with kernel and user-space timestamps
	lagSum, lagMax time.Duration
}

// add copies an ended request, since the driver may reuse the job.
func (o *clientLog) add(try int, job *load.Job) {
	r := &job.Result
	o.samples = append(o.samples, clientRecord{
		id: requestID(try, job.Request.Index), window: job.Phase == load.Window,
		ready: job.Ready, sent: r.Sent, first: r.First, end: r.End, gaps: slices.Clone(r.Gaps), outcome: r.Outcome,
		err: r.Error,
	})
	if job.Phase == load.Window {
		o.kernel += r.KernelStamps
		o.user += r.UserStamps
		o.lagSum += r.ReadLagSum
		o.lagMax = max(o.lagMax, r.ReadLag)
	}
}

func (o *clientLog) events() (all, inside int) {
	for i := range o.samples {
		s := &o.samples[i]
		if s.first == openai.Never {
			continue
		}
		at := s.first
		for k := 0; ; k++ {
			all++
			if at >= o.start && at < o.end {
				inside++
			}
			if k == len(s.gaps) {
				break
			}
			at += s.gaps[k]
		}
	}
	return all, inside
}

func (o *clientLog) load() selftest.Load {
	seconds := (o.end - o.start).Seconds()
	if seconds <= 0 {
		return selftest.Load{}
	}
	_, events := o.events()
	sent := 0
	for i := range o.samples {
		if s := &o.samples[i]; s.sent >= o.start && s.sent < o.end {
			sent++
		}
	}
	return selftest.Load{Streams: o.streams(), EventsPerS: float64(events) / seconds,
		RequestsPerS: float64(sent) / seconds}
}

func (o *clientLog) streams() int {
	type change struct {
		at time.Duration
		by int
	}
	var changes []change
	for i := range o.samples {
		s := &o.samples[i]
		if s.sent == openai.Never || s.sent >= o.end || s.end <= o.start {
			continue
		}
		changes = append(changes, change{s.sent, 1}, change{s.end, -1})
	}
	slices.SortFunc(changes, func(a, b change) int { return cmp.Or(cmp.Compare(a.at, b.at), a.by-b.by) })
	now, most := 0, 0
	for _, c := range changes {
		now += c.by
		if c.at < o.end {
			most = max(most, now)
		}
	}
	return most
}
