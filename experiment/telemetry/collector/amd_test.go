package collector

import (
	"bench/experiment/telemetry"
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The files in testdata/amd are written after AMD's documentation, not recorded from a GPU.
func amdFile(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "amd", name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// mi300x and mi250x are the GPUs of the files, as amd-smi reports them.
var (
	mi300x = telemetry.GPUReading{GPU: "0", Busy: new(0.97), PowerW: new(612.0), EnergyJ: new(6521823.77), SMClock: new(2050.0), MemoryClock: new(1300.0),
		UsedMiB: new(180219.0), TotalMiB: new(196592.0), Temperature: new(71.0), Throttled: []string{"hw_thermal", "sw_power_cap"}}
	mi250x = telemetry.GPUReading{GPU: "1", PowerW: new(90.0), TotalMiB: new(65536.0), Temperature: new(35.0), Unthrottled: true}
)

func TestAMDMetric(t *testing.T) {
	r9700 := telemetry.GPUReading{GPU: "0", Busy: new(1.0), PowerW: new(103.0), EnergyJ: new(1.5), UsedMiB: new(29777.0), TotalMiB: new(32624.0), Temperature: new(79.0)}
	for name, want := range map[string][]telemetry.GPUReading{"metric-6.2.json": {mi300x, mi250x}, "metric-7.2.json": {r9700}} {
		got, err := parseAMDGPUs(amdFile(t, name))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
	for _, text := range []string{"", "no GPU", "[]", "{}", `{"gpu_data": "N/A"}`, `[{"gpu": "all"}]`} {
		if got, err := parseAMDGPUs([]byte(text)); err == nil {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

func TestAMDProcesses(t *testing.T) {
	got, err := parseAMDProcesses(amdFile(t, "process.json"))
	want := []telemetry.GPUProcess{{GPU: "0", PID: 213952, Name: "/usr/bin/python3.12", UsedMiB: new(20000.0)}, {GPU: "0", PID: 12, Name: "N/A"}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	if none, err := parseAMDProcesses([]byte(`[{"gpu": 1, "process_list": [{"process_info": "No running processes detected"}]}]`)); err != nil || none == nil || len(none) > 0 {
		t.Errorf("no processes: %+v, %v", none, err)
	}
}

func TestAMDExporter(t *testing.T) {
	base := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(amdFile(t, "exporter.prom")) })
	p := newPoller(telemetry.SourceGPU, base+"/metrics", nil)
	defer p.close()
	first, second := mi300x, telemetry.GPUReading{GPU: "1", UUID: "b-1", Name: "0x740c", Busy: new(0.03), PowerW: new(90.0), SMClock: new(1700.0), Temperature: new(35.0), Unthrottled: true}
	first.UUID, first.Name = "a-0", "AMD Instinct MI300X"
	s := p.sample(t.Context())
	if diff := cmp.Diff([]telemetry.GPUReading{first, second}, s.GPUs); diff != "" || s.Error != "" {
		t.Errorf("%s %s", s.Error, diff)
	}
}

// fakeAMDSMI puts an amd-smi into the path that prints the files.
func fakeAMDSMI(t *testing.T) {
	t.Helper()
	files, err := filepath.Abs(filepath.Join("testdata", "amd"))
	if err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf(`#!/bin/sh
case "$*" in
"metric --json") cat %[1]q/metric-6.2.json;;
"process --json") cat %[1]q/process.json;;
"static --asic --json") cat %[1]q/static.json;;
*) echo "AmdSmiInvalidCommandException: $*" >&2; exit 1;;
esac
`, files)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "amd-smi"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

func TestAMDSMI(t *testing.T) {
	fakeAMDSMI(t)
	s := opened(t, telemetry.Config{Server: telemetry.Pages{Source: telemetry.Off}, GPU: telemetry.AMDSMI}, Endpoint{})
	samples := watched(t, s, first(2))
	_, g := s.Observe(samples, 0, samples[len(samples)-1].TUs)
	if g.Source != telemetry.AMDSMI || g.Missing != "" || len(g.Devices) != 2 || g.Devices[0].Name != "AMD Instinct MI300X" || g.Devices[1].Name != "" ||
		len(g.Before) != 2 || len(g.After) != 2 || !g.Devices[0].Known {
		t.Errorf("%+v", g)
	}
}

func TestAMDInterval(t *testing.T) {
	for took, want := range map[time.Duration]time.Duration{0: time.Second, 50 * time.Millisecond: time.Second, 500 * time.Millisecond: 5 * time.Second, time.Minute: 10 * time.Second} {
		if got := nextAMDInterval(took); got != want {
			t.Errorf("after %s: %s, want %s", took, got, want)
		}
	}
}

// TestAutoAMD: on a machine without NVIDIA's tools amd-smi is found.
func TestAutoAMD(t *testing.T) {
	for _, port := range []string{"9400", "5000"} {
		if conn, err := net.Dial("tcp", "127.0.0.1:"+port); err == nil {
			conn.Close()
			t.Skip("this machine has a service at an exporter's port")
		}
	}
	fakeSMI(t, "echo no device; exit 9")
	s := opened(t, telemetry.Config{Server: telemetry.Pages{Source: telemetry.Off}}, Endpoint{Local: true})
	if s.gpu.Name != telemetry.NvidiaSMI || !strings.Contains(s.gpu.Missing, "no device") || !strings.Contains(s.gpu.Missing, "; amd-smi not found") {
		t.Errorf("neither: %+v", s.gpu)
	}
	fakeAMDSMI(t)
	if s := opened(t, telemetry.Config{Server: telemetry.Pages{Source: telemetry.Off}}, Endpoint{Local: true}); s.gpu.Name != telemetry.AMDSMI || s.gpu.Missing != "" {
		t.Errorf("%+v", s.gpu)
	}
}

func FuzzAMD(f *testing.F) {
	for _, name := range []string{"metric-6.2.json", "metric-7.2.json", "process.json", "static.json", "exporter.prom"} {
		f.Add(amdFile(f, name))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if gpus, err := parseAMDGPUs(text); err == nil && len(gpus) == 0 {
			t.Error("no GPU, and no error")
		}
		if p, err := parseAMDProcesses(text); err == nil && p == nil {
			t.Error("nil is not reported, no process is empty")
		}
		_, _ = parseAMDNames(text)
		if kept, err := filter(bytes.NewReader(text), exporterNames); err == nil {
			if page, err := parsePage(kept); err == nil {
				_, _ = readExporter(page)
			}
		}
	})
}
