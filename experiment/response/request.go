package response

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

type Expectation struct {
	form   form               // of the text; nil = any
	tools  map[string]*schema // parameters by the tool's name; a nil schema = any object
	choice choice
	named  string // the tool that must be called; empty = any
}

// Forced reports whether the request forces the form of its answer: not only offers tools.
func (e *Expectation) Forced() bool { return e != nil && (e.form != nil || e.choice == choiceRequired) }

var Fields = slices.Sorted(maps.Keys(readers))

// readers read each field. A null is an absent field.
var readers = map[string]func(*Expectation, json.RawMessage) error{
	"response_format":    (*Expectation).readFormat,
	"output_format":      (*Expectation).readFormat,  // Anthropic, earlier
	"output_config":      (*Expectation).readText,    // Anthropic
	"text":               (*Expectation).readText,    // Responses
	"structured_outputs": (*Expectation).readOutputs, // vLLM
	"guided_json":        (*Expectation).readSchema,  // vLLM
	"json_schema":        (*Expectation).readSchema,  // SGLang, llama.cpp
	"guided_choice":      (*Expectation).readChoices, // vLLM
	"guided_regex":       (*Expectation).readPattern, // vLLM
	"regex":              (*Expectation).readPattern, // SGLang
	"tools":              (*Expectation).readTools,
	"tool_choice":        (*Expectation).readToolChoice,
}

const maxFields = 4 << 20

// Parse reads what the answer to a request must be. value is a field of its body, nil for one that it does not have.
// The Expectation is nil if the fields ask for nothing that can be checked.
func Parse(value func(field string) json.RawMessage) (*Expectation, error) {
	e, size := &Expectation{}, 0
	for _, field := range Fields {
		text := value(field)
		if size += len(text); size > maxFields {
			return nil, fmt.Errorf("response_format, tools and their like have more than %d MiB", maxFields>>20)
		}
		if len(text) == 0 || string(text) == "null" {
			continue
		}
		if err := readers[field](e, text); err != nil {
			return nil, fmt.Errorf("%s: %w", field, err)
		}
	}
	if len(e.tools) == 0 {
		e.choice = choiceUnset
	}
	if e.form == nil && e.choice == choiceUnset {
		return nil, nil
	}
	return e, e.checkNamed()
}

func (e *Expectation) checkNamed() error {
	if _, known := e.tools[e.named]; e.choice != choiceUnset && e.named != "" && !known {
		return fmt.Errorf("tool_choice: %q is not among the tools", e.named)
	}
	return nil
}

type format struct {
	Type       string
	JSONSchema *struct{ Schema json.RawMessage } `json:"json_schema"`
	Schema     json.RawMessage
}

func (e *Expectation) readFormat(text json.RawMessage) error {
	var f format
	if err := json.Unmarshal(text, &f); err != nil {
		return err
	}
	if f.JSONSchema != nil {
		f.Schema = f.JSONSchema.Schema
	}
	if f.Type == "json_object" || f.Type == "json_schema" {
		return e.setSchema(f.Schema, f.Type == "json_object")
	}
	return nil // text, or a grammar that is not checked
}

func (e *Expectation) readText(text json.RawMessage) error {
	var t struct{ Format json.RawMessage }
	if err := json.Unmarshal(text, &t); err != nil || t.Format == nil {
		return err
	}
	return e.readFormat(t.Format)
}

func (e *Expectation) readOutputs(text json.RawMessage) error {
	var o struct {
		JSON       json.RawMessage
		JSONObject bool `json:"json_object"`
		Choice     json.RawMessage
		Regex      json.RawMessage
	}
	if err := json.Unmarshal(text, &o); err != nil {
		return err
	}
	switch {
	case o.JSON != nil:
		return e.setSchema(o.JSON, false)
	case o.JSONObject:
		return e.setSchema(nil, true)
	case o.Choice != nil:
		return e.readChoices(o.Choice)
	case o.Regex != nil:
		return e.readPattern(o.Regex)
	}
	return nil // a grammar, which is not checked
}

func (e *Expectation) readSchema(text json.RawMessage) error { return e.setSchema(text, false) }

func (e *Expectation) setSchema(text json.RawMessage, object bool) error {
	s, err := newSchema(text)
	e.form = jsonForm(object, s)
	return err
}

func (e *Expectation) readChoices(text json.RawMessage) error {
	var texts []string
	if err := json.Unmarshal(text, &texts); err != nil {
		return errors.New("not a list of texts")
	}
	if len(texts) > 0 {
		e.form = unless(func(text string) bool { return slices.Contains(texts, strings.TrimSpace(text)) }, NotAChoice)
	}
	return nil
}

func (e *Expectation) readPattern(text json.RawMessage) error {
	var pattern string
	if err := json.Unmarshal(text, &pattern); err != nil {
		return errors.New("not a text")
	}
	re, err := regexp.Compile(`\A(?:` + pattern + `)\z`)
	if err != nil {
		return err
	}
	e.form = unless(re.MatchString, NoMatch)
	return nil
}

type tool struct {
	Type        string
	Name        string
	Parameters  json.RawMessage
	InputSchema json.RawMessage `json:"input_schema"`
	Function    *struct {
		Name       string
		Parameters json.RawMessage
	}
}

func (e *Expectation) readTools(text json.RawMessage) error {
	var tools []tool
	if err := json.Unmarshal(text, &tools); err != nil {
		return err
	}
	for i, t := range tools {
		if t.Function != nil {
			t.Name, t.Parameters = t.Function.Name, t.Function.Parameters
		}
		if t.InputSchema != nil {
			t.Parameters = t.InputSchema
		}
		if t.Name == "" { // a tool that the server itself runs
			continue
		}
		own, err := newSchema(t.Parameters)
		if err != nil {
			return fmt.Errorf("tool %d (%s): %w", i, t.Name, err)
		}
		if e.tools == nil {
			e.tools, e.choice = map[string]*schema{}, max(e.choice, choiceAuto)
		}
		e.tools[t.Name] = own
	}
	return nil
}

func (e *Expectation) readToolChoice(text json.RawMessage) error {
	var word string
	var object struct {
		Type, Name string
		Function   struct{ Name string }
	}
	if json.Unmarshal(text, &word) != nil {
		if err := json.Unmarshal(text, &object); err != nil {
			return err
		}
		if word = object.Type; object.Name+object.Function.Name != "" {
			word, e.named = "required", object.Name+object.Function.Name
		}
	}
	switch word {
	case "none":
		e.choice = choiceNone
	case "required", "any":
		e.choice = choiceRequired
	case "auto":
		e.choice = choiceAuto
	}
	return nil
}
