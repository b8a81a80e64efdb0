package record

import (
	"math"
	"testing"

	"bench/experiment/telemetry"
)

// timed is a completed request of the window that arrives at 0, with events at the times in µs.
func timed(output int, at ...int64) *Record {
	r := &Record{Phase: PhaseWindow, Arrival: At(0), Sent: At(0), FirstEvent: At(at[0]), First: At(at[0]), Last: At(at[len(at)-1]), End: At(at[len(at)-1]),
		OutputTokens: output, Outcome: "ok"}
	for i := 1; i < len(at); i++ {
		r.Gaps = r.Gaps.Append(at[i] - at[i-1])
	}
	return r
}

func (r *Record) thinks(tokens int, answer Micros) *Record {
	r.ReasoningTokens, r.FirstAnswer = &tokens, answer
	return r
}

// TestReasoning: known answers. A request without reasoning answers with its first token; reasoning that is not
// streamed takes no part in TPOT.
func TestReasoning(t *testing.T) {
	records := []*Record{
		timed(5, 1000, 2000, 3000, 4000, 5000).thinks(3, At(4000)),
		timed(5, 1000, 5000).thinks(4, At(5000)),
		timed(2, 7000, 8000),
		timed(3, 1000, 2000, 3000).thinks(3, Micros{}),
		timed(103, 9000, 10_000, 11_000).thinks(100, At(9000)),
	}
	s := Summarize(records, Window{EndUs: 1e6}, Mode{Streams: true}, nil, 0)
	r := s.Reasoning
	if r == nil || r.Requests != 4 || r.Unanswered != 1 || r.Estimated || r.Tokens.Mean != 27.5 || r.AnswerTokens.Mean != 1.5 || r.TimeMs.N != 2 || r.TimeMs.Mean != 3.5 {
		t.Errorf("%+v", r)
	}
	if s.TTFO == nil || s.TTFO.N != 4 || s.TTFO.Min != 4 || s.TTFO.Max != 9 || s.TTFO.Mean != 6.25 || s.Latency("ttfo") != s.TTFO {
		t.Errorf("ttfo %+v", s.TTFO)
	}
	if ms, ok := records[4].Latency("tpot", true); !ok || ms != 1 {
		t.Errorf("tpot of an answer whose reasoning is not streamed: %v, %v", ms, ok)
	}
	plain := Summarize(records[2:3], Window{EndUs: 1e6}, Mode{Streams: true}, nil, 0)
	if plain.TTFO != nil || plain.Reasoning != nil || plain.Latency("ttfo") != plain.TTFT {
		t.Errorf("without reasoning: %+v", plain.TTFO)
	}
	if only := Summarize(records[3:4], Window{EndUs: 1e6}, Mode{Streams: true}, nil, 0); only.Latency("ttfo") != nil {
		t.Error("reasoning alone has a first answer token")
	}
}

// TestSpeculation: the figures of counts, of the answers and of the server.
func TestSpeculation(t *testing.T) {
	drafted := func(r *Record, drafts, tokens, accepted int) *Record {
		r.DraftTokens, r.AcceptedTokens = &tokens, &accepted
		if drafts > 0 {
			r.Drafts = &drafts
		}
		return r
	}
	records := []*Record{drafted(timed(21, 1, 2), 8, 24, 12), drafted(timed(11, 1, 2), 2, 6, 3), timed(9, 1, 2)}
	s := Summarize(records, Window{EndUs: 1e6}, Mode{Streams: true}, nil, 0).Speculation
	// 15 of 30 are accepted, in 10 drafts; 30 tokens behind the first ones take 15 steps.
	if s == nil || s.Requests != 2 || *s.AcceptanceRate != 0.5 || *s.AcceptanceLength != 2.5 || *s.TokensPerStep != 2 || *s.DraftedPerStep != 2 {
		t.Fatalf("%+v", s)
	}
	if iv := s.LengthCI95; math.Abs(iv.Lo-(1+3*s.RateCI95.Lo)) > 1e-9 || !(iv.Lo < 2.5 && iv.Hi > 2.5) {
		t.Errorf("%+v of %+v", iv, s.RateCI95)
	}
	if s := Summarize([]*Record{drafted(timed(21, 1, 2), 0, 24, 12)}, Window{EndUs: 1e6}, Mode{Streams: true}, nil, 0).Speculation; s.AcceptanceLength != nil || s.Drafts != nil || *s.TokensPerStep != 2.5 {
		t.Errorf("without steps: %+v", s)
	}
	sum := Summary{Requests: Requests{Completed: 10}}
	server := SpeculationOf(&sum, &telemetry.ServerUsage{Drafts: new(100.0), DraftTokens: new(300.0), AcceptedTokens: new(150.0), GenerationTokens: new(310.0), AcceptedAt: []float64{90, 45, 15}})
	if server.Source != SpeculationOfServer || *server.AcceptanceLength != 2.5 || *server.AcceptanceRate != 0.5 || *server.TokensPerStep != 2 || server.ByPosition[0] != 0.9 || server.ByPosition[2] != 0.15 {
		t.Errorf("%+v", server)
	}
	if gauges := SpeculationOf(&sum, &telemetry.ServerUsage{AcceptanceLength: new(2.8)}); gauges == nil || *gauges.AcceptanceLength != 2.8 {
		t.Errorf("SGLang's gauges: %+v", gauges)
	}
	if off := SpeculationOf(&sum, &telemetry.ServerUsage{DraftTokens: new(0.0), AcceptedTokens: new(0.0), AcceptanceLength: new(1.0)}); off != nil {
		t.Errorf("nothing drafted: %+v", off)
	}
}
