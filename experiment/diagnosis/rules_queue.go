package diagnosis

import (
	"fmt"
	"math"

	"bench/experiment/check"
)

const (
	manyPreempted = 0.02 // preemptions per completed request
	fewPreempted  = 3    // preemptions: fewer are chance
	cacheFull     = 0.9  // share of the KV cache in use
	highTail      = 3.0  // TTFT p99 ÷ p50, if all prompts have the same length
	highTTFT      = 2.0  // TTFT p50 ÷ the upper end of its typical range
	queueShare    = 0.5  // share of the mean TTFT, or of a part of it, that a request waits in the server's queue
	standingQueue = 0.25 // requests waiting per running one; fewer can come from users that send in step
	fewSteps      = 2.0  // steps that a request waits for its turn in a server without a queue
	waitingSome   = 0.1  // requests waiting, mean
	capWaitShare  = 0.5  // share of TTFT p99 that requests wait under the row's cap
)

func checkKVCache(v *pointMetrics, _ []pointMetrics) *Diagnosis {
	d := &Diagnosis{
		Observation: "requests are preempted and computed again", Bottleneck: KVCachePressure,
		Confirm: "halve the concurrency or double the KV cache: preemptions stop, and TTFT p99 falls",
		Response: "enlarge " + cacheMemory.of(v.engine()) + ", use an 8-bit KV cache, or lower " +
			batchLimit.of(v.engine()),
	}
	shown := collected(fact("KV cache usage, mean", v.kv, "share"),
		fact("requests waiting, mean", v.waiting, ""), fact("TTFT "+v.tail, v.ttftTail, "ms"))
	switch {
	case v.preempted >= manyPreempted && v.preemptions >= fewPreempted && (!known(v.kvMax) || v.kvMax >= cacheFull):
		d.Evidence = collected(atLeast("preemptions per completed request", v.preempted, "", manyPreempted),
			atLeast("KV cache usage, max", v.kvMax, "share", cacheFull))
	case v.kv >= cacheFull && v.waiting >= waitingSome:
		d.Observation = "requests wait, and the KV cache is full"
		d.Evidence = collected(atLeast("KV cache usage, mean", v.kv, "share", cacheFull),
			atLeast("requests waiting, mean", v.waiting, "", waitingSome))
		shown = shown[1:]
	default:
		return nil
	}
	d.Evidence = append(d.Evidence, shown...)
	return d
}

// checkCap: the rules of the first token would blame the server for a wait in the client.
func checkCap(v *pointMetrics, _ []pointMetrics) *Diagnosis {
	if !v.heldByCap() {
		return nil
	}
	return &Diagnosis{
		Observation: "requests wait under the row's own concurrency cap", Bottleneck: Queueing,
		Evidence: collected(atLeast("cap wait "+v.tail, v.capWait, "ms", capWaitShare*v.ttftTail),
			fact("TTFT "+v.tail, v.ttftTail, "ms"),
			fact("requests waiting in the server, mean", v.waiting, "")),
		Confirm:  "double concurrency in the row: cap wait falls",
		Response: "raise concurrency in the row: the cap is the client's, and the server may take more",
	}
}

func (v *pointMetrics) heldByCap() bool { return v.capWait >= capWaitShare*v.ttftTail }

func (d *Diagnosis) setQueueing(v *pointMetrics) {
	load := "the rate"
	if v.spec.Closed() {
		load = "concurrency"
	}
	d.Bottleneck, d.Missing = Queueing, nil
	d.Confirm = "halve " + load + " or double " + batchLimit.of(v.engine()) + ": TTFT falls by the wait"
	d.Response = "lower " + load + "; or raise " + batchLimit.of(v.engine()) +
		" within the TPOT limit and the KV cache; or add a replica"
}

func checkQueueing(v *pointMetrics, _ []pointMetrics) *Diagnosis {
	l := v.lateFirstToken()
	if l == nil || v.prefillShare() >= mostlyPrefill || v.parts != nil { // checkFirstToken knows more
		return nil
	}
	d := &Diagnosis{Observation: l.symptom, Evidence: l.evidence, Bottleneck: UnknownBottleneck}
	d.setQueueing(v)
	switch {
	case v.queueTakes(v.ttftMean):
	case l.tail && v.waiting >= waitingSome && !(v.queueWaitMs() <= v.tpot): // a request waits for the next step anyway
		d.Evidence = append(d.Evidence, atLeast("requests waiting, mean", v.waiting, "", waitingSome))
	case !known(v.waiting):
		d.Bottleneck, d.Missing, d.Response = UnknownBottleneck, []string{v.missingServerMetrics()}, v.collectServerMetrics()
		return d
	case v.slow(): // slow steps delay the first token, too
		return nil
	default:
		d.Evidence = append(d.Evidence, fact("requests waiting, mean", v.waiting, ""))
		d.Bottleneck = UnknownBottleneck
		d.Missing = []string{"the time before the first token: the server's queue does not explain it; check gateway, tokenizer and log"}
		if s := v.p.Rows[0].TTFTSplit; s != nil && s.Missing != "" {
			d.Missing = []string{"the parts of the time to the first token: " + s.Missing}
		}
		d.Response = "compare ttfe with the server's own time to first token, with and without the gateway"
		return d
	}
	d.Evidence = append(d.Evidence, collected(fact("requests waiting, max", v.waitingMax, ""),
		fact("KV cache usage, max", v.kvMax, "share"))...)
	return d
}

// queueWaitMs is the mean wait in the server's queue by Little's law: requests waiting ÷ requests/s.
func (v *pointMetrics) queueWaitMs() float64 { return 1e3 * v.waiting / v.requestsS }

// queueTakes reports whether requests wait in the server's queue for half of so many ms of their TTFT, by Little's law
// alone: not for the running step, and in a closed loop not only at the moments in which users send in step.
func (v *pointMetrics) queueTakes(ms float64) bool {
	wait := v.queueWaitMs()
	return known(v.ttftLow) && wait >= queueShare*ms && !(wait < fewSteps*v.tpot) && (v.spec.Open() ||
		v.waiting >= standingQueue*v.running)
}

func (v *pointMetrics) queueEvidence(ms float64) []Evidence {
	return collected(atLeast("queue wait, mean (Little's law)", v.queueWaitMs(), "ms", queueShare*ms),
		fact("requests waiting, mean", v.waiting, ""),
		fact("requests running, mean", v.running, ""), fact("requests/s", v.requestsS, ""))
}

type lateTTFT struct {
	symptom  string
	evidence []Evidence
	tail     bool // of some requests, not at the median
}

// inStepMs explains a TTFT without a queue: the prefill of the whole batch, one prompt after the other, if users send
// in step.
func (v *pointMetrics) inStepMs() float64 {
	return v.ttftHigh + (v.batch-1)*v.promptMs*v.ttftHigh/v.ttftExpected + 2*v.tpot
}

func (v *pointMetrics) lateFirstToken() *lateTTFT {
	tailLimit := highTail
	if known(v.promptSpread) {
		tailLimit *= math.Max(1, v.promptSpread)
	}
	switch tail := v.ttftTailLow / v.ttft; { // at the end that speaks against a queue
	case v.heldByCap():
	case check.SignificantTrend(v.inFlight) && v.inFlight.Change > 0 && v.spec.Open():
		return &lateTTFT{fmt.Sprintf("the queue grows: requests in flight rise by %.0f %% during the window",
			100*v.inFlight.Change),
			collected(atLeast("rise of the requests in flight", v.inFlight.Change, "share", check.MinTrend),
				fact("TTFT p50", v.ttft, "ms")), true}
	case v.part("queue") == nil && v.queueTakes(v.ttftMean): // else the server's own time is exact
		return &lateTTFT{"requests wait in the server's queue for half of TTFT or more",
			append(v.queueEvidence(v.ttftMean), collected(fact("TTFT mean", v.ttftMean, "ms"),
				fact("TTFT p50", v.ttft, "ms"))...), false}
	case v.ttftLow >= highTTFT*v.ttftHigh && !(v.ttft <= v.inStepMs()):
		return &lateTTFT{"TTFT is far above the time to compute the prompt",
			collected(atLeast("TTFT p50", v.ttft, "ms", highTTFT*v.ttftHigh),
				fact("prefill alone, expected", v.ttftExpected, "ms")), false}
	case tail >= tailLimit:
		return &lateTTFT{"TTFT is normal at p50 and high at " + v.tail,
			collected(atLeast("TTFT "+v.tail+" ÷ p50, lower bound", tail, "", tailLimit),
				fact("TTFT p50", v.ttft, "ms"), fact("TTFT "+v.tail, v.ttftTail, "ms")), true}
	}
	return nil
}
