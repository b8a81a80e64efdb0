package diagnosis

import (
	"math"
	"slices"

	"bench/experiment/series"
)

const (
	gpuIdles     = 0.7  // GPU activity below which the GPU waits for the host
	memoryIdles  = 0.4  // GPU memory activity below which the kernels are slow
	memoryBusy   = 0.6  // GPU memory activity above which it transfers more than the model needs
	mostlyHost   = 0.5  // share of a step that does not depend on its memory traffic
	steepTraffic = 2.0  // time per extra byte ÷ HBM limit
	moreOutput   = 1.1  // throughput relative to the next lower load
	slowerTokens = 1.15 // TPOT relative to the next lower load
	// mostlyMemory is the MBU from which on reading memory takes the most of a step. Published engines reach 0.55 to
	// 0.9 of the peak while they read (gpus.json): below a half, the rest of the step is the longer part.
	mostlyMemory = 0.5
)

func (v *pointMetrics) slow() bool { return v.tpotLow > v.loadedHigh }

// checkSlowDecode: MBU alone cannot show why TPOT is slow; activity of the GPU and its memory can, or a second point.
func checkSlowDecode(v *pointMetrics, all []pointMetrics) *Diagnosis {
	if v.tpotTop < v.tpotFloor {
		return &Diagnosis{
			Observation: "tokens arrive faster than the memory bandwidth allows", Bottleneck: unknownBottleneck,
			Evidence: collected(below("TPOT p50", v.tpot, "ms", v.tpotFloor)),
			Missing: []string{"the real setup: model, hardware, gpus or precision differ from [target], or the server " +
				"speculates"},
			Confirm:  "the server's log: model, precision, speculative decoding",
			Response: "correct [target], and run bench report again",
		}
	}
	if !v.slow() {
		return nil
	}
	d := &Diagnosis{Observation: "decode is slower than its typical range", Evidence: collected(
		atLeast("TPOT p50", v.tpot, "ms", v.loadedHigh),
		fact("TPOT floor", v.tpotFloor, "ms"), fact("MBU", v.mbu, "share"))}
	switch {
	case v.gpuActive < gpuIdles:
		d.Evidence = append(d.Evidence, below("GPU active", v.gpuActive, "share", gpuIdles))
		d.setHostOverhead("the GPU waits for the host between steps")
	case v.memoryActive < memoryIdles:
		d.Evidence = append(d.Evidence, collected(below("GPU memory active", v.memoryActive, "share", memoryIdles),
			fact("GPU active", v.gpuActive, "share"))...)
		d.setInefficient("the GPU memory is mostly idle")
	case v.memoryActive >= memoryBusy:
		d.Evidence = append(d.Evidence, atLeast("GPU memory active", v.memoryActive, "share", memoryBusy))
		d.Bottleneck = unknownBottleneck
		d.Missing = []string{"the memory traffic: it exceeds what this model needs; " +
			"check precision and other processes on the GPU"}
		d.Confirm = "nvidia-smi for other processes, and the server's log for the loaded precision"
		d.Response = "check model, precision and hardware in [target]"
	default:
		d.compareTraffic(v, all)
	}
	return d
}

func (d *Diagnosis) setHostOverhead(because string) {
	d.Observation, d.Bottleneck = "decode is slow, and "+because, hostOverhead
	d.Confirm = "profile some steps (nsys, torch profiler): gaps between kernels; or a smaller model is hardly faster"
	d.Response = "reduce host work: CUDA graphs (no --enforce-eager), asynchronous scheduling, less logging, a " +
		"faster or less busy CPU"
}

func (d *Diagnosis) setInefficient(because string) {
	d.Observation, d.Bottleneck = "decode is slow, and "+because, inefficientDecode
	d.Confirm = "profile some steps: kernels run all the time and reach a small part of the bandwidth"
	d.Response = "try another attention backend, quantisation kernel or newer engine; check whether weights are " +
		"dequantised on the way"
}

func (d *Diagnosis) compareTraffic(v *pointMetrics, all []pointMetrics) {
	missing, collect := devices(v.p.Rows[0])
	d.Bottleneck, d.Missing = unknownBottleneck, []string{missing}
	if v.p.Rows[0].Vendor() == "cpu" { // it reads and computes in turn, so that computing looks like overhead
		d.Confirm = "profile some steps (perf): where the cores wait, and where they compute"
		d.Response = "check the server's threads: one per physical core, on one NUMA node, nothing else there"
		return
	}
	other := v.otherTrafficPair(all)
	if other == nil {
		d.Confirm = "GPU and memory activity in the same row: an idle GPU means host overhead, an idle memory slow kernels"
		missing, try := "or a second concurrency in this row, for another batch size", "write concurrency = [1, 8, 32]"
		if len(v.s.Points) > 1 {
			missing = "or batches or contexts further apart: the TPOT floors of this row's points differ by less than 30 %"
			try = "add a larger concurrency or longer prompts to this row"
		}
		d.Missing = append(d.Missing, missing)
		d.Response = collect + ", or " + try + ", and run again"
		return
	}
	slope := (v.step - other.step) / (v.tpotFloor - other.tpotFloor)
	host := max(0, v.step-slope*v.tpotFloor) / v.step
	const unexplained = "step time not explained by memory traffic"
	d.Beside = other.name
	d.Evidence = append(d.Evidence, fact("decode step", v.step, "ms"),
		fact("decode step at "+other.p.Load, other.step, "ms"))
	switch {
	case host >= mostlyHost:
		d.Missing = nil
		d.Evidence = append(d.Evidence, atLeast(unexplained, host, "share", mostlyHost))
		d.setHostOverhead("most of a step does not depend on its memory traffic")
	case slope >= steepTraffic:
		d.Missing = nil
		d.Evidence = append(d.Evidence, atLeast("time per extra byte ÷ HBM limit", slope, "", steepTraffic),
			fact(unexplained, host, "share"))
		d.setInefficient("each extra byte takes a multiple of its HBM time")
	default:
		d.Confirm, d.Response = "GPU and memory activity in the same row", collect+", and run again"
	}
}

func checkBatching(v *pointMetrics, all []pointMetrics) *Diagnosis {
	d := &Diagnosis{
		Bottleneck: batchingTradeoff,
		Confirm:    "measure loads in between: both rise together",
		Response:   "choose the highest load whose TPOT is within its limit",
	}
	if v.tpot <= v.loadedHigh {
		d.Response = "nothing is wrong: " + d.Response
	}
	lower := v.lowerLoad(all)
	switch {
	// A TPOT of 0: the answers arrived all at once.
	case lower != nil && lower.tpot > 0 && v.outputS >= moreOutput*lower.outputS && v.tpot >= slowerTokens*lower.tpot &&
		v.tpotLow > lower.tpotTop:
		d.Beside, d.Observation = lower.name, "more load raises both throughput and TPOT"
		d.Evidence = collected(atLeast("output throughput relative to the lower load", v.outputS/lower.outputS, "",
			moreOutput),
			atLeast("TPOT p50 relative to the lower load", v.tpot/lower.tpot, "", slowerTokens),
			fact("batch", v.batch, ""), fact("batch at the lower load", lower.batch, ""))
	case v.computeBound && v.tpot <= v.tpotHigh:
		d.Observation = "the batch is so large that decode is compute-bound"
		d.Evidence = collected(fact("batch", v.batch, ""), fact("TPOT p50", v.tpot, "ms"),
			fact("TPOT floor", v.tpotFloor, "ms"))
	default:
		return nil
	}
	return d
}

// checkBandwidth: the range of a small model is mostly overhead, so only a high MBU shows the memory bandwidth.
func checkBandwidth(v *pointMetrics, _ []pointMetrics) *Diagnosis {
	if !(v.tpotTop >= v.tpotFloor && v.tpot <= v.tpotHigh && known(v.tpotLow)) || v.computeBound {
		return nil
	}
	d := &Diagnosis{
		Observation: "TPOT is about what the memory bandwidth allows", Bottleneck: bandwidthBoundDecode,
		Evidence: collected(fact("TPOT p50", v.tpot, "ms"), fact("TPOT floor", v.tpotFloor, "ms"),
			fact("TPOT, end of the typical range", v.tpotHigh, "ms")),
		Confirm: "8-bit weights: TPOT falls by almost half",
		Response: "nothing is wrong; quantisation, tensor parallelism or speculation lower TPOT; a larger batch " +
			"raises throughput",
	}
	if v.p.Rows[0].Vendor() == "cpu" {
		d.Bottleneck = memoryBoundDecode
	}
	switch {
	case v.mbu >= mostlyMemory:
		d.Evidence = append(d.Evidence, atLeast("MBU", v.mbu, "share", mostlyMemory), fact("batch", v.batch, ""))
	case v.memoryActive >= memoryBusy:
		d.Evidence = append(d.Evidence, atLeast("GPU memory active", v.memoryActive, "share", memoryBusy),
			fact("MBU", v.mbu, "share"))
	default:
		d.lowMBU(v)
	}
	d.Evidence = collected(d.Evidence...)
	return d
}

func (d *Diagnosis) lowMBU(v *pointMetrics) {
	d.Evidence = append(d.Evidence, below("MBU", v.mbu, "share", mostlyMemory), fact("batch", v.batch, ""))
	if v.gpuActive < gpuIdles {
		d.Evidence = append(d.Evidence, below("GPU active", v.gpuActive, "share", gpuIdles))
		d.setHostOverhead("the GPU waits for the host between steps")
		d.Observation = "TPOT is in its typical range, and the GPU waits for the host between steps"
		return
	}
	d.Observation = "TPOT is in its typical range, but memory traffic explains less than half of a step"
	d.Bottleneck = unknownBottleneck
	missing, collect := devices(v.p.Rows[0])
	d.Missing, d.Response = []string{missing}, collect+", and run the row again"
	d.Confirm = "profile some steps: what takes the time besides reading the weights and the KV cache"
}

func (v *pointMetrics) lowerLoad(all []pointMetrics) *pointMetrics {
	i := slices.IndexFunc(all, func(o pointMetrics) bool { return o.series == v.series && o.point == v.point-1 })
	if i < 0 || all[i].unreliable() {
		return nil
	}
	return &all[i]
}

// otherTrafficPair is the point of the same row whose memory traffic per step, by the TPOT floor, differs most.
func (v *pointMetrics) otherTrafficPair(all []pointMetrics) *pointMetrics {
	const leastRatio = 1.3 // of the floors
	var best *pointMetrics
	distance := math.Log(leastRatio)
	for i := range all {
		o := &all[i]
		x, y := o.p.Rows[0].Roofline, v.p.Rows[0].Roofline
		if o.spec.Name != v.spec.Name || o.spec.Variant != v.spec.Variant || x == nil || y == nil ||
			!series.SameSetup(x, y) || o.unreliable() || !known(o.step) || !known(v.step) {
			continue
		}
		if d := math.Abs(math.Log(o.tpotFloor / v.tpotFloor)); d >= distance {
			best, distance = o, d
		}
	}
	return best
}
