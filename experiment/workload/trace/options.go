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
	TimeUnit      string  `toml:"time_unit" json:"time_unit,omitempty"`             // of numeric timestamps: s, ms, us, ns; empty = the format's
	BlockTokens   int     `toml:"block_tokens" json:"block_tokens,omitempty"`       // tokens in a block; 0 = the format's
	BytesPerToken float64 `toml:"bytes_per_token" json:"bytes_per_token,omitempty"` // to estimate token counts of text; 0 = 4

	// Which rows are kept.
	Start    time.Duration `toml:"start" json:"start_ns,omitempty"` // since the first row
	End      time.Duration `toml:"end" json:"end_ns,omitempty"`     // since the first row; 0 = the file's
	MinInput int           `toml:"min_input" json:"min_input,omitempty"`
	MaxInput int           `toml:"max_input" json:"max_input,omitempty"` // 0 = any

	// How they are changed.
	CapInput int           `toml:"cap_input" json:"cap_input,omitempty"` // truncate longer prompts to this many tokens; 0 = none
	Speed    float64       `toml:"speed" json:"speed,omitempty"`         // 2 = twice as fast; 0 = 1
	Jitter   time.Duration `toml:"jitter" json:"jitter_ns,omitempty"`    // step of the file's timestamps: rows with equal ones are spread over it at random, in order; 0 = none
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
	if o.File == "" {
		bad("file", "no trace file", `write file = "conversation_trace.jsonl"`)
	}
	if o.Format != "" && !slices.Contains(formats, o.Format) {
		bad("format", fmt.Sprintf("unknown trace format %q", o.Format), "use "+strings.Join(formats, ", ")+"; without format it is detected")
	}
	if _, ok := units[o.TimeUnit]; o.TimeUnit != "" && !ok {
		bad("time_unit", fmt.Sprintf("unknown unit %q", o.TimeUnit), `write "s", "ms", "us" or "ns"`)
	}
	if o.BlockTokens < 0 || o.BlockTokens > maxBlockTokens {
		bad("block_tokens", fmt.Sprintf("%d tokens is not between 1 and %d", o.BlockTokens, maxBlockTokens), "write block_tokens = 512")
	}
	if b := o.BytesPerToken; b != 0 && !(b >= minTextBytes && b <= maxTextBytes) {
		bad("bytes_per_token", fmt.Sprintf("%v bytes are not between %v and %v", b, minTextBytes, maxTextBytes), "write bytes_per_token = 4")
	}
	if o.Speed != 0 && !(o.Speed >= 1/maxSpeed && o.Speed <= maxSpeed) {
		bad("speed", fmt.Sprintf("speed %v is not between %.6f and %.0f", o.Speed, 1/maxSpeed, maxSpeed), "write speed = 2 (twice as fast)")
	}
	if o.End != 0 && o.End <= o.Start {
		bad("end", fmt.Sprintf("end %v is not after start %v", o.End, o.Start), `write start = "10m" and end = "20m"`)
	}
	for _, d := range []struct {
		key string
		v   time.Duration
	}{{"start", o.Start}, {"end", o.End}, {"jitter", o.Jitter}} {
		if d.v < 0 {
			bad(d.key, fmt.Sprintf("%s %v is negative", d.key, d.v), "write "+d.key+` = "10s"`)
		}
	}
	o.checkLengths(bad)
}

func (o Options) checkLengths(bad func(key, problem, hint string)) {
	for _, l := range []struct {
		key string
		n   int
	}{
		{"min_input", o.MinInput}, {"max_input", o.MaxInput}, {"cap_input", o.CapInput},
	} {
		if l.n < 0 || l.n > maxTokens {
			bad(l.key, fmt.Sprintf("%d tokens is not between 1 and %d", l.n, maxTokens), "write "+l.key+" = 4096")
		}
	}
	if o.MaxInput > 0 && o.MaxInput < o.MinInput {
		bad("max_input", fmt.Sprintf("max_input %d is below min_input %d", o.MaxInput, o.MinInput), "make max_input at least min_input")
	}
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
