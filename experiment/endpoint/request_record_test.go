package endpoint

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"bench/experiment/load"
	"bench/experiment/openai"
	"bench/experiment/record"
	"bench/experiment/workload"
)

func TestGapsSumToLastMinusFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nanos := rapid.Int64Range(0, int64(time.Hour))
		first := time.Duration(nanos.Draw(t, "first"))
		gaps := rapid.SliceOf(rapid.Custom(func(t *rapid.T) time.Duration {
			return time.Duration(rapid.OneOf(rapid.Int64Range(0, 3000), nanos).Draw(t, "gap"))
		})).Draw(t, "gaps")
		last := first
		for _, g := range gaps {
			last += g
		}
		r := requestRecord(&load.Job{Ready: openai.Never, Result: openai.Result{First: first, Last: last, Gaps: gaps, Sent: openai.Never}})
		var sum int64
		for g := range r.Gaps.All() {
			if g < 0 {
				t.Fatalf("a gap of %d µs", g)
			}
			sum += g
		}
		if r.Gaps.Len() != len(gaps) || sum != r.Last.Us()-r.First.Us() {
			t.Fatalf("%d gaps sum to %d µs, last − first is %d", r.Gaps.Len(), sum, r.Last.Us()-r.First.Us())
		}
	})
}

func TestRecordOfAJob(t *testing.T) {
	job := load.Job{
		Request: workload.Request{Index: 17, Class: "chat", Input: 256, Output: 4}, Phase: load.Window,
		At: 1500 * time.Nanosecond, Ready: 2 * time.Microsecond,
		Result: openai.Result{
			Sent: 2499 * time.Nanosecond, FirstEvent: openai.Never, First: openai.Never, Last: 9 * time.Microsecond, End: 10 * time.Microsecond,
			HasUsage: true, PromptTokens: 257, OutputTokens: 4, Outcome: openai.OK, Status: 200, Finish: "length", ServerID: "x",
			Server: openai.ServerTimes{Queue: openai.Never, Prefill: openai.Never, Decode: openai.Never},
		},
	}
	cost := 257
	want := &record.Record{I: 17, ServerID: "x", Class: "chat", Phase: record.PhaseWindow, Arrival: record.At(2), Ready: record.At(2), Sent: record.At(2), Last: record.At(9), End: record.At(10),
		PromptRequested: 256, PromptTokens: &cost, OutputRequested: 4, OutputTokens: 4, Outcome: "ok", Status: 200, Finish: "length"}
	if d := cmp.Diff(want, requestRecord(&job), cmp.AllowUnexported(record.Micros{}, record.Packed{})); d != "" {
		t.Error(d)
	}
	job.Phase, job.Result.HasUsage, job.Result.HasCached = load.Cooldown, false, true
	if r := requestRecord(&job); r.Phase != record.PhaseCooldown || r.PromptTokens != nil || r.CachedTokens == nil || *r.CachedTokens != 0 {
		t.Errorf("phase %s, prompt tokens %v, cached %v", r.Phase, r.PromptTokens, r.CachedTokens)
	}
	job.Result.Server = openai.ServerTimes{Prefill: 1499 * time.Nanosecond, HasPrefill: true}
	if d := cmp.Diff(&record.ServerTimes{Prefill: new(int64(1))}, requestRecord(&job).Server); d != "" {
		t.Error(d)
	}
	job.Phase = load.Warmup
	if r := requestRecord(&job); r.Phase != record.PhaseWarmup {
		t.Errorf("phase %s", r.Phase)
	}
}
