package diagnosis

import (
	"slices"
	"strings"

	"bench/experiment"
	"bench/experiment/record"
)

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
	lessPrefill    = "shorten or share prompts (prefix caching), or add prefill compute: " +
		"tensor parallelism, 8-bit weights, separate prefill GPUs"
)

func checkPrefill(v *pointMetrics, all []pointMetrics) *Diagnosis {
	d := &Diagnosis{Bottleneck: computeBoundPrefill, Confirm: confirmPrefill, Response: lessPrefill}
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
		Observation: "decode waits for the prefill of other requests", Bottleneck: computeBoundPrefill,
		Evidence: collected(atLeast("TPOT p50", v.tpot, "ms", v.tpotHigh),
			fact("TPOT beside prefill, end of the range", v.loadedHigh, "ms"),
			atLeast("time spent on prefill", v.prefillShare(), "share", somePrefill)),
		Confirm:  "shorten the input, or halve " + stepBudget.of(engineOf(v.p.Rows[0])) + ": TPOT falls",
		Response: "lower " + stepBudget.of(engineOf(v.p.Rows[0])) + ", or use separate GPUs for prefill",
	}
}

const (
	leastHits    = 0.8  // share of the possible prefix-cache hits that a working cache has
	worthCaching = 0.05 // share of the prompt tokens below which hits do not matter
	leastSaving  = 0.5  // TTFT that a warm prefix saves, relative to its share of the prompt
)

func checkPrefixCache(v *pointMetrics, all []pointMetrics) *Diagnosis {
	d := &Diagnosis{Observation: "shared prefixes are computed again for each request", Bottleneck: prefixCacheMisses}
	switch {
	case v.possibleHits >= worthCaching && v.cached < leastHits*v.possibleHits:
		d.Evidence = collected(below("prompt tokens cached", v.cached, "share", leastHits*v.possibleHits),
			fact("prompt tokens that a cache could hit", v.possibleHits, "share"),
			fact("of them in a cache of the server's size", v.hitsInCapacity, "share"),
			fact("KV cache usage, max", v.kvMax, "share"), fact("TTFT p50", v.ttft, "ms"))
		v.explainMisses(d)
		return d
	case known(v.cached):
		return nil
	}
	cold := v.coldPair(all)
	if cold == nil {
		return nil
	}
	shared := float64(v.spec.WarmTokens("", v.p.Rows[0].Server.BlockTokens())) / v.input
	saved := 1 - v.ttft/cold.ttft
	if shared == 0 || !(saved < leastSaving*shared) { // 0: the prefix is shorter than a block
		return nil
	}
	d.Beside, d.Observation = cold.name, "a warm prefix is hardly faster than a cold one"
	d.Confirm = oneGroup
	d.Response = "enable prefix caching; else use fewer groups, a larger KV cache, or one replica per group"
	d.Evidence = collected(below("TTFT p50 saved by the warm prefix", saved, "share", leastSaving*shared),
		fact("its share of the prompt", shared, "share"),
		below("prefix-cache hit rate", v.hitRate, "share", worthCaching))
	if !(v.hitRate < worthCaching) {
		d.Bottleneck = unknownBottleneck
		d.Missing = []string{"cached prompt tokens: vLLM --enable-prompt-tokens-details, SGLang --enable-cache-report"}
		d.Evidence = d.Evidence[:2]
		d.Response = "let the server report cached tokens, and run the pair again"
	}
	return d
}

const oneGroup = "repeat the row with one prefix group: with hits, the others were evicted; " +
	"without, caching is off or prefixes differ"

func (v *pointMetrics) explainMisses(d *Diagnosis) {
	switch {
	case slices.ContainsFunc(v.p.Rows, (*record.Row).EvictsPrefixes):
		d.Observation = "part of the shared prefixes is computed again: evicted before reuse"
		if v.cached == 0 {
			d.Observation = "all shared prefixes are computed again: evicted before reuse"
		}
		d.Confirm, d.Response = oneGroup, "use fewer groups, a larger KV cache, or one replica per group"
	case v.cached == 0:
		d.Confirm = "send one prompt twice: without cached tokens, caching is off, or a gateway changes the prompts"
		d.Response = "enable prefix caching; check cache salts, gateways and routing: evictions are not evident"
	case v.p.Rows[0].Sequential():
		d.Observation = "the engine kept part of the shared prefixes only, although no two requests overlapped"
		d.Confirm = "make the prefix more than half of the prompt: the share that is cached rises"
		d.Response = "nothing is misrouted: llama.cpp swaps out a cached prompt if a request shares less than half of it; " +
			"use longer prefixes, or a lower --parallel"
	default:
		d.Observation = "part of the shared prefixes is computed again; evictions are not evident"
		d.Confirm = "repeat the row on one replica at concurrency 1: full hits, if requests were spread or overlapped"
		d.Response = "route requests with the same prefix to the same replica; check --parallel of llama.cpp"
	}
}

func (v *pointMetrics) shorterInputPair(all []pointMetrics) *pointMetrics {
	const alike = 1.2 // ratio of the outputs
	idle := func(x *pointMetrics) bool { return x.waiting < waitingSome || x.spec.Concurrency == 1 }
	var best *pointMetrics
	for i := range all {
		o := &all[i]
		same := o.s.Axis == v.s.Axis && o.p.LoadValue == v.p.LoadValue && o.spec.Variant == v.spec.Variant &&
			o.output <= alike*v.output && v.output <= alike*o.output
		more := v.input >= longerInput*o.input && v.computed >= o.computed+minComputed &&
			v.ttftLow >= longerTTFT*o.ttftTop
		if same && more && !o.unreliable() && idle(v) && idle(o) && (best == nil || o.input < best.input) {
			best = o
		}
	}
	return best
}

func (v *pointMetrics) coldPair(all []pointMetrics) *pointMetrics {
	others := func(x *pointMetrics) []experiment.Axis {
		return slices.DeleteFunc(slices.Clone(x.s.OtherAxes),
			func(a experiment.Axis) bool { return strings.HasPrefix(a.Key, "prefix") })
	}
	has := func(x *pointMetrics, state string) bool { return x.spec.Prefix != nil && x.spec.Prefix.State == state }
	if !has(v, "warm") {
		return nil
	}
	for i := range all {
		if o := &all[i]; has(o, "cold") && o.spec.Name == v.spec.Name && o.p.LoadValue == v.p.LoadValue &&
			slices.Equal(others(o), others(v)) {
			return o
		}
	}
	return nil
}
