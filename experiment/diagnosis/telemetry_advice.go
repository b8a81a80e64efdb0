package diagnosis

import "bench/experiment/record"

const (
	missingServer  = "server metrics: requests running and waiting, KV cache usage, preemptions ([telemetry] server)"
	missingGPU     = "GPU metrics: activity, memory activity, clocks, throttle reasons ([telemetry] gpu: a DCGM exporter)"
	missingAMD     = "GPU metrics: activity, clocks, throttle reasons ([telemetry] gpu: AMD's Device Metrics Exporter)"
	missingCPU     = "server CPU metrics: busy cores, memory bandwidth, clocks (perf, pcm-memory; bench does not collect them)"
	missingForeign = "device metrics: activity, memory activity, clocks (the vendor's own tool; bench collects NVIDIA and AMD GPUs only)"
)

func (v *pointMetrics) fewReadings() bool { return v.readings > 0 && v.readings < minReadings }

func (v *pointMetrics) collectServerMetrics() string {
	if v.fewReadings() {
		return "make the row longer, and run it again"
	}
	return "collect the server's metrics ([telemetry] server), and run the row again"
}

func (v *pointMetrics) missingServerMetrics() string {
	if v.fewReadings() {
		return "more readings of the server's metrics: a longer row, or a server that answers /metrics faster"
	}
	return missingServer
}

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

func (v *pointMetrics) collectDevices() string {
	if v.p.Rows[0].HasGPUMetrics() {
		return "collect GPU metrics ([telemetry] gpu)"
	}
	return "watch the hardware with its vendor's tools"
}
