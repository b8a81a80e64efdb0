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
