// Package record is what a run leaves on disk, and what can be computed from it alone: request records,
// samples, rows and the run's manifest, with the schema of each file.
//
// The order of steps: RecordWriter stores each request while the load runs (Record: one line of
// <row>.requests.jsonl.zst); Summarize and the functions beside it compute a row's figures from the records;
// Row and Manifest are <row>.json and run.json. A row's figures are computed from the stored µs, so that the
// stored records always give the same figures. This package opens no file, sends nothing and judges nothing.
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
	Session  *int   `json:"session,omitempty"` // number of the conversation; absent = none
	Turn     *int   `json:"turn,omitempty"`    // of the conversation, from 0; at_us of a later turn is the end of the previous one plus the think time
	Phase    string `json:"phase"`

	Arrival    Micros `json:"at_us,omitzero"`          // intended arrival
	Ready      Micros `json:"ready_us,omitzero"`       // intended arrival, and a worker free under the cap
	Sent       Micros `json:"sent_us,omitzero"`        // before its last byte goes to the kernel
	FirstEvent Micros `json:"first_event_us,omitzero"` // first event of any kind
	First      Micros `json:"first_us,omitzero"`       // first token-bearing event
	Last       Micros `json:"last_us,omitzero"`        // last token-bearing event; without streaming the last byte
	End        Micros `json:"end_us,omitzero"`         // the request ended for the client

	ConnectUs *int64 `json:"connect_us,omitempty"` // connection set-up, part of sent − ready; absent = an open connection

	Gaps           Packed `json:"gaps_us,omitzero"`          // between successive token-bearing events; they sum to last − first
	TokensPerEvent Packed `json:"tokens_per_event,omitzero"` // absent = all are 1

	PromptRequested int  `json:"prompt_asked"`
	PromptTokens    *int `json:"prompt_tokens,omitempty"` // as the server reports; absent = not reported
	CachedTokens    *int `json:"cached_tokens,omitempty"` // of the prompt, as the server reports; absent = not reported
	OutputRequested int  `json:"output_asked"`
	OutputTokens    int  `json:"output_tokens"`
	Estimated       bool `json:"estimated"` // output tokens are the client's count, not reported

	Impossible *Usage `json:"impossible_usage,omitempty"` // reported, but it cannot be true: the counts above do without it

	Outcome string `json:"outcome"`
	Error   string `json:"error,omitempty"`
	Status  int    `json:"status,omitempty"`
	Finish  string `json:"finish,omitempty"`

	Server *ServerTimes `json:"server_us,omitempty"` // as the answer reports; absent = not reported

	TurnsLost int `json:"turns_lost,omitempty"` // later turns of the conversation that were not sent because this one failed
}

// Usage is what a server reported of one answer; nil = not reported.
type Usage struct {
	Prompt *int `json:"prompt_tokens,omitempty"`
	Cached *int `json:"cached_tokens,omitempty"`
	Output *int `json:"output_tokens,omitempty"`
}

// OK reports whether the request completed (ok or short): its latencies count.
func (r *Record) OK() bool { return r.Outcome == "ok" || r.Outcome == "short" }
