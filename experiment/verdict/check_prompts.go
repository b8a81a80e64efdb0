package verdict

import (
	"bench/experiment/record"
	"bench/experiment/unit"
)

func checkRefusedPrompts(e *Measured) checkResult {
	switch p := e.RefusedPrompts; {
	case !e.Spec.CountsPrompts(), e.Summary.Requests.Planned == 0: // checkErrors reports it
		return noData
	case p == nil:
		return passed()
	default:
		return caution(refusedHint, "%s", p)
	}
}

const refusedHint = "remove these lines (refused_prompts in the row's JSON), or start the server with a longer context"

// tolerableWarm is the share of prompts that may be in the cache at their first use: some begin as others do.
const tolerableWarm = 0.05

// checkWarmPrompts finds real prompts that the server had in its cache before the row used them.
func checkWarmPrompts(e *Measured) checkResult {
	p := e.Prompts
	if p == nil || p.Known == 0 {
		return noData
	}
	if float64(p.Warm) <= tolerableWarm*float64(p.Known) {
		return passed()
	}
	return caution("restart the server, or use prompts that it has not seen; cache_salt = true in [row.prompts] (vLLM) keeps rows apart",
		"%s of %s prompts were in the prefix cache at their first use in the row: an earlier row, run or count of their tokens sent them, "+
			"or they share nearly all of their text, or the server ignores cache_salt",
		unit.Count(p.Warm), unit.Count(p.Known)).touching(unbounded(record.Lowered, firstToken, lastToken))
}

func checkRepeatedPrompts(e *Measured) checkResult {
	p := e.Prompts
	if p == nil {
		return noData
	}
	if p.Repeated == 0 {
		return passed()
	}
	return note("use a longer file, a larger limit, or fewer requests",
		"%s %% of the requests repeat a prompt of the row (%s different prompts): a prefix cache has them",
		unit.Brief(100*float64(p.Repeated)/float64(p.Requests), 2), unit.Count(p.Different))
}
