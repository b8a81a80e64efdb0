package mock

import (
	"encoding/json"
	"net/http"
)

// messagesRequest is the body of POST /v1/messages.
type messagesRequest struct {
	request
	System   content `json:"system"`
	Thinking struct {
		Type string `json:"type"`
	} `json:"thinking"`
}

// settle turns r into the request of a chat.
func (r *messagesRequest) settle() (*request, *apiError) {
	if r.MaxTokens == nil {
		return nil, &apiError{http.StatusBadRequest, "max_tokens: Field required", "max_tokens"}
	}
	q := &r.request
	q.raw, q.Prompt = r.Messages.raw, nil
	if len(r.System) > 0 && len(q.Messages.list) > 0 {
		q.Messages.list = append([]message{{Role: "system", Content: r.System}}, q.Messages.list...)
	}
	q.tools, q.forced = r.schemaTools()
	q.thinking = r.thinks()
	return q, nil
}

func (r *messagesRequest) thinks() *bool {
	if r.Thinking.Type == "" {
		return r.templateThinking(nil)
	}
	return r.templateThinking(new(r.Thinking.Type != "disabled"))
}

// schemaTools are the tools, which Messages states with an input_schema, and the forced one.
func (r *messagesRequest) schemaTools() (tools []tool, forced string) {
	var list []struct {
		Name   string
		Schema json.RawMessage `json:"input_schema"`
	}
	if json.Unmarshal(r.Tools, &list) != nil || len(list) == 0 {
		return nil, ""
	}
	for _, t := range list {
		tools = append(tools, tool{t.Name, t.Schema})
	}
	var choice struct{ Type, Name string }
	_ = json.Unmarshal(r.ToolChoice, &choice) // no object: none is forced
	switch choice.Type {
	case "tool":
		forced = choice.Name
	case "any":
		forced = tools[0].name
	}
	return tools, forced
}

// countTokens answers POST /v1/messages/count_tokens.
func (s *Server) countTokens(w http.ResponseWriter, r *http.Request) {
	body := messagesRequest{request: request{MaxTokens: new(1)}}
	bad := decode(r, &body)
	var req *request
	if bad == nil {
		req, bad = body.settle()
	}
	var ids []int32
	if bad == nil {
		ids, bad = s.prompt(req, messages)
	}
	if bad != nil {
		bad.writeTo(w, messages)
		return
	}
	writeJSON(w, map[string]int{"input_tokens": len(ids)})
}
