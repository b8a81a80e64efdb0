package mock

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// maxBody is the largest request body, bytes: a prompt of a million tokens has less than 16 MiB.
const maxBody = 32 << 20

// request is the body of a request in any of the APIs. settle makes messages of what Responses and Messages have.
type request struct {
	Model               string          `json:"model"`
	Prompt              json.RawMessage `json:"prompt"`
	Messages            messageList     `json:"messages"`
	MaxTokens           *int            `json:"max_tokens"`
	MaxCompletionTokens *int            `json:"max_completion_tokens"`
	MinTokens           int             `json:"min_tokens"`
	IgnoreEOS           bool            `json:"ignore_eos"`
	N                   *int            `json:"n"`
	Tools               json.RawMessage `json:"tools"`
	ToolChoice          json.RawMessage `json:"tool_choice"`
	Metadata            json.RawMessage `json:"metadata"`
	ReasoningEffort     string          `json:"reasoning_effort"`
	Stream              bool            `json:"stream"`
	ReturnTokenIDs      bool            `json:"return_token_ids"`
	CacheSalt           string          `json:"cache_salt"`
	StreamOptions       struct {
		IncludeUsage         bool `json:"include_usage"`
		ContinuousUsageStats bool `json:"continuous_usage_stats"`
	} `json:"stream_options"`
	ChatTemplate struct {
		Thinking       *bool `json:"thinking"`
		EnableThinking *bool `json:"enable_thinking"`
	} `json:"chat_template_kwargs"`

	structure

	inResponses responsesFields
	inMessages  messagesFields

	raw      []byte // of prompt, messages or input, as in the body
	tools    []tool
	forced   string // name of the tool that the answer must call; empty: none
	thoughts Thoughts
}

// responsesFields and messagesFields are of one API alone: another one ignores such fields, whatever they are.
type responsesFields struct {
	Input           json.RawMessage `json:"input"`
	Instructions    string          `json:"instructions"`
	MaxOutputTokens *int            `json:"max_output_tokens"`
	Previous        string          `json:"previous_response_id"`
	Reasoning       struct {
		Effort string `json:"effort"`
	} `json:"reasoning"`
}

type messagesFields struct {
	System   content `json:"system"`
	Thinking struct {
		Type string `json:"type"`
	} `json:"thinking"`
}

func readRequest(r *http.Request, kind api) (*request, *apiError) {
	req := new(request)
	var body any = req
	switch kind {
	case responses:
		body = &struct {
			*request
			*responsesFields
		}{req, &req.inResponses}
	case messages:
		body = &struct {
			*request
			*messagesFields
		}{req, &req.inMessages}
	}
	if bad := decode(r, body); bad != nil {
		return nil, bad
	}
	return req, req.settle(kind)
}

func (r *request) settle(kind api) *apiError {
	if r.raw = r.Prompt; kind == completions {
		return nil
	}
	r.raw, r.Prompt = r.Messages.raw, nil
	r.tools, r.forced = r.statedTools()
	r.thoughts.thinking = r.asks(kind)
	switch kind {
	case responses:
		return r.settleInput()
	case messages:
		return r.settleSystem()
	}
	return nil
}

func (r *request) settleSystem() *apiError {
	if r.MaxTokens == nil {
		return invalid("max_tokens", "max_tokens: Field required")
	}
	if len(r.inMessages.System) > 0 && len(r.Messages.list) > 0 {
		r.Messages.list = append([]message{{Role: "system", Content: r.inMessages.System}}, r.Messages.list...)
	}
	return nil
}

// asks reports whether a request asks for reasoning, by the arguments of its chat template, else by a field with a
// value for no reasoning; nil: it does not say.
func (r *request) asks(kind api) *bool {
	stated, none := r.ReasoningEffort, "none"
	switch kind {
	case responses:
		stated = r.inResponses.Reasoning.Effort
	case messages:
		stated, none = r.inMessages.Thinking.Type, "disabled"
	}
	var asked *bool
	if stated != "" {
		asked = new(stated != none)
	}
	return cmp.Or(r.ChatTemplate.EnableThinking, r.ChatTemplate.Thinking, asked)
}

func (r *request) toolSchema(name string) json.RawMessage {
	for _, t := range r.tools {
		if t.name == name {
			return t.schema
		}
	}
	return nil
}

// statedTools are the tools of a request in the form of any of the APIs, and the one that tool_choice forces.
func (r *request) statedTools() (tools []tool, forced string) {
	var list []struct {
		function                    // Responses
		Chat        function        `json:"function"`
		InputSchema json.RawMessage `json:"input_schema"` // Messages
	}
	if json.Unmarshal(r.Tools, &list) != nil || len(list) == 0 {
		return nil, ""
	}
	for _, t := range list {
		schema := slices.Concat(t.Parameters, t.Chat.Parameters, t.InputSchema) // one of them is stated
		tools = append(tools, tool{cmp.Or(t.Chat.Name, t.Name), schema})
	}
	var choice struct {
		Type, Name string
		Function   function
	}
	_ = json.Unmarshal(r.ToolChoice, &choice) // no object: none is named
	forced = cmp.Or(choice.Function.Name, choice.Name)
	if forced == "" && (string(r.ToolChoice) == `"required"` || choice.Type == "any") {
		forced = tools[0].name
	}
	return tools, forced
}

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

func (s *responder) sequence(req *request, kind api, arrival time.Duration) (*seq, int, *apiError) {
	if !s.serves(req.Model) {
		return nil, 0, &apiError{http.StatusNotFound, fmt.Sprintf("The model `%s` does not exist.", req.Model), "model"}
	}
	if req.N != nil && *req.N != 1 {
		return nil, 0, badRequest("n must be 1, got %d.", *req.N)
	}
	prompt, bad := s.prompt(req, kind)
	if bad != nil {
		return nil, 0, bad
	}
	limit, bad := s.limit(req, kind, len(prompt))
	if bad != nil {
		return nil, 0, bad
	}
	q := newSeq(s.cfg.Seed, s.vocab, prompt, arrival)
	q.cacheSalt = req.CacheSalt
	return q, limit, nil
}

func (s *responder) prompt(req *request, kind api) ([]int32, *apiError) {
	if kind != completions {
		if len(req.Messages.list) == 0 {
			return nil, invalid("messages", "messages must not be empty.")
		}
		return append(s.vocab.encode(nil, string(req.Tools)), s.chat(req.Messages.list)...), nil
	}
	ids, bad := s.ids(req.Prompt)
	if bad == nil && len(ids) == 0 {
		bad = invalid("prompt", "The decoder prompt cannot be empty")
	}
	return ids, bad
}

// serves reports whether requests may ask for a model; empty: the only one.
func (s *responder) serves(model string) bool {
	return model == "" || model == s.cfg.Model || slices.Contains(s.cfg.ServedModels, model)
}

// ids reads a prompt: a string, a list of token ids, or a list of exactly one of these.
func (s *responder) ids(prompt json.RawMessage) ([]int32, *apiError) {
	wrong := invalid("prompt", "prompt must be a string, a list of token ids, or a list with one of these.")
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
	var wide []int64
	var one []json.RawMessage
	switch {
	case json.Unmarshal(prompt, &wide) == nil:
	case json.Unmarshal(prompt, &one) != nil || len(one) != 1:
		return nil, wrong
	default:
		return s.ids(one[0])
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

// limit is the most output tokens; vLLM's defaults: 16 for completions, the rest of the context for chat.
func (s *responder) limit(req *request, kind api, prompt int) (int, *apiError) {
	asked := req.MaxTokens
	if req.MaxCompletionTokens != nil {
		asked = req.MaxCompletionTokens
	}
	n := 16
	switch {
	case asked != nil:
		n = *asked
	case kind != completions:
		n = max(s.cfg.MaxModelLen-prompt, 1)
	}
	if n < 1 {
		return 0, invalid("max_tokens", "max_tokens must be at least 1, got %d.", n)
	}
	if req.MinTokens < 0 || req.MinTokens > n {
		return 0, invalid("min_tokens", "min_tokens must be between 0 and max_tokens=%d, got %d.", n, req.MinTokens)
	}
	if prompt >= s.cfg.MaxModelLen {
		return 0, invalid("input_tokens", "This model's maximum context length is %d tokens. However, your request has "+
			"%d input tokens. Please reduce the length of the input messages.", s.cfg.MaxModelLen, prompt)
	}
	if n > s.cfg.MaxModelLen-prompt {
		all := uint64(prompt) + uint64(n) // no overflow
		return 0, invalid("input_tokens", "This model's maximum context length is %d tokens. However, you requested "+
			"%d output tokens and your prompt contains %d input tokens, for a total of %d tokens (%d + %d = %d > %d). "+
			"Please reduce the length of the input prompt or the number of requested output tokens.",
			s.cfg.MaxModelLen, n, prompt, all, prompt, n, all, s.cfg.MaxModelLen)
	}
	return n, nil
}
