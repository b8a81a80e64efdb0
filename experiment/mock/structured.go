package mock

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
)

// structure is what a request asks of the form of its answer, in any of the APIs.
type structure struct {
	ResponseFormat struct {
		Type       string `json:"type"`
		JSONSchema struct {
			Schema json.RawMessage `json:"schema"`
		} `json:"json_schema"`
	} `json:"response_format"`
	GuidedJSON        json.RawMessage `json:"guided_json"`
	StructuredOutputs struct {
		JSON json.RawMessage `json:"json"`
	} `json:"structured_outputs"`
	Text struct { // Responses
		Format textFormat `json:"format"`
	} `json:"text"`
	OutputConfig struct { // Messages
		Format textFormat `json:"format"`
	} `json:"output_config"`
}

type textFormat struct {
	Type   string          `json:"type"`
	Schema json.RawMessage `json:"schema"`
}

// anyObject is the schema of {"type":"json_object"}.
const anyObject = `{"type":"object","properties":{"answer":{}},"required":["answer"]}`

// schema is the schema that the answer must fit; nil: none.
func (s *structure) schema() map[string]any {
	for _, stated := range []json.RawMessage{s.ResponseFormat.JSONSchema.Schema, s.GuidedJSON, s.StructuredOutputs.JSON, s.Text.Format.Schema, s.OutputConfig.Format.Schema} {
		if schema := readSchema(stated); schema != nil {
			return schema
		}
	}
	if s.ResponseFormat.Type == "json_object" || s.Text.Format.Type == "json_object" {
		return readSchema(json.RawMessage(anyObject))
	}
	return nil
}

// script is an answer whose text is planted. Its words are those of a number of tokens, or as many as it needs.
type script struct {
	right bool // it fits its schema, or is correct
	words func(tokens int) []string
}

// structured is an answer by a schema, which fits it or not.
func (s *Server) structured(schema map[string]any, q *seq) *script {
	n := uint64(0)
	w := &instance{root: schema, draw: func() uint64 { n++; return mix(q.hash ^ mix(n)) }}
	right := q.chosen("valid", orAll(s.cfg.ValidAnswers))
	w.spoil = !right && q.chosen("spoil", 0.5)
	build := func(tokens int) []string {
		n = 0
		words := w.write(0)
		if more := tokens - len(words); more > 0 && w.padded {
			n = 0
			words = w.write(more)
		}
		return words
	}
	if right {
		return &script{true, build}
	}
	return &script{false, func(tokens int) []string {
		words := build(tokens)
		if w.spoilt {
			return words
		}
		if words = build(tokens + 1); len(words) == 1 {
			return []string{"{"}
		}
		return words[:len(words)-1]
	}}
}

// orAll is a share; nil: 1.
func orAll(share *float64) float64 {
	if share == nil {
		return 1
	}
	return *share
}

// knownQuestion is the last line of a prompt whose answer is known.
var knownQuestion = regexp.MustCompile(`^What is (\d{1,9}) \+ (\d{1,9})\?$`)

// known is the answer to a known question: the sum, or another number; nil: there is no such question.
func (s *Server) known(req *request, q *seq) *script {
	last := ""
	for text := range req.texts() {
		if text = strings.TrimSpace(text); text != "" {
			last = text
		}
	}
	asked := knownQuestion.FindStringSubmatch(strings.TrimSpace(last[strings.LastIndex(last, "\n")+1:]))
	if asked == nil {
		return nil
	}
	a, _ := strconv.Atoi(asked[1]) // digits
	b, _ := strconv.Atoi(asked[2])
	answer := a + b
	right := q.chosen("correct", orAll(s.cfg.CorrectAnswers))
	if !right {
		answer += 1 + int(q.hash%9)
	}
	return &script{right, func(int) []string { return []string{strconv.Itoa(answer)} }}
}
