package experiment

// What may be missing, as a reader would look for it.
const (
	missingServer  = "the server's metrics: requests running and waiting, KV cache in use, preemptions ([telemetry] server)"
	missingGPU     = "the GPUs: activity, memory activity, clocks and what holds them down ([telemetry] gpu: a DCGM exporter)"
	missingCPU     = "the server's CPU: its cores at work, its memory bandwidth in use, its clocks (perf, pcm-memory beside the row; bench does not read them)"
	missingForeign = "the devices: activity, memory activity, clocks (the vendor's own tool beside the row; bench reads those of NVIDIA's GPUs only)"
)

// vendor is that of the hardware; empty: not told.
func (r *Row) vendor() string {
	if r.Bound == nil {
		return ""
	}
	return r.Bound.Vendor
}

// seen says that there is hardware whose counters bench can read, or that nobody told.
func (r *Row) seen() bool { return r.vendor() == "" || r.vendor() == nvidia }

// unseen is what would tell where the time of a step goes.
func (v *sight) unseen() string {
	switch r := v.p.Rows[0]; {
	case r.seen():
		return missingGPU
	case r.vendor() == "cpu":
		return missingCPU
	}
	return missingForeign
}

// record is how to come by it.
func (v *sight) record() string {
	if v.p.Rows[0].seen() {
		return "record the GPUs ([telemetry] gpu)"
	}
	return "watch the hardware with its vendor's tools"
}
