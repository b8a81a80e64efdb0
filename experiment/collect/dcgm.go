package collect

import (
	"bench/experiment/telemetry"
	"errors"
	"math"
	"slices"
	"strings"
)

// throttles are NVML's reasons (nvmlClocksThrottleReasons) of lower clocks but idleness and the user's settings.
var throttles = []struct {
	bit  uint64
	name string
}{
	{0x04, "sw_power_cap"}, {0x08, "hw_slowdown"}, {0x20, "sw_thermal"}, {0x40, "hw_thermal"}, {0x80, "hw_power_brake"},
}

func setThrottled(r *telemetry.GPUReading, mask uint64) {
	for _, t := range throttles {
		if mask&t.bit != 0 {
			r.Throttled = append(r.Throttled, t.name)
		}
	}
	r.Unthrottled = len(r.Throttled) == 0
}

// gpuMetric is a figure of a GPU with its names in an exporter, the preferred one first, and the factor to our unit.
type gpuMetric struct {
	field func(*telemetry.GPUReading) **float64
	scale float64
	names []string
}

var gpuMetrics = []gpuMetric{
	{func(r *telemetry.GPUReading) **float64 { return &r.Busy }, 0.01, []string{"DCGM_FI_DEV_GPU_UTIL"}},
	{func(r *telemetry.GPUReading) **float64 { return &r.EngineActive }, 1, []string{"DCGM_FI_PROF_GR_ENGINE_ACTIVE"}},
	{func(r *telemetry.GPUReading) **float64 { return &r.SMActive }, 1, []string{"DCGM_FI_PROF_SM_ACTIVE"}},
	{func(r *telemetry.GPUReading) **float64 { return &r.TensorActive }, 1,
		[]string{"DCGM_FI_PROF_PIPE_TENSOR_ACTIVE"}},
	{func(r *telemetry.GPUReading) **float64 { return &r.DRAMActive }, 1, []string{"DCGM_FI_PROF_DRAM_ACTIVE"}},
	{func(r *telemetry.GPUReading) **float64 { return &r.PowerW }, 1, []string{"DCGM_FI_DEV_POWER_USAGE"}},
	{func(r *telemetry.GPUReading) **float64 { return &r.PowerLimitW }, 1, []string{"DCGM_FI_DEV_POWER_MGMT_LIMIT"}},
	{func(r *telemetry.GPUReading) **float64 { return &r.EnergyJ }, 1e-3,
		[]string{"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION"}},
	{func(r *telemetry.GPUReading) **float64 { return &r.SMClock }, 1, []string{"DCGM_FI_DEV_SM_CLOCK"}},
	{func(r *telemetry.GPUReading) **float64 { return &r.MemoryClock }, 1, []string{"DCGM_FI_DEV_MEM_CLOCK"}},
	{func(r *telemetry.GPUReading) **float64 { return &r.UsedMiB }, 1, []string{"DCGM_FI_DEV_FB_USED"}},
	{func(r *telemetry.GPUReading) **float64 { return &r.TotalMiB }, 1, []string{"DCGM_FI_DEV_FB_TOTAL"}},
	{func(r *telemetry.GPUReading) **float64 { return &r.Temperature }, 1, []string{"DCGM_FI_DEV_GPU_TEMP"}},
}

// throttleMasks are the names of the throttle reasons, the newer one first.
var throttleMasks = []string{"DCGM_FI_DEV_CLOCKS_EVENT_REASONS", "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS"}

var gpuNames = namesOf(gpuMetrics, append(throttleMasks, "DCGM_FI_DEV_FB_FREE")...)

func namesOf(metrics []gpuMetric, more ...string) map[string]bool {
	out := map[string]bool{}
	for _, m := range metrics {
		for _, n := range append(m.names, more...) {
			out[n] = true
		}
	}
	return out
}

func readGPUs(p metricsPage) ([]telemetry.GPUReading, error) {
	at := map[string]*telemetry.GPUReading{}
	for _, s := range p.series {
		name := gpuName(s.labels)
		r := at[name]
		if r == nil {
			r = &telemetry.GPUReading{GPU: name, UUID: s.labels["UUID"], Name: s.labels["modelName"]}
			at[name] = r
		}
		addSeries(r, s)
	}
	if len(at) == 0 {
		return nil, errors.New("no metric of the DCGM exporter or of AMD's Device Metrics Exporter")
	}
	var out []telemetry.GPUReading
	for _, r := range at {
		addTotal(r, p)
		out = append(out, *r)
	}
	slices.SortFunc(out, func(a, b telemetry.GPUReading) int { return strings.Compare(a.GPU, b.GPU) })
	return out, nil
}

func gpuName(labels map[string]string) string {
	if slice := labels["GPU_I_ID"]; slice != "" {
		return labels["gpu"] + ":" + slice
	}
	return labels["gpu"]
}

// addSeries adds one series of the GPU. Each process or container on it has a series with the same value.
func addSeries(r *telemetry.GPUReading, s series) {
	if slices.Contains(throttleMasks, s.name) && r.Throttled == nil && !r.Unthrottled && s.value >= 0 &&
		s.value < math.MaxUint32 {
		setThrottled(r, uint64(s.value))
		return
	}
	for _, d := range gpuMetrics {
		// DCGM reports missing values as huge numbers
		if slices.Contains(d.names, s.name) && s.value >= 0 && s.value < 1e18 {
			*d.field(r) = new(s.value * d.scale)
		}
	}
}

// addTotal sets the total memory from used and free memory, if the exporter does not report it.
func addTotal(r *telemetry.GPUReading, p metricsPage) {
	if r.TotalMiB != nil || r.UsedMiB == nil {
		return
	}
	for _, s := range p.series {
		if s.name == "DCGM_FI_DEV_FB_FREE" && gpuName(s.labels) == r.GPU {
			r.TotalMiB = new(*r.UsedMiB + s.value)
		}
	}
}
