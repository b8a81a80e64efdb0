// Package trace reads logs of real requests row by row: when each arrived, how long its prompt and its answer
// were, and which blocks its prompt shares with others. Open detects the format and checks units and block
// size against the rows. Next returns one request after the other, filtered, truncated and rescaled as the
// Options say. Inspect summarizes a trace and its possible cache hits in one pass. Convert writes the native
// format, without text.
//
// A file is never read as a whole, and its content is untrusted: lines, decompression and numbers are
// bounded, and what is impossible is an error with file and line.
package trace

import "time"

const (
	Mooncake = "mooncake" // JSONL: ms, hash ids of 512-token blocks
	Azure    = "azure"    // CSV of Azure's LLM inference traces, 2023 and 2024: dates and lengths
	BurstGPT = "burstgpt" // CSV: s, lengths, models, in newer files sessions
	ShareGPT = "sharegpt" // JSON: conversations with text, no timestamps
	Log      = "log"      // JSONL with text: prompt or messages, output
	Weka     = "weka"     // JSON: agentic coding sessions with subagents, hash ids of 64-token blocks
	OTel     = "otel"     // JSON: OpenTelemetry spans of the gen_ai conventions
	Native   = "bench"    // bench's own: a header, then lines that are a superset of Mooncake's
)

var formats = []string{Mooncake, Azure, BurstGPT, ShareGPT, Log, Weka, OTel, Native}

const nativeSchema = "bench/trace/v1"

type Entry struct {
	Line   int           // in the file
	At     time.Duration // since the start of the trace, or of the kept part of it; 0 in a trace without timestamps
	Input  int           // prompt tokens
	Output int           // output tokens
	// Blocks number the prompt's blocks of Info.BlockTokens tokens each; the last block may be shorter. A
	// number stands for the whole prompt up to the end of its block: equal numbers, equal prefixes. nil = the
	// trace has no blocks.
	Blocks  []uint64
	Session int    // conversation, from 1; 0 = unknown
	Turn    int    // of the conversation, from 1; 0 = unknown
	Class   string // model, or kind of request; empty = unknown
}

// Info is what is known of a trace before its rows are read.
type Info struct {
	Format      string `json:"format"`
	Timed       bool   `json:"timed"`                       // rows have timestamps
	BlockTokens int    `json:"block_tokens"`                // tokens in a block; 0 = no blocks
	Estimated   bool   `json:"estimated"`                   // token counts are bytes of text over Options.BytesPerToken
	Grouped     bool   `json:"grouped"`                     // requests belong to agent runs or conversations
	Lacking     int    `json:"prompts_estimated,omitempty"` // prompts of a recording without a count from the server
	// the ends of requests are recorded, so that Node.Wait is tool time alone
	Ends bool `json:"ends"`
}

type Counts struct {
	Read      int `json:"read"`      // rows of the file
	Other     int `json:"other"`     // skipped: no requests to a model (tools, agents, embeddings)
	Failed    int `json:"failed"`    // skipped: logged as failed
	Duplicate int `json:"duplicate"` // skipped: logged twice
	Empty     int `json:"empty"`     // skipped: an empty prompt or answer (failed requests are logged so)
	Uncounted int `json:"uncounted"` // skipped: neither token counts nor the text of prompt or answer
	Filtered  int `json:"filtered"`  // excluded by a filter, or before the window; rows after the window are not read
	CutInput  int `json:"cut_input"` // kept with a truncated prompt
}

// maxTokens bounds a length: far above every context.
const maxTokens = 1 << 24
