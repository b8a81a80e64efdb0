package mock

import (
	"math"
	"testing"
	"time"
)

// The estimate is near what the simulation takes for a closed loop, below and above the limit of sequences.
func TestRequestMs(t *testing.T) {
	stepped := Config{MaxNumSeqs: 16, StepBase: time.Millisecond, StepPerSeq: 60 * time.Microsecond, StepPerContextToken: 5 * time.Nanosecond, StepPerPrefillToken: 6 * time.Microsecond}
	const input, output, jobs = 1000, 100, 400
	for _, workers := range []int{1, 4, 16, 48} {
		var first []Job
		next := 0
		job := func(at time.Duration) Job {
			next++
			prompt := make([]int32, input)
			for i := range prompt {
				prompt[i] = int32(100 + (next*7919+i)%30000)
			}
			return Job{At: at, Prompt: prompt, Output: output}
		}
		for range workers {
			first = append(first, job(0))
		}
		ended, _, err := Simulate(stepped, first, func(r *Record) (Job, bool) {
			if next >= jobs {
				return Job{}, false
			}
			return job(time.Duration(r.DueNS[len(r.DueNS)-1])), true
		}, time.Second)
		if err != nil {
			t.Fatal(err)
		}
		last := ended[len(ended)-1]
		took := float64(last.DueNS[len(last.DueNS)-1]) / 1e6
		batch := min(float64(workers), float64(stepped.Sequences(input+output)))
		if want := jobs / batch * stepped.RequestMs(batch, input, 0, output); math.Abs(took/want-1) > 0.1 {
			t.Errorf("%d workers: %d requests took %.0f ms, estimated %.0f", workers, jobs, took, want)
		}
	}
}

func TestEstimateOfFixedTimes(t *testing.T) {
	c := Config{TTFT: 50 * time.Millisecond, ITL: 10 * time.Millisecond}
	if got := c.RequestMs(8, 1000, 0, 20); got != 250 {
		t.Errorf("%g ms, want 50 + 20·10", got)
	}
	if got := c.Sequences(1000); got != 0 {
		t.Errorf("%d sequences: fixed times have no limit", got)
	}
	if got := (Config{KVBlocks: 100}).Sequences(800); got != 2 {
		t.Errorf("%d sequences of 800 tokens in 1,600", got)
	}
}
