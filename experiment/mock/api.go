package mock

type api int

const (
	completions api = iota
	chat
	responses
	messages
)

var apiNames = [...]string{"completions", "chat", "responses", "messages"}

func (a api) String() string { return apiNames[a] }

func (a api) idPrefix() string { return [...]string{"cmpl-", "chatcmpl-", "resp_", "msg_"}[a] }

// talks reports whether the API has turns, reasoning and tool calls.
func (a api) talks() bool { return a == chat || a == responses || a == messages }
