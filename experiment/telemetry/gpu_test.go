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

// TestEnergyOfARow: whose energy is the row's, by the number of its GPUs.
func TestEnergyOfARow(t *testing.T) {
	gpu := func(name string, joules, busy float64) GPUDevice {
		return GPUDevice{GPU: name, EnergyJ: &joules, Busy: &Gauge{Mean: busy, Max: busy}}
	}
	none := GPUDevice{GPU: "9"} // without power
	for name, c := range map[string]struct {
		devices []GPUDevice
		gpus    int
		joules  float64
		why     string
	}{
		"not collected":         {[]GPUDevice{none}, 1, 0, ""},
		"zero is not collected": {[]GPUDevice{gpu("0", 0, 1)}, 1, 0, ""},
		"two":                   {[]GPUDevice{gpu("0", 300, 1), gpu("1", 200, 1), none}, 2, 500, ""},
		"one, not specified":    {[]GPUDevice{gpu("0", 300, 1)}, 0, 300, ""},
		"two, not specified":    {[]GPUDevice{gpu("0", 300, 1), gpu("1", 200, 1)}, 0, 0, "2 GPUs were active, and gpus is not specified"},
		"idle, not specified":   {[]GPUDevice{gpu("0", 60, 0)}, 0, 0, ""}, // the server runs on the CPU
		"fewer":                 {[]GPUDevice{gpu("0", 300, 1)}, 4, 0, "the power of 1 of 4 GPUs was read"},
		"one of two active":     {[]GPUDevice{gpu("0", 300, 1), gpu("1", 60, 0)}, 1, 300, ""},
		"both active":           {[]GPUDevice{gpu("0", 300, 1), gpu("1", 60, 0.1)}, 1, 0, "2 GPUs were active, and the row has 1"},
		"MIG":                   {[]GPUDevice{gpu("0:1", 300, 1)}, 1, 0, "a MIG instance has the power of its whole GPU"},
	} {
		joules, of, why := (&GPUUsage{Devices: c.devices}).Energy(c.gpus)
		if joules != c.joules || why != c.why || joules > 0 && of == 0 {
			t.Errorf("%s: %g J of %d, %q", name, joules, of, why)
		}
	}
}
