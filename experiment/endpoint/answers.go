package endpoint

import (
	"crypto/sha256"
	"encoding/json"

	"bench/experiment"
	"bench/experiment/load"
	"bench/experiment/openai"
	"bench/experiment/record"
	"bench/experiment/response"
	"bench/experiment/workload"
)

const (
	uncheckedForced = "forced"          // ignore_eos makes the answer run on behind its end
	uncheckedFields = "unusable_fields" // the schema of the prompt's line cannot be used
)

// answerChecks compares the answers of a row with what their requests ask for. All of it runs when a request has
// ended, on the goroutine that collects the records: no text outlives its check.
type answerChecks struct {
	encoders classEncoders
	classes  map[string]*classAnswers
	lines    map[[sha256.Size]byte]lineAnswers // by the class and the fields of a prompt's line
}

type classAnswers struct {
	fields   map[string]any // of every body
	expected *response.Expectation
}

type lineAnswers struct {
	expected *response.Expectation
	err      error
}

const mostLines = 256

func newAnswerChecks(encoders classEncoders) (*answerChecks, error) {
	c := &answerChecks{encoders: encoders, classes: map[string]*classAnswers{},
		lines: map[[sha256.Size]byte]lineAnswers{}}
	for name, e := range encoders {
		fields := e.enc.Sampling()
		expected, err := experiment.AnswersOf(fields)
		if err != nil {
			return nil, err
		}
		c.classes[name] = &classAnswers{fields: fields, expected: expected}
	}
	return c, nil
}

func (c *answerChecks) keeps(r *workload.Request) bool {
	if c.encoders[r.Class].ignoreEOS {
		return false
	}
	return c.classes[r.Class].expected != nil || r.Prompt != nil && (len(r.Prompt.Expected) > 0 || hasOwn(r))
}

func hasOwn(r *workload.Request) bool {
	for _, field := range response.Fields {
		if r.Prompt.Field(field) != nil {
			return true
		}
	}
	return false
}

func (c *answerChecks) check(job *load.Job, rec *record.Record) {
	if c == nil || !rec.OK() {
		return
	}
	q := &job.Request
	var expected []string
	if q.Prompt != nil {
		expected = q.Prompt.Expected
	}
	e, err := c.expectation(q)
	switch {
	case c.encoders[q.Class].ignoreEOS:
		if e.Forced() || len(expected) > 0 {
			rec.Invalid = uncheckedForced
		}
		return
	case err != nil:
		rec.Invalid = uncheckedFields
	}
	v := response.Check(answerOf(&job.Result), e, expected)
	if rec.Valid, rec.Correct = v.Valid, v.Correct; v.Reason != "" {
		rec.Invalid = string(v.Reason)
	}
	job.Result.Answer.Parts = openai.Parts{}
}

func (c *answerChecks) expectation(r *workload.Request) (*response.Expectation, error) {
	class := c.classes[r.Class]
	if r.Prompt == nil || !hasOwn(r) {
		return class.expected, nil
	}
	own, hash := map[string]any{}, sha256.New()
	hash.Write([]byte(r.Class))
	for _, field := range response.Fields {
		own[field] = class.fields[field]
		if text := r.Prompt.Field(field); text != nil {
			own[field] = json.RawMessage(text)
			hash.Write([]byte("\x00" + field + "\x00"))
			hash.Write(text)
		}
	}
	key := [sha256.Size]byte(hash.Sum([]byte(nil)))
	if known, ok := c.lines[key]; ok {
		return known.expected, known.err
	}
	if len(c.lines) >= mostLines {
		clear(c.lines)
	}
	e, err := experiment.AnswersOf(own)
	c.lines[key] = lineAnswers{e, err}
	return e, err
}

func answerOf(r *openai.Result) *response.Answer {
	p := &r.Answer.Parts
	a := &response.Answer{Content: openai.Unescape(p.Content), Finish: r.Finish, Cut: p.Cut}
	for _, call := range p.Calls {
		a.Calls = append(a.Calls, response.Call{Name: openai.Unescape(call.Name),
			Arguments: openai.Unescape(call.Arguments)})
	}
	return a
}
