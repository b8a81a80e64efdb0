package diagnosis

// What may be missing, as a reader would look for it.
const (
	missingServer  = "the server's metrics: requests running and waiting, KV cache in use, preemptions ([telemetry] server)"
	missingGPU     = "the GPUs: activity, memory activity, clocks and what holds them down ([telemetry] gpu: a DCGM exporter)"
	missingCPU     = "the server's CPU: its cores at work, its memory bandwidth in use, its clocks (perf, pcm-memory beside the row; bench does not read them)"
	missingForeign = "the devices: activity, memory activity, clocks (the vendor's own tool beside the row; bench reads those of NVIDIA's GPUs only)"
)

// unseen is what would tell where the time of a step goes.
func (v *pointMetrics) unseen() string {
	switch r := v.p.Rows[0]; {
	case r.Observable():
		return missingGPU
	case r.Vendor() == "cpu":
		return missingCPU
	}
	return missingForeign
}

// record is how to come by it.
func (v *pointMetrics) record() string {
	if v.p.Rows[0].Observable() {
		return "record the GPUs ([telemetry] gpu)"
	}
	return "watch the hardware with its vendor's tools"
}
