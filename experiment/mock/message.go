package mock

import (
	"encoding/json"
)

type message struct {
	Role      string  `json:"role"`
	Content   content `json:"content"`
	ToolCalls []struct {
		Function function `json:"function"`
	} `json:"tool_calls"`
}

type function struct {
	Name       string          `json:"name"`
	Arguments  string          `json:"arguments"`
	Parameters json.RawMessage `json:"parameters"`
}

type tool struct {
	name   string
	schema json.RawMessage // of its arguments; empty: not stated
}

type content []part

type part struct {
	text  string
	image *picture
}

// contentPart is a part in the form of any of the APIs: text, image_url and input_image of OpenAI, and the blocks
// of Anthropic, of which those with a tool's call or result count as text.
type contentPart struct {
	Type     string          `json:"type"`
	Text     string          `json:"text"`
	Refusal  string          `json:"refusal"`
	ImageURL json.RawMessage `json:"image_url"` // {"url": …}, in Responses a string
	Source   *struct {
		Type      string `json:"type"`
		MediaType string `json:"media_type"`
		Data      string `json:"data"`
		URL       string `json:"url"`
	} `json:"source"`
	Thinking string          `json:"thinking"`
	Name     string          `json:"name"`    // tool_use
	Input    json.RawMessage `json:"input"`   // tool_use
	Content  content         `json:"content"` // tool_result
}

func (c *content) UnmarshalJSON(b []byte) error {
	*c = nil
	if string(b) == "null" {
		return nil
	}
	if len(b) == 0 || b[0] != '[' {
		var text string
		err := json.Unmarshal(b, &text)
		*c = content{{text: text}}
		return err
	}
	var parts []contentPart
	if err := json.Unmarshal(b, &parts); err != nil {
		return err
	}
	for _, p := range parts {
		if err := c.add(p); err != nil {
			return err
		}
	}
	return nil
}

func (c *content) add(p contentPart) error {
	picture, err := p.picture()
	if err != nil {
		return err
	}
	if picture != nil {
		*c = append(*c, part{image: picture})
		return nil
	}
	text := p.Text + p.Refusal + p.Thinking
	if p.Type == "tool_use" {
		text = p.Name + " " + string(p.Input)
	}
	*c = append(append(*c, part{text: text}), p.Content...)
	return nil
}

type messageList struct {
	list []message
	raw  json.RawMessage
}

func (m *messageList) UnmarshalJSON(b []byte) error {
	m.raw = append(m.raw[:0], b...)
	return json.Unmarshal(b, &m.list)
}
