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

func checkFirstToken(v *pointMetrics, all []pointMetrics) *Diagnosis {
	total := v.partsTotal()
	late := v.lateFirstToken(all)
	if total <= 0 || late == nil && !(v.ttft >= firstShare*v.e2e) {
		return nil
	}
	longest := slices.MaxFunc(v.parts, func(a, b record.Part) int { return cmp.Compare(a.Ms, b.Ms) })
	if late != nil && !late.median { // a tail is in the mean by what the mean is above the median
		if q := v.part("queue"); q != nil && q.Ms > v.tpot && q.Ms >= mostOfTTFT*(total-v.ttft) {
			longest = *q
		}
	}
	d := &Diagnosis{Observation: "the " + longest.Name + " takes most of the time to the first token"}
	for _, p := range v.parts {
		e := fact("TTFT in "+p.Name+", mean", p.Ms, "ms")
		if p.Name == longest.Name && p.Ms >= mostOfTTFT*total {
			e = atLeast(e.Figure, p.Ms, "ms", mostOfTTFT*total)
		}
		d.Evidence = append(d.Evidence, e)
	}
	if late != nil {
		d.Evidence = append(d.Evidence, late.evidence...)
	}
	switch {
	case longest.Name == "queue" && late != nil && (longest.Ms >= mostOfTTFT*total || !late.median):
		q := v.queueing()
		d.Bottleneck, d.Confirm, d.Response = q.Bottleneck, q.Confirm, q.Response
	case longest.Ms < mostOfTTFT*total:
		if late == nil {
			return nil
		}
		d.Observation, d.Bottleneck = late.symptom+", and no part of TTFT takes half of it", UnknownBottleneck
		d.Missing = []string{"one cause: the time to the first token goes to several parts"}
		d.Confirm, d.Response = "repeat the row at half the load: the part that falls most is the one to change", "change the largest part first"
	case longest.Name == "queue": // nothing is late
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
	case v.waitsInQueue(longest, late):
		q := v.queueing()
		d.Observation, d.Bottleneck, d.Confirm, d.Response = "requests wait in the server's queue", q.Bottleneck, q.Confirm, q.Response
		d.Evidence = append(d.Evidence, collected(atLeast("requests waiting, mean", v.waiting, "", standingQueue*v.running),
			fact("requests running, mean", v.running, ""))...)
	default:
		d.Bottleneck, d.Missing = UnknownBottleneck, []string{"the parts of " + longest.Name + ": the server does not report them apart"}
		d.Confirm, d.Response = "repeat the row from the server's own machine, without a gateway", "find which of them it is before changing anything"
	}
	return d
}

func (v *pointMetrics) waitsInQueue(part record.Part, late *queueSigns) bool {
	return late != nil && strings.Contains(part.Name, "queue") && part.Ms >= mostOfTTFT*v.partsTotal() &&
		v.queueWaitMs() >= queueShare*part.Ms && v.waiting >= standingQueue*v.running
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
