package diagnosis

import (
	"math"
	"slices"
	"strings"

	"bench/experiment"
	"bench/experiment/series"
)

const (
	idleLine     = 0.7 // share of the time in which the GPU does something, below which it waits for its host
	dramIdle     = 0.4 // share of the time in which the memory transfers, below which it idles
	dramBusy     = 0.6 // and from which on it carries more than the model needs
	overheadLine = 0.5 // share of a step that does not depend on what it reads
	slopeLine    = 2.0 // time a step takes for what the memory could read in one
	apartLine    = 1.3 // how far the floors of two points must be apart to tell the two from each other
	inputsApart  = 2.0 // one prompt over the other, of a pair
	growsLine    = 1.5 // and TTFT over TTFT
	firstShare   = 0.3 // of e2e that the first token takes, from which on prompts decide
	gainLine     = 1.1 // throughput over that of the next lower load
	slowerLine   = 1.15
)

// slow says that decode takes longer than the hardware explains, the prompts of others included.
func (v *pointMetrics) slow() bool { return v.tpot > v.loaded }

func (v *pointMetrics) overBand() Evidence {
	return atLeast("TPOT p50", v.tpot, "ms", v.loaded)
}

// lookSlow: tokens are slower than the hardware explains. The memory's use alone can't tell why; who is idle does.
func lookSlow(v *pointMetrics, all []pointMetrics) *Diagnosis {
	if v.tpot < v.floor {
		return v.tooFast()
	}
	if !v.slow() {
		return nil
	}
	d := &Diagnosis{Symptom: "decode is slower than the hardware explains", Evidence: reported(v.overBand(), fact("TPOT floor", v.floor, "ms"), fact("MBU", v.mbu, "share"))}
	switch {
	case v.engine < idleLine:
		d.Evidence = append(d.Evidence, below("GPU active", v.engine, "share", idleLine))
		return d.hostBound()
	case v.dram < dramIdle:
		d.Evidence = append(d.Evidence, below("GPU memory active", v.dram, "share", dramIdle), fact("GPU active", v.engine, "share"))
		d.Evidence = reported(d.Evidence...)
		return d.inefficient()
	case v.dram >= dramBusy:
		d.Evidence = append(d.Evidence, atLeast("GPU memory active", v.dram, "share", dramBusy))
		d.Regime, d.Missing = UnknownRegime, []string{"what the memory carries: it is busier than this model at this precision needs, so the true precision, and the other processes on the GPU"}
		d.Confirm = "nvidia-smi for other processes, and the server's log for the precision that it loaded"
		d.Response = "check model, precision and hardware in [target]"
		return d
	}
	return d.byPair(v, all)
}

func (d *Diagnosis) hostBound() *Diagnosis {
	d.Symptom, d.Regime = "decode is slow, and the GPU waits in between", HostBound
	d.Confirm = "a profile of some steps (nsys, torch profiler): gaps between kernels; or the same row with a smaller model, which is hardly faster"
	d.Response = "take work off the host: CUDA graphs on (no --enforce-eager), asynchronous scheduling, fewer log lines, a faster or less busy CPU"
	return d
}

func (d *Diagnosis) inefficient() *Diagnosis {
	d.Symptom, d.Regime = "decode is slow, and the memory idles", Inefficient
	d.Confirm = "a profile of some steps: kernels that fill the time and reach a small part of the bandwidth"
	d.Response = "try another attention backend or quantisation kernel, and a newer engine; look whether weights are dequantised on the way"
	return d
}

// byPair tells a constant overhead from a slow memory by two batches: what a step takes at least and what it took lie on a
// line, whose slope is the memory's and whose rest is the host's.
func (d *Diagnosis) byPair(v *pointMetrics, all []pointMetrics) *Diagnosis {
	if v.p.Rows[0].Vendor() == "cpu" { // it reads and computes in turn, so that computing looks like an overhead
		d.Regime, d.Missing = UnknownRegime, []string{v.unseen()}
		d.Confirm = "a profile of some steps (perf): where the cores wait, and where they compute"
		d.Response = "look at the server's threads: one for each physical core, on one NUMA node, and nobody else there"
		return d
	}
	other := v.sameBatchPair(all)
	if other == nil {
		d.Regime, d.Missing = UnknownRegime, []string{v.unseen(), "or a second concurrency in this row, for a batch of another size"}
		d.Confirm = "device and memory activity over the same row: an idle device is the host's doing, an idle memory the kernels'"
		d.Response = v.record() + ", or write concurrency = [1, 8, 32], and run again"
		if len(v.s.Points) > 1 {
			d.Missing[1] = "or batches or contexts further apart: the floors of this row's points differ by less than 30 %"
			d.Response = v.record() + ", or go on to a larger concurrency or to longer prompts in this row, and run again"
		}
		return d
	}
	slope := (v.step - other.step) / (v.floor - other.floor)
	overhead := max(0, v.step-slope*v.floor)
	d.Beside = other.name
	d.Evidence = append(d.Evidence, fact("decode step", v.step, "ms"), fact("decode step at "+other.p.Load, other.step, "ms"))
	share := overhead / v.step
	if share >= overheadLine {
		d.Evidence = append(d.Evidence, atLeast("share of the step that its bytes don't explain", share, "share", overheadLine))
		d.hostBound()
		d.Symptom = "decode is slow, and most of a step does not depend on what it reads"
		return d
	}
	if slope >= slopeLine {
		d.Evidence = append(d.Evidence, atLeast("time for a byte more, over the memory's", slope, "", slopeLine), fact("share of the step that its bytes don't explain", share, "share"))
		d.inefficient()
		d.Symptom = "decode is slow, and each byte more takes a multiple of the memory's time"
		return d
	}
	d.Regime, d.Missing = UnknownRegime, []string{v.unseen()}
	d.Confirm, d.Response = "device and memory activity over the same row", v.record()+", and run again"
	return d
}

// tooFast: a bound that is beaten is one for something else.
func (v *pointMetrics) tooFast() *Diagnosis {
	return &Diagnosis{
		Symptom: "tokens come faster than the memory allows", Regime: UnknownRegime,
		Evidence: reported(below("TPOT p50", v.tpot, "ms", v.floor)),
		Missing:  []string{"what really runs: model, hardware, gpus and precision as stated give another floor; and whether the server speculates"},
		Confirm:  "the server's log for model, precision and speculative decoding",
		Response: "correct [target], and run bench report again",
	}
}

// lookPrompts: the time goes into computing prompts, one's own or those of others.
func lookPrompts(v *pointMetrics, all []pointMetrics) *Diagnosis {
	d := &Diagnosis{
		Regime:   PrefillCost,
		Confirm:  "the same row with half the input: TTFT halves, TPOT stays",
		Response: "shorten or share prompts (prefix caching), or give prefill more compute: tensor parallelism, an 8-bit model, devices of its own",
	}
	twin := v.shorterInputPair(all)
	switch share := v.prefillShare(); {
	case share >= prefillLine && (v.tooLate(all) != nil || v.tpot > v.high):
		d.Symptom = "prompts take most of the server's time, and requests wait for it"
		d.Evidence = reported(atLeast("time spent on prompts", share, "share", prefillLine), fact("computing a prompt beside others, expected", v.computing, "ms"),
			fact("TTFT p50", v.ttft, "ms"), fact("requests waiting, mean", v.waiting, ""))
	case twin != nil:
		d.Beside = twin.name
		d.Symptom = "TTFT grows with the input while nobody waits"
		d.Evidence = reported(atLeast("TTFT p50 over that of the shorter input", v.ttft/twin.ttft, "", growsLine), atLeast("input over input", v.input/twin.input, "", inputsApart),
			fact("TTFT p50", v.ttft, "ms"), fact("computing the prompt, expected", v.first, "ms"))
	case v.ttft <= v.firstHigh && v.ttft >= firstShare*v.e2e:
		d.Symptom = "the first token takes a large part of the answer's time, and computing its prompt explains it"
		d.Evidence = reported(atLeast("TTFT's share of e2e, medians", v.ttft/v.e2e, "share", firstShare), fact("TTFT p50", v.ttft, "ms"), fact("computing the prompt, expected", v.first, "ms"))
	default:
		return nil
	}
	return d
}

// lookBeside: decode is as it should be with prompts computed in between, and slower than without.
func lookBeside(v *pointMetrics, _ []pointMetrics) *Diagnosis {
	if !(v.tpot > v.high && v.tpot <= v.loaded) {
		return nil
	}
	return &Diagnosis{
		Symptom: "tokens wait while the prompts of others are computed", Regime: PrefillCost,
		Evidence: reported(atLeast("TPOT p50", v.tpot, "ms", v.high), fact("TPOT beside prompts, at most", v.loaded, "ms"), fact("time spent on prompts", v.prefillShare(), "share")),
		Confirm:  "the same row with a shorter input, or with the server's token budget for a step halved (--max-num-batched-tokens): TPOT falls",
		Response: "a smaller --max-num-batched-tokens, or devices of their own for prompts",
	}
}

// lookBatching: more load brings throughput and slows everybody's tokens, as it does where nothing is wrong.
func lookBatching(v *pointMetrics, all []pointMetrics) *Diagnosis {
	d := &Diagnosis{
		Regime:   Batching,
		Confirm:  "the points between the two loads: throughput and TPOT rise together",
		Response: "take the load at which TPOT is still within its limit; nothing is wrong",
	}
	lower := v.lower(all)
	switch {
	case lower != nil && lower.tpot > 0 && v.tokensS >= gainLine*lower.tokensS && v.tpot >= slowerLine*lower.tpot: // 0: answers came all at once
		d.Beside, d.Symptom = lower.name, "more load brings more throughput and slower tokens"
		d.Evidence = reported(atLeast("output throughput over that of the lower load", v.tokensS/lower.tokensS, "", gainLine),
			atLeast("TPOT p50 over that of the lower load", v.tpot/lower.tpot, "", slowerLine), fact("batch", v.batch, ""), fact("batch at the lower load", lower.batch, ""))
	case v.computes && v.tpot <= v.high:
		d.Symptom = "the batch is so large that decode computes longer than it reads"
		d.Evidence = reported(fact("batch", v.batch, ""), fact("TPOT p50", v.tpot, "ms"), fact("TPOT floor", v.floor, "ms"))
	default:
		return nil
	}
	return d
}

// lookMemory: tokens come as fast as the memory lets them, which is how it should be.
func lookMemory(v *pointMetrics, _ []pointMetrics) *Diagnosis {
	if !(v.tpot >= v.floor && v.tpot <= v.high) || v.computes {
		return nil
	}
	return &Diagnosis{
		Symptom: "tokens come about as fast as the memory can be read", Regime: MemoryBound,
		Evidence: reported(fact("TPOT p50", v.tpot, "ms"), fact("TPOT floor", v.floor, "ms"), fact("TPOT, end of the band", v.high, "ms"), fact("MBU", v.mbu, "share"), fact("batch", v.batch, "")),
		Confirm:  "an 8-bit model: TPOT falls nearly by half",
		Response: "nothing is wrong; faster tokens need fewer bytes (quantisation), more bandwidth (tensor parallelism) or speculation; more throughput needs a larger batch",
	}
}

// nothing is said where no rule holds.
func (v *pointMetrics) nothing() *Diagnosis {
	d := &Diagnosis{
		Symptom: "nothing stands out", Regime: UnknownRegime, Evidence: reported(fact("TTFT p50", v.ttft, "ms"), fact("TPOT p50", v.tpot, "ms")),
		Confirm:  "the same row with what is missing",
		Response: "state model and hardware in [target], and run bench sweep again",
	}
	switch r := v.p.Rows[0]; {
	case r.AllFailed():
		d.Symptom, d.Missing = "no request completed", []string{"an answer: look at the row's findings and at the server's log"}
		d.Response = "look at the server's log, and mend the errors first"
	case !known(v.tpot):
		d.Missing = []string{"the times of tokens: the row is not streamed, or its answers have one token"}
		d.Response = "measure a row with stream = true"
	case r.Roofline == nil:
		d.Missing = []string{"a bound to hold decode against: " + r.NoRoofline}
	default:
		d.Missing = []string{"the band of the bound: the hardware table has no efficiency range, or the result is of an older bench"}
		d.Response = "run bench sweep again with the table of this version"
	}
	return d
}

// lower is the point of the next lower load; nil: there is none.
func (v *pointMetrics) lower(all []pointMetrics) *pointMetrics {
	for i := range all {
		if o := &all[i]; o.series == v.series && o.point == v.point-1 {
			return o
		}
	}
	return nil
}

// lonely is the point of the series' lowest load; nil: this one is it.
func (v *pointMetrics) lowestLoad(all []pointMetrics) *pointMetrics {
	for i := range all {
		if o := &all[i]; o.series == v.series && o.point == 0 && v.point > 0 {
			return o
		}
	}
	return nil
}

// batchTwin is the point of the same row whose floor lies farthest from this one's; nil: none is far enough.
func (v *pointMetrics) sameBatchPair(all []pointMetrics) *pointMetrics {
	var best *pointMetrics
	far := math.Log(apartLine)
	for i := range all {
		o := &all[i]
		if o.spec.Name != v.spec.Name || o.spec.Variant != v.spec.Variant || !sameBoundSetup(o, v) {
			continue
		}
		if d := math.Abs(math.Log(o.floor / v.floor)); d >= far {
			best, far = o, d
		}
	}
	return best
}

func sameBoundSetup(a, b *pointMetrics) bool {
	x, y := a.p.Rows[0].Roofline, b.p.Rows[0].Roofline
	return x != nil && y != nil && series.SameSetup(x, y) && known(a.step) && known(b.step)
}

// inputTwin is a point of the same load and the same answers with a much shorter prompt, where TTFT is much shorter too and
// nobody waits at either; nil: there is none. Of several it is the one with the shortest prompt.
func (v *pointMetrics) shorterInputPair(all []pointMetrics) *pointMetrics {
	const alike = 1.2
	var best *pointMetrics
	for i := range all {
		o := &all[i]
		same := o.s.Axis == v.s.Axis && o.p.LoadValue == v.p.LoadValue && o.spec.Variant == v.spec.Variant && o.output <= alike*v.output && v.output <= alike*o.output
		if same && v.calm() && o.calm() && v.input >= inputsApart*o.input && v.ttft >= growsLine*o.ttft && (best == nil || o.input < best.input) {
			best = o
		}
	}
	return best
}

// calm says that nobody waits: the server says so, or there is one slot.
func (v *pointMetrics) calm() bool { return v.waiting < waitingLine || v.spec.Concurrency == 1 }

// coldTwin is the same point with a cold prefix; nil: this one's is not warm, or there is none.
func (v *pointMetrics) coldPair(all []pointMetrics) *pointMetrics {
	if v.state() != "warm" {
		return nil
	}
	for i := range all {
		if o := &all[i]; o.state() == "cold" && o.spec.Name == v.spec.Name && o.p.LoadValue == v.p.LoadValue && slices.Equal(apart(o.s.Others), apart(v.s.Others)) {
			return o
		}
	}
	return nil
}

func (v *pointMetrics) state() string {
	if v.spec.Prefix == nil {
		return ""
	}
	return v.spec.Prefix.State
}

// apart are the axes without the prefix's.
func apart(axes []experiment.Axis) []experiment.Axis {
	return slices.DeleteFunc(slices.Clone(axes), func(a experiment.Axis) bool { return strings.HasPrefix(a.Key, "prefix") })
}
