package verdict

import "bench/experiment/record"

func checkUnanswered(e *Measured) checkResult {
	if e.Summary.Requests.Completed == 0 {
		return noData
	}
	s, severity := e.Summary.Reasoning, record.Caution
	switch {
	case s == nil || s.Unanswered == 0:
		return passed()
	case float64(s.Unanswered) <= tolerated*float64(e.Summary.Requests.Completed):
		severity = record.Note
	}
	return found(severity, `raise output, or lower the thinking effort: extra_body = { reasoning_effort = "low" }`,
		"%d of %d answers ended in their reasoning, before any answer token: they have no ttfo, and rank as infinite in its limits",
		s.Unanswered, e.Summary.Requests.Completed)
}

func checkThinkTags(e *Measured) checkResult {
	if e.Summary.Requests.Completed == 0 {
		return noData
	}
	tags := 0
	for r := range record.Completed(e.Records) {
		if r.ThinkTag && r.FirstOfAnswer() == r.First {
			tags++
		}
	}
	if float64(tags) <= tolerated*float64(e.Summary.Requests.Completed) {
		return passed()
	}
	return caution("start the server with its reasoning parser: vLLM and SGLang --reasoning-parser NAME, llama.cpp --reasoning-format deepseek",
		"%d of %d answers have <think> tags in their text: the server does not separate reasoning from answer, so ttfo ends at the first reasoning token",
		tags, e.Summary.Requests.Completed).touching(unbounded(record.Lowered, []string{"ttfo"}))
}

func checkReasoningKnown(e *Measured) checkResult {
	switch {
	case !e.Predicted:
		return unasked
	case !e.ReasoningUnknown:
		return passed()
	}
	return caution("state reasoning_tokens in [mock]; for a model without reasoning limit ttft",
		"how many reasoning tokens the server writes is not specified: ttfo is predicted without reasoning").
		touching(unbounded(record.Lowered, []string{"ttfo"}))
}
