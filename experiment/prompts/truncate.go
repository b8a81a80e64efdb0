package prompts

import (
	"bytes"
	"encoding/json"
	"errors"
	"unicode/utf8"
)

// LastText is the text that truncation shortens: the prompt, or the last message of a user; false if it is no text.
func (c *Content) LastText() (string, bool) {
	if c.Messages == nil {
		return text(c.Text)
	}
	var list []json.RawMessage
	_ = json.Unmarshal(c.Messages, &list) // parse has read it
	var last struct {
		Role    string
		Content json.RawMessage
	}
	_ = json.Unmarshal(list[len(list)-1], &last)
	if last.Role != "user" {
		return "", false
	}
	return text(last.Content)
}

// truncate keeps the first cut bytes of the last text, or fewer: only whole characters. All other messages stay as they
// are.
func (c *Content) truncate(cut int) error {
	s, ok := c.LastText()
	if !ok {
		return errors.New("the last message is no text of the user: it cannot be truncated")
	}
	cut = min(cut, len(s))
	for cut > 0 && cut < len(s) && !utf8.RuneStart(s[cut]) {
		cut--
	}
	short := jsonOf(s[:cut])
	if c.Messages == nil {
		c.Text = short
		return nil
	}
	var list []json.RawMessage
	_ = json.Unmarshal(c.Messages, &list)
	var last record
	_ = json.Unmarshal(list[len(list)-1], &last)
	last["content"] = short
	list[len(list)-1] = jsonOf(last)
	c.Messages = append(append([]byte{'['}, bytes.Join(raws(list), []byte{','})...), ']')
	return nil
}

func raws(list []json.RawMessage) [][]byte {
	out := make([][]byte, len(list))
	for i, raw := range list {
		out[i] = raw
	}
	return out
}

// jsonOf encodes a value that always has a JSON form, without escapes for HTML.
func jsonOf(v any) json.RawMessage {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v)
	return bytes.TrimSuffix(buf.Bytes(), []byte{'\n'})
}
