package response

import (
	"slices"
	"strings"
)

type choice int

const (
	choiceUnset    choice = iota // the request has no tools
	choiceAuto                   // a call is the model's to make
	choiceRequired               // at least one call
	choiceNone                   // no call
)

func (e *Expectation) checkCalls(calls []Call) Reason {
	if e.choice == choiceNone {
		return UnexpectedCall
	}
	for _, c := range calls {
		if reason := e.checkCall(c); reason != "" {
			return reason
		}
	}
	return ""
}

func (e *Expectation) checkCall(c Call) Reason {
	parameters, known := e.tools[c.Name]
	switch {
	case !known:
		return UnknownTool
	case e.named != "" && c.Name != e.named:
		return WrongTool
	}
	text := c.Arguments
	if strings.TrimSpace(text) == "" { // of a tool without parameters, several servers send nothing
		text = "{}"
	}
	switch reason := jsonForm(true, parameters)(text); reason {
	case NotJSON:
		return ArgumentsJSON
	case NotObject, Schema:
		return ArgumentsForm
	default:
		return reason
	}
}

var callMarks = []string{"<tool_call>", "[TOOL_CALLS]", "<|python_tag|>", "<|tool_call", "<｜tool▁call", "<function="}

func leftInText(content string) bool {
	return slices.ContainsFunc(callMarks, func(mark string) bool { return strings.Contains(content, mark) })
}
