package record

import (
	"slices"

	"bench/experiment/stats"
	"bench/experiment/telemetry"
)

// Leavers are the users of a row who left before their answer had ended, and what the server did with their requests.
type Leavers struct {
	Requests    int `json:"requests"`           // of the window
	BeforeFirst int `json:"before_first_token"` // of them without any token
	Tokens      int `json:"tokens"`             // that they received
	// Aborted are the requests of the whole row that the server counted as aborted, and LeftInRow the ones whose users
	// left; absent = not reported.
	Aborted   *float64 `json:"server_aborted,omitempty"`
	LeftInRow int      `json:"left_in_row"`
	// Kept is the mean number of requests that the server had beyond those that the client had in flight; absent = the
	// server does not report its requests, or less than fewestReadings readings.
	Kept *float64 `json:"kept_requests,omitempty"`
	// FreedAfter is the mean time from a user's leaving until the server has no such request: Kept divided by the rate
	// of leaving (Little's law).
	FreedAfter *Estimate `json:"freed_after_s,omitempty"`
}

type Estimate struct {
	Mean float64        `json:"mean"`
	CI95 stats.Interval `json:"ci95"`
}

const fewestReadings = 10

// LeaversOf is nil if no user left. samples are the row's; usage is what the server reported in it, nil = nothing.
func LeaversOf(records []*Record, w Window, samples []telemetry.Sample, usage *telemetry.ServerUsage) *Leavers {
	l, inside := Leavers{}, 0
	for _, r := range records {
		if !r.Left() {
			continue
		}
		l.LeftInRow++
		if w.has(r.End) {
			inside++
		}
		if r.Phase != PhaseWindow {
			continue
		}
		l.Requests++
		l.Tokens += r.OutputTokens
		if r.First.IsZero() {
			l.BeforeFirst++
		}
	}
	if l.LeftInRow == 0 {
		return nil
	}
	if usage != nil && usage.Whole != nil {
		l.Aborted = usage.Whole.Aborted
	}
	beyond := beyondClient(records, w, samples)
	if len(beyond) < fewestReadings || inside == 0 {
		return &l
	}
	iv := stats.BatchMeans(beyond, 0.95)
	rate := float64(inside) / w.Seconds()
	kept := max(0, mean(beyond)) // a request that ends at the same time can be missing in the server's count
	l.Kept = &kept
	l.FreedAfter = &Estimate{Mean: kept / rate, CI95: stats.Interval{Lo: max(0, iv.Lo/rate), Hi: max(0, iv.Hi/rate)}}
	return &l
}

func mean(values []float64) (m float64) {
	for _, x := range values {
		m += x / float64(len(values))
	}
	return m
}

func beyondClient(records []*Record, w Window, samples []telemetry.Sample) (out []float64) {
	var sent, ended []int64
	for _, r := range records {
		if r.Sent.ok && r.End.ok {
			sent, ended = append(sent, r.Sent.us), append(ended, r.End.us)
		}
	}
	slices.Sort(sent)
	slices.Sort(ended)
	until := func(times []int64, us int64) int { n, _ := slices.BinarySearch(times, us+1); return n }
	for i := range samples {
		s := &samples[i]
		if s.Source != telemetry.SourceServer || s.Server == nil || s.Server.Running == nil || s.TUs < w.StartUs ||
			s.TUs >= w.EndUs {
			continue
		}
		has := *s.Server.Running
		if s.Server.Waiting != nil {
			has += *s.Server.Waiting
		}
		out = append(out, has-float64(until(sent, s.TUs)-until(ended, s.TUs)))
	}
	return out
}
