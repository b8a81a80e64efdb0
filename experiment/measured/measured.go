// Package measured turns what a client measured of an answer into the record that is stored: times rounded to µs,
// absent if they did not happen. Sweeps and recordings of live traffic share it, so that their figures are the same.
package measured

import (
	"time"

	"bench/experiment/openai"
	"bench/experiment/record"
)

// Record is the record of a result alone. The caller adds what the result lacks: the request's number, its arrival
// and what it asked for. Error, Finish and ServerID are the server's texts.
func Record(r *openai.Result) *record.Record {
	rec := &record.Record{
		ServerID: r.ServerID, Sent: Offset(r.Sent), FirstEvent: Offset(r.FirstEvent), First: Offset(r.First),
		Last: Offset(r.Last),
		End:  Offset(r.End), OutputTokens: r.OutputTokens, Estimated: r.Estimated, ThinkTag: r.ThinkTag,
		Outcome: string(r.Outcome), Error: r.Error, Status: r.Status, Finish: r.Finish,
		Server: serverTimes(r.Server), Gaps: record.RoundGaps(r.First, r.Gaps),
		TokensPerEvent: record.Pack(r.TokensPerEvent...),
	}
	if r.HasUsage {
		rec.PromptTokens = new(r.PromptTokens)
	}
	if r.HasCached {
		rec.CachedTokens = new(r.CachedTokens)
	}
	if r.HasReasoning && r.ReasoningTokens > 0 {
		rec.FirstAnswer = Offset(r.FirstAnswer)
		rec.ReasoningTokens, rec.ReasoningEstimated = new(r.ReasoningTokens), r.ReasoningEstimated
	}
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
	return rec
}

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
	return &record.ServerTimes{Queue: us(t.Queue, t.HasQueue), Prefill: us(t.Prefill, t.HasPrefill),
		Decode: us(t.Decode, t.HasDecode)}
}

// Offset is a timestamp as the record has it; absent for openai.Never.
func Offset(d time.Duration) record.Micros {
	if d == openai.Never {
		return record.Micros{}
	}
	return record.At(record.RoundMicros(d))
}
