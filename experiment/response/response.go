// Package response checks responses: structured output against its schema, tool calls against the schemas
// of their tools, and a text against the answers that are correct.
//
// Parse reads from a request body what its answer must be; Check compares. Both are pure: no schema refers to a file
// or an address, and an answer of any bytes costs a bounded time and never panics.
package response

type Answer struct {
	Content string
	Calls   []Call // tool calls, in their order
	Finish  string // finish reason; empty = none came
	Cut     bool   // the client did not keep all of it
}

type Call struct {
	Name      string
	Arguments string // a JSON text
}

type Verdict struct {
	Valid   *bool  // the answer has the form that the request asks for; nil = it asks for none
	Correct *bool  // the answer is one of those expected; nil = none is known
	Reason  Reason // why it is not valid; empty = it is, or was not checked
}

type Reason string

// The reasons, in docs/matrix.md#answers.
const (
	CutOff    Reason = "cut_off"       // it ended at its token limit, before its form was complete
	TooLong   Reason = "too_long"      // more than the client keeps
	NotJSON   Reason = "not_json"      // not one JSON value, and nothing else
	NotObject Reason = "not_an_object" // another JSON value
	Schema    Reason = "schema"        // JSON that its schema refuses
	// a check that takes too many steps, or a number that no one can use
	TooComplex     Reason = "too_complex"
	NotAChoice     Reason = "not_a_choice"          // none of the texts to choose from
	NoMatch        Reason = "no_match"              // the regular expression does not match
	NoCall         Reason = "no_tool_call"          // a tool call is required
	UnparsedCall   Reason = "unparsed_tool_call"    // the server left a tool call in the text
	UnexpectedCall Reason = "unexpected_tool_call"  // the request forbids tool calls
	UnknownTool    Reason = "unknown_tool"          // the request has no tool of that name
	WrongTool      Reason = "wrong_tool"            // it names another one
	ArgumentsJSON  Reason = "arguments_not_json"    // of a tool call
	ArgumentsForm  Reason = "arguments_not_allowed" // the tool's schema refuses them
)

func Check(a *Answer, e *Expectation, expected []string) Verdict {
	var v Verdict
	if reason, checked := e.check(a); checked {
		if reason != "" && a.limited() {
			reason = CutOff
		}
		if a.Cut {
			reason = TooLong
		}
		v.Valid, v.Reason = new(reason == ""), reason
	}
	if len(expected) > 0 {
		v.Correct = new(!a.Cut && correct(a.Content, expected))
	}
	return v
}

func (a *Answer) limited() bool {
	switch a.Finish {
	case "length", "max_tokens", "max_output_tokens", "incomplete":
		return true
	}
	return false
}

// check is false if there is nothing to check: also for an answer that makes no tool call, and need not.
func (e *Expectation) check(a *Answer) (reason Reason, checked bool) {
	switch {
	case e == nil:
		return "", false
	case e.choice != choiceUnset && len(a.Calls) > 0:
		return e.checkCalls(a.Calls), true
	case e.choice == choiceRequired:
		return NoCall, true
	case e.choice != choiceUnset && leftInText(a.Content):
		return UnparsedCall, true
	case e.form == nil:
		return "", false
	}
	return e.form(a.Content), true
}
