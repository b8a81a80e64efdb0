package mock

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"bench/experiment/kv"
	"bench/experiment/roofline"
)

// Check reports every mistake in c. The keys are those of the [mock] table.
func (c Config) Check(bad func(key, problem, hint string)) {
	c.checkSigns(bad)
	c.checkTimes(bad)
	c.checkHardware(bad)
	c.checkModels(bad)
	c.checkAnswers(bad)
	c.checkSchedule(bad)
	r := c.resolved()
	if !c.fixed() {
		r.checkRoom(bad)
	}
	if _, err := parseDrift(c.Drift); err != nil {
		bad("drift", err.Error(), `drift = "5%/h", or "20%@10m" for a step after ten minutes`)
	}
	for i, text := range c.Faults {
		if _, err := parseFault(text); err != nil {
			bad(fmt.Sprintf("faults[%d]", i), err.Error(), `for example "status=500@10": every tenth request`)
		}
	}
}

func (c Config) checkTimes(bad func(key, problem, hint string)) {
	if c.fixed() && c.hasStepTimes() {
		bad("ttft", "fixed times and step times cannot be combined", "leave out ttft and itl, or every step_… key")
	}
	if c.hasStepTimes() && c.StepBase == 0 {
		bad("step_base", "a step needs a base time when other step times are given", `step_base = "2ms"`)
	}
	if c.Hardware != "" && (c.fixed() || c.hasStepTimes()) {
		bad("hardware", "step times are given twice, by hardware and by other keys",
			"leave out hardware, or ttft, itl and every step_… key")
	}
}

func (c Config) checkHardware(bad func(key, problem, hint string)) {
	if c.Hardware == "" {
		need := func(key string, given bool) {
			if given {
				bad(key, "needs hardware", `hardware = "h100-sxm"`)
			}
		}
		need("gpus", c.GPUs != 0)
		need("precision", c.Precision != "")
		need("kv_precision", c.KVPrecision != "")
		need("engine", c.Engine != "")
		return
	}
	if c.Engine != "" && !slices.Contains(roofline.EngineNames, c.Engine) {
		bad("engine", fmt.Sprintf("unknown engine %q", c.Engine), "engine = "+strconv.Quote(roofline.EngineNames[0])+
			", or "+strings.Join(roofline.EngineNames[1:], ", "))
	}
	if c.Model == "" {
		bad("model", "hardware needs a model", `model = "llama-3.1-8b"`)
		return
	}
	s, err := c.setup()
	if unknown := (*roofline.UnknownError)(nil); errors.As(err, &unknown) {
		key, hint := "model", `model = "llama-3.1-8b"`
		if unknown.What == "device" {
			key, hint = "hardware", `hardware = "h100-sxm"`
		}
		bad(key, err.Error(), hint)
		return
	}
	if err := s.Check(); err != nil {
		bad("precision", strings.ReplaceAll(err.Error(), "\n", "; "), `precision = "fp8"`)
		return
	}
	switch {
	case c.KVBlocks > 0:
	case s.Device.MemoryGB == 0:
		bad("kv_blocks", fmt.Sprintf("the memory of %s is unknown, so the size of the KV cache must be given",
			s.Device.ID), "kv_blocks = 32768")
	case s.CapacityTokens() < c.resolved().BlockSize:
		bad("hardware", fmt.Sprintf("%.4g GB of weights leave no memory for a KV cache in %d × %.4g GB",
			s.WeightBytes()/1e9, max(c.GPUs, 1), s.Device.MemoryGB),
			"use more gpus or a smaller precision, or set kv_blocks")
	}
}

func (c Config) checkRoom(bad func(key, problem, hint string)) {
	if c.MaxNumSeqs > c.MaxNumBatchedTokens {
		bad("max_num_seqs", fmt.Sprintf("%d sequences do not fit a step of %d tokens", c.MaxNumSeqs,
			c.MaxNumBatchedTokens), fmt.Sprintf("max_num_batched_tokens = %d or more", c.MaxNumSeqs))
	}
	if c.BlockSize > 1<<16 {
		bad("block_size", fmt.Sprintf("%d tokens is not a block between 1 and %d", c.BlockSize, 1<<16),
			"block_size = 128")
		return
	}
	if need := kv.Blocks(c.MaxModelLen, c.BlockSize); need > c.KVBlocks {
		bad("kv_blocks", fmt.Sprintf("a request of max_model_len = %d tokens does not fit %d blocks of %d",
			c.MaxModelLen, c.KVBlocks, c.BlockSize),
			fmt.Sprintf("kv_blocks = %d or more, or a smaller max_model_len", need))
	}
	if c.KVOffloadingGB > 0 && c.KVOffloadingGB*1e9 < float64(c.KVBytesPerToken)*float64(c.BlockSize) {
		bad("kv_offloading_gb", fmt.Sprintf("smaller than one block of %d tokens with %d bytes each", c.BlockSize,
			c.KVBytesPerToken), "kv_offloading_gb = 64")
	}
}

func (c Config) checkSigns(bad func(key, problem, hint string)) {
	for field, value := range reflect.ValueOf(c).Fields() {
		switch key := field.Tag.Get("toml"); {
		case key == "-" || !value.CanInt() || value.Int() >= 0:
		case field.Type == reflect.TypeFor[time.Duration]():
			bad(key, "a negative time", key+` = "10ms"`)
		default:
			bad(key, "a negative number", "leave it out for the default")
		}
	}
	if gb := c.KVOffloadingGB; !(gb == 0 || gb >= 1e-6 && gb <= 1e6) {
		bad("kv_offloading_gb", fmt.Sprintf("%g is neither 0 nor between 1e-06 and 1e+06", gb),
			"leave it out for the default")
	}
}

const maxDrafts = 64

func (c Config) checkModels(bad func(key, problem, hint string)) {
	if len(c.ServedModels) > 0 && c.Model != "" && c.ServedModels[0] != c.Model {
		bad("models", fmt.Sprintf("the first of models is %q, but model is %q", c.ServedModels[0], c.Model),
			fmt.Sprintf("models = [%q, …], or leave out model", c.Model))
	}
	for i, name := range c.ServedModels {
		if name == "" || slices.Contains(c.ServedModels[:i], name) {
			bad(fmt.Sprintf("models[%d]", i), fmt.Sprintf("%q is empty or stands twice", name),
				`models = ["base", "sql-lora"]`)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Adapters)) {
		factor := c.Adapters[name]
		if i := slices.Index(c.ServedModels, name); i < 1 {
			bad("adapters."+name, "is not an adapter: models lists it after the base model",
				fmt.Sprintf("models = [\"base\", %q]", name))
		}
		if !(factor >= 0.01 && factor <= 100) {
			bad("adapters."+name, fmt.Sprintf("%g is not a factor between 0.01 and 100", factor), name+" = 1.5")
		}
	}
}

func (c Config) checkAnswers(bad func(key, problem, hint string)) {
	share := func(key string, v float64) {
		if !(v >= 0 && v <= 1) {
			bad(key, fmt.Sprintf("%g is not a share between 0 and 1", v), key+" = 0.9")
		}
	}
	if c.ValidAnswers != nil {
		share("valid_answers", *c.ValidAnswers)
	}
	if c.CorrectAnswers != nil {
		share("correct_answers", *c.CorrectAnswers)
	}
	c.Speculation.check(share, bad)
}

func (s Speculation) check(share func(key string, v float64), bad func(key, problem, hint string)) {
	if s.Tokens < 0 || s.Tokens > maxDrafts {
		bad("speculation.tokens", fmt.Sprintf("%d is not between 1 and %d", s.Tokens, maxDrafts), "tokens = 3")
	}
	if s.Tokens == 0 && s.Acceptance != 0 {
		bad("speculation.tokens", "speculation needs the number of tokens that a step drafts", "tokens = 3")
	}
	share("speculation.acceptance", s.Acceptance)
}
