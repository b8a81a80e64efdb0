package experiment

import (
	"encoding/json"
	"fmt"
	"strings"

	"bench/experiment/response"
	"bench/experiment/workload"
)

// AnswersOf reads what the answers to bodies with these fields must be; nil: nothing that can be checked.
func AnswersOf(fields map[string]any) (*response.Expectation, error) {
	return response.Parse(func(field string) json.RawMessage {
		if fields[field] == nil {
			return nil
		}
		text, err := json.Marshal(fields[field])
		if err != nil { // the encoder reports it
			return nil
		}
		return text
	})
}

func checkFields(key string, fields map[string]any, bad func(key, problem, hint string)) {
	if _, err := AnswersOf(fields); err != nil {
		field, problem, _ := strings.Cut(err.Error(), ": ")
		bad(key+"."+field, fmt.Sprintf("%s: the answers cannot be checked", problem),
			"write a JSON schema with all its parts inside")
	}
}

func (s *Spec) checkAnswers(bad func(key, problem, hint string)) {
	for i, c := range s.Classes() {
		key := ""
		if len(s.Mix) > 0 {
			key = fmt.Sprintf("mix[%d].", i)
		}
		checkFields(key+"extra_body", c.Extra, bad)
		if c.Answers != nil && s.ClassIgnoresEOS(c.Name) {
			bad(answersKey(key, c, s),
				`stop = "forced" makes every answer run on to its length: none can be valid or correct`,
				`set stop = "natural"`)
		}
	}
}

// answersKey is where the limits of a class stand: its own table, or the row's.
func answersKey(key string, c workload.Class, s *Spec) string {
	if c.Answers == s.Answers {
		return "answers"
	}
	return key + "answers"
}
