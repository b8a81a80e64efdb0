package mock

import (
	"encoding/json"
	"strings"
)

type message struct {
	Role      string  `json:"role"`
	Content   content `json:"content"`
	ToolCalls []struct {
		Function function `json:"function"`
	} `json:"tool_calls"`
}

type function struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// content is the text of a message, given as a string or as a list of parts.
type content string

// UnmarshalJSON implements json.Unmarshaler.
func (c *content) UnmarshalJSON(b []byte) error {
	if len(b) == 0 || b[0] != '[' {
		return json.Unmarshal(b, (*string)(c))
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if err := json.Unmarshal(b, &parts); err != nil {
		return err
	}
	var text []string
	for _, p := range parts {
		text = append(text, p.Text)
	}
	*c = content(strings.Join(text, " "))
	return nil
}

// applyTools sets the form of a chat response: a tool call if tool_choice is "required" or names a function
// ("auto" has none), and reasoning first if the chat template enables thinking.
func (r *request) applyTools(f *faults) {
	f.reasoning = f.reasoning || r.ChatTemplate.Thinking || r.ChatTemplate.EnableThinking
	var tools []struct {
		Function function `json:"function"`
	}
	if json.Unmarshal(r.Tools, &tools) != nil || len(tools) == 0 {
		return
	}
	f.tool = tools[0].Function.Name
	var forced struct {
		Function function `json:"function"`
	}
	if json.Unmarshal(r.ToolChoice, &forced) == nil && forced.Function.Name != "" {
		f.tools, f.tool = true, forced.Function.Name
	}
	f.tools = f.tools || string(r.ToolChoice) == `"required"`
}
