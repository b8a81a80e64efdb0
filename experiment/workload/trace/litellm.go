package trace

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// litellm reads LiteLLM's spend logs: lines, a list, or the pages that its API returns (a list under data), in
// any order.
type litellm struct {
	walk   *walker
	prints *texts
	groups sessionNumbers
	counts *Counts
	add    func(*call) error
}

func newLiteLLM(r io.Reader, line int, o Options) *litellm {
	return &litellm{walk: newWalker(r, line), prints: newTexts(o)}
}

func (l *litellm) at() int         { return l.walk.at() }
func (l *litellm) spans() spanTree { return nil }

// spend is a row of the log.
type spend struct {
	kind     string
	start    string
	end      string
	input    *int
	output   *int
	model    string
	group    string
	session  string
	status   string
	cacheHit string
	messages json.RawMessage
	request  json.RawMessage // as the proxy received it
}

func (l *litellm) scan(add func(*call) error, counts *Counts) (Info, error) {
	l.add, l.counts = add, counts
	for {
		err := l.walk.document(l.object)
		if err != nil {
			err = l.walk.end(err)
		}
		if err == io.EOF {
			return l.prints.info(LiteLLM), nil
		}
		if err != nil {
			return Info{}, err
		}
	}
}

// object reads a row, or a page of rows.
func (l *litellm) object() error {
	var s spend
	line, page := l.at(), false
	err := l.walk.keys(func(key string) error {
		switch key {
		case "data":
			page = true
			return l.walk.objects(l.object)
		case "call_type":
			return l.walk.text(&s.kind)
		case "startTime":
			return l.walk.text(&s.start)
		case "endTime":
			return l.walk.text(&s.end)
		case "prompt_tokens":
			return l.walk.decode(&s.input)
		case "completion_tokens":
			return l.walk.decode(&s.output)
		case "model":
			return l.walk.text(&s.model)
		case "model_group":
			return l.walk.text(&s.group)
		case "session_id":
			return l.walk.text(&s.session)
		case "status":
			return l.walk.text(&s.status)
		case "cache_hit":
			return l.walk.text(&s.cacheHit)
		case "messages":
			return l.walk.decode(&s.messages)
		case "proxy_server_request":
			return l.walk.decode(&s.request)
		}
		return l.walk.skip()
	})
	if err != nil || page {
		return err
	}
	return l.walk.mistaken(l.row(&s, line))
}

// row stores a row of the log.
func (l *litellm) row(s *spend, line int) error {
	skip := func(n *int) error {
		l.counts.Read++
		*n++
		return nil
	}
	switch {
	case !requestTypes[s.kind] || strings.EqualFold(s.cacheHit, "true"):
		return skip(&l.counts.Other)
	case s.status != "" && s.status != "success":
		return skip(&l.counts.Failed)
	case s.start == "":
		return errors.New("startTime is missing")
	case s.input == nil || s.output == nil:
		return errors.New("prompt_tokens or completion_tokens is missing")
	case *s.input < 0 || *s.output < 0 || *s.input > maxTokens || *s.output > maxTokens:
		return fmt.Errorf("prompt_tokens %d or completion_tokens %d is not between 0 and %d", *s.input, *s.output, maxTokens)
	case *s.input == 0 || *s.output == 0:
		return skip(&l.counts.Empty)
	}
	c := call{Entry: Entry{Line: line, Input: *s.input, Output: *s.output, Class: s.model}}
	if s.group != "" {
		c.Class = s.group
	}
	var err error
	if c.At, c.took, err = between("startTime", s.start, "endTime", s.end); err != nil {
		return err
	}
	if c.Session, err = l.groups.of(s.session); err != nil {
		return err
	}
	if err := l.prompt(s, &c.Entry); err != nil {
		return err
	}
	return l.add(&c)
}

// requestTypes are the calls that are requests for text.
var requestTypes = map[string]bool{"": true, "completion": true, "acompletion": true, "text_completion": true, "atext_completion": true,
	"anthropic_messages": true, "responses": true, "aresponses": true, "generate_content": true, "agenerate_content": true,
	"generate_content_stream": true, "agenerate_content_stream": true}

// between is the begin of a request, and the time to its end; 0 = no end.
func between(startKey, start, endKey, end string) (at, took time.Duration, err error) {
	if at, err = parseDate(start); err != nil {
		return 0, 0, fmt.Errorf("%s: %w", startKey, err)
	}
	if end == "" {
		return at, 0, nil
	}
	until, err := parseDate(end)
	if err != nil {
		return 0, 0, fmt.Errorf("%s: %w", endKey, err)
	}
	if until < at {
		return 0, 0, fmt.Errorf("%s %s is before %s %s", endKey, end, startKey, start)
	}
	return at, until - at, nil
}

// prompt fingerprints the stored messages, if there are any.
func (l *litellm) prompt(s *spend, e *Entry) error {
	p := l.prints.prompt()
	if !emptyJSON(s.messages) {
		if err := p.messages(s.messages); err != nil {
			return err
		}
	} else {
		text := s.request
		var quoted string
		if json.Unmarshal(text, &quoted) == nil {
			text = json.RawMessage(quoted)
		}
		if emptyJSON(text) {
			return nil
		}
		found, err := p.body(text)
		if err != nil {
			return fmt.Errorf("proxy_server_request: %w", err)
		}
		if !found {
			return nil
		}
	}
	l.prints.fill(&p, e, true)
	return nil
}

// emptyJSON reports whether a stored value has no content.
func emptyJSON(raw json.RawMessage) bool {
	if len(raw) > 64 {
		return false
	}
	switch strings.TrimSpace(string(raw)) {
	case "", "null", "{}", "[]", `""`, `"{}"`, `"[]"`:
		return true
	}
	return false
}
