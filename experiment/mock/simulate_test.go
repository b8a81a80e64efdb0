package mock

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// Two slots of 10 ms a step and three jobs at once: the third waits for the first to end.
func TestSimulate(t *testing.T) {
	c := Config{StepBase: 10 * time.Millisecond, MaxNumSeqs: 2}
	job := func(n int32) Job { return Job{Prompt: []int32{n, n, n}, Output: 5} }
	followed := 0
	records, moments, err := Simulate(c, []Job{job(1), job(2), job(3)}, func(r *Record) (Job, bool) {
		j := job(9)
		j.At = time.Duration(r.DueNS[len(r.DueNS)-1]) + time.Second
		followed++
		return j, followed == 1
	}, 20*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	var firsts []int64
	for _, r := range records {
		firsts = append(firsts, r.DueNS[0]/1e6)
		if r.OutputTokens != 5 || len(r.DueNS) != 5 || r.DueNS[4]-r.DueNS[0] != 40e6 {
			t.Errorf("%+v", r)
		}
	}
	if want := []int64{10, 10, 60, 1060}; !slices.Equal(firsts, want) {
		t.Errorf("first tokens at %v ms, want %v", firsts, want)
	}
	if m := moments[1]; m.At != 20*time.Millisecond || m.Running != 2 || m.Waiting != 1 || m.Generated != 4 {
		t.Errorf("%+v", m)
	}
	if m := moments[len(moments)-1]; m.Running != 0 && m.Generated < 15 {
		t.Errorf("%+v", m)
	}
	if _, _, err := Simulate(Config{TTFT: time.Second}, nil, nil, time.Second); err == nil {
		t.Error("fixed times were simulated")
	}
	if _, _, err := Simulate(Config{MaxModelLen: 7}, []Job{job(1)}, nil, time.Second); err == nil {
		t.Error("a job that never fits was simulated")
	}
}

// Without prefix caching a prompt is computed whole each time.
func TestNoPrefixCaching(t *testing.T) {
	job := Job{Prompt: fresh(1, 64), Output: 2}
	later := job
	later.At = time.Second
	for _, off := range []bool{false, true} {
		records, _, err := Simulate(Config{StepBase: 1, NoPrefixCaching: off}, []Job{job, later}, nil, time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if want := map[bool]int{false: 48, true: 0}[off]; records[1].CachedTokens != want {
			t.Errorf("off %t: %d cached tokens, want %d", off, records[1].CachedTokens, want)
		}
	}
}

// What the engine does by itself is what it does behind HTTP.
func TestSimulateIsTheServer(t *testing.T) {
	for _, schedule := range []string{"", roundRobin, vtc} {
		t.Run(schedule, func(t *testing.T) { simulateIsTheServer(t, schedule) })
	}
}

func simulateIsTheServer(t *testing.T, schedule string) {
	c := Config{Model: "m", KVBlocks: 24, MaxModelLen: 384, MaxNumSeqs: 8, Schedule: schedule}
	var jobs []Job
	for i := range 12 {
		prompt := make([]int32, 40+10*i)
		for j := range prompt {
			prompt[j] = int32(1000 + i*j)
		}
		jobs = append(jobs, Job{At: time.Duration(i) * 7 * time.Millisecond, Prompt: prompt, Output: 20, Tenant: []string{"bulk", "bulk", "gold"}[i%3]})
	}
	alone, _, err := Simulate(c, jobs, nil, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	preempted := 0
	virtual(t, c, func(t *testing.T, s *Server, h *http.Client) {
		done := make(chan bool)
		for _, j := range jobs {
			go func() {
				defer func() { done <- true }()
				time.Sleep(j.At - time.Since(s.start))
				r, _ := http.NewRequest("POST", "http://mock/v1/completions", strings.NewReader(asked(j)))
				r.Header.Set(TenantHeader, j.Tenant)
				resp, err := h.Do(r)
				if err != nil {
					t.Error(err)
					return
				}
				defer resp.Body.Close()
				io.Copy(io.Discard, resp.Body)
			}()
		}
		for range jobs {
			<-done
		}
		served := truths(t, h, "http://mock")
		if len(served) != len(alone) {
			t.Fatalf("%d records, %d of the engine alone", len(served), len(alone))
		}
		slices.SortFunc(served, func(a, b Record) int { return int(a.ArrivalNS - b.ArrivalNS) })
		slices.SortFunc(alone, func(a, b *Record) int { return int(a.ArrivalNS - b.ArrivalNS) })
		for i, r := range alone {
			preempted += r.Preemptions
			if !slices.Equal(r.DueNS, served[i].DueNS) || r.Preemptions != served[i].Preemptions || r.CachedTokens != served[i].CachedTokens {
				t.Errorf("job %d\nalone  %v\nserved %v", i, r, served[i])
			}
		}
	})
	if preempted == 0 {
		t.Error("nothing was preempted: the test shows little")
	}
}

// asked is the body for a job.
func asked(j Job) string {
	body, err := json.Marshal(map[string]any{"prompt": j.Prompt, "max_tokens": j.Output, "ignore_eos": true, "stream": true})
	if err != nil {
		panic(err)
	}
	return string(body)
}
