package main

import (
	"io"
	"math"
	"slices"
	"testing"

	"bench/experiment/published"
	"bench/experiment/roofline"
)

// TestRatiosOfRooflines: how far the ratio of two published TPOTs is from the ratio of their rooflines, which package
// report/size takes for the error of hardware that was not measured.
func TestRatiosOfRooflines(t *testing.T) {
	models, devices, err := readTables(io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	type workload struct {
		model, precision, engine   string
		input, output, concurrency int
	}
	type ratio struct {
		gpu  string
		gpus int
		log  float64 // published ÷ expected
	}
	all := map[workload][]ratio{}
	for _, f := range published.All() {
		model, errModel := models.Find(f.Model)
		device, errDevice := devices.Find(f.GPU)
		if f.Concurrency == 0 || f.TPOTMs == 0 || errModel != nil || errDevice != nil {
			continue
		}
		s := roofline.Setup{Model: model, Device: device, GPUs: f.GPUs, Precision: f.Precision, Engine: f.Engine,
			Efficiency: &devices.Efficiency, KVPrecision: f.Recipe().KV,
			Layout: roofline.Layout{ExpertParallel: f.ExpertParallel > 1}}
		_, tpot := s.Published(f)
		w := workload{f.Model, f.Precision, f.Engine, f.Input, f.Output, f.Concurrency}
		all[w] = append(all[w], ratio{f.GPU, f.GPUs, math.Log(f.TPOTMs / tpot.ExpectedMs)})
	}
	var acrossDevices, acrossGPUs []float64
	for _, same := range all {
		for i, a := range same {
			for _, b := range same[:i] {
				apart := math.Abs(a.log - b.log)
				switch {
				case a.gpu != b.gpu && a.gpus == b.gpus:
					acrossDevices = append(acrossDevices, apart)
				case a.gpu == b.gpu && a.gpus != b.gpus:
					acrossGPUs = append(acrossGPUs, apart)
				}
			}
		}
	}
	for _, c := range []struct {
		name  string
		apart []float64
		pairs int
		want  float64 // of 95 in 100
	}{{"devices", acrossDevices, 1006, 0.52}, {"numbers of GPUs", acrossGPUs, 1864, 0.35}} {
		slices.Sort(c.apart)
		if got := c.apart[len(c.apart)*95/100]; len(c.apart) != c.pairs || math.Abs(got-c.want) > 0.01 {
			t.Errorf("%d pairs of %s are %.3f apart (95 of 100), expected %d and %.2f", len(c.apart), c.name, got, c.pairs,
				c.want)
		}
	}
}
