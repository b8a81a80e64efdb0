package mock

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
)

// answer is what the tokens of a response are: reasoning first, then text or one tool call.
type answer struct {
	reasons   bool     // the request may reason: usage reports reasoning tokens
	reasoning int      // tokens, the first ones
	tool      string   // name of the tool
	calls     bool     // the tokens after the reasoning are a call of it: its name, then its arguments
	valid     *bool    // as in Record
	correct   *bool    // as in Record
	words     []string // of the tokens after reasoning and tool name; those beyond have no text. nil: random words
}

// plan decides on the answer to req, of at most limit tokens, and on the number of its tokens.
func (s *responder) plan(req *request, kind api, q *seq, limit int, f faults) answer {
	a := answer{tool: "look"}
	if kind.talks() {
		a.reasons, a.reasoning = s.cfg.Reasons(), s.reasoning(req.thoughts)
		a.calls = f.has("tool-calls") || req.forced != ""
	}
	if len(req.tools) > 0 {
		a.tool = req.tools[0].name
	}
	if req.forced != "" {
		a.tool = req.forced
	}
	script := s.script(req, q, &a)
	natural := q.natural(s.cfg.NaturalOutput)
	if script != nil {
		natural = a.named() + len(script.words(0))
	}
	q.want, q.finish = limit, "length"
	if !req.IgnoreEOS {
		if n := max(a.reasoning+natural, req.MinTokens); n < limit {
			q.want, q.finish = n, "stop"
		}
	}
	if f.has("short") && f["short"].n < q.want {
		q.want, q.finish = f["short"].n, "stop"
	}
	if kind.talks() && a.reasoning == 0 && (f.has("role-reasoning") || req.thoughts.Asked()) {
		a.reasons, a.reasoning = true, half(q.want)
	}
	if script != nil {
		a.follow(script, q)
	}
	return a
}

func (a *answer) named() int {
	if a.calls {
		return 1
	}
	return 0
}

// script is the planted text of the answer: of a tool call, else a schema, else a known question; nil: random words.
func (s *responder) script(req *request, q *seq, a *answer) *script {
	if a.calls {
		schema := readSchema(req.toolSchema(a.tool))
		if schema["properties"] == nil {
			return nil
		}
		a.valid = new(bool)
		return s.structured(schema, q)
	}
	if schema := req.schema(); schema != nil {
		a.valid = new(bool)
		return s.structured(schema, q)
	}
	script := s.known(req, q)
	if script != nil {
		a.correct = new(bool)
	}
	return script
}

func (a *answer) follow(s *script, q *seq) {
	first := a.reasoning + a.named()
	a.words = s.words(q.want - first)
	right := s.right && first+len(a.words) <= q.want
	for _, flag := range []*bool{a.valid, a.correct} {
		if flag != nil {
			*flag = right
		}
	}
	q.scripted = first
	for _, word := range a.words {
		q.script = append(q.script, q.vocab.id(word))
	}
}

func (p *reply) calls() bool { return p.answer.calls && p.answer.reasoning < p.q.want }

func (p *reply) reasoned() int { return min(p.answer.reasoning, p.q.want) }

func (p *reply) kind(i int) tokenKind {
	switch {
	case i < p.answer.reasoning:
		return reasoningToken
	case !p.answer.calls:
		return textToken
	case i == p.answer.reasoning:
		return toolNameToken
	}
	return toolArgumentToken
}

func (p *reply) finish() string {
	if p.calls() {
		return "tool_calls"
	}
	return p.q.finish
}

// created is the arrival in seconds of Unix time.
func (r *Record) created() int64 { return r.ArrivalUnixNS / 1e9 }

func (p *reply) text(from, to int) string {
	var b []byte
	for i := from; i < to; i++ {
		k := p.kind(i)
		if p.splits(k) && p.req.Stream {
			b = append(b, "é"...)
		}
		if p.hasText(k, i) {
			b = p.appendText(b, k, i, false)
		}
	}
	return string(b)
}

// appendText appends the text of output token i; quoted: as part of a JSON string. The arguments of a call without
// a schema are a JSON object of words.
func (p *reply) appendText(b []byte, k tokenKind, i int, quoted bool) []byte {
	if k == toolNameToken {
		return b
	}
	first := p.answer.reasoning
	if k == toolArgumentToken {
		first++
	}
	if p.answer.words != nil && k != reasoningToken {
		return p.answer.appendWord(b, i-first, quoted)
	}
	if k == toolArgumentToken && i == first {
		b = appendQuoted(b, `{"words":"`, quoted)
	}
	b = strconv.AppendInt(append(b, " w"...), int64(p.q.generated(i)), 10)
	if k == toolArgumentToken && i == p.q.want-1 {
		b = appendQuoted(b, `"}`, quoted)
	}
	return b
}

func (a *answer) appendWord(b []byte, i int, quoted bool) []byte {
	if i >= len(a.words) {
		return b
	}
	if i > 0 {
		b = append(b, ' ')
	}
	return appendQuoted(b, a.words[i], quoted)
}

func appendQuoted(b []byte, text string, quoted bool) []byte {
	if !quoted {
		return append(b, text...)
	}
	for i := range len(text) {
		if text[i] == '"' || text[i] == '\\' {
			b = append(b, '\\')
		}
		b = append(b, text[i])
	}
	return b
}

// Thoughts is what the body of a request says about its reasoning. The zero value: nothing.
type Thoughts struct {
	thinking *bool // whether it asks for reasoning; nil: it does not say
	silent   bool  // the API has no reasoning
}

var NoThoughts = Thoughts{silent: true}

// ReadThoughts reads the fields of bodies of an API ("chat") that do not depend on the prompt.
func ReadThoughts(name string, fields map[string]any) (Thoughts, error) {
	kind := api(slices.Index(apiNames[:], name))
	if !kind.talks() {
		return NoThoughts, nil
	}
	var of request
	text, err := json.Marshal(fields)
	if err == nil {
		err = json.Unmarshal(text, &of)
	}
	if err != nil {
		return Thoughts{}, fmt.Errorf("mock: fields of requests: %w", err)
	}
	return Thoughts{thinking: of.asks(kind)}, nil
}

func (t Thoughts) Asked() bool { return t.thinking != nil && *t.thinking }

// reasoning is the planted number of reasoning tokens of a request.
func (s *responder) reasoning(t Thoughts) int {
	if t.thinking != nil && !*t.thinking {
		return 0
	}
	return s.cfg.ReasoningTokens
}

func (c *Config) Reasons() bool { return c.ReasoningTokens > 0 }

// half is the number of reasoning tokens of an answer whose request asks for reasoning, if none is stated.
func half(output int) int { return (output + 1) / 2 }
