package verdict

import (
	"fmt"
	"math"
	"strings"

	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/unit"
	"bench/experiment/workload"
)

func checkAnswerLimits(e *Measured) checkResult {
	result := unasked
	var wrong, open []string
	var why undecided
	for _, c := range e.Spec.Classes() {
		if c.Answers == nil {
			continue
		}
		valid, correct := e.answersOf(c)
		for _, limit := range []struct {
			what  string
			least float64
			share *record.Share
		}{{"valid", c.Answers.MinValid, valid}, {"correct", c.Answers.MinCorrect, correct}} {
			if limit.least == 0 {
				continue
			}
			if limit.share == nil {
				open = append(open, fmt.Sprintf("%sno answer was checked for being %s: min_%s decides nothing",
					ofClass(c), limit.what, limit.what))
				why.none = true
				continue
			}
			text := fmt.Sprintf("%s%s %s, at least %s wanted", ofClass(c), shareText(limit.share), limit.what,
				unit.Exactly(limit.least, "share"))
			switch iv := limit.share.CI95; {
			case iv.Hi < limit.least:
				wrong = append(wrong, text)
			case iv.Lo < limit.least:
				open = append(open, text)
				why.add(limit.share, limit.least)
			}
		}
		result = passed()
	}
	switch {
	case len(wrong) > 0:
		return invalid("read the reasons (docs/matrix.md#answers), and compare with an answer by hand: the model, its chat template, the parser, or the precision",
			"too few answers are as they must be: %s", strings.Join(wrong, "; "))
	case len(open) > 0:
		return caution(why.hint(), "%s", strings.Join(open, "; "))
	}
	return result
}

func (e *Measured) answersOf(c workload.Class) (valid, correct *record.Share) {
	s := &e.Summary
	if len(e.Spec.Mix) > 0 {
		own := e.Classes[c.Name]
		s = &own
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

const mostNeeded = 1e6

// undecided is why shares are not certain.
type undecided struct {
	none    bool // nothing was checked
	near    bool // a share is too near its limit
	prompts int  // more different prompts that would decide
	answers int  // more answers that would decide
}

func (u *undecided) add(s *record.Share, least float64) {
	switch need := needShare(s, least); {
	case need == 0:
		u.near = true
	case s.Effective < 0.99*float64(s.Checked): // answers to one prompt say the same
		u.prompts = max(u.prompts, need)
	default:
		u.answers = max(u.answers, need)
	}
}

// needShare is about the number of further independent answers that would decide; 0 = none.
func needShare(s *record.Share, least float64) int {
	for n := 1.1 * s.Effective; n < mostNeeded; n *= 1.1 {
		if iv := stats.ShareInterval(s.Share, n, 0.95); iv.Hi < least || iv.Lo >= least {
			return int(math.Ceil(n - s.Effective))
		}
	}
	return 0
}

func (u *undecided) hint() string {
	switch {
	case u.none:
		return "ask for structured output, tools or expected answers in this class, or remove the limit"
	case u.near:
		return "change the limit: the share is so near to it that more answers do not decide"
	case u.prompts > 0:
		return fmt.Sprintf("use about %s more different prompts: repeated ones are answered alike, and a longer duration repeats more", unit.Count(u.prompts))
	}
	return fmt.Sprintf("check about %s more answers: make duration longer", unit.Count(u.answers))
}

func checkAnswers(e *Measured) checkResult {
	result := unasked
	var texts []string
	for _, c := range e.Spec.Classes() {
		valid, _ := e.answersOf(c)
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

func checkUnchecked(e *Measured) checkResult {
	a := e.Summary.Answers
	switch {
	case a == nil:
		return unasked
	case a.Unchecked["forced"] > 0:
		return caution(`set stop = "natural": the answers then end by themselves`,
			`%d answers were not checked: stop = "forced" makes structured output, required tool calls and known answers run on behind their end`, a.Unchecked["forced"])
	case len(a.Unchecked) > 0:
		return caution("correct the schema in the prompt's line: docs/matrix.md#answers has what can be checked",
			"answers were not checked: %s", unit.Counts(a.Unchecked))
	}
	return passed()
}

// checkAccuracy judges the worst replica, which others must not hide. Few questions find a broken server, no more.
func checkAccuracy(e *Measured) checkResult {
	a := e.Accuracy
	if a == nil {
		return unasked
	}
	worst := a.Worst()
	server, hint := "the server", "ask it one of the questions by hand; look at the chat template, the precision and the kernel flags"
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
	finished := worst.Unfinished()
	switch {
	case finished.CI95.Hi < a.MinCorrect:
		return invalid(hint, "%s answers wrongly: %s", server, text)
	case worst.Correct.Share < a.MinCorrect:
		return caution(hint+"; more questions decide", "%s may answer wrongly: %s", server, text)
	}
	return passed()
}

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
