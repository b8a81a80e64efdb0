package prompts

import "fmt"

// Problem is why an API cannot take the prompts that the row can draw, with the first line that it cannot take; empty
// if it can.
func (s *Source) Problem(api string) (problem, hint string) {
	if s.index == nil {
		return "", ""
	}
	for _, number := range s.kept {
		e := &s.index.entries[number]
		if what, hint := unfit(api, e.form); what != "" {
			return fmt.Sprintf("%s:%d: %s, which the API %s does not take", s.File, e.line, what, api), hint
		}
	}
	return "", ""
}

const useChat = `write api = "chat"`

// unfit is what of a prompt an API does not take in the form that the file has.
func unfit(api string, f form) (what, hint string) {
	switch {
	case f&formIDs != 0 && api != "completions":
		return "a prompt of token ids", `write api = "completions"`
	case f&formMessages != 0 && (api == "completions" || api == "embeddings" || api == "rerank"):
		return "messages", useChat
	case api == "chat":
		return "", ""
	case f&formTools != 0:
		return "tools in the form of the chat API", useChat
	case f&formParts != 0:
		return "a message with parts or tool calls in the form of the chat API", useChat
	case f&formSystem != 0 && api == "messages":
		return "a message of the system", useChat
	}
	return "", ""
}
