package main

import (
	"math"
	"testing"

	root "bench"
	"bench/experiment/roofline"
)

// r1 is DeepSeek-R1 on 8 × H200.
func r1(t *testing.T) roofline.Setup {
	t.Helper()
	models, err := roofline.ParseModels(root.ModelConfigs)
	if err != nil {
		t.Fatal(err)
	}
	s := roofline.Setup{GPUs: 8}
	s.Model, err = models.Find("deepseek-r1")
	if err != nil {
		t.Fatal(err)
	}
	s.Device, err = roofline.BuiltinHardware().Find("h200-sxm")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func withPublished(s roofline.Setup, w roofline.Workload) roofline.Prediction {
	p := s.Predict(w)
	addPublished(&p, s, w)
	return p
}

// TestPublishedAtMeanLengths: beside a figure stands what is expected of requests of its mean lengths, 0.9 of those
// that InferenceX states.
func TestPublishedAtMeanLengths(t *testing.T) {
	s := r1(t)
	p := withPublished(s, roofline.Workload{Input: 1024, Output: 1024, Batches: []int{16}})
	if len(p.Published) != 3 {
		t.Fatalf("%d figures", len(p.Published))
	}
	f := p.Published[0]
	s.Engine = f.Engine
	want := s.AtConcurrency(16, roofline.Workload{Input: 0.9 * 1024, Output: 0.9 * 1024})
	if got := *f.TPOTRatio * f.TPOTMs; math.Abs(got-want.TPOT.ExpectedMs) > 1e-9 {
		t.Errorf("TPOT is %g, want %g", got, want.TPOT.ExpectedMs)
	}
	if got := *f.TTFTRatio * f.TTFTMs; got < want.TTFT.ExpectedMs { // to which its recipe adds
		t.Errorf("TTFT is %g, below %g", got, want.TTFT.ExpectedMs)
	}
}

// TestPublishedLayout: what is expected of a published run does not depend on the user's layout or limits.
func TestPublishedLayout(t *testing.T) {
	work := roofline.Workload{Input: 1024, Output: 1024, Batches: []int{16}}
	want := withPublished(r1(t), work).Published
	for name, layout := range map[string]roofline.Layout{"attention": {AttentionDP: true}, "experts": {ExpertParallel: true}} {
		s := r1(t)
		s.Layout = layout
		limited := work
		limited.MaxSeqs = 8
		got := withPublished(s, limited).Published
		for i := range want {
			if *got[i].TPOTRatio != *want[i].TPOTRatio || *got[i].TTFTRatio != *want[i].TTFTRatio {
				t.Errorf("%s: %s has ratios %g and %g, want %g and %g", name, want[i].By(), *got[i].TTFTRatio, *got[i].TPOTRatio, *want[i].TTFTRatio, *want[i].TPOTRatio)
			}
		}
	}
}
