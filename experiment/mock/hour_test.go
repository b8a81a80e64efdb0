package mock

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// An hour of Poisson traffic over HTTP, in steps of rising rates: below what the slots can do the queue is
// short; at the rate that they can do it begins to grow, and above it grows with the time. That follows from
// the steps alone.
func TestAnHourOfTraffic(t *testing.T) {
	const output, spell = 10, 15 * time.Minute
	c := Config{StepBase: 500 * time.Millisecond, MaxNumSeqs: 4, Queue: 100_000}
	const most = 4.0 / (output * 0.5) // requests per second that four slots can do, each in output steps
	shares := []float64{0.3, 0.6, 0.85, 1.2}
	virtual(t, c, func(t *testing.T, s *Server, h *http.Client) {
		var sent []int
		for i, share := range shares {
			sent = append(sent, traffic(t, h, rand.New(rand.NewPCG(uint64(i), 1)), share*most, spell, output))
		}
		all := truths(t, h, "http://mock")
		if len(all) != sum(sent) || time.Since(s.start) < time.Hour {
			t.Fatalf("%d records of %d requests in %v", len(all), sum(sent), time.Since(s.start))
		}
		slices.SortFunc(all, func(a, b Record) int { return int(a.ArrivalNS - b.ArrivalNS) })
		var waits []time.Duration // the mean of each spell
		for _, n := range sent {
			waits = append(waits, meanWait(all[:n]))
			all = all[n:]
		}
		// A part of a step is waited for in any case, and in the last spell for half of what came too much.
		if waits[0] > 400*time.Millisecond || waits[1] > 2*time.Second || waits[2] < 2*waits[1] || waits[3] < 50*time.Second {
			t.Errorf("mean time in the queue at %v of what the slots can do: %v", shares, waits)
		}
		t.Logf("%d requests, mean time in the queue %v", sum(sent), waits)
		if m := get(t, h, "http://mock/metrics"); !strings.Contains(m, fmt.Sprintf("vllm:generation_tokens_total{engine=\"0\",model_name=\"bench-mock\"} %d\n", output*sum(sent))) {
			t.Error("the metrics count another number of tokens")
		}
	})
}

// traffic sends requests of Poisson arrivals for a while, waits until all have ended, and returns how many
// they were.
func traffic(t *testing.T, h *http.Client, r *rand.Rand, perS float64, during time.Duration, output int) (n int) {
	var wg sync.WaitGroup
	for end := time.Now().Add(during); ; n++ {
		time.Sleep(time.Duration(r.ExpFloat64() / perS * float64(time.Second)))
		if !time.Now().Before(end) {
			break
		}
		body := fmt.Sprintf(`{"prompt":[%d],"max_tokens":%d,"ignore_eos":true,"stream":true}`, n%1000, output)
		wg.Go(func() {
			resp, err := h.Post("http://mock/v1/completions", "application/json", strings.NewReader(body))
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			if text, err := io.ReadAll(resp.Body); err != nil || !strings.HasSuffix(string(text), "data: [DONE]\n\n") {
				t.Errorf("%v: %q", err, text)
			}
		})
	}
	wg.Wait()
	return n
}

func meanWait(records []Record) time.Duration {
	var all int64
	for _, r := range records {
		all += r.AdmittedNS - r.ArrivalNS
	}
	return time.Duration(all / int64(len(records)))
}

func sum(n []int) (all int) {
	for _, v := range n {
		all += v
	}
	return all
}
