package roofline

import (
	"math"
	"testing"
)

// A step of one kind takes what Decode or Prefill expect. A mixed step reads the weights once: it takes at least as
// long as either part, and at most both without the second reading of the weights and without a second overhead.
func TestStepMs(t *testing.T) {
	for _, name := range []string{"llama-3.1-8b", "gpt-oss-120b", "gemma-3-27b", "deepseek-r1"} {
		for _, gpus := range []int{1, 8} {
			s := Setup{Model: model(t, name), Device: device(t, "h100-sxm"), GPUs: gpus}
			near := func(what string, got, want float64) {
				t.Helper()
				if math.Abs(got-want) > 1e-9*want {
					t.Errorf("%s on %d: %s takes %g ms, want %g", name, gpus, what, got, want)
				}
			}
			near("decoding", s.StepMs(nil, 32, 2000), s.DecodeMs(32, 2000))
			near("a prompt", s.StepMs([]Chunk{{2000, 0}}, 0, 0), s.PrefillMs(2000, 0))
			near("a chunk", s.StepMs([]Chunk{{1500, 500}}, 0, 0), s.PrefillMs(2000, 500))
			decode, prompt := s.DecodeMs(32, 2000), s.PrefillMs(2000, 500)
			mixed := s.StepMs([]Chunk{{1500, 500}}, 32, 2000)
			if mixed < max(decode, prompt) || mixed >= decode+prompt {
				t.Errorf("%s on %d: decoding %g ms, a chunk %g, both %g", name, gpus, decode, prompt, mixed)
			}
			short := []Chunk{{256, 0}, {256, 0}, {256, 0}, {256, 0}}
			if four, one := s.StepMs(short, 0, 0), s.StepMs([]Chunk{{1024, 0}}, 0, 0); four > 1.01*one {
				t.Errorf("%s on %d: four prompts take %g ms, one of as many tokens %g", name, gpus, four, one)
			}
		}
	}
}

func TestStepMsDoesNotAllocate(t *testing.T) {
	s := Setup{Model: model(t, "llama-3.1-8b"), Device: device(t, "h100-sxm")}
	chunks := []Chunk{{1500, 500}, {300, 0}}
	if n := testing.AllocsPerRun(100, func() { s.StepMs(chunks, 32, 2000) }); n > 0 {
		t.Errorf("%g allocations", n)
	}
}
