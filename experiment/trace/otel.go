package trace

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// otel reads OpenTelemetry spans: OTLP in JSON (resourceSpans), objects with a list of spans, or spans in a
// list or one a line. Requests are the spans of the gen_ai conventions that call a model; they belong to a
// session by gen_ai.conversation.id, else by their trace.
type otel struct {
	*walker
	prints *texts
	groups groups[uint64] // by hash of the id
	agents names
	counts *Counts
	add    func(*call) error
	seen   map[uint64]bool // requests and responses, to find those that were exported twice
}

func (o *otel) scan(add func(*call) error, counts *Counts) (Info, error) {
	o.add, o.counts = add, counts
	for {
		err := o.next(o.object)
		if err == io.EOF {
			return o.prints.info(formatOTel), nil
		}
		if err != nil {
			return Info{}, err
		}
	}
}

type span struct {
	trace, id  string
	name       string
	start, end string
	attributes map[string]json.RawMessage
	status     json.RawMessage
}

// spanLists are the keys under which an object has lists of spans, or of objects with such lists.
var spanLists = map[string]bool{"resourceSpans": true, "resource_spans": true, "scopeSpans": true, "scope_spans": true,
	"instrumentationLibrarySpans": true, "spans": true, "batches": true}

func (o *otel) object() error {
	var s span
	line, list := o.at(), false
	err := o.keys(func(key string) (err error) {
		if spanLists[key] {
			list = true
			return o.objects(o.object)
		}
		switch key {
		case "traceId", "trace_id":
			return o.text(&s.trace)
		case "spanId", "span_id":
			return o.text(&s.id)
		case "name":
			return o.text(&s.name)
		case "startTimeUnixNano", "start_time_unix_nano", "start_time", "startTime":
			return o.text(&s.start)
		case "endTimeUnixNano", "end_time_unix_nano", "end_time", "endTime":
			return o.text(&s.end)
		case "context": // of spans that Python's console exporter writes
			var c struct {
				Trace string `json:"trace_id"`
				ID    string `json:"span_id"`
			}
			err = o.decode(&c)
			s.trace, s.id = c.Trace, c.ID
			return err
		case "attributes":
			var raw json.RawMessage
			if err = o.decode(&raw); err == nil {
				s.attributes, err = attributes(raw)
			}
			return err
		case "status":
			return o.decode(&s.status)
		}
		return o.skip()
	})
	if err != nil || list {
		return err
	}
	if s.id == "" && s.trace == "" && s.start == "" {
		return errors.New("neither a span nor an object with spans")
	}
	return o.span(&s, line)
}

// Attributes of the conventions, the newest first, then those that older instrumentations write.
var (
	otelOperation = []string{"gen_ai.operation.name", "llm.request.type", "openinference.span.kind"}
	otelInput     = []string{"gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.usage.prompt_tokens",
		"llm.token_count.prompt"}
	otelOutput = []string{"gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens",
		"llm.usage.completion_tokens", "llm.token_count.completion"}
	otelModel    = []string{"gen_ai.request.model", "gen_ai.response.model", "llm.model_name"}
	otelResponse = []string{"gen_ai.response.id"} // a client's span and its wrapper's have the same
	otelSession  = []string{"gen_ai.conversation.id", "session.id"}
	otelAgent    = []string{"gen_ai.agent.id", "gen_ai.agent.name"}
	otelBefore   = []string{"gen_ai.system_instructions", "gen_ai.tool.definitions"} // stand before the messages
	otelPrompt   = []string{"gen_ai.input.messages", "gen_ai.prompt", "input.value"}
	otelAnswer   = []string{"gen_ai.output.messages", "gen_ai.output.text", "gen_ai.completion", "gen_ai.output",
		"output.value"}
)

// operations are the values of an operation that calls a model for text.
var operations = map[string]bool{"chat": true, "text_completion": true, "completion": true, "generate_content": true,
	"llm": true}

// request reports whether a span calls a model. Without an operation its name or its tokens decide.
func (s *span) request() bool {
	if name := s.text(otelOperation); name != "" {
		return operations[strings.ToLower(name)]
	}
	return strings.HasPrefix(s.name, "chat ") || s.first(otelModel) != nil && s.first(otelOutput) != nil
}

func (o *otel) span(s *span, line int) error {
	skip := func(n *int) error {
		o.counts.Read++
		*n++
		return nil
	}
	key := hash64(s.trace + "/" + s.id)
	response := s.text(otelResponse)
	answered := hash64("response " + s.trace + "/" + response)
	switch {
	case !s.request():
		return skip(&o.counts.Other)
	case s.failed():
		return skip(&o.counts.Failed)
	case s.start == "":
		return errors.New("the span has no start time")
	case s.id != "" && o.seen[key], response != "" && o.seen[answered]:
		return skip(&o.counts.Duplicate)
	}
	o.seen[key] = s.id != ""
	if response != "" {
		o.seen[answered] = true
	}
	c := call{Entry: Entry{Line: line, Class: s.text(otelModel)}}
	if err := s.times(&c); err != nil {
		return err
	}
	if err := o.lengths(s, &c.Entry); err != nil {
		return err
	}
	switch {
	case !s.measured():
		return skip(&o.counts.Uncounted)
	case c.Input == 0 || c.Output == 0:
		return skip(&o.counts.Empty)
	}
	c.Session = o.groups.of(hash64(cmp.Or(s.text(otelSession), "trace "+s.trace)))
	c.agent = o.agents.number(s.text(otelAgent))
	return o.add(&c)
}

func (s *span) times(c *call) (err error) {
	read := parseDate
	if strings.Trim(s.start, "0123456789") == "" {
		read = func(text string) (time.Duration, error) { return parseTime(text, time.Nanosecond) }
	}
	if c.At, err = read(s.start); err != nil {
		return fmt.Errorf("start time: %w", err)
	}
	if s.end == "" || s.end == "0" {
		return nil
	}
	end, err := read(s.end)
	if err != nil {
		return fmt.Errorf("end time: %w", err)
	}
	if end < c.At {
		return errors.New("the span ends before its begin")
	}
	c.took = end - c.At
	return nil
}

func (s *span) failed() bool {
	var status struct {
		Code       json.RawMessage `json:"code"`
		StatusCode json.RawMessage `json:"status_code"`
	}
	_ = json.Unmarshal(s.status, &status) // a status of another form is no error
	for _, code := range []json.RawMessage{status.Code, status.StatusCode} {
		switch strings.Trim(string(code), `"`) {
		case "2", "ERROR", "STATUS_CODE_ERROR", "StatusCode.ERROR":
			return true
		}
	}
	return s.attributes["error.type"] != nil
}

// lengths sets the tokens and the blocks of a request. Without token counts they are estimated from the text.
func (o *otel) lengths(s *span, e *Entry) (err error) {
	counted := s.first(otelInput) != nil
	if e.Input, err = s.tokens(otelInput); err != nil {
		return err
	}
	if e.Output, err = s.tokens(otelOutput); err != nil {
		return err
	}
	if text := s.first(otelAnswer); text != nil && s.first(otelOutput) == nil {
		p := prompt{f: o.prints.fingerprints}
		if err := p.messages(text); err != nil {
			return fmt.Errorf("the answer: %w", err)
		}
		e.Output = o.prints.tokens(p.bytes)
		o.prints.answers++
	}
	text := s.first(otelPrompt)
	if text == nil {
		return nil
	}
	p := prompt{f: o.prints.fingerprints}
	for _, key := range otelBefore {
		p.add(string(s.attributes[key]))
	}
	if err := p.messages(text); err != nil {
		return err
	}
	o.prints.fill(&p, e, counted)
	return nil
}

func (s *span) measured() bool {
	return (s.first(otelInput) != nil || s.first(otelPrompt) != nil) && (s.first(otelOutput) != nil ||
		s.first(otelAnswer) != nil)
}

func (s *span) first(keys []string) json.RawMessage {
	for _, key := range keys {
		if v := s.attributes[key]; v != nil && string(v) != "null" {
			return v
		}
	}
	return nil
}

func (s *span) text(keys []string) (text string) {
	_ = json.Unmarshal(s.first(keys), &text) // none, or no string
	return text
}

// tokens is the first of these attributes as a number of tokens; 0 = there is none.
func (s *span) tokens(keys []string) (int, error) {
	raw := s.first(keys)
	if raw == nil {
		return 0, nil
	}
	n, err := strconv.ParseFloat(strings.Trim(string(raw), `"`), 64)
	if err != nil || n != float64(int(n)) || n < 0 || n > maxTokens {
		return 0, fmt.Errorf("%s is not a number of tokens between 0 and %d", strings.Join(keys[:2], " or "), maxTokens)
	}
	return int(n), nil
}
