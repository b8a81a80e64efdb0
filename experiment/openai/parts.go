package openai

import "encoding/json"

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
