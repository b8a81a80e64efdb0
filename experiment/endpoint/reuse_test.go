package endpoint

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"bench/experiment"
	"bench/experiment/check"
	"bench/experiment/mock"
	"bench/experiment/record"
	"bench/experiment/target"
	"bench/experiment/telemetry"
	"bench/experiment/verdict"
	"bench/experiment/workload"
)

// What a plan says of its hits is what the simulated server finds, request by request: with room for all, and
// in a pool that is too small for its prefixes, which is freed as vLLM frees it.
func TestHitsOfThePlanAreTheServers(t *testing.T) {
	t.Parallel()
	const small = 40 // blocks; a request takes nine, the prefixes 24
	for _, c := range []struct {
		name   string
		blocks int
		state  string
	}{{"roomy", 0, workload.Shared}, {"roomy and warm", 0, workload.Warm}, {"too small", small, workload.Shared}, {"too small and warm", small, workload.Warm}} {
		t.Run(c.name, func(t *testing.T) {
			s := mocked(t, mock.Config{KVBlocks: c.blocks, MaxModelLen: 512}, experiment.Target{}, target.Completions)
			spec := point()
			spec.Input, spec.Concurrency, spec.Requests = workload.Fixed(128), 1, 80
			spec.Prefix = &workload.Prefix{Tokens: 64, Groups: 6, Zipf: 0.7, State: c.state}
			row, records := measure(t, s, spec)
			pool := workload.NewPool(c.blocks, workload.BlockTokens)
			want := map[int]int{}
			for r, hit := range spec.Plan("").Serve(pool, 1, 0) {
				if want[r.Index] = hit; len(want) == 90 {
					break
				}
			}
			hits, possible := 0, 0
			for _, r := range records {
				if r.CachedTokens == nil || r.Phase == record.PhaseCooldown {
					continue
				}
				if *r.CachedTokens != want[r.I] {
					t.Errorf("request %d: the server found %d tokens, the plan says %d", r.I, *r.CachedTokens, want[r.I])
				}
				if r.Phase == record.PhaseWindow {
					hits += *r.CachedTokens
				}
			}
			if row.Reuse == nil || row.Reuse.Requests != 80 || row.Reuse.CachedTokens != hits || row.Reuse.PromptTokens != 80*128 {
				t.Fatalf("%+v", row.Reuse)
			}
			possible = row.Reuse.PossibleTokens
			if row.Reuse.InCapacity != nil {
				t.Errorf("%d tokens are possible in a capacity that nobody asked for", *row.Reuse.InCapacity)
			}
			told := float64(mock.Config{KVBlocks: c.blocks}.KVTokens())
			row.Server.Metrics = &telemetry.ServerUsage{}
			row.Server.Metrics.KVCapacity = &told
			e := verdict.Measured{Row: row, Records: records}
			if in := check.CompareReuse(e.Row, e.Records).InCapacity; in == nil || *in != hits {
				t.Errorf("%v tokens are said to be possible in %g, %d were found", in, told, hits)
			}
			if roomy := c.blocks == 0; roomy != (hits == possible) || hits == 0 || hits > possible {
				t.Errorf("%d tokens found of %d that are possible", hits, possible)
			}
		})
	}
}

// truth is how many of the prompt tokens the simulated server found, by its own account of each request of a
// row.
func truth(t *testing.T, s *Server, salt string) (cached map[string]int) {
	t.Helper()
	answer, err := http.Get(strings.TrimSuffix(s.options.BaseURL, "/v1") + "/debug/requests")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	cached = map[string]int{}
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r struct {
			RequestID    string `json:"request_id"`
			CachedTokens int    `json:"cached_tokens"`
		}
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(r.RequestID, salt[:8]) {
			cached[r.RequestID] = r.CachedTokens
		}
	}
	return cached
}

// The hits that a tiling row reports are the simulated server's, request by request: nothing where the circle
// is over both tiers, all after the first rotation where it is under the second, and whatever it found with
// several requests in flight.
func TestHitsOfTiling(t *testing.T) {
	const contexts, input, asks, rounds = 6, 320, 32, 4
	for _, c := range []struct {
		name      string
		blocks    int     // of 16 tokens in the first tier
		tier      float64 // GB at 1 MB a token: its tokens in thousands
		inFlight  int
		least, up float64 // cached rate of the later rotations
	}{
		{"over both", 50, 0.8, 1, 0, 0},
		{"under the second", 100, 8, 1, 0.9, 0.95},
		{"in flight together", 100, 8, 3, 0, 0.95},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := mocked(t, mock.Config{KVBlocks: c.blocks, KVBytesPerToken: 1_000_000, KVOffloadingGB: c.tier, KVOffloadingGBs: 1e6, MaxModelLen: 512,
				StepBase: time.Millisecond}, experiment.Target{}, target.Completions)
			spec := experiment.Spec{Name: "tile", Repeat: 1,
				Workload: workload.Workload{Generator: workload.Tiling, Input: workload.Fixed(input), Output: workload.Fixed(4), Seed: 7,
					Tile: &workload.Tile{Contexts: contexts, QuestionTokens: asks, Rounds: rounds}},
				Load: workload.Load{Concurrency: c.inFlight, Grace: workload.Span(20 * time.Second)}}
			spec.ApplyPresets(func(key, problem, hint string) { t.Error(key, problem, hint) })
			row, records := measureSalted(t, s, spec, "0123456789ab")
			found := truth(t, s, "0123456789ab")
			told, ofWindow := 0, 0
			for _, r := range records {
				if r.Phase == record.PhaseCooldown {
					continue
				}
				id := requestID("0123456789ab", r.I)
				is, there := found[id]
				if !there || r.CachedTokens == nil || *r.CachedTokens != is {
					t.Fatalf("request %d reports %v, the server found %d (%v)", r.I, r.CachedTokens, is, there)
				}
				if told++; r.Phase == record.PhaseWindow {
					ofWindow += is
				}
			}
			if told < contexts*(rounds+1) || row.Summary.Tokens.Cached == nil || *row.Summary.Tokens.Cached != ofWindow || row.Reuse.CachedTokens != ofWindow {
				t.Errorf("%d requests, %v and %d cached tokens in the row, %d by the server", told, row.Summary.Tokens.Cached, row.Reuse.CachedTokens, ofWindow)
			}
			later := *row.Rotations.Later.CachedRate
			if later < c.least || later > c.up || *row.Rotations.First.CachedRate > 0 && c.inFlight == 1 {
				t.Errorf("cached %v in the first rotation, %v in the later ones, not %v to %v", *row.Rotations.First.CachedRate, later, c.least, c.up)
			}
		})
	}
}

// measureSalted is measure with a salt that request ids can hold.
func measureSalted(t *testing.T, s *Server, spec experiment.Spec, salt string) (*record.Row, []*record.Record) {
	t.Helper()
	var records []*record.Record
	row, err := s.Run(t.Context(), RunConfig{Spec: &spec, ID: spec.Name, Salt: salt, Each: func(r *record.Record) error { records = append(records, r); return nil }})
	if err != nil {
		t.Fatal(err)
	}
	return row, records
}

func TestCacheTokens(t *testing.T) {
	s := Server{Info: record.TargetInfo{BuildInfo: []string{
		`python_info{version="3.12"} 1`,
		`vllm:cache_config_info{block_size="16",engine="0",gpu_memory_utilization="0.9",num_gpu_blocks="1000"} 1.0`,
		`vllm:cache_config_info{block_size="16",engine="1",num_gpu_blocks="500"} 1.0`,
		`vllm:cache_config_info{block_size="16",num_gpu_blocks="None"} 1.0`,
	}}}
	if got := s.CacheTokens(); got != 24_000 {
		t.Errorf("%d tokens", got)
	}
	if got := (&Server{}).CacheTokens(); got != 0 {
		t.Errorf("%d tokens of a server that says nothing", got)
	}
	for _, tt := range []struct{ cache, input, want int }{{32000, 32000, 2}, {32001, 32000, 3}, {320_000, 32_000, 11}} {
		if got := experiment.ContextsToOverflow(tt.cache, tt.input); got != tt.want || (got-1)*tt.input < tt.cache {
			t.Errorf("%+v: %d", tt, got)
		}
	}
}
