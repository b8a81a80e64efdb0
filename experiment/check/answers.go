package check

import (
	"fmt"
	"strings"

	"bench/experiment/record"
	"bench/experiment/unit"
	"bench/experiment/workload"
)

func checkAnswerLimits(e *evidence) result {
	result := unasked
	var wrong, open []string
	for _, c := range e.Spec.Classes() {
		if c.Answers == nil {
			continue
		}
		result = passed()
		valid, correct := answersOf(e.Row, c)
		for _, limit := range []struct {
			what  string
			least float64
			share *record.Share
		}{{"valid", c.Answers.MinValid, valid}, {"correct", c.Answers.MinCorrect, correct}} {
			switch x := limit.share; {
			case limit.least == 0:
			case x == nil:
				open = append(open, fmt.Sprintf("%sno answer was checked for being %s: min_%s decides nothing",
					ofClass(c), limit.what, limit.what))
			case x.CI95.Lo < limit.least:
				to := &open
				if x.CI95.Hi < limit.least {
					to = &wrong
				}
				*to = append(*to, fmt.Sprintf("%s%s %s, at least %s wanted", ofClass(c), shareText(x), limit.what,
					unit.Exactly(limit.least, "share")))
			}
		}
	}
	switch {
	case len(wrong) > 0:
		return invalid("read the reasons (docs/matrix.md#answers), and compare with an answer by hand: "+
			"the model, its chat template, the parser, or the precision",
			"too few answers are as they must be: %s", strings.Join(wrong, "; "))
	case len(open) > 0:
		return caution("make duration longer, with more different prompts; ask for answers that can be checked",
			"%s", strings.Join(open, "; "))
	}
	return result
}

func answersOf(r *record.Row, c workload.Class) (valid, correct *record.Share) {
	s := &r.Summary
	if len(r.Spec.Mix) > 0 {
		s = new(r.Classes[c.Name])
	}
	if s.Answers == nil {
		return nil, nil
	}
	return s.Answers.Valid, s.Answers.Correct
}

func ofClass(c workload.Class) string {
	if c.Name == "" {
		return ""
	}
	return "class " + c.Name + ": "
}

func shareText(s *record.Share) string {
	return fmt.Sprintf("%s of %s answers (%s, 95 %% interval %s to %s)", unit.Count(s.In), unit.Count(s.Checked),
		unit.Percent(s.Share), unit.Percent(s.CI95.Lo), unit.Percent(s.CI95.Hi))
}

func checkAnswers(e *evidence) result {
	result := unasked
	var texts []string
	for _, c := range e.Spec.Classes() {
		valid, _ := answersOf(e.Row, c)
		if valid == nil || c.Answers != nil && c.Answers.MinValid > 0 {
			continue
		}
		result = passed()
		if valid.In < valid.Checked {
			texts = append(texts, fmt.Sprintf("%s%s valid", ofClass(c), shareText(valid)))
		}
	}
	if len(texts) == 0 {
		return result
	}
	return caution("write answers = { min_valid = 0.95 } to make a row invalid whose answers are useless",
		"%s: %s", strings.Join(texts, "; "), unit.Counts(e.Summary.Answers.Reasons))
}

func checkUnchecked(e *evidence) result {
	a := e.Summary.Answers
	switch {
	case a == nil:
		return unasked
	case a.Unchecked["forced"] > 0:
		return caution(`set stop = "natural": the answers then end by themselves`,
			`%d answers were not checked: stop = "forced" makes structured output, `+
				`required tool calls and known answers run on behind their end`, a.Unchecked["forced"])
	case len(a.Unchecked) > 0:
		return caution("correct the schema in the prompt's line: docs/matrix.md#answers has what can be checked",
			"answers were not checked: %s", unit.Counts(a.Unchecked))
	}
	return passed()
}

// checkAccuracy judges the worst replica, which others must not hide. Few questions find a broken server, no more.
func checkAccuracy(e *evidence) result {
	a := e.Accuracy
	if a == nil {
		return unasked
	}
	worst := a.Worst()
	server := "the server"
	hint := "ask it one of the questions by hand; look at the chat template, the precision and the kernel flags"
	if worst.Endpoint != "" {
		server = "replica " + worst.Endpoint
	}
	text := fmt.Sprintf("%s correct before the rows (%s), at least %s wanted", shareText(&worst.Correct), a.Source,
		unit.Exactly(a.MinCorrect, "share"))
	if worst.Failed > 0 {
		text += fmt.Sprintf("; %d of the requests failed", worst.Failed)
	}
	if worst.CutOff > 0 {
		text += fmt.Sprintf("; %d answers reached max_tokens before any text, as in long reasoning", worst.CutOff)
		hint = "lower the thinking effort in [target.extra_body]; else " + hint
	}
	switch {
	case worst.Unfinished().CI95.Hi < a.MinCorrect:
		return invalid(hint, "%s answers wrongly: %s", server, text)
	case worst.Correct.Share < a.MinCorrect:
		return caution(hint+"; more questions decide", "%s may answer wrongly: %s", server, text)
	}
	return passed()
}

func checkUnanswered(e *evidence) result {
	n, s, severity := e.Summary.Requests.Completed, e.Summary.Reasoning, record.Caution
	switch {
	case n == 0:
		return noData
	case s == nil || s.Unanswered == 0:
		return passed()
	case float64(s.Unanswered) <= tolerated*float64(n):
		severity = record.Note
	}
	return found(severity, `raise output, or lower the thinking effort: extra_body = { reasoning_effort = "low" }`,
		"%d of %d answers ended in their reasoning, before any answer token: they have no ttfo, "+
			"and rank as infinite in its limits",
		s.Unanswered, n)
}

func checkThinkTags(e *evidence) result {
	tags, n := e.completed(func(r *record.Record) bool { return r.ThinkTag && r.FirstOfAnswer() == r.First })
	switch {
	case n == 0:
		return noData
	case float64(tags) <= tolerated*float64(n):
		return passed()
	}
	return caution("start the server with its reasoning parser: vLLM and SGLang --reasoning-parser NAME, "+
		"llama.cpp --reasoning-format deepseek",
		"%d of %d answers have <think> tags in their text: the server does not separate reasoning from answer, "+
			"so ttfo ends at the first reasoning token",
		tags, n).touching(unbounded(record.Lowered, []string{"ttfo"}))
}

func checkReasoningKnown(e *evidence) result {
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
