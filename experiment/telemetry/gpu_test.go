package telemetry

import (
	"fmt"
	"testing"
)

func TestGPUsOverAWindow(t *testing.T) {
	reading := func(us int64, energy, power float64, why ...string) Sample {
		return Sample{Source: SourceGPU, TUs: us, GPUs: []GPUReading{
			{GPU: "0", UUID: "GPU-a", PowerW: &power, EnergyJ: &energy, Throttled: why, Unthrottled: len(why) == 0},
			{GPU: "1", PowerW: &power},
		}}
	}
	first, last := reading(-1_000_000, 0, 100), reading(5_000_000, 6000, 100)
	first.Processes = []GPUProcess{{"GPU-a", 7, "vllm", nil}}
	last.Processes = []GPUProcess{{"GPU-a", 7, "vllm", nil}, {"GPU-a", 9, "train", nil}}
	g := SummarizeGPUs(Source{Name: NvidiaSMI}, []Sample{first, reading(1_000_000, 1000, 300, "hw_thermal"), reading(3_000_000, 3000, 300), last}, 0, 4_000_000)
	if g.Samples != 2 || len(g.Devices) != 2 || g.Missing != "" {
		t.Fatalf("%+v", g)
	}
	d := g.Devices[0]
	if *d.EnergyJ != 4000 || d.PowerW.Mean != 275 || !d.Known || d.Throttled["hw_thermal"] != 0.5 || g.Devices[1].Known {
		t.Errorf("%+v: %g J, %+v", d, *d.EnergyJ, d.PowerW)
	}
	if j := *g.Devices[1].EnergyJ; j != 275*4 { // from its power
		t.Errorf("%g J", j)
	}
	if came, gone := g.Changed(); fmt.Sprint(came, gone) != "[train (9)] []" {
		t.Errorf("came %v, gone %v", came, gone)
	}
}
