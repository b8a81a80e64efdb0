package diagnosis

// What to collect if the bottleneck is unknown.
const (
	missingServer  = "server metrics: requests running and waiting, KV cache usage, preemptions ([telemetry] server)"
	missingGPU     = "GPU metrics: activity, memory activity, clocks, throttle reasons ([telemetry] gpu: a DCGM exporter)"
	missingCPU     = "server CPU metrics: busy cores, memory bandwidth, clocks (perf, pcm-memory; bench does not collect them)"
	missingForeign = "device metrics: activity, memory activity, clocks (the vendor's own tool; bench collects NVIDIA GPUs only)"
)

// missingDevices is the telemetry that would show where the time of a step goes.
func (v *pointMetrics) missingDevices() string {
	switch r := v.p.Rows[0]; {
	case r.HasGPUMetrics():
		return missingGPU
	case r.Vendor() == "cpu":
		return missingCPU
	}
	return missingForeign
}

// collectDevices is how to get it.
func (v *pointMetrics) collectDevices() string {
	if v.p.Rows[0].HasGPUMetrics() {
		return "collect GPU metrics ([telemetry] gpu)"
	}
	return "watch the hardware with its vendor's tools"
}
