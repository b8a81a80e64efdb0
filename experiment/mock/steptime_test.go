package mock

import (
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"bench/experiment/kv"
	"bench/experiment/roofline"
)

func models(t testing.TB) roofline.Models {
	t.Helper()
	text, err := os.ReadFile("../../" + roofline.ModelFile)
	if err != nil {
		t.Fatal(err)
	}
	m, err := roofline.ParseModels(text)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func onH100(t testing.TB, model string) Config {
	return Config{Model: model, Hardware: "h100-sxm", Models: models(t)}
}

// A step of one kind takes what roofline says of it; a mixed one longer than either and shorter than both.
func TestCostOnHardware(t *testing.T) {
	for _, model := range []string{"llama-3.1-8b", "gpt-oss-120b", "gemma-3-27b"} {
		c := onH100(t, model)
		s, err := c.setup()
		if err != nil {
			t.Fatal(err)
		}
		cost := rooflineCost(s)
		near := func(what string, got time.Duration, wantMs float64) {
			t.Helper()
			if ms := float64(got) / 1e6; math.Abs(ms-wantMs) > 1e-3 {
				t.Errorf("%s: %s takes %g ms, want %g", model, what, ms, wantMs)
			}
		}
		decode := cost(&batch{decodes: 32, context: 32 * 2000, tokens: 32})
		near("decoding", decode, s.DecodeMs(32, 2000))
		one := cost(&batch{chunks: []chunk{{1500, 500}}, tokens: 1500})
		near("a chunk", one, s.PrefillMs(2000, 500))
		mixed := cost(&batch{decodes: 32, context: 32 * 2000, chunks: []chunk{{1500, 500}}, tokens: 1532})
		if mixed <= max(decode, one) || mixed >= decode+one {
			t.Errorf("%s: decoding %v, a chunk %v, both %v", model, decode, one, mixed)
		}
		if two := cost(&batch{chunks: []chunk{{750, 0}, {750, 0}}, tokens: 1500}); two > cost(&batch{chunks: []chunk{{1500, 0}}, tokens: 1500}) {
			t.Errorf("%s: two chunks take longer than one of as many tokens: %v", model, two)
		}
	}
}

// The server has the memory, the context and the limits of its hardware, and answers in the time of the
// arithmetic.
func TestOnHardware(t *testing.T) {
	b := newBench(t, onH100(t, "llama-3.1-8b"))
	s, _ := b.cfg.setup()
	if c := b.cfg; c.KVBlocks != s.CapacityTokens()/kv.BlockTokens || c.MaxNumSeqs != 256 || c.MaxNumBatchedTokens != 8192 || c.MaxModelLen != 131072 || c.KVBytesPerToken != 131072 || c.GPUs != 1 {
		t.Errorf("%+v", c)
	}
	q := b.add(fresh(1, 2048), 2, 0)
	b.settle()
	first, second := q.emitted[0].Seconds()*1e3, (q.emitted[1]-q.emitted[0]).Seconds()*1e3
	if math.Abs(first-s.PrefillMs(2048, 0)-s.FrontEndMs()) > 1e-3 || math.Abs(second-s.DecodeMs(1, 2048)) > 1e-3 {
		t.Errorf("first token after %g ms, the next after %g; by arithmetic %g and %g", first, second, s.PrefillMs(2048, 0)+s.FrontEndMs(), s.DecodeMs(1, 2048))
	}
	if d := b.Describe(); !strings.Contains(d, "on 1 × h100-sxm") {
		t.Error(d)
	}
}

// A table of one's own has its devices and its efficiencies in the steps.
func TestOwnHardware(t *testing.T) {
	c := onH100(t, "llama-3.1-8b")
	step := func() time.Duration {
		b := newBench(t, c)
		q := b.add(fresh(1, 100), 2, 0)
		b.settle()
		return q.emitted[1] - q.emitted[0]
	}
	usual := step()
	c.Devices = roofline.BuiltinHardware()
	c.Devices.Efficiency.StepMs += 10
	if d := step() - usual; d.Round(time.Microsecond) != 10*time.Millisecond {
		t.Errorf("10 ms more of overhead made a step longer by %v", d)
	}
	c.Devices.Devices = c.Devices.Devices[:1]
	if _, err := New(c); err == nil {
		t.Error("a device that is in no table was found")
	}
}

func TestCheckHardware(t *testing.T) {
	good := onH100(t, "llama-3.1-8b")
	with := func(change func(*Config)) Config {
		c := good
		change(&c)
		return c
	}
	for _, test := range []struct {
		c    Config
		keys string
	}{
		{good, ""},
		{with(func(c *Config) { c.GPUs, c.Precision, c.KVPrecision = 2, "fp8", "fp8" }), ""},
		{with(func(c *Config) { c.Model = "llama-3.1-9b" }), "model"},
		{with(func(c *Config) { c.Model = "" }), "model"},
		{with(func(c *Config) { c.Hardware = "h1000" }), "hardware"},
		{with(func(c *Config) { c.Precision = "fp7" }), "precision"},
		{with(func(c *Config) { c.Model = "llama-3.1-405b" }), "hardware"},
		{with(func(c *Config) { c.Engine = "sglang" }), ""},
		{with(func(c *Config) { c.Engine = "vlm" }), "engine"},
		{with(func(c *Config) { c.TTFT = 1 }), "hardware"},
		{with(func(c *Config) { c.StepBase = 1 }), "hardware"},
		{with(func(c *Config) { c.KVBlocks = 10 }), ""}, // the context is then what they hold
		{with(func(c *Config) { c.KVBlocks, c.MaxModelLen = 10, 1000 }), "kv_blocks"},
		{Config{GPUs: 2, Precision: "fp8", KVPrecision: "fp8", Engine: "vllm"}, "gpus precision kv_precision engine"},
		{Config{KVOffloadingGB: -1, KVOffloadingGBs: 50}, "kv_offloading_gb"},
		{Config{KVOffloadingGB: 1e-6}, "kv_offloading_gb"},
		{Config{Drift: "5"}, "drift"},
	} {
		var keys []string
		test.c.Check(func(key, problem, hint string) {
			keys = append(keys, key)
			if problem == "" || hint == "" {
				t.Errorf("%s: %q, %q", key, problem, hint)
			}
		})
		if got := strings.Join(keys, " "); got != test.keys {
			t.Errorf("%+v: mistakes in %q, want %q", test.c, got, test.keys)
		}
		if _, err := New(test.c); (err == nil) != (test.keys == "") {
			t.Errorf("New: %v", err)
		}
	}
}
