// Package record is what a run leaves on disk, and what can be computed from it alone: request records, samples, rows
// and the run's manifest. A row's figures are computed from the stored µs, so that the stored records always give the
// same figures. It opens no file, sends nothing and judges nothing.
package record

// Phases of a row. A request belongs to a phase by its intended arrival; only those of the window count.
const (
	PhaseWarmup   = "warmup"
	PhaseWindow   = "window"
	PhaseCooldown = "cooldown"
)

// Record is one request: one line of <row>.requests.jsonl.zst. Times are µs from the row's start; an absent
// time did not happen.
type Record struct {
	Schema string `json:"schema,omitempty"` // in the first record of a file

	I        int    `json:"i"`
	ServerID string `json:"server_id,omitempty"`
	Class    string `json:"class,omitempty"`
	Model    string `json:"model,omitempty"`    // that the request names; absent = the row has one model only
	Endpoint *int   `json:"endpoint,omitempty"` // index of the replica in [target] replicas; absent = no replicas
	Category string `json:"category,omitempty"` // of the real prompt, as its file has it; absent = none
	// first 16 hex digits of the SHA-256 of the real prompt's JSON; absent = a synthetic prompt
	PromptHash string `json:"prompt_hash,omitempty"`
	Session    *int   `json:"session,omitempty"` // number of the conversation; absent = none
	// of the conversation, from 0; at_us of a later turn is the end of the previous one plus the think time
	Turn *int `json:"turn,omitempty"`
	// requests of the whole session, in the record of its first; absent in others, and if the session began at a
	// sampled point of its life
	Turns int `json:"turns,omitempty"`
	Agent int `json:"agent,omitempty"` // number of the subagent; absent = the main agent
	// number of the load worker that sent the request; absent = bench sweep itself
	Worker *int   `json:"worker,omitempty"`
	Phase  string `json:"phase"`

	Arrival    Micros `json:"at_us,omitzero"`          // intended arrival
	Ready      Micros `json:"ready_us,omitzero"`       // intended arrival, and a worker free under the cap
	Sent       Micros `json:"sent_us,omitzero"`        // before its last byte goes to the kernel
	FirstEvent Micros `json:"first_event_us,omitzero"` // first event of any kind
	First      Micros `json:"first_us,omitzero"`       // first token-bearing event
	// FirstAnswer is the first event with text or a tool call of an answer with reasoning; without reasoning it is
	// First.
	FirstAnswer Micros `json:"first_answer_us,omitzero"`
	Last        Micros `json:"last_us,omitzero"` // last token-bearing event; without streaming the last byte
	End         Micros `json:"end_us,omitzero"`  // the request ended for the client

	// connection set-up, part of sent − ready; absent = an open connection
	ConnectUs *int64 `json:"connect_us,omitempty"`

	// between successive token-bearing events; they sum to last − first
	Gaps           Packed `json:"gaps_us,omitzero"`
	TokensPerEvent Packed `json:"tokens_per_event,omitzero"` // absent = all are 1

	// 0 = not known: a real prompt, or a turn behind reasoning that is not counted
	PromptRequested int  `json:"prompt_asked"`
	PromptTokens    *int `json:"prompt_tokens,omitempty"` // as the server reports; absent = not reported
	CachedTokens    *int `json:"cached_tokens,omitempty"` // of the prompt, as the server reports; absent = not reported
	OutputRequested int  `json:"output_asked"`
	OutputTokens    int  `json:"output_tokens"`
	Estimated       bool `json:"estimated"` // output tokens are the client's count, not reported

	// of the output tokens; absent = an answer without reasoning
	ReasoningTokens    *int `json:"reasoning_tokens,omitempty"`
	ReasoningEstimated bool `json:"reasoning_estimated,omitempty"` // they are the client's count, not reported
	// the text has <think> or </think>: reasoning that the server did not parse
	ThinkTag bool `json:"think_tag,omitempty"`

	// steps that verified a draft of speculative decoding; absent = not reported
	Drafts *int `json:"drafts,omitempty"`
	// proposed tokens, as the answer reports; absent = not reported
	DraftTokens    *int `json:"draft_tokens,omitempty"`
	AcceptedTokens *int `json:"accepted_tokens,omitempty"` // of them

	// reported, but it cannot be true: the counts above do without it
	Impossible *Usage `json:"impossible_usage,omitempty"`

	Outcome string `json:"outcome"`
	Error   string `json:"error,omitempty"`
	Status  int    `json:"status,omitempty"`
	Finish  string `json:"finish,omitempty"`

	Server *ServerTimes `json:"server_us,omitempty"` // as the answer reports; absent = not reported

	// later turns of the conversation that were not sent because this one failed, or because its user left
	TurnsLost int `json:"turns_lost,omitempty"`

	// the answer has the form that the request asks for; absent = not checked
	Valid   *bool  `json:"valid,omitempty"`
	Correct *bool  `json:"correct,omitempty"`        // it is one of the expected answers; absent = none is known
	Invalid string `json:"invalid_reason,omitempty"` // a code of docs/matrix.md#answers; absent = valid, or not checked
}

type Usage struct {
	Prompt *int `json:"prompt_tokens,omitempty"`
	Cached *int `json:"cached_tokens,omitempty"`
	Output *int `json:"output_tokens,omitempty"`
}

func (r *Record) Left() bool { return r.Outcome == "left" }

func (r *Record) Failed() bool { return !r.OK() && !r.Left() }

// OK reports whether the request completed (ok or short): its latencies count.
func (r *Record) OK() bool { return r.Outcome == "ok" || r.Outcome == "short" }
