package mock

import (
	"cmp"
	"math"
	"time"

	"bench/experiment/kv"
	"bench/experiment/roofline"
)

// TenantHeader is the request header with the name of the tenant, as llm-d has it.
const TenantHeader = "x-llm-d-inference-fairness-id"

// Config is the [mock] table of a matrix. The zero Config is a small fast server for demonstrations: see the four
// Step fields.
//
// With TTFT or ITL, times are fixed: tokens are due at these times after admission, regardless of load.
// Without them, times follow from the steps of a batching scheduler. Hardware, else the Step fields,
// determine the duration of a step.
type Config struct {
	Model string `toml:"model" json:"model,omitempty"` // served name; empty: "bench-mock"
	// the model behind the name, as /v1/models reports it; empty: Model
	Root string `toml:"-" json:"root,omitempty"`

	TTFT time.Duration `toml:"ttft" json:"ttft_ns,omitempty"` // fixed: admission → first token
	ITL  time.Duration `toml:"itl" json:"itl_ns,omitempty"`   // fixed: token → next token

	// id in the hardware table; Model must be in the model table
	Hardware    string `toml:"hardware" json:"hardware,omitempty"`
	GPUs        int    `toml:"gpus" json:"gpus,omitempty"`                 // tensor parallel size; zero: 1
	Precision   string `toml:"precision" json:"precision,omitempty"`       // of the weights; empty: as published
	KVPrecision string `toml:"kv_precision" json:"kv_precision,omitempty"` // of the KV cache; empty: bf16
	// whose front end delays each request: vllm, sglang, trtllm; empty: of no engine in particular
	Engine string `toml:"engine" json:"engine,omitempty"`

	// sequences running at once; zero: 64, with hardware 256, with fixed times no limit
	MaxNumSeqs int `toml:"max_num_seqs" json:"max_num_seqs,omitempty"`
	// tokens in one step, decode and prefill; zero: 2048, with hardware 8192
	MaxNumBatchedTokens int `toml:"max_num_batched_tokens" json:"max_num_batched_tokens,omitempty"`
	// prompt and output tokens; zero: 131072, with hardware what model and KV cache allow
	MaxModelLen int `toml:"max_model_len" json:"max_model_len,omitempty"`
	// token ids run from 0 to Vocab−1; zero: 32000
	Vocab int `toml:"-" json:"vocab,omitempty"`
	// KV cache in blocks; zero: 524288 tokens, with hardware what its memory allows
	KVBlocks int `toml:"kv_blocks" json:"kv_blocks,omitempty"`
	// tokens in a block of the KV cache; zero: 16. vLLM on CPUs has 128
	BlockSize int `toml:"block_size" json:"block_size,omitempty"`
	// every prompt is computed whole
	NoPrefixCaching bool `toml:"-" json:"no_prefix_caching,omitempty"`
	// bytes per token loaded from the second tier; zero: 131072, with hardware the model's
	KVBytesPerToken int `toml:"-" json:"kv_bytes_per_token,omitempty"`
	// second cache tier, in 10⁹ bytes; zero: none
	KVOffloadingGB float64 `toml:"kv_offloading_gb" json:"kv_offloading_gb,omitempty"`
	// its bandwidth in 10⁹ bytes/s; zero: 50, host memory over PCIe 5; a disk has about 7
	KVOffloadingGBs float64 `toml:"-" json:"kv_offloading_gb_s,omitempty"`
	// who is admitted next: fcfs, or by tenant round-robin or vtc; empty: fcfs
	Schedule string `toml:"schedule" json:"schedule,omitempty"`
	// queue length; more requests are rejected; zero: 1000
	Queue int `toml:"queue" json:"queue,omitempty"`
	// compute requests to their end after the client has closed the connection
	IgnoreDisconnect bool `toml:"-" json:"ignore_disconnect,omitempty"`
	// mean output tokens without ignore_eos; zero: 256
	NaturalOutput int `toml:"-" json:"natural_output,omitempty"`

	// PerRequestMetrics adds the server's own times to each answer, as vLLM's --enable-per-request-metrics.
	PerRequestMetrics bool `toml:"-" json:"per_request_metrics,omitempty"`

	// ServedModels are the names that requests may ask for. The first is Model; the others are LoRA adapters of
	// it, each with a factor of its times in Adapters. Empty: Model alone.
	ServedModels []string `toml:"models" json:"models,omitempty"`
	// by name; absent: 1. Without fixed times the largest factor of a step's sequences counts
	Adapters map[string]float64 `toml:"adapters" json:"adapters,omitempty"`

	// of each answer, before its first answer token; zero: none, and half of the tokens with enable_thinking
	ReasoningTokens int         `toml:"reasoning_tokens" json:"reasoning_tokens,omitempty"`
	Speculation     Speculation `toml:"speculation" json:"speculation,omitzero"`
	// share of structured answers and tool calls that fit their schema; nil: all
	ValidAnswers *float64 `toml:"valid_answers" json:"valid_answers,omitempty"`
	// share of known questions that get the right answer; nil: all
	CorrectAnswers *float64 `toml:"correct_answers" json:"correct_answers,omitempty"`

	// A step takes StepBase + StepPerSeq·(decoding sequences) + StepPerContextToken·(their context tokens) +
	// StepPerPrefillToken·(prompt tokens in the step). All four zero: 2.33 ms, 170 µs, 10 ns, 14 µs, so that
	// n sequences with a short context decode n tokens in 2.33 + 0.17·n ms. If any is set, a zero in the
	// others means zero.
	StepBase            time.Duration `toml:"step_base" json:"step_base_ns,omitempty"`
	StepPerSeq          time.Duration `toml:"step_per_seq" json:"step_per_seq_ns,omitempty"`
	StepPerContextToken time.Duration `toml:"step_per_context_token" json:"step_per_context_token_ns,omitempty"`
	StepPerPrefillToken time.Duration `toml:"step_per_prefill_token" json:"step_per_prefill_token_ns,omitempty"`

	// times grow: "5%/h", or "20%@10m" from 10 minutes on, or several; empty: no drift
	Drift string `toml:"drift" json:"drift,omitempty"`
	// requests get 503 "Loading model" until then, as from llama.cpp; zero: none
	LoadTime time.Duration `toml:"-" json:"load_time_ns,omitempty"`
	// of output tokens, natural lengths, ids and random faults
	Seed uint64 `toml:"seed" json:"seed,omitempty"`
	// "kind[=arg][@n|@p%]": every request, every n-th, or p percent; kinds: see faultKinds
	Faults []string `toml:"faults" json:"faults,omitempty"`
	// wait by the timers of the runtime alone, which a bubble of synctest has
	Timers bool `toml:"-" json:"-"`

	Models  roofline.Models   `toml:"-" json:"-"` // model table for Hardware
	Devices roofline.Hardware `toml:"-" json:"-"` // hardware table with its efficiency; zero: the built-in table
}

// Speculation is the [mock.speculation] table: speculative decoding. Each decode step of a sequence drafts Tokens
// tokens and verifies them in order; each is accepted with the same probability until one is rejected. The step
// yields the accepted tokens and one more. The zero Speculation is none.
type Speculation struct {
	Tokens     int     `toml:"tokens" json:"tokens"`         // drafted in each step of a sequence
	Acceptance float64 `toml:"acceptance" json:"acceptance"` // probability that a draft is accepted
}

func (c Config) fixed() bool { return c.TTFT > 0 || c.ITL > 0 }

func (c Config) hasStepTimes() bool {
	return c.StepBase != 0 || c.StepPerSeq != 0 || c.StepPerContextToken != 0 || c.StepPerPrefillToken != 0
}

func (c Config) setup() (roofline.Setup, error) {
	model, err := c.Models.Find(c.Model)
	if err != nil {
		return roofline.Setup{}, err
	}
	table := c.Devices
	if len(table.Devices) == 0 {
		table = roofline.BuiltinHardware()
	}
	device, err := table.Find(c.Hardware)
	if err != nil {
		return roofline.Setup{}, err
	}
	return roofline.Setup{
		Model: model, Device: device, GPUs: c.GPUs, Engine: c.Engine, Precision: c.Precision,
		KVPrecision: c.KVPrecision, Efficiency: &table.Efficiency,
	}, nil
}

// KVTokens is the KV cache size of a valid configuration in tokens; 0: fixed times have no cache.
func (c Config) KVTokens() int {
	if c.fixed() {
		return 0
	}
	r := c.resolved()
	return r.KVBlocks * r.BlockSize
}

func (c Config) resolved() Config {
	c.BlockSize = cmp.Or(c.BlockSize, kv.BlockTokens)
	if c.Hardware != "" {
		c = c.withHardwareDefaults()
	}
	if len(c.ServedModels) > 0 {
		c.Model = cmp.Or(c.Model, c.ServedModels[0])
	}
	c.Model = cmp.Or(c.Model, "bench-mock")
	c.Root = cmp.Or(c.Root, c.Model)
	c.MaxNumBatchedTokens = cmp.Or(c.MaxNumBatchedTokens, 2048)
	c.MaxModelLen = cmp.Or(c.MaxModelLen, defaultMaxModelLen)
	c.Vocab = cmp.Or(c.Vocab, 32000)
	c.KVBlocks = cmp.Or(c.KVBlocks, defaultKVTokens/c.BlockSize)
	c.KVBytesPerToken = cmp.Or(c.KVBytesPerToken, 131072)
	c.KVOffloadingGBs = cmp.Or(c.KVOffloadingGBs, 50)
	c.Queue = cmp.Or(c.Queue, 1000)
	c.NaturalOutput = cmp.Or(c.NaturalOutput, 256)
	if c.fixed() {
		return c
	}
	c.MaxNumSeqs = cmp.Or(c.MaxNumSeqs, 64)
	if c.Hardware == "" && !c.hasStepTimes() {
		c.StepBase, c.StepPerSeq = 2330*time.Microsecond, 170*time.Microsecond
		c.StepPerContextToken, c.StepPerPrefillToken = 10*time.Nanosecond, 14*time.Microsecond
	}
	return c
}

const defaultKVTokens = 32768 * kv.BlockTokens

const defaultMaxModelLen = 131072

func (c Config) withHardwareDefaults() Config {
	s, err := c.setup()
	if err != nil || s.Check() != nil {
		return c
	}
	c.GPUs = cmp.Or(c.GPUs, 1)
	c.MaxNumSeqs = cmp.Or(c.MaxNumSeqs, 256)
	c.MaxNumBatchedTokens = cmp.Or(c.MaxNumBatchedTokens, 8192)
	c.KVBytesPerToken = cmp.Or(c.KVBytesPerToken, int(math.Ceil(s.KVBytesPerToken())))
	if fit := s.CapacityTokens() / c.BlockSize; fit > 0 {
		c.KVBlocks = cmp.Or(c.KVBlocks, fit)
	}
	if c.MaxModelLen == 0 {
		c.MaxModelLen = min(cmp.Or(s.Model.MaxContext, defaultMaxModelLen), defaultMaxModelLen,
			max(c.KVBlocks, 1)*c.BlockSize)
	}
	return c
}
