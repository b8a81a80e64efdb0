package selftest

import (
	"bytes"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bench/experiment/text"
)

var update = flag.Bool("update", false, "write testdata anew")

// shown is a result with every kind of figure, the widest that come.
func shown() *Result {
	r := &Result{
		Machine: Machine{CPU: "Some CPU @ 2.80GHz", Cores: 2, OS: "linux/amd64", Kernel: "6.1", MaxProcs: 2, Bench: "1.2.3 (abc)"},
		TTFTMs:  50, ITLMs: 10, LimitUs: LimitUs, Steps: ladder(),
	}
	for i := range r.Steps {
		m := &r.Steps[i]
		m.First.P50Us, m.First.MinUs, m.First.MaxUs = 2.14, -3.5, 12_345
		m.Gap.P50Us, m.Gap.MinUs, m.Gap.MaxUs = 1.9, -56_789, 1_234_567
		m.Lag.MaxUs = 8125
		m.Arrival, m.ServerLate, m.TruthWidth = &Delay{2, 110, 92_000, 1e6}, &Delay{2, 30, 412, 900}, &Delay{2, 8, 44, 120}
		m.KernelStamps = 20_000
		m.ReadLagMeanUs, m.ReadLagMaxUs, m.CPUUsPerEvent, m.CPUCores = new(123.4), new(99_960.0), new(6.66), new(0.625)
		m.ServerCores, m.OtherCores = new(1.1), new(0.05*float64(i))
	}
	r.Steps[2].Tries = 2
	r.Steps = append(r.Steps, Measured{Step: Step{Kind: Spread, Size: 12_000}, Tries: 1, Problem: "too many open files", Why: "too many open files"})
	r.Calibration = Calibrate(r.Steps)
	return r
}

func TestText(t *testing.T) {
	const golden, width = "testdata/text.txt", 80
	var got bytes.Buffer
	if err := Text(&got, shown(), width); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got.String(), "\n")); diff != "" {
		t.Error(diff)
	}
	lines := strings.Split(got.String(), "\n")
	for _, line := range lines {
		if n := text.Width(line); n > width {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if len(lines) > 20 {
		t.Errorf("%d lines", len(lines))
	}
}

func TestConclusionOfNothing(t *testing.T) {
	want := "not calibrated: no step is accurate\n  limited by burst 1: first token p99 5.00 ms (limit 1.00 ms)\n" +
		"sent on time: in no step\n  limited by burst 1: lag p99 5.00 ms (limit 1.00 ms)\n"
	r := &Result{LimitUs: LimitUs, Steps: []Measured{made(Burst, 1, Load{1, 96, 1}, bad, good, bad)}}
	r.Calibration = Calibrate(r.Steps)
	if diff := cmp.Diff(want, r.conclusion()); diff != "" {
		t.Error(diff)
	}
}
