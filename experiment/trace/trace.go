// Package trace reads logs of real requests row by row: when each arrived, how long its prompt and its answer were, and
// which blocks its prompt shares with others. Open detects the format and checks units and block size against the rows.
// Next returns one request after the other, filtered, truncated and rescaled as the Options say. Inspect summarizes a
// trace and its possible cache hits in one pass. Convert writes the native format, without text.
//
// A file is never read as a whole, and its content is untrusted: lines, decompression and numbers are
// bounded, and what is impossible is an error with file and line.
package trace

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

const (
	formatMooncake = "mooncake" // JSONL: ms, hash ids of 512-token blocks
	formatAzure    = "azure"    // CSV of Azure's LLM inference traces, 2023 and 2024: dates and lengths
	formatBurstGPT = "burstgpt" // CSV: s, lengths, models, in newer files sessions
	formatShareGPT = "sharegpt" // JSON: conversations with text, no timestamps
	formatLog      = "log"      // JSONL with text: prompt or messages, output
	formatWeka     = "weka"     // JSON: agentic coding sessions with subagents, hash ids of 64-token blocks
	formatOTel     = "otel"     // JSON: OpenTelemetry spans of the gen_ai conventions
	formatNative   = "bench"    // bench's own: a header, then lines that are a superset of Mooncake's
)

var formats = []string{formatMooncake, formatAzure, formatBurstGPT, formatShareGPT, formatLog, formatWeka, formatOTel,
	formatNative}

const nativeSchema = "bench/trace/v1"

type Entry struct {
	Line   int           // in the file
	At     time.Duration // since the start of the trace, or of the kept part of it; 0 in a trace without timestamps
	Input  int           // prompt tokens
	Output int           // output tokens
	// Blocks number the prompt's blocks of Info.BlockTokens tokens each; the last block may be shorter. A number stands
	// for the whole prompt up to the end of its block: equal numbers, equal prefixes. nil = the trace has no blocks.
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

type Options struct {
	File   string `toml:"file" json:"file"`
	Format string `toml:"format" json:"format,omitempty"` // empty = detected

	// What the file does not contain.

	// of numeric timestamps: s, ms, us, ns; empty = the format's
	TimeUnit string `toml:"time_unit" json:"time_unit,omitempty"`
	// tokens in a block; 0 = the format's
	BlockTokens int `toml:"block_tokens" json:"block_tokens,omitempty"`
	// to estimate token counts of text; 0 = 4
	BytesPerToken float64 `toml:"bytes_per_token" json:"bytes_per_token,omitempty"`

	// Which rows are kept.
	Start    time.Duration `toml:"start" json:"start_ns,omitempty"` // since the first row
	End      time.Duration `toml:"end" json:"end_ns,omitempty"`     // since the first row; 0 = the file's
	MinInput int           `toml:"min_input" json:"min_input,omitempty"`
	MaxInput int           `toml:"max_input" json:"max_input,omitempty"` // 0 = any

	// How they are changed.

	// truncate longer prompts to this many tokens; 0 = none
	CapInput int     `toml:"cap_input" json:"cap_input,omitempty"`
	Speed    float64 `toml:"speed" json:"speed,omitempty"` // 2 = twice as fast; 0 = 1
	// step of the file's timestamps: rows with equal ones are spread over it at random, in order; 0 = none
	Jitter time.Duration `toml:"jitter" json:"jitter_ns,omitempty"`
}

// Bounds of the numbers, far beyond every use.
const (
	maxBlockTokens = 1 << 16
	maxSpeed       = 1e6
	minTextBytes   = 1 // a block of one token needs a byte
	maxTextBytes   = 64
)

// Check reports what is wrong in the options alone. Opening the file checks the rest.
func (o Options) Check(bad func(key, problem, hint string)) {
	check := func(ok bool, key, hint, problem string, values ...any) {
		if !ok {
			bad(key, fmt.Sprintf(problem, values...), hint)
		}
	}
	_, unitKnown := units[o.TimeUnit]
	check(o.File != "", "file", `write file = "conversation_trace.jsonl"`, "no trace file")
	check(o.Format == "" || slices.Contains(formats, o.Format), "format",
		"use "+strings.Join(formats, ", ")+"; without format it is detected", "unknown trace format %q", o.Format)
	check(o.TimeUnit == "" || unitKnown, "time_unit", `write "s", "ms", "us" or "ns"`, "unknown unit %q", o.TimeUnit)
	check(o.BlockTokens >= 0 && o.BlockTokens <= maxBlockTokens, "block_tokens", "write block_tokens = 512",
		"%d tokens is not between 1 and %d", o.BlockTokens, maxBlockTokens)
	check(o.BytesPerToken == 0 || o.BytesPerToken >= minTextBytes && o.BytesPerToken <= maxTextBytes, "bytes_per_token",
		"write bytes_per_token = 4", "%v bytes are not between %v and %v", o.BytesPerToken, minTextBytes, maxTextBytes)
	check(o.Speed == 0 || o.Speed >= 1/maxSpeed && o.Speed <= maxSpeed, "speed", "write speed = 2 (twice as fast)",
		"speed %v is not between %.6f and %.0f", o.Speed, 1/maxSpeed, maxSpeed)
	check(o.End == 0 || o.End > o.Start, "end", `write start = "10m" and end = "20m"`,
		"end %v is not after start %v", o.End, o.Start)
	for i, at := range []time.Duration{o.Start, o.End, o.Jitter} {
		key := []string{"start", "end", "jitter"}[i]
		check(at >= 0, key, "write "+key+` = "10s"`, "%s %v is negative", key, at)
	}
	for i, tokens := range []int{o.MinInput, o.MaxInput, o.CapInput} {
		key := []string{"min_input", "max_input", "cap_input"}[i]
		check(tokens >= 0 && tokens <= maxTokens, key, "write "+key+" = 4096",
			"%d tokens is not between 1 and %d", tokens, maxTokens)
	}
	check(o.MaxInput <= 0 || o.MaxInput >= o.MinInput, "max_input", "make max_input at least min_input",
		"max_input %d is below min_input %d", o.MaxInput, o.MinInput)
}

func (o Options) speed() float64 {
	return cmp.Or(o.Speed, 1)
}

func (o Options) scaled(at time.Duration) time.Duration {
	if s := o.speed(); s != 1 {
		return time.Duration(math.Round(float64(at) / s))
	}
	return at
}

func (o Options) keeps(e *Entry) bool {
	return e.Input >= o.MinInput && (o.MaxInput == 0 || e.Input <= o.MaxInput)
}
