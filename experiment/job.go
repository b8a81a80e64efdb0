package experiment

import (
	"cmp"
	"time"

	"bench/experiment/load"
	"bench/experiment/openai"
)

// record is a job in the form that is stored: µs, and only what happened.
func record(j *load.Job) *Record {
	r := &j.Result
	rec := &Record{
		I: j.Request.Index, ServerID: r.ServerID, Class: j.Request.Class,
		Phase: phases[j.Phase],
		At:    offset(j.At), Ready: offset(j.Ready), Sent: offset(r.Sent), FirstEvent: offset(r.FirstEvent),
		First: offset(r.First), Last: offset(r.Last), End: offset(r.End),
		PromptAsked: cmp.Or(j.Input, j.Request.Input), OutputAsked: j.Request.Output, OutputTokens: r.OutputTokens, Estimated: r.Estimated,
		Outcome: string(r.Outcome), Error: r.Error, Status: r.Status, Finish: r.Finish,
	}
	if q := &j.Request; q.Turns > 0 || q.Session > 0 { // a conversation, or what a trace says of one
		rec.Session, rec.Turn = new(q.Session), new(q.Turn)
		if q.Turns > 0 && r.Outcome.Failed() && r.Outcome != openai.Unfinished && r.Outcome != openai.Cancelled {
			rec.TurnsLost = j.Request.Turns - j.Request.Turn - 1
		}
	}
	if r.HasUsage {
		rec.PromptTokens = new(r.PromptTokens)
	}
	if r.HasCached {
		rec.CachedTokens = new(r.CachedTokens)
	}
	if r.Connect > 0 {
		rec.ConnectUs = new(micros(r.Connect))
	}
	rec.Gaps = roundGaps(r.First, r.Gaps)
	rec.TokensPerEvent = Pack(r.TokensPerEvent...)
	return rec
}

// roundGaps gives the differences of the rounded times, so that they sum to last − first.
func roundGaps(first time.Duration, gaps []time.Duration) Packed {
	var room packing
	out := Packed{b: room[:0]}
	at, before := first, micros(first)
	for _, g := range gaps {
		at += g
		now := micros(at)
		out = out.Append(now - before)
		before = now
	}
	return out.clone()
}

func offset(d time.Duration) Micros {
	if d == openai.Never {
		return Micros{}
	}
	return At(micros(d))
}

// micros rounds to the nearest µs.
func micros(d time.Duration) int64 {
	const half = time.Microsecond / 2
	if d < 0 {
		return int64((d - half) / time.Microsecond)
	}
	return int64((d + half) / time.Microsecond)
}
