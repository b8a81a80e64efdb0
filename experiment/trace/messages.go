package trace

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

type message struct {
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	Parts     json.RawMessage `json:"parts"`      // of OpenTelemetry: instead of content
	ToolCalls json.RawMessage `json:"tool_calls"` // counted by its bytes

	// Items of the Responses API that are no messages: calls of tools, and their results.
	Name      string          `json:"name"`
	Arguments string          `json:"arguments"`
	Output    json.RawMessage `json:"output"`
}

// read adds a prompt: a string, the messages of a chat, strings or token ids. The first bytes decide, since each
// attempt scans the whole text.
func (p *prompt) read(raw json.RawMessage) error {
	var messages []message
	switch open, item := firstBytes(raw); {
	case raw == nil:
		return fmt.Errorf("no prompt\nhint: a row needs one of %s", strings.Join(logPrompt, ", "))
	case open == '"' || open == 'n':
		var text string
		if json.Unmarshal(raw, &text) != nil {
			return errPrompt
		}
		p.add(text)
		return nil
	case item == '"' && p.strings(raw), item != '{' && item != ']' && p.tokenIDs(raw):
		return nil
	case json.Unmarshal(raw, &messages) != nil:
		return errPrompt
	}
	return p.chat(messages)
}

var errPrompt = errors.New("the prompt is neither a string nor a list of messages")

// firstBytes are the first bytes of a JSON value and of the value within; 0 = there is none.
func firstBytes(raw json.RawMessage) (open, item byte) {
	const space = " \t\r\n"
	rest := bytes.TrimLeft(raw, space)
	if len(rest) == 0 {
		return 0, 0
	}
	if inner := bytes.TrimLeft(rest[1:], space); len(inner) > 0 {
		item = inner[0]
	}
	return rest[0], item
}

func (p *prompt) chat(messages []message) error {
	for i, m := range messages {
		p.add(m.Role + "\n")
		if !p.content(m.Content) || !p.content(m.Parts) || !p.content(m.Output) {
			return fmt.Errorf("the content of message %d is neither a string nor a list of parts", i+1)
		}
		p.add(m.Name + m.Arguments + string(m.ToolCalls) + "\n")
	}
	return nil
}

var mediaParts = map[string]bool{"image": true, "image_url": true, "input_image": true, "audio": true,
	"audio_url": true, "input_audio": true,
	"video": true, "video_url": true, "input_video": true, "file": true, "input_file": true, "document": true}

// content adds a string, or the texts of a list of parts. An image or a file has no text; any other part (the call of
// a tool) counts by its bytes.
func (p *prompt) content(raw json.RawMessage) bool {
	var text string
	var parts []map[string]json.RawMessage
	switch open, _ := firstBytes(raw); {
	case len(raw) > 1 && raw[0] == '"' && bytes.IndexByte(raw, '\\') < 0: // a value that was parsed, without escapes
		p.add(string(raw[1 : len(raw)-1]))
		return true
	case open != '[' && (raw == nil || json.Unmarshal(raw, &text) == nil): // null too: a message with only tool calls
		p.add(text)
		return true
	case json.Unmarshal(raw, &parts) != nil:
		return false
	}
	for _, part := range parts {
		p.part(part)
	}
	return true
}

func (p *prompt) part(part map[string]json.RawMessage) {
	text, kind := "", ""
	if json.Unmarshal(part["text"], &text) == nil || json.Unmarshal(part["content"], &text) == nil && text != "" {
		p.add(text)
		return
	}
	_ = json.Unmarshal(part["type"], &kind) // none, or no string
	keys := slices.Sorted(maps.Keys(part))
	switch {
	case mediaParts[kind]:
		var all []byte
		for _, key := range keys {
			all = append(all, part[key]...)
		}
		p.addMedia(all)
	case kind == "tool_result" && p.content(part["content"]): // which may have an image
	default:
		for _, key := range keys {
			p.add(string(part[key]))
		}
	}
}
