package endpoint

import (
	"cmp"
	"time"

	"bench/experiment/load"
	"bench/experiment/openai"
	"bench/experiment/record"
)

// requestRecord is a job as it is stored: times in µs, absent if they did not happen.
func requestRecord(j *load.Job) *record.Record {
	r := &j.Result
	rec := &record.Record{
		I: j.Request.Index, ServerID: r.ServerID, Class: j.Request.Class,
		Phase:   phases[j.Phase],
		Arrival: offset(j.At), Ready: offset(j.Ready), Sent: offset(r.Sent), FirstEvent: offset(r.FirstEvent),
		First: offset(r.First), Last: offset(r.Last), End: offset(r.End),
		PromptRequested: cmp.Or(j.Input, j.Request.Input), OutputRequested: j.Request.Output, OutputTokens: r.OutputTokens, Estimated: r.Estimated,
		Outcome: string(r.Outcome), Error: r.Error, Status: r.Status, Finish: r.Finish,
	}
	if q := &j.Request; q.InSession() { // of a conversation, or of a trace with sessions
		rec.Session, rec.Turn = new(q.Session), new(q.Turn)
		rec.Agent = q.Agent()
		if q.Turn == 0 && q.Whole() {
			rec.Turns = q.Turns
		}
		if r.Outcome != openai.Unfinished && r.Outcome != openai.Cancelled {
			rec.TurnsLost = j.Lost
		}
	}
	if r.HasUsage {
		rec.PromptTokens = new(r.PromptTokens)
		if j.InputEstimated { // else the estimate counts
			rec.PromptRequested = 0
		}
	}
	if r.HasCached {
		rec.CachedTokens = new(r.CachedTokens)
	}
	if r.HasReasoning && r.ReasoningTokens > 0 {
		rec.FirstAnswer = offset(r.FirstAnswer)
		rec.ReasoningTokens, rec.ReasoningEstimated = new(r.ReasoningTokens), r.ReasoningEstimated
	}
	rec.ThinkTag = r.ThinkTag
	if s := r.Speculation; s.Drafted > 0 {
		rec.DraftTokens, rec.AcceptedTokens = new(s.Drafted), new(s.Accepted)
		if s.Steps > 0 {
			rec.Drafts = new(s.Steps)
		}
	}
	if u := r.Impossible; u != nil {
		rec.Impossible = &record.Usage{Prompt: u.Prompt, Cached: u.Cached, Output: u.Output}
	}
	if r.Connect > 0 {
		rec.ConnectUs = new(record.RoundMicros(r.Connect))
	}
	if p := j.Request.Prompt; p != nil {
		rec.Category, rec.PromptHash = p.Category, p.Hash
		private(rec, r, p)
	}
	rec.Server = serverTimes(r.Server)
	rec.Gaps = record.RoundGaps(r.First, r.Gaps)
	rec.TokensPerEvent = record.Pack(r.TokensPerEvent...)
	return rec
}

// serverTimes is nil if the answer reports none.
func serverTimes(t openai.ServerTimes) *record.ServerTimes {
	if !t.HasQueue && !t.HasPrefill && !t.HasDecode {
		return nil
	}
	us := func(d time.Duration, known bool) *int64 {
		if !known {
			return nil
		}
		return new(record.RoundMicros(d))
	}
	return &record.ServerTimes{Queue: us(t.Queue, t.HasQueue), Prefill: us(t.Prefill, t.HasPrefill), Decode: us(t.Decode, t.HasDecode)}
}

// phases are the names of the phases of package load.
var phases = [...]string{load.Warmup: record.PhaseWarmup, load.Window: record.PhaseWindow, load.Cooldown: record.PhaseCooldown}

// offset is a timestamp as the record has it; absent for openai.Never.
func offset(d time.Duration) record.Micros {
	if d == openai.Never {
		return record.Micros{}
	}
	return record.At(record.RoundMicros(d))
}
