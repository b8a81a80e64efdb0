package collect

import (
	"bench/experiment/telemetry"
	"bytes"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The file in testdata/amd is written after AMD's documentation, not recorded from a GPU.
func amdFile(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "amd", name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestAMDExporter(t *testing.T) {
	base := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(amdFile(t, "exporter.prom")) })
	p := newPoller(telemetry.SourceGPU, base+"/metrics", nil)
	defer p.close()
	first := telemetry.GPUReading{GPU: "0", UUID: "a-0", Name: "AMD Instinct MI300X", Busy: new(0.97),
		PowerW: new(612.0), EnergyJ: new(6521823.77), SMClock: new(2050.0), MemoryClock: new(1300.0),
		UsedMiB: new(180219.0), TotalMiB: new(196592.0), Temperature: new(71.0),
		Throttled: []string{"hw_thermal", "sw_power_cap"}}
	second := telemetry.GPUReading{GPU: "1", UUID: "b-1", Name: "0x740c", Busy: new(0.03), PowerW: new(90.0),
		SMClock: new(1700.0), Temperature: new(35.0), Unthrottled: true}
	s := p.sample(t.Context())
	if diff := cmp.Diff([]telemetry.GPUReading{first, second}, s.GPUs); diff != "" || s.Error != "" {
		t.Errorf("%s %s", s.Error, diff)
	}
}

// TestAutoAMD: without NVIDIA's tools and without an exporter, both are named.
func TestAutoAMD(t *testing.T) {
	for _, port := range []string{"9400", "5000"} {
		if conn, err := net.Dial("tcp", "127.0.0.1:"+port); err == nil {
			conn.Close()
			t.Skip("this machine has a service at an exporter's port")
		}
	}
	fakeSMI(t, "echo no device; exit 9")
	s := opened(t, telemetry.Config{Server: telemetry.Pages{Source: telemetry.Off}}, Endpoint{Local: true})
	if s.gpu.Name != telemetry.NvidiaSMI || !strings.Contains(s.gpu.Missing, "no device") ||
		!strings.Contains(s.gpu.Missing, "; no AMD exporter at http://127.0.0.1:5000/metrics") {
		t.Errorf("neither: %+v", s.gpu)
	}
}

func FuzzAMD(f *testing.F) {
	f.Add(amdFile(f, "exporter.prom"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if kept, err := filter(bytes.NewReader(text), exporterNames); err == nil {
			if page, err := parsePage(kept); err == nil {
				_, _ = readExporter(page)
			}
		}
	})
}
