package mock

import (
	"cmp"
	"fmt"
	"time"
)

// Config says what the simulated server simulates. It is the [mock] table of a matrix and the flags of `bench mock`. The zero
// Config is a small fast server, quick enough for a demonstration: see the four Step fields.
//
// With TTFT or ITL the server is fixed: every request's tokens come at exactly those times after its admission, whatever
// else is running. Without them it is simulated: times follow from the steps of a batching scheduler.
type Config struct {
	Model string `toml:"model" json:"model,omitempty"` // served name; empty: "bench-mock"

	TTFT time.Duration `toml:"ttft" json:"ttft_ns,omitempty"` // fixed: admission → first token
	ITL  time.Duration `toml:"itl" json:"itl_ns,omitempty"`   // fixed: token → next token

	MaxNumSeqs          int `toml:"max_num_seqs" json:"max_num_seqs,omitempty"`                     // sequences running at once; zero: 64, and no limit when fixed
	MaxNumBatchedTokens int `toml:"max_num_batched_tokens" json:"max_num_batched_tokens,omitempty"` // tokens in one step, decoded and prefilled; zero: 2048
	MaxModelLen         int `toml:"max_model_len" json:"max_model_len,omitempty"`                   // tokens, prompt and output; zero: 131072
	Vocab               int `toml:"vocab" json:"vocab,omitempty"`                                   // token ids run from 0 to Vocab−1; zero: 32000
	KVBlocks            int `toml:"kv_blocks" json:"kv_blocks,omitempty"`                           // KV cache in blocks of 16 tokens; zero: 32768
	Queue               int `toml:"queue" json:"queue,omitempty"`                                   // requests that may wait, more get a 503; zero: 1000
	NaturalOutput       int `toml:"natural_output" json:"natural_output,omitempty"`                 // mean output tokens of a request that is not forced; zero: 256

	// A step takes StepBase + StepPerSeq·(decoding sequences) + StepPerContextToken·(their context tokens) +
	// StepPerPrefillToken·(prompt tokens in the step). All four zero: 2.33 ms, 170 µs, 10 ns, 14 µs, so that at a short
	// context n sequences decode n tokens in 2.33 + 0.17·n ms. With one of them set, the others are what they say, zero included.
	StepBase            time.Duration `toml:"step_base" json:"step_base_ns,omitempty"`
	StepPerSeq          time.Duration `toml:"step_per_seq" json:"step_per_seq_ns,omitempty"`
	StepPerContextToken time.Duration `toml:"step_per_context_token" json:"step_per_context_token_ns,omitempty"`
	StepPerPrefillToken time.Duration `toml:"step_per_prefill_token" json:"step_per_prefill_token_ns,omitempty"`

	Seed        uint64   `toml:"seed" json:"seed,omitempty"`                 // of output tokens, natural lengths and ids
	Faults      []string `toml:"faults" json:"faults,omitempty"`             // "kind[=arg][@n]": on every request, or on every n-th; kinds at parseFault
	AllowFaults bool     `toml:"allow_faults" json:"allow_faults,omitempty"` // obey the X-Mock-Fault header of a request
	APIKey      string   `toml:"-" json:"-"`                                 // asked of requests under /v1; empty: none
}

// Check reports every mistake in c. The keys are those of the [mock] table.
func (c Config) Check(bad func(key, problem, hint string)) {
	c.checkSigns(bad)
	if c.fixed() && c.stepped() {
		bad("ttft", "fixed times and step times exclude each other", "leave out ttft and itl, or every step_… key")
	}
	if c.stepped() && c.StepBase == 0 {
		bad("step_base", "a step needs a base time when other step times are given", `step_base = "2ms"`)
	}
	r := c.resolved()
	if r.Vocab > 0 && r.Vocab < 16 {
		bad("vocab", "too few token ids", "vocab = 32000")
	}
	if !c.fixed() && r.MaxNumSeqs > r.MaxNumBatchedTokens {
		bad("max_num_seqs", fmt.Sprintf("%d sequences do not fit a step of %d tokens", r.MaxNumSeqs, r.MaxNumBatchedTokens),
			fmt.Sprintf("max_num_batched_tokens = %d or more", r.MaxNumSeqs))
	}
	if !c.fixed() && blocksFor(r.MaxModelLen) > r.KVBlocks {
		bad("kv_blocks", fmt.Sprintf("a request of max_model_len = %d tokens does not fit %d blocks of %d", r.MaxModelLen, r.KVBlocks, blockTokens),
			fmt.Sprintf("kv_blocks = %d or more, or a smaller max_model_len", blocksFor(r.MaxModelLen)))
	}
	for i, text := range c.Faults {
		if _, err := parseFault(text); err != nil {
			bad(fmt.Sprintf("faults[%d]", i), err.Error(), `for example "status=500@10": every tenth request`)
		}
	}
}

func (c Config) checkSigns(bad func(key, problem, hint string)) {
	for _, d := range []struct {
		key string
		v   time.Duration
	}{
		{"ttft", c.TTFT}, {"itl", c.ITL}, {"step_base", c.StepBase}, {"step_per_seq", c.StepPerSeq},
		{"step_per_context_token", c.StepPerContextToken}, {"step_per_prefill_token", c.StepPerPrefillToken},
	} {
		if d.v < 0 {
			bad(d.key, "a negative time", d.key+` = "10ms"`)
		}
	}
	for _, n := range []struct {
		key string
		v   int
	}{
		{"max_num_seqs", c.MaxNumSeqs}, {"max_num_batched_tokens", c.MaxNumBatchedTokens}, {"max_model_len", c.MaxModelLen},
		{"vocab", c.Vocab}, {"kv_blocks", c.KVBlocks}, {"queue", c.Queue}, {"natural_output", c.NaturalOutput},
	} {
		if n.v < 0 {
			bad(n.key, "a negative number", "leave it out for the default")
		}
	}
}

// fixed tells whether c asks for fixed times.
func (c Config) fixed() bool { return c.TTFT > 0 || c.ITL > 0 }

// stepped tells whether c gives step times of its own.
func (c Config) stepped() bool {
	return c.StepBase != 0 || c.StepPerSeq != 0 || c.StepPerContextToken != 0 || c.StepPerPrefillToken != 0
}

// resolved returns c with the defaults in place of zeros.
func (c Config) resolved() Config {
	c.Model = cmp.Or(c.Model, "bench-mock")
	c.MaxNumBatchedTokens = cmp.Or(c.MaxNumBatchedTokens, 2048)
	c.MaxModelLen = cmp.Or(c.MaxModelLen, 131072)
	c.Vocab = cmp.Or(c.Vocab, 32000)
	c.KVBlocks = cmp.Or(c.KVBlocks, 32768)
	c.Queue = cmp.Or(c.Queue, 1000)
	c.NaturalOutput = cmp.Or(c.NaturalOutput, 256)
	if c.fixed() {
		return c
	}
	c.MaxNumSeqs = cmp.Or(c.MaxNumSeqs, 64)
	if !c.stepped() {
		c.StepBase, c.StepPerSeq = 2330*time.Microsecond, 170*time.Microsecond
		c.StepPerContextToken, c.StepPerPrefillToken = 10*time.Nanosecond, 14*time.Microsecond
	}
	return c
}
