package endpoint

import (
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"bench/experiment"
	"bench/experiment/mock"
	"bench/experiment/record"
	"bench/experiment/target"
	"bench/experiment/workload"
)

// trueTimes are the means over a row's requests of what the simulated server knows of them, in ms.
func trueTimes(t *testing.T, s *Server, records []*record.Record, counts func(*record.Record) bool) (n int, ttft, queue, prefill float64) {
	t.Helper()
	own := map[string]bool{}
	for _, r := range records {
		own[r.ServerID] = counts(r)
	}
	resp, err := http.Get(strings.TrimSuffix(s.options.BaseURL, "/v1") + "/debug/requests")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	last := map[string]mock.Record{} // a row that is measured again has the same IDs
	for d := json.NewDecoder(resp.Body); d.More(); {
		var r mock.Record
		if err := d.Decode(&r); err != nil {
			t.Fatal(err)
		}
		if own[r.ID] && len(r.DueNS) > 0 {
			last[r.ID] = r
		}
	}
	for _, r := range last {
		n++
		ttft += float64(r.DueNS[0]-r.ArrivalNS) / 1e6
		queue += float64(r.AdmittedNS-r.ArrivalNS) / 1e6
		prefill += float64(r.DueNS[0]-r.AdmittedNS) / 1e6
	}
	return n, ttft / float64(n), queue / float64(n), prefill / float64(n)
}

// The split of the time to the first token is what the simulated server knows to be true: by its histograms over all
// requests of the row, and by each answer over those of the window.
func TestTTFTSplit(t *testing.T) {
	const tolerance = 0.002 // ms: sums on a page have six digits
	for name, c := range map[string]struct {
		config mock.Config
		source string
	}{
		"histograms":         {mock.Config{TTFT: 8 * time.Millisecond, ITL: 2 * time.Millisecond, MaxNumSeqs: 2}, record.SplitOfHistograms},
		"each answer":        {mock.Config{TTFT: 8 * time.Millisecond, ITL: 2 * time.Millisecond, MaxNumSeqs: 2, PerRequestMetrics: true}, record.SplitOfRequests},
		"simulated steps":    {mock.Config{MaxNumSeqs: 2, MaxModelLen: 512}, record.SplitOfHistograms},
		"each, steps, chats": {mock.Config{MaxNumSeqs: 2, MaxModelLen: 512, PerRequestMetrics: true}, record.SplitOfRequests},
	} {
		t.Run(name, func(t *testing.T) {
			s := mocked(t, c.config, experiment.Target{}, target.Completions)
			s.OpenTelemetry(t.Context(), Telemetry{GPU: "off"}, record.RooflineSource{})
			spec := point()
			spec.Concurrency = 5
			row, records := measure(t, s, spec)
			for range 9 { // the server can finish requests that the row's end cut, or be read late: then its means are not the row's
				x, all := row.TTFTSplit, 0
				for _, r := range records {
					if r.OK() {
						all++
					}
				}
				if x == nil || x.Missing == "" && (c.source == record.SplitOfRequests || x.Requests >= all) {
					break
				}
				row, records = measure(t, s, spec)
			}
			split := row.TTFTSplit
			if split == nil || split.Missing != "" || split.Source != c.source {
				t.Fatalf("%+v", split)
			}
			if c.source == record.SplitOfRequests {
				kept := records[:0]
				for _, r := range records {
					if r.Phase == record.PhaseWindow {
						kept = append(kept, r)
					}
				}
				records = kept
			}
			n, ttft, queue, prefill := trueTimes(t, s, records, (*record.Record).OK)
			if split.Requests > n { // the server finished requests that the row's end cut
				n, ttft, queue, prefill = trueTimes(t, s, records, func(r *record.Record) bool { return !r.First.IsZero() })
			}
			if split.Requests != n || math.Abs(*split.Queue-queue) > tolerance || math.Abs(*split.Prefill-prefill) > tolerance {
				t.Errorf("%d requests, queue %g, prefill %g ms; the server's: %d, %g, %g", split.Requests, *split.Queue, *split.Prefill, n, queue, prefill)
			}
			cut := slices.ContainsFunc(records, func(r *record.Record) bool { return !r.First.IsZero() && !r.OK() }) // its time in the network is not known
			if split.Network != nil && !cut && math.Abs(split.Total-*split.Network-ttft) > tolerance {
				t.Errorf("%g ms in the server, which knows of %g", split.Total-*split.Network, ttft)
			}
			sum := 0.0
			for _, p := range split.Parts() {
				sum += p.Ms
			}
			if math.Abs(sum-split.Total) > 1e-5 {
				t.Errorf("the parts sum to %g ms, not %g", sum, split.Total)
			}
			if whole := row.Server.Metrics.Whole; whole == nil || whole.PromptTokens == nil || *whole.PromptTokens != float64(64*whole.Times.TTFT.N) || *whole.Requests < float64(split.Requests) {
				t.Errorf("%+v", whole)
			}
		})
	}
}

// Another client is in the server's means, which are then no means of this row.
func TestTTFTSplitWithAnotherClient(t *testing.T) {
	s := mocked(t, mock.Config{TTFT: 5 * time.Millisecond, ITL: time.Millisecond}, experiment.Target{}, target.Completions)
	s.OpenTelemetry(t.Context(), Telemetry{GPU: "off"}, record.RooflineSource{})
	spec := point()
	spec.Concurrency, spec.Requests, spec.Duration = 2, 0, workload.Span(400*time.Millisecond)
	measured, done := make(chan bool), make(chan error, 1)
	go func() {
		for {
			resp, err := http.Post(s.options.BaseURL+"/completions", "application/json",
				strings.NewReader(`{"model":"bench-mock","prompt":"w1 w2","max_tokens":2}`))
			if err == nil {
				resp.Body.Close()
			}
			select {
			case <-measured:
				done <- err
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	row, _ := measure(t, s, spec)
	close(measured)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if split := row.TTFTSplit; split == nil || !strings.Contains(split.Missing, "the server counted") || len(split.Parts()) > 0 {
		t.Errorf("%+v", split)
	}
}

// A window of any length has at least three readings of the page, whether its length is known or not.
func TestReadingsInShortWindows(t *testing.T) {
	s := mocked(t, mock.Config{TTFT: 5 * time.Millisecond, ITL: time.Millisecond}, experiment.Target{}, target.Completions)
	s.OpenTelemetry(t.Context(), Telemetry{GPU: "off"}, record.RooflineSource{})
	spec := point()
	spec.Concurrency, spec.Requests, spec.Duration = 2, 0, workload.Span(600*time.Millisecond)
	row, _ := measure(t, s, spec)
	if m := row.Server.Metrics; m.Samples < 2 || m.Running == nil { // one fewer on a busy machine
		t.Errorf("%d readings in 600 ms, %+v", m.Samples, m.Running)
	}
}

// The readings are planned by the window's length, as far as it does not depend on the server.
func TestExpectedWindow(t *testing.T) {
	spec := point() // a closed loop of 12 requests
	if d := expectedWindow(&spec); d != 0 {
		t.Errorf("of a number of requests: %s", d)
	}
	spec.Rate = 4
	if d := expectedWindow(&spec); d != 3*time.Second { // without the warm-up's requests
		t.Errorf("of 12 requests at 4/s: %s", d)
	}
	spec.Rate, spec.Requests, spec.Duration = 0, 0, workload.Span(2*time.Second)
	if d := expectedWindow(&spec); d != 2*time.Second {
		t.Errorf("of a closed loop of 2 s: %s", d)
	}
}
