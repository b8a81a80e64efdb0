package experiment

import (
	"testing"

	"bench/experiment/mock"
	"bench/experiment/openai"
	"bench/experiment/telemetry"
	"bench/experiment/workload"
)

// What a plan says of its hits is what the simulated server finds, request by request: with room for all, and in a pool that is too
// small for its prefixes, which is freed as vLLM frees it.
func TestHitsOfThePlanAreTheServers(t *testing.T) {
	const small = 40 // blocks; a request takes nine, the prefixes 24
	for _, c := range []struct {
		name   string
		blocks int
		state  string
	}{{"roomy", 0, workload.Shared}, {"roomy and warm", 0, workload.Warm}, {"too small", small, workload.Shared}, {"too small and warm", small, workload.Warm}} {
		t.Run(c.name, func(t *testing.T) {
			s := mocked(t, mock.Config{KVBlocks: c.blocks, MaxModelLen: 512}, Target{}, openai.Completions)
			spec := point()
			spec.Input, spec.Concurrency, spec.Requests = workload.Fixed(128), 1, 80
			spec.Prefix = &workload.Prefix{Tokens: 64, Groups: 6, Zipf: 0.7, State: c.state}
			row, records := measure(t, s, spec)
			pool, err := workload.NewPool(workload.TailFirst, c.blocks, workload.BlockTokens)
			if err != nil {
				t.Fatal(err)
			}
			want := map[int]int{}
			for r, hit := range workload.NewPlan(spec.Workload, spec.planSeed(), "").Serve(pool, 1, 0) {
				if want[r.Index] = hit; len(want) == 90 {
					break
				}
			}
			hits, possible := 0, 0
			for _, r := range records {
				if r.CachedTokens == nil || r.Phase == PhaseCooldown {
					continue
				}
				if *r.CachedTokens != want[r.I] {
					t.Errorf("request %d: the server found %d tokens, the plan says %d", r.I, *r.CachedTokens, want[r.I])
				}
				if r.Phase == PhaseWindow {
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
			e := evidence{Row: row, records: records}
			if in := e.reuse().InCapacity; in == nil || *in != hits {
				t.Errorf("%v tokens are said to be possible in %g, %d were found", in, told, hits)
			}
			if roomy := c.blocks == 0; roomy != (hits == possible) || hits == 0 || hits > possible {
				t.Errorf("%d tokens found of %d that are possible", hits, possible)
			}
		})
	}
}

func TestNoReuse(t *testing.T) {
	e := flawless()
	for _, r := range e.records {
		r.CachedTokens = new(0)
	}
	if e.reuse() != nil {
		t.Error("a row without prefixes has a reuse")
	}
}
