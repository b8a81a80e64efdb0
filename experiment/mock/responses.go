package mock

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strings"
)

type inputItem struct {
	Type      string  `json:"type"`
	Role      string  `json:"role"`
	Content   content `json:"content"`
	Summary   content `json:"summary"`
	Name      string  `json:"name"`
	Arguments string  `json:"arguments"`
	Output    content `json:"output"`
}

func (r *request) settleInput() *apiError {
	if r.Previous != "" {
		return &apiError{http.StatusNotFound, "Response with id '" + r.Previous + "' not found.", "response_id"}
	}
	r.MaxTokens = cmp.Or(r.MaxOutputTokens, r.MaxTokens)
	r.raw, r.Messages = r.Input, messageList{}
	if r.Instructions != "" {
		r.Messages.list = append(r.Messages.list, message{Role: "system", Content: content{{text: r.Instructions}}})
	}
	var text content
	var items []inputItem
	err := json.Unmarshal(r.Input, &items)
	if strings.HasPrefix(string(r.Input), `"`) {
		err = json.Unmarshal(r.Input, &text)
		items = []inputItem{{Role: "user", Content: text}}
	}
	if err != nil {
		return invalid("input", "input must be a string or a list of items: %v", err)
	}
	if len(items) == 0 {
		return invalid("input", "input must not be empty.")
	}
	for _, item := range items {
		r.Messages.list = append(r.Messages.list, item.message())
	}
	return nil
}

func (i inputItem) message() message {
	switch i.Type {
	case "function_call":
		return message{Role: "assistant", Content: content{{text: i.Name + " " + i.Arguments}}}
	case "function_call_output":
		return message{Role: "tool", Content: i.Output}
	case "reasoning":
		return message{Role: "assistant", Content: append(i.Summary, i.Content...)}
	}
	return message{Role: i.Role, Content: i.Content}
}
