package experiment

import (
	"os"
	"strings"
	"testing"
	"time"

	"bench/experiment/roofline"
	"bench/experiment/workload"
)

// builtin is the table of models that comes with the program.
func builtin(t *testing.T) roofline.Models {
	t.Helper()
	text, err := os.ReadFile("../model_configs.json")
	if err != nil {
		t.Fatal(err)
	}
	models, err := roofline.ParseModels(text)
	if err != nil {
		t.Fatal(err)
	}
	return models
}

// tiled is a tiling row without anything stated.
func tiled(t workload.Tile) Spec {
	s := Spec{Name: "tile", Repeat: 1, Workload: workload.Workload{Generator: workload.Tiling, Tile: &t}, Load: workload.Load{Requests: 1}}
	s.ApplyPresets(func(key, problem, hint string) { panic(key + ": " + problem) })
	return s
}

// The sizes of 100 GiB that are published for tmesh-cli benchmark, and those that follow from its formula:
// GiB, not GB, and rounded down. Its 96,256 bytes a token for Qwen3-235B are those of a cache of one byte an
// element.
func TestSizing(t *testing.T) {
	models := builtin(t)
	for _, tt := range []struct {
		model              string
		tile               workload.Tile
		bytes              float64
		contexts, inFlight int
	}{
		{"openai/gpt-oss-20b", workload.Tile{}, 49_152, 61, 20},
		{"openai/gpt-oss-120b", workload.Tile{}, 73_728, 40, 13},
		{"Qwen/Qwen3-30B-A3B-Instruct-2507", workload.Tile{}, 98_304, 30, 10},
		{"Qwen/Qwen3-Coder-480B-A35B-Instruct-FP8", workload.Tile{}, 253_952, 11, 3},
		{"Qwen/Qwen3-235B-A22B-Instruct-2507-FP8", workload.Tile{KVPrecision: "fp8"}, 96_256, 31, 10},
		{"Qwen/Qwen3-235B-A22B-Instruct-2507-FP8", workload.Tile{}, 192_512, 15, 5},
		{"Qwen/Qwen3-Coder-480B-A35B-Instruct-FP8", workload.Tile{OffloadGiB: 800}, 253_952, 95, 31},
		{"Qwen/Qwen3-235B-A22B-Instruct-2507-FP8", workload.Tile{OffloadGiB: 800, KVPrecision: "fp8"}, 96_256, 250, 83},
		{"a model of nobody", workload.Tile{BytesPerToken: 1 << 20}, 1 << 20, 2, 1},
		{"openai/gpt-oss-20b", workload.Tile{OffloadGiB: 1}, 0, 0, 0},
	} {
		s := tiled(tt.tile)
		stated := s.Tile.Contexts > 0 // by the bytes
		z, err := s.SizeTiling(Machine{Models: models, Model: tt.model})
		if tt.contexts == 0 {
			if err == nil || !strings.Contains(err.Error(), "no context fits: 0.9 × 1 GiB to fill, but a context of 32000 tokens at 49152 bytes takes 1.465 GiB\nhint: a larger tier") {
				t.Errorf("%s: %v", tt.model, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if !stated && z.BytesPerToken != tt.bytes {
			t.Errorf("%s: %v bytes a token, want %v", tt.model, z.BytesPerToken, tt.bytes)
		}
		if s.Tile.Contexts != tt.contexts || s.Concurrency != tt.inFlight || s.Warmup.Requests != tt.contexts {
			t.Errorf("%s %+v: %d contexts, %d in flight, warm-up of %d, want %d and %d", tt.model, tt.tile, s.Tile.Contexts, s.Concurrency, s.Warmup.Requests, tt.contexts, tt.inFlight)
		}
	}
}

func TestSizingRefuses(t *testing.T) {
	models := builtin(t)
	for _, tt := range []struct {
		tile  workload.Tile
		model string
		want  string
	}{
		{workload.Tile{}, "", "the model is unknown"},
		{workload.Tile{}, "gpt-oss-21b", "similar: openai/gpt-oss-20b"},
	} {
		s := tiled(tt.tile)
		if _, err := s.SizeTiling(Machine{Models: models, Model: tt.model}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v, want %q", tt.tile, err, tt.want)
		}
	}
}

// What is stated is not sized: contexts, slots, warm-up; rounds are requests of the window.
func TestSizingLeavesWhatIsStated(t *testing.T) {
	s := tiled(workload.Tile{Contexts: 7, Rounds: 3})
	if s.Tile.Contexts != 7 || s.Concurrency != 2 || s.Requests != 21 || s.Warmup.Requests != 7 {
		t.Errorf("%+v", s)
	}
	own := Spec{Name: "tile", Workload: workload.Workload{Generator: workload.Tiling, Tile: &workload.Tile{Contexts: 7}, Rate: 4},
		Load: workload.Load{Requests: 5, Concurrency: 9, Warmup: workload.Extent{Requests: 1}}}
	own.ApplyPresets(func(key, problem, hint string) { t.Error(key, problem, hint) })
	if own.Concurrency != 9 || own.Requests != 5 || own.Warmup.Requests != 1 {
		t.Errorf("%+v", own)
	}
	open := own
	open.Concurrency = 0
	if _, err := open.SizeTiling(Machine{}); err != nil || open.Concurrency != 0 {
		t.Errorf("%v, %+v", err, open)
	}
}

// The warm-up that nobody stated is the first rotation, whole, and goes on for a minute at the most.
func TestTileWarmup(t *testing.T) {
	second := workload.Span(time.Second)
	for name, tt := range map[string]struct {
		load  workload.Load
		until string
		want  workload.Extent
	}{
		"endless":            {workload.Load{}, untilInterrupted, workload.Extent{Requests: 7, Time: 60 * second}},
		"five minutes":       {workload.Load{Duration: 300 * second}, "", workload.Extent{Requests: 7, Time: 30 * second}},
		"an hour":            {workload.Load{Duration: 3600 * second}, "", workload.Extent{Requests: 7, Time: 60 * second}},
		"a trial":            {workload.Load{Duration: 10 * second}, "", workload.Extent{Requests: 7, Time: second}},
		"requests":           {workload.Load{Requests: 21}, "", workload.Extent{Requests: 7}},
		"stated as requests": {workload.Load{Duration: 300 * second, Warmup: workload.Extent{Requests: 1}}, "", workload.Extent{Requests: 1}},
		"stated as a time":   {workload.Load{Warmup: workload.Extent{Time: second}}, untilInterrupted, workload.Extent{Time: second}},
	} {
		s := Spec{Name: "tile", Until: tt.until, Load: tt.load, Workload: workload.Workload{Generator: workload.Tiling, Tile: &workload.Tile{Contexts: 7}}}
		s.ApplyPresets(func(key, problem, hint string) { t.Error(key, problem, hint) })
		if s.Warmup != tt.want {
			t.Errorf("%s: %+v, want %+v", name, s.Warmup, tt.want)
		}
	}
}

// Rows that may have very many requests leave them on disk while they run, however their end is stated.
func TestSpools(t *testing.T) {
	for _, tt := range []struct {
		spec Spec
		want bool
	}{
		{Spec{Until: untilInterrupted}, true},
		{Spec{Load: workload.Load{Duration: workload.Span(time.Hour)}}, true},
		{Spec{Load: workload.Load{Requests: 2_000_000}}, true},
		{Spec{Load: workload.Load{Duration: workload.Span(5 * time.Minute)}, Workload: workload.Workload{Rate: 1000}}, true},
		{Spec{Load: workload.Load{Duration: workload.Span(5 * time.Minute)}, Workload: workload.Workload{Rate: 10}}, false},
		{Spec{Load: workload.Load{Requests: 1000}}, false},
		{Spec{Load: workload.Load{Duration: workload.Span(time.Minute), Concurrency: 32}}, true},
		{Spec{Load: workload.Load{Duration: workload.Span(time.Minute), Concurrency: 8}}, false},
	} {
		if tt.spec.SpoolsRecords() != tt.want {
			t.Errorf("%+v: %v", tt.spec, !tt.want)
		}
	}
}
