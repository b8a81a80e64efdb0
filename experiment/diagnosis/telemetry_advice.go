package diagnosis

import "bench/experiment/record"

// What to collect if the bottleneck is unknown.
const (
	missingServer  = "server metrics: requests running and waiting, KV cache usage, preemptions ([telemetry] server)"
	missingGPU     = "GPU metrics: activity, memory activity, clocks, throttle reasons ([telemetry] gpu: a DCGM exporter)"
	missingAMD     = "GPU metrics: activity, clocks, throttle reasons ([telemetry] gpu: AMD's Device Metrics Exporter)"
	missingCPU     = "server CPU metrics: busy cores, memory bandwidth, clocks (perf, pcm-memory; bench does not collect them)"
	missingForeign = "device metrics: activity, memory activity, clocks (the vendor's own tool; bench collects NVIDIA and AMD GPUs only)"
)

// fewReadings reports whether the server's metrics were read too seldom for a mean.
func (v *pointMetrics) fewReadings() bool { return v.readings > 0 && v.readings < minReadings }

// collectServerMetrics is how to get what they lack.
func (v *pointMetrics) collectServerMetrics() string {
	if v.fewReadings() {
		return "make the row longer, and run it again"
	}
	return "collect the server's metrics ([telemetry] server), and run the row again"
}

// missingServerMetrics is what the server's metrics lack.
func (v *pointMetrics) missingServerMetrics() string {
	if v.fewReadings() {
		return "more readings of the server's metrics: a longer row, or a server that answers /metrics faster"
	}
	return missingServer
}

// missingDevices is the telemetry that would show where the time of a step goes.
func (v *pointMetrics) missingDevices() string {
	switch r := v.p.Rows[0]; {
	case r.Vendor() == record.AMD:
		return missingAMD
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
