// Package trace reads logs of requests that somebody really made, row by row: when each came, how long its prompt and its answer
// were, and which blocks of the prompt it had in common with others. Open finds out the format and checks units and block
// size against the rows; Next gives one request after the other, filtered, cut and re-timed as the Options say; Inspect says in one
// pass what a trace holds and which cache hits it allows; Convert writes the project's own format, without anybody's text.
//
// A file is never read whole, and what it says is never believed: lines, expansion and numbers are bounded, and what can't be
// right is an error with the file and the line.
package trace

import "time"

// Formats, as they are named in a matrix and on the command line.
const (
	Mooncake = "mooncake" // JSONL: ms, hash ids of 512-token blocks
	Azure    = "azure"    // CSV of Azure's LLM inference traces, 2023 and 2024: times and lengths
	BurstGPT = "burstgpt" // CSV: s, lengths, models, in newer files sessions
	Bailian  = "bailian"  // JSONL of Qwen's production: s, hash ids of 16-token blocks, a tree of chats
	ShareGPT = "sharegpt" // JSON: conversations with their text, no times
	Log      = "log"      // JSONL with text: prompt or messages, output
	Native   = "bench"    // our own: a header, then lines that are a superset of Mooncake's
)

// Formats lists them all.
var Formats = []string{Mooncake, Azure, BurstGPT, Bailian, ShareGPT, Log, Native}

// Schema heads a file of our own format.
const Schema = "bench/trace/v1"

// Entry is one request of a trace.
type Entry struct {
	Line   int           // where it stands in the file
	At     time.Duration // since the start of the trace, or of the part of it that is kept; 0 in a trace without times
	Input  int           // prompt tokens
	Output int           // tokens that were written
	// Blocks number the prompt's blocks of Info.BlockTokens tokens each, the last one maybe shorter. A number stands for the whole
	// prompt up to the end of its block: equal numbers, equal prefixes. nil = the trace doesn't say.
	Blocks  []uint64
	Session int    // conversation, counted from 1; 0 = not told
	Turn    int    // of the conversation, counted from 1; 0 = not told
	Class   string // model, or kind of request; empty = not told
}

// Info is what is known of a trace before its rows.
type Info struct {
	Format      string `json:"format"`
	Timed       bool   `json:"timed"`        // its rows have times
	BlockTokens int    `json:"block_tokens"` // tokens of a block; 0 = it has no blocks
	Estimated   bool   `json:"estimated"`    // lengths are bytes of text over Options.BytesPerToken, not counted tokens
}

// Counts is what became of the rows read so far.
type Counts struct {
	Read      int `json:"read"`       // rows of the file
	Empty     int `json:"empty"`      // left out: no prompt, or nothing written (failed requests are logged so)
	Filtered  int `json:"filtered"`   // left out by a filter or before the start of the window; what is behind its end is not read
	CutInput  int `json:"cut_input"`  // kept, with a prompt cut to the cap
	CutOutput int `json:"cut_output"` // kept, with an answer cut to the cap
}

// maxTokens bounds a length: far above every context.
const maxTokens = 1 << 24
