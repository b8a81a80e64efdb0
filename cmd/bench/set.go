package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bench/experiment/safetext"
)

func setFlag(fl *pflag.FlagSet, into *[]string) {
	fl.StringArrayVar(into, "set", nil,
		"change a key of the matrix, e.g. row.chat.rate=10, target.hardware=h200-sxm: `PATH=VALUE` (repeatable)")
}

// keysOf are keys of a matrix by the flags that a command does not have, as people type them.
func keysOf() map[string]map[string]string {
	return map[string]map[string]string{
		"sweep": keys("target.", "hardware gpus precision", keys("", "budget", nil)),
		"predict": keys("target.", "precision", keys("layout.", "attention-dp expert-parallel pipeline",
			keys("workload.", "cached rate", keys("mock.", "kv-precision engine", map[string]string{
				"hf-config": "target.model_config", "chunk": "mock.max_num_batched_tokens", "max-seqs": "mock.max_num_seqs",
				"speculate": "mock.speculation.tokens", "acceptance": "mock.speculation.acceptance",
				"draft-model": "mock.speculation.draft_model",
			})))),
		"mock": keys("mock.", "models gpus precision max-num-seqs max-num-batched-tokens max-model-len queue "+
			"kv-blocks block-size kv-precision kv-offloading-gb "+
			"step-base step-per-seq step-per-context-token step-per-prefill-token "+
			"reasoning-tokens valid-answers correct-answers drift "+
			"seed", map[string]string{
			"speculation-tokens": "mock.speculation.tokens", "speculation-acceptance": "mock.speculation.acceptance",
			"adapters": "mock.adapters.",
		}),
		"tile": keys("target.", "api hardware gpus precision", keys("row.tile.", "output requests warmup grace",
			keys("row.tile.tile.", "rounds question-tokens fit ratio bytes-per-token kv-precision", map[string]string{
				"seed": "seed", "in-flight": "row.tile.concurrency", "blocks": "row.tile.repeats",
				"offload-size-per-gpu": "row.tile.tile.offload_gib_per_gpu", "kv-accounting": "row.tile.tile.accounting",
			}))),
	}
}

func keys(table, flags string, others map[string]string) map[string]string {
	all := map[string]string{}
	maps.Copy(all, others)
	for flag := range strings.FieldsSeq(flags) {
		all[flag] = table + strings.ReplaceAll(flag, "-", "_")
	}
	return all
}

// tablesHint is what to do in place of the flags that named tables of models and devices.
const tablesHint = "write model_configs.json or gpus.json in the working directory: they precede the built-in tables"

// movedFlag is what to type in place of a flag that a command does not have, with its value in args.
func movedFlag(cmd *cobra.Command, flag string, args []string) (hint string, ok bool) {
	if flag == "model-configs" || flag == "hardware-configs" {
		return tablesHint, true
	}
	key, ok := keysOf()[strings.TrimPrefix(cmd.CommandPath(), "bench ")][flag]
	if !ok {
		return "", false
	}
	value := "VALUE"
	if slices.Contains([]string{"attention-dp", "expert-parallel"}, flag) {
		value = "true"
	}
	for i, a := range args {
		if a == "--"+flag && i+1 < len(args) && value == "VALUE" {
			value = args[i+1]
		}
		if joined, ok := strings.CutPrefix(a, "--"+flag+"="); ok {
			value = joined
		}
	}
	if key == "workload.rate" { // a list
		value = "[" + value + "]"
	}
	if !strings.HasSuffix(key, ".") { // NAME=FACTOR
		key += "="
	}
	return safetext.ShellWords([]string{"--set", key + value}), true
}
