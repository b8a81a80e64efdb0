package mock

import (
	"encoding/json"
	"fmt"
	"slices"
)

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
func (s *Server) reasoning(t Thoughts) int {
	if t.thinking != nil && !*t.thinking {
		return 0
	}
	return s.cfg.ReasoningTokens
}

func (c *Config) Reasons() bool { return c.ReasoningTokens > 0 }

// half is the number of reasoning tokens of an answer whose request asks for reasoning, if none is stated.
func half(output int) int { return (output + 1) / 2 }
