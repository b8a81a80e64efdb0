package diagnosis

import (
	"fmt"
	"math"

	"bench/experiment/verdict"
)

const (
	manyPreempted = 0.02 // preemptions per completed request
	fewPreempted  = 3    // preemptions: fewer are chance
	cacheFull     = 0.9  // share of the KV cache in use
	highTail      = 3.0  // TTFT p99 ÷ p50, if all prompts have the same length
	highTTFT      = 2.0  // TTFT p50 ÷ the upper end of its typical range
	risenTTFT     = 5.0  // TTFT p50 relative to the series' lowest load
	queueShare    = 0.5  // share of TTFT p50 that a request waits in the server's queue
	standingQueue = 0.25 // requests waiting per running one; fewer can come from users that send in step
	fewSteps      = 2.0  // steps that a request waits for its turn in a server without a queue
	waitingSome   = 0.1  // requests waiting, mean
	capWaitShare  = 0.5  // share of TTFT p99 that requests wait under the row's cap
)

func checkKVCache(v *pointMetrics, _ []pointMetrics) *Diagnosis {
	d := &Diagnosis{
		Observation: "requests are preempted and computed again", Bottleneck: KVCachePressure,
		Confirm:  "halve the concurrency or double the KV cache: preemptions stop, and TTFT p99 falls",
		Response: "enlarge " + cacheMemory.of(v.engine()) + ", use an 8-bit KV cache, or lower " + batchLimit.of(v.engine()),
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

func (v *pointMetrics) queueing() *Diagnosis {
	return &Diagnosis{
		Bottleneck: Queueing,
		Confirm:    "halve the rate or double " + batchLimit.of(v.engine()) + ": TTFT p99 falls to its p50, TPOT stays",
		Response:   "lower the rate; or raise " + batchLimit.of(v.engine()) + " within the TPOT limit and the KV cache; or add a replica",
	}
}

func checkQueueing(v *pointMetrics, all []pointMetrics) *Diagnosis {
	d := v.queueing()
	if v.capWait >= capWaitShare*v.ttftTail {
		d.Observation = "requests wait under the row's own concurrency cap"
		d.Evidence = collected(atLeast("cap wait "+v.tail, v.capWait, "ms", capWaitShare*v.ttftTail), fact("TTFT "+v.tail, v.ttftTail, "ms"))
		d.Response = "raise concurrency in the row: the cap is the client's, and the server may take more"
		return d
	}
	l := v.lateFirstToken(all)
	if l == nil || v.prefillShare() >= mostlyPrefill || v.parts != nil { // checkFirstToken knows more
		return nil
	}
	d.Observation, d.Evidence = l.symptom, l.evidence
	switch waitMs := v.queueWaitMs(); {
	case l.median && waitMs >= queueShare*v.ttft && (!l.inStep || v.waiting >= standingQueue*v.running):
		d.Evidence = append(d.Evidence, collected(atLeast("queue wait, mean (Little's law)", waitMs, "ms", queueShare*v.ttft))...)
	case !l.median && v.waiting >= waitingSome && !(waitMs <= v.tpot): // a request waits for the next step anyway
		d.Evidence = append(d.Evidence, atLeast("requests waiting, mean", v.waiting, "", waitingSome))
	case !known(v.waiting):
		if l.inStep {
			return nil
		}
		d.Bottleneck, d.Missing, d.Response = UnknownBottleneck, []string{v.missingServerMetrics()}, v.collectServerMetrics()
		return d
	case l.inStep || v.slow(): // slow steps delay the first token, too
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
		fact("requests running, mean", v.running, ""), fact("KV cache usage, max", v.kvMax, "share"))...)
	return d
}

func (v *pointMetrics) queueWaitMs() float64 { return 1e3 * v.waiting / v.requestsS }

// queueSigns is how the first token is late.
type queueSigns struct {
	symptom  string
	evidence []Evidence
	median   bool // also at the median
	inStep   bool // the prefill of the whole batch, one prompt after the other, explains it: users may send in step
}

func (v *pointMetrics) inStepMs() float64 {
	return v.ttftHigh + (v.batch-1)*v.promptMs*v.ttftHigh/v.ttftExpected + 2*v.tpot
}

func (v *pointMetrics) lateFirstToken(all []pointMetrics) *queueSigns {
	tailLimit := highTail
	if known(v.promptSpread) {
		tailLimit *= math.Max(1, v.promptSpread)
	}
	lowest := v.lowestLoad(all)
	var risen float64
	if lowest != nil {
		risen = max(risenTTFT, v.p.LoadValue/lowest.p.LoadValue)
	}
	switch tail := v.ttftTailLow / v.ttft; { // at the end that speaks against a queue
	case verdict.SignificantTrend(v.inFlight) && v.inFlight.Change > 0 && v.spec.Rate > 0:
		return &queueSigns{symptom: fmt.Sprintf("the queue grows: requests in flight rise by %.0f %% during the window", 100*v.inFlight.Change),
			evidence: collected(atLeast("rise of the requests in flight", v.inFlight.Change, "share", verdict.MinTrend),
				fact("TTFT p50", v.ttft, "ms"))}
	case v.ttftLow >= highTTFT*v.ttftHigh:
		return &queueSigns{symptom: "TTFT is far above the time to compute the prompt", median: true, inStep: v.ttft <= v.inStepMs(),
			evidence: collected(atLeast("TTFT p50", v.ttft, "ms", highTTFT*v.ttftHigh),
				fact("prefill alone, expected", v.ttftExpected, "ms"))}
	case !known(v.ttftExpected) && lowest != nil && v.ttftLow >= risen*lowest.ttftTop:
		return &queueSigns{symptom: "TTFT is far higher than at the lowest load", median: true,
			evidence: collected(atLeast("TTFT p50 relative to "+lowest.p.Load, v.ttft/lowest.ttft, "", risen),
				fact("TTFT p50", v.ttft, "ms"))}
	case tail >= tailLimit:
		return &queueSigns{symptom: "TTFT is normal at p50 and high at " + v.tail,
			evidence: collected(atLeast("TTFT "+v.tail+" ÷ p50, lower bound", tail, "", tailLimit),
				fact("TTFT p50", v.ttft, "ms"), fact("TTFT "+v.tail, v.ttftTail, "ms"))}
	case v.spec.Rate > 0 && v.queueWaitMs() >= queueShare*v.ttftMean && v.queueWaitMs() >= fewSteps*v.tpot:
		return &queueSigns{symptom: "the queue takes half of the mean TTFT",
			evidence: collected(atLeast("queue wait, mean (Little's law)", v.queueWaitMs(), "ms", queueShare*v.ttftMean),
				fact("TTFT mean", v.ttftMean, "ms"), fact("TTFT p50", v.ttft, "ms"))}
	}
	return nil
}
