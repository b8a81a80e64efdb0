package verdict

import (
	"bench/experiment/record"
	"bench/experiment/unit"
)

// checkSpeculation: the acceptance of synthetic prompts says nothing about real text.
func checkSpeculation(e *Measured) checkResult {
	if e.Summary.Requests.Completed == 0 {
		return noData
	}
	if e.Speculation == nil {
		return passed()
	}
	synthetic, n := 0, 0
	for r := range record.Completed(e.Records) {
		if n++; r.PromptHash == "" {
			synthetic++
		}
	}
	if float64(synthetic) <= tolerated*float64(n) {
		return passed()
	}
	length := ""
	if x, _ := e.Speculation.Step(); x > 1 {
		length = " (" + unit.Brief(x, 3) + " tokens per step)"
	}
	return caution(`send real prompts: [row.prompts] file = "prompts.jsonl"; or compare with a server without speculation`,
		"the server speculates%s on %d synthetic prompts of %d: random tokens have another acceptance than real text, so tpot and throughput hold for them alone",
		length, synthetic, n)
}
