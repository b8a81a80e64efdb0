package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
)

// chunk is the content of one event, or of an answer in one piece. Its byte slices may point into the event.
type chunk struct {
	hasChoices   bool // at least one
	hasToken     bool // text, reasoning, a tool call or token ids
	hasAnswer    bool // text or a tool call
	hasReasoning bool // reasoning
	hasRole      bool // a role in a delta: without a token, the event only opens the answer
	idCount      int  // length of the list of token ids; 0: no list
	tokenIDs     []int32
	pieces       []piece // content and tool calls without reasoning, in their order
	finishReason []byte
	id           []byte // the server's id of the request

	prompt, cached, output          int // usage
	hasPrompt, hasCached, hasOutput bool
	// tokens of the prompt that are not in prompt: read from the cache, or written to it
	apart    int
	hasApart bool
	refused  *Usage // counts that are no numbers of tokens; nil: none

	times ServerTimes
	more  *moreUsage // nil: nothing of it; the walker's own until its next chunk

	ended   bool   // the last event of the stream
	failed  bool   // an error object
	message string // the error's text
}

// plainJSON is a value without the spaces and escapes of who wrote it, with sorted keys.
func plainJSON(text []byte) []byte {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return text
	}
	plain, _ := encodeJSON(v) // what encoding/json has read, it writes
	return plain
}

// jsonEscape is the text as it stands between the quotes of a JSON string.
func jsonEscape(text string) []byte {
	if text == "" {
		return nil
	}
	quoted := appendString(nil, text)
	return quoted[1 : len(quoted)-1]
}

func object(v any) map[string]any { m, _ := v.(map[string]any); return m }

const (
	maxCount = 1e15          // more tokens are an error of the server
	maxID    = math.MaxInt32 // of a token id
)

// errorMessage finds the text in the error shapes of vLLM, SGLang, TGI, llama.cpp, OpenAI and FastAPI:
// {"error": {…}}, {"error": "…"}, {"object": "error", "message": …}, {"detail": …}, the same in "response"; else it
// returns the JSON.
func errorMessage(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case map[string]any:
		for _, key := range []string{"error", "message", "msg", "detail", "response"} {
			if text := errorMessage(v[key]); text != "" {
				return text
			}
		}
	case []any:
		var texts []string
		for _, item := range v {
			if text := errorMessage(item); text != "" {
				texts = append(texts, text)
			}
		}
		return strings.Join(texts, "; ")
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}

// bodyMessage is the text of an error's body: the message in its JSON, else the body itself.
func bodyMessage(body []byte) string {
	body = body[:min(len(body), largeJSON)]
	var v any
	if json.Unmarshal(body, &v) == nil && object(v) != nil {
		return errorMessage(v)
	}
	return string(body)
}

// Parts are an answer without reasoning, taken apart. Their texts are escaped as inside a JSON string, since a
// character may come in two events; Unescape makes text of them.
type Parts struct {
	Content []byte
	Calls   []ToolCall // in the order of their first pieces
	Cut     bool       // longer than 1 MiB, or more than 128 tool calls: the rest is missing
}

type ToolCall struct {
	Index     int // as the server numbers it, else its position
	Name      []byte
	Arguments []byte // a JSON text, escaped once more
}

const (
	maxParts     = 1 << 20 // bytes of all parts
	maxToolCalls = 128
)

type part uint8

const (
	partContent part = iota
	partReasoning
	partName // of a tool call
	partArguments
)

type piece struct {
	part part
	call int    // index of its tool call; of content without meaning
	text []byte // escaped; may point into the event
}

func (p *Parts) add(x piece) {
	if p.Cut = p.Cut || p.size()+len(x.text) > maxParts; p.Cut {
		return
	}
	switch x.part {
	case partContent:
		p.Content = append(p.Content, x.text...)
	default:
		p.addCall(x)
	}
}

func (p *Parts) addCall(x piece) {
	call := p.call(x.call)
	switch {
	case call == nil:
		p.Cut = true
	case x.part == partName:
		call.Name = append(call.Name, x.text...)
	default:
		call.Arguments = append(call.Arguments, x.text...)
	}
}

func (p *Parts) call(index int) *ToolCall {
	for i := len(p.Calls) - 1; i >= 0; i-- {
		if p.Calls[i].Index == index {
			return &p.Calls[i]
		}
	}
	if len(p.Calls) == maxToolCalls {
		return nil
	}
	p.Calls = append(p.Calls, ToolCall{Index: index})
	return &p.Calls[len(p.Calls)-1]
}

func (p *Parts) size() int {
	n := len(p.Content)
	for i := range p.Calls {
		n += len(p.Calls[i].Name) + len(p.Calls[i].Arguments)
	}
	return n
}

func (p *Parts) reuse() Parts { return Parts{Content: p.Content[:0]} }

func Unescape(escaped []byte) string {
	quoted := make([]byte, 0, len(escaped)+2)
	quoted = append(append(append(quoted, '"'), escaped...), '"')
	var text string
	if json.Unmarshal(quoted, &text) != nil { // not from a reader of this package
		return string(escaped)
	}
	return text
}
