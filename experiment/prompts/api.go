package prompts

import (
	"fmt"
	"slices"
)

// Problem is why an API cannot take the prompts that the row can draw, with the first line that it cannot take; empty
// if it can.
func (s *Source) Problem(api string) (problem, hint string) {
	if s.index == nil {
		return "", ""
	}
	for _, number := range s.kept {
		e := &s.index.entries[number]
		if what, hint := unfit(api, e.form); what != "" {
			return fmt.Sprintf("%s: %s, which the API %s does not take", s.index.where(e), what, api), hint
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

// unfit is what of a prompt an API does not take in the form that the file has.
func unfit(api string, f form) (what, hint string) {
	for _, l := range limits {
		if f&l.form != 0 && !slices.Contains(l.apis, api) {
			return l.what, l.hint
		}
	}
	return "", ""
}
