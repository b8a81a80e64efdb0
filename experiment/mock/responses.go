package mock

import (
	"encoding/json"
	"net/http"
	"strings"
)

type responsesRequest struct {
	request
	Input           json.RawMessage `json:"input"`
	Instructions    string          `json:"instructions"`
	MaxOutputTokens *int            `json:"max_output_tokens"`
	Previous        string          `json:"previous_response_id"`
	Reasoning       struct {
		Effort string `json:"effort"`
	} `json:"reasoning"`
}

type inputItem struct {
	Type      string  `json:"type"`
	Role      string  `json:"role"`
	Content   content `json:"content"`
	Summary   content `json:"summary"`
	Name      string  `json:"name"`
	Arguments string  `json:"arguments"`
	Output    content `json:"output"`
}

func (r *responsesRequest) settle() (*request, *apiError) {
	if r.Previous != "" {
		return nil, &apiError{http.StatusNotFound, "Response with id '" + r.Previous + "' not found.", "response_id"}
	}
	if r.MaxOutputTokens != nil {
		r.MaxTokens = r.MaxOutputTokens
	}
	q := &r.request
	q.raw, q.Prompt = r.Input, nil
	q.Messages = messageList{}
	if r.Instructions != "" {
		q.Messages.list = append(q.Messages.list, message{Role: "system", Content: content{{text: r.Instructions}}})
	}
	said, bad := r.messages()
	if bad != nil {
		return nil, bad
	}
	q.Messages.list = append(q.Messages.list, said...)
	q.tools, q.forced = r.statedTools()
	q.thinking = r.asks(r.Reasoning.Effort, "none")
	return q, nil
}

func (r *responsesRequest) messages() ([]message, *apiError) {
	wrong := func(err error) *apiError {
		return &apiError{http.StatusBadRequest, "input must be a string or a list of items: " + err.Error(), "input"}
	}
	if strings.HasPrefix(string(r.Input), `"`) {
		var text content
		if err := json.Unmarshal(r.Input, &text); err != nil {
			return nil, wrong(err)
		}
		return []message{{Role: "user", Content: text}}, nil
	}
	var items []inputItem
	if err := json.Unmarshal(r.Input, &items); err != nil {
		return nil, wrong(err)
	}
	if len(items) == 0 {
		return nil, &apiError{http.StatusBadRequest, "input must not be empty.", "input"}
	}
	var all []message
	for _, item := range items {
		all = append(all, item.message())
	}
	return all, nil
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
