package prompts

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// form is what an API must be able to take. No form is translated: what stands in the file is what is measured.
type form uint16

const (
	formIDs         form = 1 << iota // token ids
	formMessages                     // messages, not a text
	formTextParts                    // of which a content is a list of texts, as chat and Messages have it
	formParts                        // of which a content has other parts of the chat API, or tool calls
	formBlocks                       // of which a content has other blocks of Anthropic's
	formSystem                       // of which one is by the system or a developer
	formSystemField                  // the request has Anthropic's field system
	formTools                        // the request has tools in the form of the chat API
	formTheirTools                   // the request has tools in Anthropic's form
)

// isBlock has the types of Anthropic's content blocks that the chat API does not have.
var isBlock = setOf("image", "document", "tool_use", "tool_result", "thinking", "redacted_thinking", "search_result",
	"server_tool_use", "web_search_tool_result", "container_upload")

// speakers are the roles whose messages have a content: those of an assistant can have tool calls alone.
var speakers = []string{"user", "system", "developer"}

func (c *Content) setMessages(raw json.RawMessage) error {
	var list []struct {
		Role      string
		Content   json.RawMessage
		ToolCalls json.RawMessage `json:"tool_calls"`
	}
	if json.Unmarshal(raw, &list) != nil || len(list) == 0 {
		return errors.New("messages is not a list of messages\nhint: write \"messages\": [{\"role\": \"user\", \"content\": \"…\"}]")
	}
	c.Messages, c.form = raw, c.form|formMessages
	for i, m := range list {
		if m.Role == "" {
			return fmt.Errorf("message %d has no role\nhint: write \"role\": \"user\"", i+1)
		}
		if len(m.Content) == 0 || m.Content[0] != '"' {
			c.form |= partForms(m.Content)
		}
		if none := len(m.Content) == 0 || string(m.Content) == "null"; none && slices.Contains(speakers, m.Role) {
			return fmt.Errorf("message %d of the role %s has no content\nhint: write \"content\": \"…\"", i+1, m.Role)
		}
		if m.ToolCalls != nil || m.Role == "tool" {
			c.form |= formParts
		}
		if m.Role == "system" || m.Role == "developer" {
			c.form |= formSystem
		}
	}
	return nil
}

// partForms are the forms of a message's content that is no string.
func partForms(raw json.RawMessage) (forms form) {
	var parts []struct{ Type string }
	if json.Unmarshal(raw, &parts) != nil || len(parts) == 0 {
		return formParts
	}
	for _, p := range parts {
		switch {
		case p.Type == "text":
			forms |= formTextParts
		case isBlock[p.Type]:
			forms |= formBlocks
		default:
			forms |= formParts
		}
	}
	return forms
}

// setSystem takes Anthropic's system prompt, a field of the request. An empty one is none.
func (c *Content) setSystem(r record) error {
	v, ok := r["system"]
	switch {
	case !ok:
		return nil
	case string(v) == `""`:
		delete(r, "system")
		return nil
	case v[0] != '"' && partForms(v) != formTextParts:
		return errors.New("system is neither a text nor a list of texts\nhint: write \"system\": \"…\"")
	}
	c.form |= formSystemField
	return nil
}

// toolForm is the form of a request field with tools; 0 = it has none.
func toolForm(field string, raw json.RawMessage) (forms form) {
	if field == "functions" {
		return formTools
	}
	if field != "tools" {
		return 0
	}
	var tools []struct {
		Type   string
		Schema json.RawMessage `json:"input_schema"`
	}
	if json.Unmarshal(raw, &tools) != nil || len(tools) == 0 {
		return formTools
	}
	for _, t := range tools {
		if t.Schema != nil || t.Type != "" && t.Type != "function" { // Anthropic's own tools have a type and no schema
			forms |= formTheirTools
		} else {
			forms |= formTools
		}
	}
	return forms
}

// Problem is why an API cannot take the prompts that the row can draw, with the first line that it cannot take; empty
// if it can.
func (s *Source) Problem(api string) (problem, hint string) {
	if s.index == nil {
		return "", ""
	}
	for _, number := range s.kept {
		e := &s.index.entries[number]
		for _, l := range limits {
			if e.form&l.form != 0 && !slices.Contains(l.apis, api) {
				return fmt.Sprintf("%s: %s, which the API %s does not take", s.index.where(e), l.what, api), l.hint
			}
		}
	}
	return "", ""
}

const (
	useChat     = `write api = "chat"`
	useMessages = `write api = "messages"`
)

// limits are the APIs that take a form; any other form fits all.
var limits = []struct {
	form form
	what string
	apis []string
	hint string
}{
	{formIDs, "a prompt of token ids", []string{"completions"}, `write api = "completions"`},
	{formTheirTools, "tools in Anthropic's form", []string{"messages"}, useMessages},
	{formBlocks, "a message with blocks in Anthropic's form", []string{"messages"}, useMessages},
	{formSystemField, "Anthropic's field system", []string{"messages"},
		`write it as a message of the role system, or api = "messages"`},
	{formMessages, "messages", []string{"chat", "responses", "messages"}, useChat},
	{formTools, "tools in the form of the chat API", []string{"chat"}, useChat},
	{formParts, "a message with parts or tool calls in the form of the chat API", []string{"chat"}, useChat},
	{formTextParts, "a message with a list of parts", []string{"chat", "messages"}, useChat},
	{formSystem, "a message of the system", []string{"chat", "responses"},
		`write it as the field "system" of the line, or api = "chat"`},
}

// isRequestField has the request fields that a line can set: OpenAI's, Anthropic's, and what vLLM, SGLang and llama.cpp
// add. Others, and those whose names data files use for something else, belong into the line's extra_body.
var isRequestField = setOf(
	"add_generation_prompt", "allowed_token_ids", "bad_words", "cache_salt", "chat_template", "chat_template_kwargs",
	"continue_final_message", "ebnf", "frequency_penalty", "function_call", "functions", "grammar", "guided_choice",
	"guided_grammar", "guided_json", "guided_regex", "include_stop_str_in_output", "instructions", "json_schema",
	"length_penalty", "logit_bias", "logprobs", "metadata", "min_p", "mm_processor_kwargs", "modalities", "n",
	"output_config", "output_format", "parallel_tool_calls", "presence_penalty", "priority", "reasoning",
	"reasoning_effort", "reasoning_format", "repetition_penalty", "response_format", "seed", "service_tier",
	"skip_special_tokens", "spaces_between_special_tokens", "stop", "stop_sequences", "stop_token_ids",
	"structured_outputs", "suffix", "system", "temperature", "thinking", "tool_choice", "tools", "top_k",
	"top_logprobs", "top_p", "truncate_prompt_tokens", "truncation", "typical_p", "user", "verbosity",
)

func setOf(names ...string) map[string]bool {
	set := map[string]bool{}
	for _, name := range names {
		set[name] = true
	}
	return set
}
