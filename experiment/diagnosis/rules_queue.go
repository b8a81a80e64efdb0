package diagnosis

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"bench/experiment/check"
	"bench/experiment/record"
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
		Observation: "requests are preempted and computed again", Bottleneck: kvCachePressure,
		Confirm: "halve the concurrency or double the KV cache: preemptions stop, and TTFT p99 falls",
		Response: "enlarge " + cacheMemory.of(engineOf(v.p.Rows[0])) + ", use an 8-bit KV cache, or lower " +
			batchLimit.of(engineOf(v.p.Rows[0])),
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
		Observation: "requests wait under the row's own concurrency cap", Bottleneck: queueing,
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
	d.Bottleneck, d.Missing = queueing, nil
	d.Confirm = "halve " + load + " or double " + batchLimit.of(engineOf(v.p.Rows[0])) + ": TTFT falls by the wait"
	d.Response = "lower " + load + "; or raise " + batchLimit.of(engineOf(v.p.Rows[0])) +
		" within the TPOT limit and the KV cache; or add a replica"
}

func checkQueueing(v *pointMetrics, _ []pointMetrics) *Diagnosis {
	l := v.lateFirstToken()
	if l == nil || v.prefillShare() >= mostlyPrefill || v.parts != nil { // checkFirstToken knows more
		return nil
	}
	d := &Diagnosis{Observation: l.symptom, Evidence: l.evidence, Bottleneck: unknownBottleneck}
	d.setQueueing(v)
	switch {
	case v.queueTakes(v.ttftMean):
	case l.tail && v.waiting >= waitingSome && !(v.queueWaitMs() <= v.tpot): // a request waits for the next step anyway
		d.Evidence = append(d.Evidence, atLeast("requests waiting, mean", v.waiting, "", waitingSome))
	case !known(v.waiting):
		missing, response := v.moreServerMetrics()
		d.Bottleneck, d.Missing, d.Response = unknownBottleneck, []string{missing}, response
		return d
	case v.slow(): // slow steps delay the first token, too
		return nil
	default:
		d.Evidence = append(d.Evidence, fact("requests waiting, mean", v.waiting, ""))
		d.Bottleneck = unknownBottleneck
		d.Missing = []string{"the time before the first token: the server's queue does not explain it; " +
			"check gateway, tokenizer and log"}
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

func (v *pointMetrics) lateFirstToken() *lateTTFT {
	tailLimit := highTail
	if known(v.promptSpread) {
		tailLimit *= math.Max(1, v.promptSpread)
	}
	// inStepMs explains a TTFT without a queue: the prefill of the whole batch, one prompt after the other, if users send
	// in step.
	inStepMs := v.ttftHigh + (v.batch-1)*v.promptMs*v.ttftHigh/v.ttftExpected + 2*v.tpot
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
	case v.ttftLow >= highTTFT*v.ttftHigh && !(v.ttft <= inStepMs):
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

const mostOfTTFT = 0.5

// minComputed is the least number of prompt tokens that can be compute-bound: about a GPU's operations per byte
// (H100, bf16: 989 TFLOP/s ÷ 3.35 TB/s = 295).
const minComputed = 256

// frontendSteps: the engine takes a request at the end of its running step, and sends a token after the next one.
const frontendSteps = 2.0

func (v *pointMetrics) readParts() {
	most := 0
	for _, r := range v.p.Rows {
		if s := r.TTFTSplit; s != nil && len(s.Parts()) > 1 && s.Requests > most { // one part explains nothing
			v.parts, most = s.Parts(), s.Requests
		}
	}
}

func checkFirstToken(v *pointMetrics, _ []pointMetrics) *Diagnosis {
	total, late := 0.0, v.lateFirstToken()
	for _, p := range v.parts {
		total += p.Ms
	}
	if total <= 0 || v.heldByCap() {
		return nil
	}
	longest := slices.MaxFunc(v.parts, func(a, b record.Part) int { return cmp.Compare(a.Ms, b.Ms) })
	inTail := false
	if late != nil && late.tail { // a tail is in the mean by what the mean is above the median
		if q := v.part("queue"); q != nil && q.Ms > v.tpot && q.Ms >= mostOfTTFT*(total-v.ttft) {
			longest, inTail = *q, true
		}
	}
	most := longest.Ms >= mostOfTTFT*total
	queued := most && (v.queueTakes(longest.Ms) || longest.Name == "queue" && longest.Ms >= fewSteps*v.tpot) &&
		strings.Contains(longest.Name, "queue")
	if late == nil && !queued && !(v.ttft >= firstShare*v.e2e) ||
		// checkPrefill knows why they wait
		queued && v.prefillShare() >= mostlyPrefill && v.waiting < standingQueue*v.running {
		return nil
	}
	d := &Diagnosis{Observation: "the " + longest.Name + " takes most of the time to the first token"}
	for _, p := range v.parts {
		e := fact("TTFT in "+p.Name+", mean", p.Ms, "ms")
		if p.Name == longest.Name && most {
			e = atLeast(e.Figure, p.Ms, "ms", mostOfTTFT*total)
		}
		d.Evidence = append(d.Evidence, e)
	}
	if late != nil {
		d.Evidence = append(d.Evidence, late.evidence...)
	}
	switch {
	case inTail:
		d.setQueueing(v)
	case !most && late == nil:
		return nil
	case !most:
		d.Observation, d.Bottleneck = late.symptom+", and no part of TTFT takes half of it", unknownBottleneck
		d.Missing = []string{"one cause: the time to the first token goes to several parts"}
		d.Confirm = "repeat the row at half the load: the part that falls most is the one to change"
		d.Response = "change the largest part first"
	case queued:
		d.Observation = "requests wait in the server's queue"
		d.setQueueing(v)
		if !v.queueTakes(v.ttftMean) && v.queueTakes(longest.Ms) {
			d.Evidence = append(d.Evidence, v.queueEvidence(longest.Ms)...)
		}
	case !d.blame(v, longest):
		return nil
	}
	return d
}

// blame names the part that takes most of the time to the first token; false: it is as long as it has to be.
func (d *Diagnosis) blame(v *pointMetrics, part record.Part) bool {
	switch {
	case part.Name == "queue": // for its turn in the next step
		return false
	case part.Name == "prefill":
		d.Bottleneck = computeBoundPrefill
		d.Confirm, d.Response = confirmPrefill, lessPrefill
		return v.computesLong(part.Ms)
	case part.Name == "frontend" && part.Ms < frontendSteps*v.tpot:
		d.Bottleneck = unknownBottleneck
		d.Missing = []string{"the frontend's own time: the engine takes a request at the end of a step, " +
			"and this part is as long as steps are"}
		d.Confirm = "repeat the row at concurrency 1: no step runs when a request comes"
		d.Response = "compare with the row at concurrency 1 before changing anything"
	case part.Name == "frontend":
		d.Bottleneck = hostOverhead
		d.Confirm = "repeat the row with prompts as token ids, or half as long: the frontend's part falls"
		d.Response = "give the frontend more CPU: more " + apiProcesses.of(engineOf(v.p.Rows[0])) + ", a faster tokenizer"
	case part.Name == "network":
		d.Bottleneck = networkOrGateway
		d.Confirm = "repeat the row from the server's own machine, without the gateway: TTFT falls by that part"
		d.Response = "measure next to the server; check the gateway's queue and the network's round trip"
	default:
		d.Bottleneck, d.Missing = unknownBottleneck, []string{"the parts of " + part.Name +
			": the server does not report them apart"}
		d.Confirm = "repeat the row from the server's own machine, without a gateway"
		d.Response = "find which of them it is before changing anything"
	}
	return true
}

func (v *pointMetrics) part(name string) *record.Part {
	i := slices.IndexFunc(v.parts, func(p record.Part) bool { return p.Name == name })
	if i < 0 {
		return nil
	}
	return &v.parts[i]
}

func (v *pointMetrics) computesLong(ms float64) bool {
	if known(v.promptMs) {
		return v.promptMs >= mostOfTTFT*ms
	}
	return v.computed >= minComputed
}
