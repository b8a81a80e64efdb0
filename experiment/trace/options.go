package trace

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

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
