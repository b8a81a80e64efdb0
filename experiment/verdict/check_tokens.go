package verdict

import (
	"fmt"
	"math"

	"bench/experiment/record"
	"bench/experiment/unit"
)

const farOff = 0.1

// otherLength: a latency follows a length at most by its square, as attention does; a queue near its limit by more.
func otherLength(kind, hint string, requested, counted float64) checkResult {
	off := math.Abs(counted - requested)
	if off <= tolerated*requested {
		return passed()
	}
	text := fmt.Sprintf("requested %s %s, server counted %s (mean)", unit.Brief(requested, 4), kind,
		unit.Brief(counted, 4))
	if off > farOff*requested {
		return invalid(hint, "%s", text)
	}
	way, ratio := record.Inflated, counted/requested
	if ratio < 1 {
		way, ratio = record.Lowered, 1/ratio
	}
	return caution(hint, "%s", text).touching(byFactor(way, ratio*ratio, firstToken, lastToken, betweenIt))
}

func checkPromptLength(e *Measured) checkResult {
	counted, requested, n := 0, 0, 0
	for r := range record.Completed(e.Records) {
		if r.PromptTokens != nil && r.PromptRequested > 0 { // a real prompt is as long as it is
			counted, requested, n = counted+*r.PromptTokens, requested+r.PromptRequested, n+1
		}
	}
	if n == 0 {
		return noData
	}
	return otherLength("prompt tokens", "compare rows by the counted tokens, not by the requested ones",
		float64(requested)/float64(n), float64(counted)/float64(n))
}

func checkOutputLength(e *Measured) checkResult {
	counted, requested, n := 0, 0, 0
	for r := range record.Completed(e.Records) {
		if e.Spec.ClassIgnoresEOS(r.Class) {
			counted, requested, n = counted+r.OutputTokens, requested+r.OutputRequested, n+1
		}
	}
	if n == 0 {
		return noData
	}
	return otherLength("output tokens with ignore_eos",
		`compare rows by the counted tokens; or use natural EOS: stop = "natural"`,
		float64(requested)/float64(n), float64(counted)/float64(n))
}

func checkTokenCounts(e *Measured) checkResult {
	if e.Summary.Requests.Completed == 0 {
		return noData
	}
	impossible, n := 0, 0
	for r := range record.Completed(e.Records) {
		if n++; r.Impossible != nil {
			return e.impossibleUsage()
		}
		if r.OutputTokens > r.OutputRequested || r.OutputTokens == 0 && !r.First.IsZero() {
			impossible++
		}
	}
	if impossible > 0 {
		return invalid("ignore figures per token: the server's usage is wrong",
			"usage of %d of %d answers is impossible: more tokens than requested, or none despite text", impossible, n)
	}
	if e.Summary.Tokens.Estimated {
		return caution("enable usage on the server (stream_options.include_usage)",
			"the server did not report usage: token counts are the client's estimate").touching(e.estimatedTokens())
	}
	return passed()
}

func (e *Measured) impossibleUsage() checkResult {
	refused, n := 0, 0
	var worst string
	for r := range record.Completed(e.Records) {
		n++
		u := r.Impossible
		if u == nil {
			continue
		}
		if refused++; worst != "" {
			continue
		}
		switch {
		case u.Output != nil && (*u.Output < 0 || *u.Output > r.OutputRequested):
			worst = fmt.Sprintf("%s output tokens of %s requested", unit.Count(*u.Output),
				unit.Count(r.OutputRequested))
		case u.Cached != nil && *u.Cached < 0:
			worst = unit.Count(*u.Cached) + " cached tokens"
		case u.Cached != nil && u.Prompt != nil && *u.Cached > *u.Prompt && *u.Prompt >= 0:
			worst = fmt.Sprintf("%s cached tokens in a prompt of %s", unit.Count(*u.Cached), unit.Count(*u.Prompt))
		case u.Prompt != nil && r.PromptTokens == nil:
			worst = fmt.Sprintf("%s prompt tokens of %s requested", unit.Count(*u.Prompt),
				unit.Count(r.PromptRequested))
		default:
			worst = "a count that is no whole number"
		}
	}
	return invalid("report it to the maker of the server or the gateway; figures use the client's own token counts instead",
		"usage of %d of %d answers is impossible: %s", refused, n, worst)
}

// estimatedTokens: an event has one token or more, and an answer at most the requested ones.
func (e *Measured) estimatedTokens() []effect {
	var decode, all, counted float64
	prompts := false
	for r := range record.Completed(e.Records) {
		most := r.OutputTokens
		if prompts = prompts || r.PromptTokens == nil; r.Estimated {
			most = r.OutputRequested
		}
		all, counted = all+float64(most), counted+float64(r.OutputTokens)
		if r.Estimated && r.OutputTokens > 1 {
			decode = max(decode, float64(most-1)/float64(r.OutputTokens-1))
		}
	}
	var out []effect
	if decode > 1 {
		out = append(out, byFactor(record.Inflated, decode, []string{"tpot"})...)
	}
	if all > counted && counted > 0 {
		out = append(out, byFactor(record.Lowered, all/counted, []string{"output_tokens_per_s"})...)
	}
	if prompts {
		out = append(out, unbounded(record.Unknown, []string{"prompt_tokens_per_s"})...)
	}
	return out
}

func checkTokensPerEvent(e *Measured) checkResult {
	x := e.Summary.TokensPerEvent
	if e.Summary.ITL == nil || x == 0 {
		return noData
	}
	if x > 1.05 || x < 0.95 {
		return note("read tpot, which is per token", "an event has %s tokens (mean): itl is per event, not per token",
			unit.Brief(x, 3))
	}
	return passed()
}
