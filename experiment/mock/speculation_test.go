package mock

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// figure is a figure of /metrics by name, and by a label if it is not empty.
func figure(t *testing.T, text, name, label string) float64 {
	t.Helper()
	for line := range strings.Lines(text) {
		var v float64
		if !strings.HasPrefix(line, "vllm:"+name+"{") || !strings.Contains(line, label) {
			continue
		}
		if _, err := fmt.Sscan(line[strings.LastIndex(line, " "):], &v); err != nil {
			t.Fatal(err, line)
		}
		return v
	}
	t.Fatalf("no %s with %s", name, label)
	return 0
}

// speculating is a server with planted speculation, with fixed times or with steps.
func speculating(fixed bool) Config {
	c := Config{Model: "m", Speculation: Speculation{Tokens: 3, Acceptance: 0.7}}
	if fixed {
		c.TTFT, c.ITL = 50*time.Millisecond, 10*time.Millisecond
	}
	return c
}

const specBody = `{"metadata":{"category":"%[1]s"},"prompt":"%[1]s number n%[2]d","max_tokens":%[3]d,"ignore_eos":true,"stream":true,"stream_options":{"include_usage":true}}`

// The acceptance that was planted is the one that counters, records and answers report, whole and by position; a
// step's tokens are one event.
func TestSpeculation(t *testing.T) {
	for _, fixed := range []bool{true, false} {
		c := speculating(fixed)
		virtual(t, c, func(t *testing.T, s *Server, h *http.Client) {
			rate := map[string][2]float64{}
			for i := range 60 {
				category := []string{"chat", "coding"}[i%2]
				_, text := fetch(t, h, "http://mock/v1/completions", fmt.Sprintf(specBody, category, i, 101))
				all := events(t, text)
				r := truthsSince(t, h, "http://mock", i)[0]
				if r.Category != category || r.OutputTokens != 101 || len(r.TokensPerEvent) != len(r.DueNS) || len(all) != len(r.DueNS)+1 || r.Drafts != len(r.DueNS)-1 {
					t.Fatalf("%+v\n%d events", r, len(all))
				}
				rate[category] = [2]float64{rate[category][0] + float64(r.AcceptedTokens), rate[category][1] + float64(r.Drafts)}
				for k := range len(r.DueNS) - 2 {
					if gap := time.Duration(r.DueNS[k+1] - r.DueNS[k]); fixed && gap != 10*time.Millisecond {
						t.Errorf("a step of %v", gap)
					}
				}
			}
			// k drafts, each accepted with p until the first rejection: p + p² + p³ a step; 4 standard errors.
			p := c.Speculation.Acceptance
			for _, category := range []string{"chat", "coding"} {
				got, want := rate[category][0]/rate[category][1], p+p*p+p*p*p
				if math.Abs(got-want) > 4*1.2/math.Sqrt(rate[category][1]) {
					t.Errorf("%s: %.3f accepted a step, want %.3f", category, got, want)
				}
			}
			text := get(t, h, "http://mock/metrics")
			drafts, accepted := figure(t, text, "spec_decode_num_drafts_total", ""), 0.0
			for i := range 3 {
				accepted += figure(t, text, "spec_decode_num_accepted_tokens_per_pos_total", fmt.Sprintf("position=\"%d\"", i))
			}
			var all [2]float64
			for _, r := range rate {
				all[0], all[1] = all[0]+r[0], all[1]+r[1]
			}
			if drafts != all[1] || accepted != all[0] || figure(t, text, "spec_decode_num_accepted_tokens_total", "") != all[0] ||
				figure(t, text, "spec_decode_num_draft_tokens_total", "") != 3*drafts || figure(t, text, "generation_tokens_total", "") != 60*101 ||
				figure(t, text, "inter_token_latency_seconds_count", "") != drafts {
				t.Errorf("counters: %g drafts, %g accepted; records: %v\n%s", drafts, accepted, all, text)
			}
		})
	}
}

// With the server's own times an answer reports its drafts, as vLLM's does.
func TestSpeculationReport(t *testing.T) {
	c := speculating(true)
	c.PerRequestMetrics = true
	virtual(t, c, func(t *testing.T, s *Server, h *http.Client) {
		body := fmt.Sprintf(specBody, "chat", 1, 50)
		_, text := fetch(t, h, "http://mock/v1/completions", body)
		all := events(t, text)
		var whole map[string]any
		_, text = fetch(t, h, "http://mock/v1/completions", strings.Replace(body, `"stream":true`, `"stream":false`, 1))
		if err := json.Unmarshal([]byte(text), &whole); err != nil {
			t.Fatal(err)
		}
		r := truths(t, h, "http://mock")[0]
		for _, answer := range []any{whole, all[len(all)-1].data} {
			drafts := at(answer, "metrics", "speculative_decoding")
			if at(drafts, "num_accepted_draft_tokens") != float64(r.AcceptedTokens) || r.AcceptedTokens == 0 {
				t.Errorf("%v has not %d accepted drafts", answer, r.AcceptedTokens)
			}
			if histogram, ok := at(drafts, "acceptance_histogram").([]any); !ok || len(histogram) != 4 {
				t.Errorf("%v", answer)
			}
		}
	})
}

// A step that verifies drafts takes longer by the time of as many prompt tokens.
func TestStepWithDrafts(t *testing.T) {
	c := speculating(false)
	c.StepBase, c.StepPerPrefillToken, c.Speculation.Acceptance = 10*time.Millisecond, time.Millisecond, 0
	virtual(t, c, func(t *testing.T, s *Server, h *http.Client) {
		fetch(t, h, "http://mock/v1/completions", fmt.Sprintf(specBody, "chat", 1, 4))
		r := truths(t, h, "http://mock")[0]
		for i := range 3 {
			if gap := time.Duration(r.DueNS[i+1] - r.DueNS[i]); gap != 13*time.Millisecond {
				t.Errorf("a step of %v, want 10 ms and three drafts", gap)
			}
		}
	})
}

// Speculation changes neither the tokens of an answer nor what the cache finds of it, even with preemptions.
func TestSpeculationWithCache(t *testing.T) {
	ask := func(c Config) (said string, hit int) {
		c.KVBlocks, c.MaxModelLen, c.MaxNumSeqs = 24, 300, 4
		virtual(t, c, func(t *testing.T, s *Server, h *http.Client) {
			const body = `{"prompt":"a b %s","max_tokens":200,"ignore_eos":true}`
			var busy sync.WaitGroup
			for i := range 4 {
				busy.Go(func() { fetch(t, h, "http://mock/v1/completions", fmt.Sprintf(body, fmt.Sprintf("a%d", i))) })
			}
			busy.Wait()
			if figure(t, get(t, h, "http://mock/metrics"), "num_preemptions_total", "") == 0 {
				t.Error("no preemption")
			}
			_, text := fetch(t, h, "http://mock/v1/completions", fmt.Sprintf(body, "c"))
			var answer map[string]any
			if err := json.Unmarshal([]byte(text), &answer); err != nil {
				t.Fatal(err)
			}
			said, _ = at(answer, "choices", 0, "text").(string)
			fetch(t, h, "http://mock/v1/completions", fmt.Sprintf(`{"prompt":"a b c%s more","max_tokens":1}`, said))
			all := truths(t, h, "http://mock")
			hit = all[len(all)-1].CachedTokens
		})
		return said, hit
	}
	one, hits := ask(Config{Model: "m"})
	two, same := ask(speculating(false))
	if one != two || hits != 192 || same < 192-16 { // the last block may be full with tokens that nothing computed
		t.Errorf("%d and %d tokens hit; the same answer: %v", hits, same, one == two)
	}
}
