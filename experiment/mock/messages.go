package mock

import "net/http"

type messagesRequest struct {
	request
	System   content `json:"system"`
	Thinking struct {
		Type string `json:"type"`
	} `json:"thinking"`
}

func (r *messagesRequest) settle() (*request, *apiError) {
	if r.MaxTokens == nil {
		return nil, &apiError{http.StatusBadRequest, "max_tokens: Field required", "max_tokens"}
	}
	q := &r.request
	q.raw, q.Prompt = r.Messages.raw, nil
	if len(r.System) > 0 && len(q.Messages.list) > 0 {
		q.Messages.list = append([]message{{Role: "system", Content: r.System}}, q.Messages.list...)
	}
	q.tools, q.forced = r.statedTools()
	q.thinking = r.asks(r.Thinking.Type, "disabled")
	return q, nil
}

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
