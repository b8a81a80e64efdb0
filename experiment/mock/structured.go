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
	for _, stated := range []json.RawMessage{s.ResponseFormat.JSONSchema.Schema, s.GuidedJSON, s.StructuredOutputs.JSON,
		s.Text.Format.Schema, s.OutputConfig.Format.Schema} {
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

// filler stands for a string in a document: words, as many as there is room for in the first one.
const filler = "…"

// documents are the answers to the schemas of the shipped matrices and the manual, by what they require. Each word is a
// token.
var documents = map[string][]string{
	"answer:":                 {"{", `"answer":`, filler, "}"}, // anyObject
	"city:":                   {"{", `"city":`, filler, "}"},
	"city:string":             {"{", `"city":`, filler, "}"},
	"city:string unit:string": {"{", `"city":`, filler + ",", `"unit":`, `"C"`, "}"},
	"city:string days:integer sights:array": {"{", `"city":`, filler + ",", `"days":`, "3,", `"sights":`, "[", filler,
		"]", "}"},
}

// requiredOf is what tells schemas apart: the required keys with their types.
func requiredOf(schema map[string]any) string {
	properties, _ := schema["properties"].(map[string]any)
	required, _ := schema["required"].([]any)
	var keys []string
	for _, r := range required {
		name, _ := r.(string)
		property, _ := properties[name].(map[string]any)
		kind, _ := property["type"].(string)
		keys = append(keys, name+":"+kind)
	}
	return strings.Join(keys, " ")
}

// structured is an answer to a schema, which fits it or not: it has a number in place of a string, or ends early. To a
// schema that is not known it is an empty object, right or not.
func (s *responder) structured(schema map[string]any, q *seq) *script {
	of := requiredOf(schema)
	document, known := documents[of]
	if !known {
		document = []string{"{", "}"}
	}
	kind, stated := schema["type"]
	fits := known || of == "" && (!stated || kind == "object")
	right := q.chosen("valid", orAll(s.cfg.ValidAnswers))
	spoil := !right && strings.Contains(of, ":string") && q.chosen("spoil", 0.5)
	return &script{right && fits, func(tokens int) []string {
		if spoil {
			return filled(document, tokens, q.hash, true)
		}
		if right {
			return filled(document, tokens, q.hash, false)
		}
		words := filled(document, tokens+1, q.hash, false)
		return words[:len(words)-1]
	}}
}

// filled is a document with its strings, the first of them as long as makes a number of words; a spoilt one has a
// number in its place.
func filled(document []string, tokens int, hash uint64, spoilt bool) []string {
	n := uint64(0)
	word := func() string {
		n++
		return "w" + strconv.FormatUint(idFirst+mix(hash^mix(n))%1000, 10)
	}
	var out []string
	for _, w := range document {
		rest, isText := strings.CutPrefix(w, filler)
		switch {
		case !isText:
			out = append(out, w)
			continue
		case spoilt && n == 0:
			n++
			out = append(out, "0"+rest)
			continue
		}
		first := n == 0
		out = append(out, `"`+word())
		for more := tokens - len(document); first && more > 0; more-- {
			out = append(out, word())
		}
		out[len(out)-1] += `"` + rest
	}
	return out
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
func (s *responder) known(req *request, q *seq) *script {
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

// readSchema is the schema of some bytes, an object or a string with one; nil: it is neither.
func readSchema(b json.RawMessage) map[string]any {
	var schema map[string]any
	var text string
	if json.Unmarshal(b, &text) == nil {
		b = json.RawMessage(text)
	}
	if json.Unmarshal(b, &schema) != nil {
		return nil
	}
	return schema
}
