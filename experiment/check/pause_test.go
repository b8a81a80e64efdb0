package check

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bench/experiment/record"
	"bench/experiment/telemetry"
	"bench/experiment/workload"
	fixture "bench/internal/fixturetest"
)

// stage is a load in virtual time: answers of 40 tokens, each some ms behind the one before, from a server and
// a client that may stop.
type stage struct {
	workers int     // of a closed loop; 0 = an open one
	rate    float64 // of an open loop, requests/s at constant gaps
	prefill func(i int) int64
	client  span // stopped meanwhile: nothing is sent, all is stamped
	server  span // stopped meanwhile
	seconds int64
	inStep  bool // all workers begin at once, and all gaps are 10 ms
}

const sUs = 1_000_000

// after is when something that takes d is done, if it stands still in stop.
func after(at, d int64, stop span) int64 {
	if at >= stop.from && at < stop.to {
		at = stop.to
	}
	if at < stop.from && at+d >= stop.from {
		d += stop.length()
	}
	return at + d
}

// request is the record of request i, which is due at that time.
func (s *stage) request(i int, due int64, rng *rand.Rand) *record.Record {
	itl := func() int64 {
		if s.inStep {
			return 10_000
		}
		return 9000 + rng.Int64N(2000)
	}
	sent := after(due, 0, s.client)
	at := after(sent, s.prefill(i), s.server)
	tokens := []int64{at}
	for range 39 {
		at = after(at, itl(), s.server)
		tokens = append(tokens, at)
	}
	r := fixture.OKRequest(due, tokens...)
	r.I, r.Sent, r.CachedTokens = i, record.At(sent), new(0)
	return r
}

// measured is the row of the load, with a warm-up of 2 s.
func (s *stage) measured() *evidence {
	rng := rand.New(rand.NewPCG(4, 4))
	e := flawless()
	e.records, e.Spec.Concurrency, e.Spec.Rate = nil, s.workers, workload.Rate(s.rate)
	e.Window = record.Window{StartUs: 2 * sUs, EndUs: (2 + s.seconds) * sUs}
	end := e.Window.EndUs + sUs
	if s.workers > 0 {
		free := make([]int64, s.workers)
		for w := range free {
			if !s.inStep {
				free[w] = int64(w) * 7000
			}
		}
		for i := 0; ; i++ {
			w := slices.Index(free, slices.Min(free))
			if free[w] >= end {
				break
			}
			r := s.request(i, free[w], rng)
			e.records, free[w] = append(e.records, r), r.End.Us()
		}
	} else {
		for i := range int(s.rate * float64(end) / sUs) {
			e.records = append(e.records, s.request(i, int64(float64(i)/s.rate*sUs), rng))
		}
	}
	for _, r := range e.records {
		r.PromptRequested, r.OutputRequested = 10, 40
		switch at := r.Arrival.Us(); {
		case at < e.Window.StartUs:
			r.Phase = record.PhaseWarmup
		case at >= e.Window.EndUs:
			r.Phase = record.PhaseCooldown
		}
	}
	if c := s.client; c.length() > 0 {
		e.Client.Pauses = []telemetry.Pause{{FromUs: c.from - 100_000, ToUs: c.to + 500, LateUs: c.length() - 150_000}}
	}
	return e.checked()
}

// A stop of the client or of the server has its own finding, in every load, and no other one; and a server
// that is busy with prompts does not stand still.
func TestPausesAndStalls(t *testing.T) {
	short := func(int) int64 { return 50_000 }
	rare := func(us int64) func(int) int64 {
		return func(i int) int64 {
			if i%20 == 7 {
				return us
			}
			return 50_000
		}
	}
	second, three := span{6 * sUs, 7 * sUs}, span{6 * sUs, 9 * sUs}
	for _, c := range []struct {
		name  string
		stage stage
		want  string // code and part of the text; empty: no finding
	}{
		{"closed", stage{workers: 8, prefill: short, seconds: 12}, ""},
		{"closed, client stopped", stage{workers: 8, prefill: short, client: second, seconds: 12}, "client_bound client paused for about 1.0 s (suspended, or starved of CPU): latencies of up to 16 requests"},
		{"closed, server stopped", stage{workers: 8, prefill: short, server: three, seconds: 12}, "server_stalled the server sent nothing for 3.0 s with 8 requests in flight, from second 6.0 of the row"},
		{"one worker", stage{workers: 1, prefill: short, seconds: 30}, ""},
		{"one worker, client stopped", stage{workers: 1, prefill: short, client: second, seconds: 30}, "client_bound client paused"},
		{"one worker, server stopped", stage{workers: 1, prefill: short, server: three, seconds: 30}, "server_stalled the server sent nothing for 3.0 s with 1 request in flight"},
		{"one worker, prompts of 2 s", stage{workers: 1, prefill: func(int) int64 { return 2 * sUs }, seconds: 100}, ""},
		{"one worker, a few prompts of 3 s", stage{workers: 1, prefill: rare(3 * sUs), seconds: 100}, ""},
		{"open", stage{rate: 8, prefill: short, seconds: 12}, ""},
		{"open, client stopped", stage{rate: 8, prefill: short, client: second, seconds: 12}, "client_bound client paused"},
		{"open, server stopped", stage{rate: 8, prefill: short, server: three, seconds: 12}, "server_stalled the server sent nothing for 3.0 s with"},
		{"open, stopped near the end", stage{rate: 8, prefill: short, server: span{10 * sUs, 13 * sUs}, seconds: 12}, "server_stalled"},
		{"in step, server stopped before the first tokens", stage{workers: 8, inStep: true, prefill: short, server: span{6_610_000, 9_610_000}, seconds: 12}, "server_stalled the server sent nothing for 3.0 s with 8 requests in flight"},
		{"in step, prompts of 2 s", stage{workers: 8, inStep: true, prefill: func(int) int64 { return 2 * sUs }, seconds: 60}, ""},
		{"many at once, one prompt after the other", stage{workers: 64, inStep: true, prefill: func(i int) int64 {
			if i < 64 {
				return 3_300_000
			}
			return 60_000
		}, seconds: 12}, ""},
		{"low rate", stage{rate: 0.5, prefill: short, seconds: 100}, ""},
		{"closed, both stopped", stage{workers: 8, prefill: short, server: second, client: second, seconds: 12}, "client_bound client paused"},
	} {
		e := c.stage.measured()
		code, text, _ := strings.Cut(c.want, " ")
		var want []string
		if code != "" {
			want = []string{code}
		}
		if diff := cmp.Diff(want, e.Checks.Failed, cmpEmpty); diff != "" || !strings.Contains(e.findingOf(code), text) {
			t.Errorf("%s: %+v\n%s", c.name, e.Findings, diff)
		}
	}
}

var cmpEmpty = cmp.FilterValues(func(a, b []string) bool { return len(a)+len(b) == 0 }, cmp.Ignore())

// Without samples of the client no pause shows.
func TestPauseNotPossible(t *testing.T) {
	e := flawless()
	e.Client = nil
	if f := checkPaused(e.checked()); f.outcome != impossible {
		t.Errorf("%+v", f)
	}
}

// Silences by hand: answers of tokens at the given seconds.
func TestSilences(t *testing.T) {
	answer := func(at ...float64) *record.Record {
		us := make([]int64, len(at))
		for i, s := range at {
			us[i] = int64(s * sUs)
		}
		return fixture.OKRequest(us[0]-sUs, us...)
	}
	sp := func(from, to float64) span { return span{int64(from * sUs), int64(to * sUs)} }
	w := record.Window{StartUs: 0, EndUs: 100 * sUs}
	early := answer(5, 6)
	early.FirstEvent = record.At(4.5 * sUs)
	hung := answer(1, 2)
	hung.End = record.At(60 * sUs)
	waits := func(sent, first float64) *record.Record {
		r := answer(first, first+0.05)
		r.Sent = record.At(int64(sent * sUs))
		return r
	}
	for _, c := range []struct {
		name    string
		records []*record.Record
		want    []silence
	}{
		{"one answer", []*record.Record{answer(1, 1.05, 4, 4.5)}, []silence{{sp(1.05, 4), 1, 1}, {sp(4, 4.5), 1, 1}}},
		{"nothing under way", []*record.Record{answer(1, 1.05), answer(9, 9.05)}, nil},
		{"another one goes on", []*record.Record{answer(1, 4), answer(1.5, 2, 3)},
			[]silence{{sp(2, 3), 2, 2}, {sp(3, 4), 1, 1}, {sp(0.5, 1), 0, 2}, {sp(1, 1.5), 1, 2}, {sp(1.5, 2), 2, 2}}},
		{"it is never silent", []*record.Record{answer(1, 1.4), answer(1, 1.09, 1.18, 1.27, 1.36, 1.4)}, []silence{{sp(0, 1), 0, 2}}},
		{"a first token", []*record.Record{answer(1, 9), answer(5, 5.05)}, []silence{{sp(1, 5), 1, 2}, {sp(5.05, 9), 1, 1}}},
		{"an event without a token", []*record.Record{answer(1, 9), early}, []silence{{sp(1, 4.5), 1, 2}, {sp(6, 9), 1, 1}, {sp(5, 6), 2, 2}, {sp(4.5, 5), 1, 2}}},
		{"a hung answer", []*record.Record{hung}, []silence{{sp(2, 60), 1, 1}, {sp(1, 2), 1, 1}}},
		{"cut by the window", []*record.Record{answer(-3, 2, 98, 105)}, []silence{{sp(2, 98), 1, 1}, {sp(0, 2), 1, 1}, {sp(98, 100), 1, 1}}},
		{"one waits", []*record.Record{waits(1, 9)}, nil},
		{"two wait", []*record.Record{waits(1, 9), waits(3, 8.97)}, []silence{{sp(3, 8.97), 0, 2}}},
		{"three wait", []*record.Record{waits(1, 9), waits(3, 9.01), waits(5, 9.02)}, []silence{{sp(3, 9), 0, 3}}},
	} {
		if diff := cmp.Diff(c.want, silences(c.records, w), cmp.AllowUnexported(silence{}, span{})); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}
