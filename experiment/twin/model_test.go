package twin

import (
	"math"
	"slices"
	"testing"
	"time"

	"bench/experiment/mock"
	"pgregory.net/rapid"
)

// The twin and the simulated server, which knows nothing of it, give the same times where both have the same rules. No
// request arrives at the very end of a step, where rounding says which is first: steps take whole multiples of 100 ns, of
// which each arrival has a remainder of its own.
func TestRunIsTheSimulatedServer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string, least, most int) int { return rapid.IntRange(least, most).Draw(t, name) }
		c := mock.Config{
			MaxNumSeqs: draw("sequences", 1, 20), MaxNumBatchedTokens: draw("step tokens", 64, 4000),
			StepBase:            time.Duration(draw("base", 1, 2000)) * 10 * time.Microsecond,
			StepPerSeq:          time.Duration(draw("seq", 0, 500)) * time.Microsecond,
			StepPerContextToken: time.Duration(draw("context", 0, 2)) * 100 * time.Nanosecond,
			StepPerPrefillToken: time.Duration(draw("prefill", 0, 20)) * time.Microsecond,
			NoPrefixCaching:     true, KVBlocks: 1 << 20, Queue: 1 << 20,
		}
		workers := draw("workers", 0, 30)
		var jobs []mock.Job
		var requests []Request
		at := time.Duration(0)
		for i := range draw("requests", 1, 60) {
			if at += time.Duration(draw("gap", 0, 400))*time.Millisecond + time.Nanosecond; workers > 0 {
				at = 0
			}
			prompt, output := draw("prompt", 2, 3000), draw("output", 1, 100)
			ids := make([]int32, prompt)
			ids[0], ids[1] = 7, int32(i+7)
			jobs = append(jobs, mock.Job{At: at, Prompt: ids, Output: output})
			requests = append(requests, Request{Arrival: at.Seconds(), Prompt: prompt, Output: output})
		}
		e, err := mock.NewEngine(c)
		if err != nil {
			t.Fatal(err)
		}
		var want []float64
		for later := jobs; len(later) > 0 || e.Jobs() > 0; {
			until := time.Duration(math.MaxInt64)
			if len(later) > 0 && (workers == 0 || e.Jobs() < workers) {
				until = later[0].At
			}
			r := e.Next(until)
			for len(later) > 0 && later[0].At == until {
				if workers > 0 && e.Jobs() >= workers {
					break
				}
				e.Add(later[0])
				later = later[1:]
			}
			if r != nil {
				end := r.DueNS[len(r.DueNS)-1]
				want = append(want, float64(r.DueNS[0])/1e9, float64(end)/1e9)
				if workers > 0 && len(later) > 0 {
					later[0].At = time.Duration(end)
					e.Add(later[0])
					later = later[1:]
				}
			}
		}
		m := Model{Base: c.StepBase.Seconds(), PerSequence: c.StepPerSeq.Seconds(),
			PerContextToken: c.StepPerContextToken.Seconds(),
			PerPrefillToken: c.StepPerPrefillToken.Seconds(), MaxSequences: c.MaxNumSeqs,
			MaxStepTokens: c.MaxNumBatchedTokens}
		var got []float64
		for _, r := range m.Run(requests, workers) {
			got = append(got, r.First, r.Last)
		}
		slices.Sort(want)
		slices.Sort(got)
		for i := range want {
			if math.Abs(got[i]-want[i]) > 1e-6 {
				t.Fatalf("time %d of %d is %v, the simulated server's %v", i, len(want), got[i], want[i])
			}
		}
	})
}

// The error of a speed is finite though no window was long enough for its load: an infinite one never ends.
func TestDistantWithoutSteadyTrials(t *testing.T) {
	trials := []Trial{{Load: 8, Filling: true}, {Load: 16, Cut: true}}
	if got, want := (&Question{}).distant(trials, 4), 0.15*math.Ln2; math.Abs(got-want) > 1e-12 {
		t.Errorf("%g, want %g", got, want)
	}
	if got, want := (&Question{}).distant(append(trials, Trial{Load: 2}), 4), 0.3*math.Ln2; math.Abs(got-want) > 1e-12 {
		t.Errorf("beside a steady one %g, want %g", got, want)
	}
}

// A crowded server computes what decodes beside its prompts, so that fewer prompt tokens are free.
func TestCrowded(t *testing.T) {
	m := Model{Base: 0.01, PerSequence: 1e-4, PerPrefillToken: 1e-3, FreePrefillTokens: 100}
	for _, tt := range []struct {
		m                 *Model
		decoding, prefill int
		want              float64
	}{{&m, 60, 60, 0.016}, {m.Crowded(), 60, 60, 0.036}, {m.Crowded().Crowded(), 60, 60, 0.036}, {m.Crowded(), 60, 40, 0.016},
		{m.Crowded(), 110, 0, 0.031}, {(&Model{Base: 0.01, PerPrefillToken: 1e-3}).Crowded(), 60, 10, 0.02}} {
		if got := tt.m.StepTime(tt.decoding, 0, tt.prefill); math.Abs(got-tt.want) > 1e-12 {
			t.Errorf("%d decoding, %d prefilled: %g, want %g", tt.decoding, tt.prefill, got, tt.want)
		}
	}
}
