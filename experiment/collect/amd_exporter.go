package collect

import (
	"bench/experiment/telemetry"
	"cmp"
	"maps"
	"slices"
	"strings"
)

const localAMD = "http://127.0.0.1:5000/metrics"

// amdMetrics leave out gpu_umc_activity: time with the memory controller busy is no share of the bandwidth.
var amdMetrics = []gpuMetric{
	{func(r *telemetry.GPUReading) **float64 { return &r.Busy }, 0.01, []string{"gpu_gfx_activity"}},
	{func(r *telemetry.GPUReading) **float64 { return &r.PowerW }, 1,
		[]string{"gpu_package_power", "gpu_average_package_power", "gpu_power_usage"}},
	{func(r *telemetry.GPUReading) **float64 { return &r.EnergyJ }, 1e-6, []string{"gpu_energy_consumed"}},
	{func(r *telemetry.GPUReading) **float64 { return &r.UsedMiB }, 1, []string{"gpu_used_vram"}},
	{func(r *telemetry.GPUReading) **float64 { return &r.TotalMiB }, 1, []string{"gpu_total_vram"}},
	{func(r *telemetry.GPUReading) **float64 { return &r.Temperature }, 1,
		[]string{"gpu_edge_temperature", "gpu_junction_temperature"}},
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
			if v, ok := values[n]; ok && *m.field(&r) == nil {
				*m.field(&r) = new(telemetry.Round(v*m.scale, 6))
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
