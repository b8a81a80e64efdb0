package main

import (
	"fmt"
	"slices"
	"strings"

	"bench/experiment/published"
	"bench/experiment/roofline"
)

// peaks compares maximum throughputs, which no constant was fitted to, with the expected peak.
func peaks(models roofline.Models, hardware roofline.Hardware) string {
	var b strings.Builder
	var off []float64
	inside := 0
	b.WriteString("Maximum throughputs, which no constant was fitted to:\n\nmodel | GPUs | lengths | published output tok/s/GPU | expected peak (range)\n---|---|---|---:|---:\n")
	for _, f := range published.All() {
		if f.Concurrency > 0 || f.Input == 0 {
			continue
		}
		s, err := setupOf(f, models, hardware)
		if err != nil {
			fmt.Fprintf(&b, "%s: %v\n", f.Model, err)
			continue
		}
		s.KVPrecision = "fp8" // as in NVIDIA's quantised checkpoints and in TensorRT-LLM's tables
		p := s.Peak(roofline.Workload{Input: float64(f.Input), Output: float64(f.Output)})
		n := float64(f.GPUs)
		fmt.Fprintf(&b, "%s, %s | %d × %s | %d/%d | %.0f | %.0f (%.0f–%.0f)\n", short(f.Model), f.Precision, f.GPUs, f.GPU, f.Input, f.Output,
			f.OutputPerGPU, p.PerGPU, p.LowPerS/n, p.HighPerS/n)
		off = append(off, factor(p.PerGPU, f.OutputPerGPU))
		if p.LowPerS/n <= f.OutputPerGPU && f.OutputPerGPU <= p.HighPerS/n {
			inside++
		}
	}
	slices.Sort(off)
	fmt.Fprintf(&b, "\n%d figures, median factor %s, %d in range.\n", len(off), median(off), inside)
	return b.String()
}
