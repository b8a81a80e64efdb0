package diagnosis

import (
	"cmp"
	"slices"
	"strings"

	"bench/experiment/record"
)

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

func (v *pointMetrics) partsTotal() (ms float64) {
	for _, p := range v.parts {
		ms += p.Ms
	}
	return ms
}

func checkFirstToken(v *pointMetrics, _ []pointMetrics) *Diagnosis {
	total, late := v.partsTotal(), v.lateFirstToken()
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
		d.Observation, d.Bottleneck = late.symptom+", and no part of TTFT takes half of it", UnknownBottleneck
		d.Missing = []string{"one cause: the time to the first token goes to several parts"}
		d.Confirm, d.Response = "repeat the row at half the load: the part that falls most is the one to change", "change the largest part first"
	case queued:
		d.Observation = "requests wait in the server's queue"
		d.setQueueing(v)
		if !v.queueTakes(v.ttftMean) && v.queueTakes(longest.Ms) {
			d.Evidence = append(d.Evidence, v.queueEvidence(longest.Ms)...)
		}
	case longest.Name == "queue": // for its turn in the next step
		return nil
	case longest.Name == "prefill":
		if !v.computesLong(longest.Ms) {
			return nil
		}
		d.Bottleneck = ComputeBoundPrefill
		d.Confirm, d.Response = confirmPrefill, lessPrefill
	case longest.Name == "frontend" && longest.Ms < frontendSteps*v.tpot:
		d.Bottleneck, d.Missing = UnknownBottleneck, []string{"the frontend's own time: the engine takes a request at the end of a step, and this part is as long as steps are"}
		d.Confirm, d.Response = "repeat the row at concurrency 1: no step runs when a request comes", "compare with the row at concurrency 1 before changing anything"
	case longest.Name == "frontend":
		d.Bottleneck = HostOverhead
		d.Confirm = "repeat the row with prompts as token ids, or half as long: the frontend's part falls"
		d.Response = "give the frontend more CPU: more " + apiProcesses.of(v.engine()) + ", a faster tokenizer"
	case longest.Name == "network":
		d.Bottleneck = NetworkOrGateway
		d.Confirm = "repeat the row from the server's own machine, without the gateway: TTFT falls by that part"
		d.Response = "measure next to the server; check the gateway's queue and the network's round trip"
	default:
		d.Bottleneck, d.Missing = UnknownBottleneck, []string{"the parts of " + longest.Name +
			": the server does not report them apart"}
		d.Confirm, d.Response = "repeat the row from the server's own machine, without a gateway", "find which of them it is before changing anything"
	}
	return d
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
