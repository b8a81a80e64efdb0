package diagnosis

const (
	mostlyPrefill = 0.5 // share of the time in which the server computes prompts
	firstShare    = 0.3 // TTFT ÷ e2e
	longerInput   = 2.0 // input ÷ input of the shorter pair
	longerTTFT    = 1.5 // TTFT ÷ TTFT of the shorter pair
	somePrefill   = 0.1 // share of the time spent on prefill, below which it delays no decode by much
)

// prefillShare: reading the weights does not count, since a step that decodes reads them anyway.
func (v *pointMetrics) prefillShare() float64 { return v.requestsS * v.promptMs / 1e3 }

const (
	confirmPrefill = "repeat the row with half the input: TTFT halves, TPOT stays"
	lessPrefill    = "shorten or share prompts (prefix caching), or add prefill compute: tensor parallelism, 8-bit weights, separate prefill GPUs"
)

func checkPrefill(v *pointMetrics, all []pointMetrics) *Diagnosis {
	d := &Diagnosis{
		Bottleneck: ComputeBoundPrefill,
		Confirm:    confirmPrefill,
		Response:   lessPrefill,
	}
	shorter := v.shorterInputPair(all)
	switch share := v.prefillShare(); {
	case share >= mostlyPrefill && (v.lateFirstToken() != nil || v.tpotLow > v.tpotHigh):
		d.Observation = "prefill takes most of the server's time, and requests wait for it"
		d.Evidence = collected(atLeast("time spent on prefill", share, "share", mostlyPrefill),
			fact("prefill beside decoding, expected", v.promptMs, "ms"),
			fact("TTFT p50", v.ttft, "ms"), fact("requests waiting, mean", v.waiting, ""))
	case v.parts != nil: // checkFirstToken knows where TTFT goes
		return nil
	case shorter != nil:
		d.Beside = shorter.name
		d.Observation = "TTFT grows with the input while no request waits"
		d.Evidence = collected(atLeast("TTFT p50 relative to the shorter input", v.ttft/shorter.ttft, "", longerTTFT),
			atLeast("input relative to the shorter input", v.input/shorter.input, "", longerInput),
			fact("TTFT p50", v.ttft, "ms"), fact("prefill alone, expected", v.ttftExpected, "ms"))
	case v.ttft <= v.ttftHigh && v.ttft >= firstShare*v.e2e && v.computesLong(v.ttft):
		d.Observation = "TTFT is a large share of e2e, and prefill explains it"
		d.Evidence = collected(atLeast("TTFT ÷ e2e, medians", v.ttft/v.e2e, "share", firstShare),
			atLeast("computing the prompt, expected", v.promptMs, "ms", mostOfTTFT*v.ttft),
			fact("TTFT p50", v.ttft, "ms"), fact("prefill alone, expected", v.ttftExpected, "ms"))
	default:
		return nil
	}
	return d
}

func checkDecodeBesidePrefill(v *pointMetrics, _ []pointMetrics) *Diagnosis {
	if !(v.tpotLow > v.tpotHigh && v.tpot <= v.loadedHigh && v.prefillShare() >= somePrefill) {
		return nil
	}
	return &Diagnosis{
		Observation: "decode waits for the prefill of other requests", Bottleneck: ComputeBoundPrefill,
		Evidence: collected(atLeast("TPOT p50", v.tpot, "ms", v.tpotHigh),
			fact("TPOT beside prefill, end of the range", v.loadedHigh, "ms"),
			atLeast("time spent on prefill", v.prefillShare(), "share", somePrefill)),
		Confirm:  "shorten the input, or halve " + stepBudget.of(v.engine()) + ": TPOT falls",
		Response: "lower " + stepBudget.of(v.engine()) + ", or use separate GPUs for prefill",
	}
}
