package collect

import (
	"cmp"
	"errors"
	"maps"
	"math"
	"slices"
	"strings"

	"bench/experiment/telemetry"
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
	figure string // its name in a telemetry.GPUReading
	scale  float64
	names  []string
}

var gpuMetrics = []gpuMetric{
	{"busy", 0.01, []string{"DCGM_FI_DEV_GPU_UTIL"}},
	{"engine_active", 1, []string{"DCGM_FI_PROF_GR_ENGINE_ACTIVE"}},
	{"sm_active", 1, []string{"DCGM_FI_PROF_SM_ACTIVE"}},
	{"tensor_active", 1, []string{"DCGM_FI_PROF_PIPE_TENSOR_ACTIVE"}},
	{"dram_active", 1, []string{"DCGM_FI_PROF_DRAM_ACTIVE"}},
	{"power_w", 1, []string{"DCGM_FI_DEV_POWER_USAGE"}},
	{"power_limit_w", 1, []string{"DCGM_FI_DEV_POWER_MGMT_LIMIT"}},
	{"energy_j", 1e-3, []string{"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION"}},
	{"sm_clock_mhz", 1, []string{"DCGM_FI_DEV_SM_CLOCK"}},
	{"memory_clock_mhz", 1, []string{"DCGM_FI_DEV_MEM_CLOCK"}},
	{"memory_used_mib", 1, []string{"DCGM_FI_DEV_FB_USED"}},
	{"memory_total_mib", 1, []string{"DCGM_FI_DEV_FB_TOTAL"}},
	{"temperature_c", 1, []string{"DCGM_FI_DEV_GPU_TEMP"}},
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
			*r.Figure(d.figure) = new(s.value * d.scale)
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

const localAMD = "http://127.0.0.1:5000/metrics"

// amdMetrics leave out gpu_umc_activity: time with the memory controller busy is no share of the bandwidth.
var amdMetrics = []gpuMetric{
	{"busy", 0.01, []string{"gpu_gfx_activity"}},
	{"power_w", 1, []string{"gpu_package_power", "gpu_average_package_power", "gpu_power_usage"}},
	{"energy_j", 1e-6, []string{"gpu_energy_consumed"}},
	{"memory_used_mib", 1, []string{"gpu_used_vram"}},
	{"memory_total_mib", 1, []string{"gpu_total_vram"}},
	{"temperature_c", 1, []string{"gpu_edge_temperature", "gpu_junction_temperature"}},
}

const amdClock = "gpu_clock"

func amdViolation(name string) string { return "gpu_violation_" + name + "_residency_percentage" }

// amdViolations are the exporter's violations with NVML's names for the same.
var amdViolations = map[string]string{
	amdViolation("ppt"): "sw_power_cap", amdViolation("processor_hot"): "hw_slowdown",
	amdViolation("socket_thermal"): "hw_thermal", amdViolation("vr_thermal"): "hw_thermal",
	amdViolation("hbm_thermal"): "hw_thermal",
}

var amdNames = namesOf(amdMetrics, append(slices.Collect(maps.Keys(amdViolations)), amdClock)...)

var exporterNames = func() map[string]bool {
	out := maps.Clone(gpuNames)
	maps.Copy(out, amdNames)
	return out
}()

func readExporter(p metricsPage) ([]telemetry.GPUReading, error) {
	if slices.ContainsFunc(p.series, func(s series) bool { return amdNames[s.name] && s.labels["gpu_id"] != "" }) {
		return readAMD(p), nil
	}
	return readGPUs(p)
}

// readAMD reads the GPUs in the order of their names. In a partitioned GPU only partition 0 has the figures of the
// whole: the others report 0.
func readAMD(p metricsPage) []telemetry.GPUReading {
	series := map[string][]series{} // by GPU
	for _, s := range p.series {
		if id := s.labels["gpu_id"]; amdNames[s.name] && id != "" && cmp.Or(s.labels["gpu_partition_id"], "0") == "0" {
			series[id] = append(series[id], s)
		}
	}
	var out []telemetry.GPUReading
	for id, of := range series {
		out = append(out, amdReading(id, of))
	}
	slices.SortFunc(out, func(a, b telemetry.GPUReading) int { return strings.Compare(a.GPU, b.GPU) })
	return out
}

func amdReading(id string, of []series) telemetry.GPUReading {
	r := telemetry.GPUReading{GPU: id}
	values := map[string]float64{}
	var core, memory []float64
	known := false
	for _, s := range of {
		r.UUID = cmp.Or(r.UUID, s.labels["gpu_uuid"], s.labels["serial_number"])
		r.Name = cmp.Or(r.Name, s.labels["card_series"], s.labels["card_model"])
		if s.value < 0 || s.value >= 1e18 {
			continue
		}
		// Before 1.3 the types were GPU_CLOCK_TYPE_SYSTEM and so on.
		switch kind := strings.ToLower(s.labels["clock_type"]); {
		case s.name == amdClock && strings.HasSuffix(kind, "system"):
			core = append(core, s.value)
		case s.name == amdClock && strings.HasSuffix(kind, "memory"):
			memory = append(memory, s.value)
		case s.name == amdClock:
		case amdViolations[s.name] != "":
			known = true
			if s.value > 0 {
				addReason(&r, amdViolations[s.name])
			}
		default:
			values[s.name] = s.value
		}
	}
	for _, m := range amdMetrics {
		for _, n := range m.names {
			if v, ok := values[n]; ok && *r.Figure(m.figure) == nil {
				*r.Figure(m.figure) = new(telemetry.Round(v*m.scale, 6))
			}
		}
	}
	r.SMClock, r.MemoryClock = mean(core), mean(memory)
	r.Unthrottled = known && len(r.Throttled) == 0
	return r
}

func addReason(r *telemetry.GPUReading, name string) {
	if !slices.Contains(r.Throttled, name) {
		r.Throttled = append(r.Throttled, name)
	}
	slices.Sort(r.Throttled)
}

func mean(values []float64) *float64 {
	if len(values) == 0 {
		return nil
	}
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return new(telemetry.Round(sum/float64(len(values)), 1))
}
