package mock

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// encoder appends the events of one response. Their constant part is encoded once.
type encoder struct {
	head      []byte // from "data: " to the choices
	chat      bool
	eol       string
	tool      []byte  // its name, quoted
	prompt    int     // tokens, for usage
	promptIDs []int32 // for the first event that lists token ids; nil: none, or sent
	cached    int
	silent    bool // usage does not state cached
	brief     bool // nor a 0
	wrong     *int // output tokens for usage; nil: the true ones
}

// tokenKind is the field of the event that a token belongs to.
type tokenKind int

const (
	textToken tokenKind = iota
	reasoningToken
	toolNameToken // the name of a tool
	toolArgumentToken
)

func newEncoder(id, model string, created int64, shape api, f faults) encoder {
	object := "text_completion"
	if shape == chat {
		object = "chat.completion.chunk"
	}
	return encoder{
		silent: f.noDetails,
		brief:  f.noZero,
		head:   fmt.Appendf(nil, `data: {"id":%s,"object":%q,"created":%d,"model":%s,"choices":[`, quoted(id), object, created, quoted(model)),
		chat:   shape == chat,
		eol:    f.lineEnd,
		tool:   quoted(f.tool),
	}
}

// quoted is s as a JSON string.
func quoted(s string) []byte {
	b, _ := json.Marshal(s) // strings always encode
	return b
}

// open appends an event up to its text.
func (f *encoder) open(b []byte, k tokenKind) []byte {
	b = append(b, f.head...)
	switch {
	case !f.chat:
		return append(b, `{"index":0,"text":"`...)
	case k == reasoningToken:
		return append(b, `{"index":0,"delta":{"reasoning_content":"`...)
	case k == toolNameToken:
		b = append(b, `{"index":0,"delta":{"tool_calls":[{"id":"chatcmpl-tool-0","type":"function","index":0,"function":{"name":`...)
		return append(append(b, f.tool...), `,"arguments":"`...)
	case k == toolArgumentToken:
		return append(b, `{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"`...)
	}
	return append(b, `{"index":0,"delta":{"content":"`...)
}

// close appends the rest of an event after its text. An empty finish is null; usage < 0 leaves usage out, and no ids
// leave the token ids out.
func (f *encoder) close(b []byte, k tokenKind, finish string, usage int, ids []int32) []byte {
	switch {
	case !f.chat:
		b = append(b, '"')
	case k == toolNameToken, k == toolArgumentToken:
		b = append(b, `"}}]}`...)
	default:
		b = append(b, `"}`...)
	}
	b = append(b, `,"logprobs":null,"finish_reason":`...)
	if finish == "" {
		b = append(b, "null"...)
	} else {
		b = append(append(append(b, '"'), finish...), '"')
	}
	if !f.chat || finish != "" {
		b = append(b, `,"stop_reason":null`...)
	}
	if len(ids) > 0 {
		b = f.tokenIDs(b, ids)
	}
	b = append(b, "}]"...)
	if usage >= 0 {
		b = f.usage(append(b, ','), usage)
	}
	return f.endEvent(append(b, '}'))
}

// tokenIDs appends the token ids of an event. Like vLLM's, the first one of a completion lists the prompt's, too.
func (f *encoder) tokenIDs(b []byte, ids []int32) []byte {
	if !f.chat {
		b = append(b, `,"prompt_token_ids":`...)
		if f.promptIDs == nil {
			b = append(b, "null"...)
		} else {
			b = appendIDs(b, f.promptIDs)
		}
		f.promptIDs = nil
	}
	return appendIDs(append(b, `,"token_ids":`...), ids)
}

func appendIDs(b []byte, ids []int32) []byte {
	b = append(b, '[')
	for i, id := range ids {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(id), 10)
	}
	return append(b, ']')
}

// roleEvent appends the first event of a chat response. Like vLLM's, it lists the prompt's token ids.
func (f *encoder) roleEvent(b []byte) []byte {
	b = append(append(b, f.head...), `{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]`...)
	if f.promptIDs != nil {
		b = appendIDs(append(b, `,"prompt_token_ids":`...), f.promptIDs)
	}
	return f.endEvent(append(b, '}'))
}

// usageEvent appends the last event, with usage, and the server's own times of the request if they are not empty.
func (f *encoder) usageEvent(b []byte, tokens int, times string) []byte {
	b = append(append(b, f.head...), `],`...)
	if b = f.usage(b, tokens); times != "" {
		b = append(append(b, `,"metrics":`...), times...)
	}
	return f.endEvent(append(b, '}'))
}

func (f *encoder) usage(b []byte, tokens int) []byte {
	if f.wrong != nil {
		tokens = *f.wrong
	}
	b = strconv.AppendInt(append(b, `"usage":{"prompt_tokens":`...), int64(f.prompt), 10)
	b = strconv.AppendInt(append(b, `,"total_tokens":`...), int64(f.prompt+tokens), 10)
	b = strconv.AppendInt(append(b, `,"completion_tokens":`...), int64(tokens), 10)
	if f.silent || f.brief && f.cached == 0 {
		return append(b, '}')
	}
	b = strconv.AppendInt(append(b, `,"prompt_tokens_details":{"cached_tokens":`...), int64(f.cached), 10)
	return append(b, "}}"...)
}

func (f *encoder) data(b []byte, payload string) []byte {
	return f.endEvent(append(append(b, "data: "...), payload...))
}

func (f *encoder) comment(b []byte) []byte { return f.endEvent(append(b, ": ping"...)) }

// emptyEvent appends an event with an empty data field.
func (f *encoder) emptyEvent(b []byte) []byte { return f.endEvent(append(b, "data:"...)) }

// endEvent ends the line and the event.
func (f *encoder) endEvent(b []byte) []byte { return append(append(b, f.eol...), f.eol...) }
