package sweep

import (
	"math"
	"os"
	"runtime"

	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/host"
	"github.com/shirou/gopsutil/v4/mem"

	"bench/experiment/record"
)

// Client describes this machine. What the system does not report stays empty.
func Client(version, commit string) record.ClientInfo {
	c := record.ClientInfo{
		Version: version, Commit: commit, Go: runtime.Version(), OS: runtime.GOOS + "/" + runtime.GOARCH,
		Cores: runtime.NumCPU(), MaxProcs: runtime.GOMAXPROCS(0),
	}
	c.Host, _ = os.Hostname()
	if kernel, err := host.KernelVersion(); err == nil {
		c.Kernel = kernel
	}
	if info, err := cpu.Info(); err == nil && len(info) > 0 {
		c.CPU = info[0].ModelName
	}
	if m, err := mem.VirtualMemory(); err == nil {
		c.MemoryGiB = math.Round(float64(m.Total)/(1<<30)*10) / 10
	}
	return c
}
