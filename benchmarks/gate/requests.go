package main

import (
	"math"

	"bench/experiment/record"
	"bench/report/compare"
)

// Requests of a repeat, as a closed loop of workers on a server whose answers are slow together.
const (
	workers     = 8
	windowUs    = 60_000_000
	answer      = 64   // tokens
	apart       = 0.2  // standard deviation of a TTFT, of the logarithm
	together    = 0.05 // standard deviation of what successive requests share
	forgetting  = 0.8  // memory of what they share, where Setting.Memory is 0
	microsPerMs = 1000
)

// addRequests gives each row of a run the requests of a repeat at its level, and the summary of those.
func (w world) addRequests(run *compare.Run) {
	records := map[string][]*record.Record{}
	for i := range run.Rows {
		row := &run.Rows[i]
		slow := row.Summary.TPOT.P50 / median[tpot]
		records[row.ID] = w.requests(row.Summary.TTFT.P50/median[ttft], slow)
		row.Summary = record.Summarize(records[row.ID], record.Window{EndUs: windowUs}, record.Mode{Streams: true}, nil, 1)
	}
	run.Records = func(row *record.Row) ([]*record.Record, error) { return records[row.ID], nil }
}

// requests are the requests of one window, at factors of the median TTFT and TPOT.
func (w world) requests(slowTTFT, slowTPOT float64) (out []*record.Record) {
	memory := w.Memory
	if memory == 0 {
		memory = forgetting
	}
	shared := w.rng.NormFloat64()
	var free [workers]float64 // µs from which a worker sends its next request
	for {
		next := 0
		for k := range free {
			if free[k] < free[next] {
				next = k
			}
		}
		at := free[next]
		if at >= windowUs {
			return out
		}
		shared = memory*shared + math.Sqrt(1-memory*memory)*w.rng.NormFloat64()
		ttft := median[ttft] * slowTTFT * math.Exp(together*shared+apart*w.rng.NormFloat64())
		tpot := median[tpot] * slowTPOT * math.Exp(together*shared)
		r := request(len(out), int64(at), int64(ttft*microsPerMs), int64(tpot*microsPerMs))
		out = append(out, r)
		free[next] = at + (ttft+tpot*(answer-1))*microsPerMs
	}
}

func request(i int, at, ttft, gap int64) *record.Record {
	r := &record.Record{I: i, Phase: record.PhaseWindow, PromptRequested: 256, Outcome: "ok"}
	r.OutputRequested, r.OutputTokens = answer, answer
	gaps := make([]int64, answer-1)
	for k := range gaps {
		gaps[k] = gap
	}
	r.Arrival, r.Ready, r.Sent = record.At(at), record.At(at), record.At(at)
	r.FirstEvent, r.First = record.At(at+ttft), record.At(at+ttft)
	r.Last, r.End = record.At(at+ttft+gap*(answer-1)), record.At(at+ttft+gap*(answer-1))
	r.Gaps = record.Pack(gaps...)
	return r
}
