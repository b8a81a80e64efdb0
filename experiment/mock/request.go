package mock

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// api is the API of a request.
type api int

const (
	completions api = iota
	chat
)

// maxBody is the largest request body, bytes: a prompt of a million tokens has less than 16 MiB.
const maxBody = 32 << 20

// request is the body of a completion or chat request. Unknown fields are ignored, as by vLLM.
type request struct {
	Model               string          `json:"model"`
	Prompt              json.RawMessage `json:"prompt"`
	Messages            []message       `json:"messages"`
	MaxTokens           *int            `json:"max_tokens"`
	MaxCompletionTokens *int            `json:"max_completion_tokens"`
	MinTokens           int             `json:"min_tokens"`
	IgnoreEOS           bool            `json:"ignore_eos"`
	N                   *int            `json:"n"`
	Tools               json.RawMessage `json:"tools"`
	ToolChoice          json.RawMessage `json:"tool_choice"`
	Stream              bool            `json:"stream"`
	ReturnTokenIDs      bool            `json:"return_token_ids"`
	StreamOptions       struct {
		IncludeUsage         bool `json:"include_usage"`
		ContinuousUsageStats bool `json:"continuous_usage_stats"`
	} `json:"stream_options"`
	ChatTemplate struct {
		Thinking       bool `json:"thinking"`
		EnableThinking bool `json:"enable_thinking"`
	} `json:"chat_template_kwargs"`
}

// apiError is an error response in vLLM's form (vllm/entrypoints/openai/protocol.py, ErrorResponse).
type apiError struct {
	status  int
	message string
	param   string
}

func badRequest(format string, args ...any) *apiError {
	return &apiError{status: http.StatusBadRequest, message: fmt.Sprintf(format, args...)}
}

// object is the error as JSON.
func (e *apiError) object() []byte {
	kind := cmp.Or(map[int]string{
		http.StatusBadRequest: "BadRequestError", http.StatusNotFound: "NotFoundError",
		http.StatusTooManyRequests: "RateLimitError", http.StatusServiceUnavailable: "ServiceUnavailableError",
	}[e.status], "InternalServerError")
	body := map[string]any{"message": e.message, "type": kind, "param": nil, "code": e.status}
	if e.param != "" {
		body["param"] = e.param
	}
	text, _ := json.Marshal(map[string]any{"error": body}) // strings and numbers always encode
	return text
}

func (e *apiError) write(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	if e.status == http.StatusTooManyRequests || e.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(e.status)
	w.Write(e.object())
}

// decode reads a JSON body into v.
func decode(r *http.Request, v any) *apiError {
	var text bytes.Buffer
	text.Grow(int(min(max(r.ContentLength, 0), 1<<20)) + bytes.MinRead) // ReadFrom needs this room to detect EOF
	if _, err := text.ReadFrom(http.MaxBytesReader(nil, r.Body, maxBody)); err != nil {
		return badRequest("reading the body: %v", err)
	}
	if err := json.Unmarshal(text.Bytes(), v); err != nil {
		return badRequest("the body is not valid JSON for this request: %v", err)
	}
	return nil
}

// sequence checks req and makes its sequence.
func (s *Server) sequence(req *request, kind api, arrival time.Duration) (*seq, *apiError) {
	if req.Model != "" && req.Model != s.cfg.Model {
		return nil, &apiError{http.StatusNotFound, fmt.Sprintf("The model `%s` does not exist.", req.Model), "model"}
	}
	if req.N != nil && *req.N != 1 {
		return nil, badRequest("n must be 1, got %d.", *req.N)
	}
	prompt, bad := s.prompt(req, kind)
	if bad != nil {
		return nil, bad
	}
	limit, bad := s.limit(req, kind, len(prompt))
	if bad != nil {
		return nil, bad
	}
	q := newSeq(s.cfg.Seed, s.vocab, prompt, arrival)
	q.want, q.finish = limit, "length"
	if !req.IgnoreEOS {
		if n := max(q.natural(s.cfg.NaturalOutput), req.MinTokens); n < limit {
			q.want, q.finish = n, "stop"
		}
	}
	return q, nil
}

// prompt is the prompt of req in token ids.
func (s *Server) prompt(req *request, kind api) ([]int32, *apiError) {
	if kind == chat {
		if len(req.Messages) == 0 {
			return nil, &apiError{http.StatusBadRequest, "messages must not be empty.", "messages"}
		}
		return append(s.vocab.encode(nil, string(req.Tools)), s.vocab.chat(req.Messages)...), nil
	}
	ids, bad := s.ids(req.Prompt)
	if bad == nil && len(ids) == 0 {
		bad = &apiError{http.StatusBadRequest, "The decoder prompt cannot be empty", "prompt"}
	}
	return ids, bad
}

// ids reads a prompt: a string, a list of token ids, or a list of exactly one of these.
func (s *Server) ids(prompt json.RawMessage) ([]int32, *apiError) {
	wrong := &apiError{http.StatusBadRequest, "prompt must be a string, a list of token ids, or a list with one of these.", "prompt"}
	if len(prompt) == 0 {
		return nil, wrong
	}
	if prompt[0] == '"' {
		var text string
		if json.Unmarshal(prompt, &text) != nil {
			return nil, wrong
		}
		return s.vocab.encode(nil, text), nil
	}
	if inner := bytes.TrimLeft(prompt[1:], " \t\r\n"); prompt[0] == '[' && len(inner) > 0 && (inner[0] == '"' || inner[0] == '[') {
		var one []json.RawMessage
		if json.Unmarshal(prompt, &one) != nil || len(one) != 1 {
			return nil, wrong
		}
		return s.ids(one[0])
	}
	var wide []int64
	if json.Unmarshal(prompt, &wide) != nil {
		return nil, wrong
	}
	ids := make([]int32, len(wide))
	for i, id := range wide {
		if id < 0 || id >= int64(s.cfg.Vocab) {
			return nil, badRequest("Token id %d is out of vocabulary", id)
		}
		ids[i] = int32(id)
	}
	return ids, nil
}

// limit is the maximum number of output tokens, with vLLM's defaults: 16 for completions, the rest of the
// context for chat.
func (s *Server) limit(req *request, kind api, prompt int) (int, *apiError) {
	asked := req.MaxTokens
	if req.MaxCompletionTokens != nil {
		asked = req.MaxCompletionTokens
	}
	n := 16
	switch {
	case asked != nil:
		n = *asked
	case kind == chat:
		n = max(s.cfg.MaxModelLen-prompt, 1)
	}
	if n < 1 {
		return 0, &apiError{http.StatusBadRequest, fmt.Sprintf("max_tokens must be at least 1, got %d.", n), "max_tokens"}
	}
	if req.MinTokens < 0 || req.MinTokens > n {
		return 0, &apiError{http.StatusBadRequest, fmt.Sprintf("min_tokens must be between 0 and max_tokens=%d, got %d.", n, req.MinTokens), "min_tokens"}
	}
	if prompt >= s.cfg.MaxModelLen {
		return 0, &apiError{http.StatusBadRequest, fmt.Sprintf("This model's maximum context length is %d tokens. However, your request has %d input tokens. "+
			"Please reduce the length of the input messages.", s.cfg.MaxModelLen, prompt), "input_tokens"}
	}
	if n > s.cfg.MaxModelLen-prompt {
		all := uint64(prompt) + uint64(n) // no overflow
		return 0, &apiError{http.StatusBadRequest, fmt.Sprintf("This model's maximum context length is %d tokens. However, you requested %d output tokens and your prompt "+
			"contains %d input tokens, for a total of %d tokens (%d + %d = %d > %d). Please reduce the length of the input prompt or the number of requested output tokens.",
			s.cfg.MaxModelLen, n, prompt, all, prompt, n, all, s.cfg.MaxModelLen), "input_tokens"}
	}
	return n, nil
}
