package check

import (
	"testing"

	"bench/experiment/record"
	fixture "bench/internal/fixturetest"
)

// slowServer computes one prompt after the other and decodes nothing meanwhile, as an engine on a CPU does: each
// prefill is a silence of all streams. A step takes itl.
func slowServer(prompts, answer int, prefill, itl int64) []*record.Record {
	var records []*record.Record
	tokens := make([][]int64, prompts)
	var now int64
	step := func(admitted int) {
		for i := range admitted {
			if len(tokens[i]) > 0 && len(tokens[i]) < answer {
				tokens[i] = append(tokens[i], now)
			}
		}
	}
	for i := range prompts {
		now += prefill
		tokens[i] = append(tokens[i], now)
		step(i)
		now += itl
		step(i + 1)
	}
	for range answer {
		now += itl
		step(prompts)
	}
	for i := range prompts {
		r := fixture.OKRequest(int64(i)*1000, tokens[i]...)
		r.Phase, r.PromptRequested = record.PhaseWindow, 1200
		records = append(records, r)
	}
	return records
}

// batchServer answers a closed loop of 8 in rounds, as vLLM does: the first prompt is computed alone, the other seven
// together, and with them the second token of the first.
func batchServer(rounds int) []*record.Record {
	var records []*record.Record
	for now := int64(0); rounds > 0; rounds-- {
		var tokens [8][]int64
		alone, together := now+170_000, now+1_230_000
		tokens[0] = []int64{alone, together - 300}
		for w := 1; w < 8; w++ {
			tokens[w] = []int64{together}
		}
		last := together
		for range 30 {
			last += 28_000
			for w := range tokens {
				tokens[w] = append(tokens[w], last+int64(w)*100)
			}
		}
		for w := range tokens {
			r := fixture.OKRequest(now+int64(w)*1000, tokens[w]...)
			r.Phase, r.PromptRequested = record.PhaseWindow, 200
			records = append(records, r)
		}
		now = last + 10_000
	}
	return records
}

// A server that computes long prompts, or decodes slowly, does not stand still.
func TestSlowServersAreNotStalled(t *testing.T) {
	for name, records := range map[string][]*record.Record{
		"prompts of 5 s": slowServer(4, 12, 5_000_000, 40_000), "steps of 4 s": slowServer(2, 5, 1_000_000, 4_000_000),
		"a batch of prompts in a step": batchServer(7),
	} {
		e := flawless()
		e.records, e.Window = records, record.Window{StartUs: 0, EndUs: 100_000_000}
		e.Spec.Rate, e.Spec.Concurrency = 0.5, 0
		if e.checked(); len(e.Stalls) > 0 {
			t.Errorf("%s: %+v", name, e.Stalls)
		}
	}
	// The same server, stopped for 20 s in its second prefill.
	e := flawless()
	e.records, e.Window = slowServer(4, 12, 500_000, 40_000), record.Window{StartUs: 0, EndUs: 100_000_000}
	for _, r := range e.records {
		moveAfter(r, 700_000, 20_000_000)
	}
	e.Spec.Rate, e.Spec.Concurrency = 0.5, 0
	if e.checked(); len(e.Stalls) != 1 || e.Stalled != 4 {
		t.Errorf("%+v, %d touched", e.Stalls, e.Stalled)
	}
}

// A stall that the window cuts is as long as it was.
func TestStallAtTheEndOfTheWindow(t *testing.T) {
	e := flawless()
	e.records, e.Window = slowServer(4, 12, 500_000, 40_000), record.Window{StartUs: 0, EndUs: 9_000_000}
	for _, r := range e.records {
		moveAfter(r, 700_000, 20_000_000)
	}
	e.Spec.Rate, e.Spec.Concurrency = 0.5, 0
	if e.checked(); len(e.Stalls) != 1 || e.Stalls[0].Seconds() < 20 || e.Stalls[0].InFlight != 4 {
		t.Errorf("%+v", e.Stalls)
	}
}

// Nothing is known of silences in answers that come in one piece, or whose tokens have no known times.
func TestUnknownTokenTimesAreNoStall(t *testing.T) {
	no := false
	for name, c := range map[string]struct {
		stream *bool
		change func(r *record.Record)
	}{
		"not streamed":             {&no, func(r *record.Record) { r.FirstEvent, r.First, r.Last = record.Micros{}, record.Micros{}, r.End }},
		"events without text":      {nil, func(r *record.Record) { r.First, r.Last = record.Micros{}, record.Micros{} }},
		"last events without text": {nil, func(r *record.Record) { r.Last, r.End = record.Micros{}, r.End.Add(20_000_000) }},
	} {
		e := flawless()
		e.records, e.Window = slowServer(4, 12, 500_000, 40_000), record.Window{StartUs: 0, EndUs: 100_000_000}
		for i, r := range e.records {
			r.End = r.End.Add(int64(i) * 3_000_000)
			if c.change(r); r.First.IsZero() {
				r.Gaps = record.Packed{}
			}
		}
		e.Spec.Stream, e.Spec.Rate, e.Spec.Concurrency = c.stream, 0.5, 0
		if e.checked(); len(e.Stalls) > 0 {
			t.Errorf("%s: %+v", name, e.Stalls)
		}
	}
}

// moveAfter delays every token after a time.
func moveAfter(r *record.Record, at, by int64) {
	move := func(m record.Micros) record.Micros {
		if m.Us() > at {
			return m.Add(by)
		}
		return m
	}
	us, last := []int64{}, r.First.Us()
	for gap := range r.Gaps.All() {
		if last <= at && last+gap > at {
			us = append(us, gap+by)
		} else {
			us = append(us, gap)
		}
		last += gap
	}
	r.First, r.FirstEvent, r.Last, r.End, r.Gaps = move(r.First), move(r.FirstEvent), move(r.Last), move(r.End), record.Pack(us...)
}
