package selftest

import (
	"bytes"
	"flag"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
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
	const golden = "testdata/text.txt"
	var got bytes.Buffer
	if err := Text(&got, shown()); err != nil {
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
	for _, line := range strings.Split(got.String(), "\n") {
		if n := utf8.RuneCountInString(line); n > 100 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

func TestConclusionOfNothing(t *testing.T) {
	want := "not calibrated: no step is accurate (p99 error below 1 ms)\n  first step above the limit: streams burst 1, rates none\n" +
		"no step is sent on time (p99 lag below 1 ms)\n  first step above the limit: separate arrivals none, at once burst 1\n"
	r := &Result{LimitUs: LimitUs, Steps: []Measured{made(Burst, 1, Load{1, 96, 1}, bad, good, bad)}}
	r.Calibration = Calibrate(r.Steps)
	if diff := cmp.Diff(want, r.Conclusion()); diff != "" {
		t.Error(diff)
	}
}

func TestNumbers(t *testing.T) {
	for us, want := range map[float64]string{
		0: "0.0", 9.94: "9.9", -9.94: "-9.9", 9.96: "10", 999.6: "1,000", 9999: "9,999", -9999: "-9,999", 9999.6: "10.0k", 99_940: "99.9k", 99_960: "100k", 1_234_567: "1235k",
	} {
		if got := micros(us); got != want {
			t.Errorf("%v µs: %s, want %s", us, got, want)
		}
	}
	for x, want := range map[float64]string{0: "0", 12: "12", 123: "123", 1234: "1,234", 1e6: "1,000,000", -1234: "-1,234", -0.4: "0"} {
		if got := grouped(x); got != want {
			t.Errorf("%v: %s, want %s", x, got, want)
		}
	}
}
