package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bench/experiment/mock"
)

func newMock(c *cli) *cobra.Command {
	var config mock.Config
	var listen string
	var tables tableFlags
	cmd := &cobra.Command{
		Use:   "mock",
		Short: "serve the simulated vLLM, to try clients and matrices without a GPU",
		Long: `mock answers like an OpenAI-compatible vLLM (models, completions, chat, tokenize, health, version, metrics, reset_prefix_cache).
With --ttft and --itl every token comes at exactly those times; without them a batching scheduler decides, with a paged KV
cache, prefix hits, preemption and a queue. A step takes what model and hardware allow with --hardware, else what the --step flags say.
/debug says what is simulated, /debug/requests the true times of each request. It listens on this machine only, unless told otherwise.

--fault goes wrong on purpose, "kind[=argument][@n|@p%]": on every request, on every n-th, or on so many percent. Kinds:
  status=CODE, reset-before, slow-headers=TIME, html200, garbage; after N tokens: reset-mid=N, fin-mid=N, cut-mid=N, stall=N,
  garbage-mid=N, error-in-stream=N, pause=N:TIME, short=N; and multi=K (tokens an event), crlf, comments, empty-events, no-done,
  no-usage, split-utf8, role-early, role-reasoning, tool-calls (the last three: chat).
--drift makes the server slower as time goes by: "5%/h", or "20%@10m" from ten minutes after its start on.`,
		Example: `  bench mock                                     simulated: batching, queueing, a prefix cache
  bench mock --model llama-3.1-8b --hardware h100-sxm --max-num-seqs 256
                                                 the same, as fast as that model on that GPU by arithmetic
  bench mock --ttft 50ms --itl 10ms              exact: to check a client against known times
  bench mock --listen 127.0.0.1:9000 --max-num-seqs 8
  bench mock --fault status=500@1% --fault stall=5@100 --drift 5%/h`,
		Args: positional(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if config.Models, config.Devices, err = tables.read(c.stderr); err != nil {
				return err
			}
			return c.mock(cmd.Context(), config, listen)
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:8000", "address to listen on")
	tables.register(cmd.Flags())
	mockFlags(cmd.Flags(), &config)
	return cmd
}

// mock serves until ctx ends.
func (c *cli) mock(ctx context.Context, config mock.Config, listen string) error {
	var problems []string
	config.Check(func(key, problem, hint string) {
		problems = append(problems, fmt.Sprintf("%s: %s\nhint: %s", flagOf(key), problem, hint))
	})
	if len(problems) > 0 {
		return usage("%s", strings.Join(problems, "\nerror: "))
	}
	server, err := mock.New(config)
	if err != nil {
		return usage("%w", err)
	}
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return fmt.Errorf("%w\nhint: choose another address with --listen 127.0.0.1:0", err)
	}
	fmt.Fprintf(c.stdout, "%s\nlistening on http://%s\n", server.Describe(), l.Addr())
	if err := server.Serve(ctx, l); err != nil && ctx.Err() == nil {
		return fmt.Errorf("serving: %w", err)
	}
	if late := server.Lateness(); late.Events > 0 {
		fmt.Fprintln(c.stdout, late)
	}
	return &exitError{codeInterrupted, errors.New("")}
}

// mockFlags are the keys of the [mock] table.
func mockFlags(f *pflag.FlagSet, config *mock.Config) {
	f.StringVar(&config.Model, "model", "", "served model name (bench-mock)")
	f.DurationVar(&config.TTFT, "ttft", 0, "exact time to first token")
	f.DurationVar(&config.ITL, "itl", 0, "exact time between tokens")
	f.StringVar(&config.Hardware, "hardware", "", "GPU that the model is simulated on, e.g. h100-sxm")
	f.IntVar(&config.GPUs, "gpus", 0, "number of these GPUs (1)")
	f.StringVar(&config.Precision, "precision", "", "of the weights, e.g. bf16, fp8 (as published)")
	f.StringVar(&config.KVPrecision, "kv-precision", "", "of the KV cache (bf16)")
	f.IntVar(&config.MaxNumSeqs, "max-num-seqs", 0, "sequences that run at once (64; on hardware: 256; exact times: no limit)")
	f.IntVar(&config.MaxNumBatchedTokens, "max-num-batched-tokens", 0, "tokens in one step (2048; on hardware: 8192)")
	f.IntVar(&config.MaxModelLen, "max-model-len", 0, "context length in tokens (131072; on hardware: what model and memory allow)")
	f.IntVar(&config.KVBlocks, "kv-blocks", 0, "KV cache in blocks of 16 tokens (32768; on hardware: what the memory holds)")
	f.Float64Var(&config.Watermark, "watermark", 0, "share of the KV blocks that admissions leave free while others run")
	f.Float64Var(&config.KVOffloadingGB, "kv-offloading-gb", 0, "size of a second tier for KV blocks, 10^9 bytes (none)")
	f.Float64Var(&config.KVOffloadingGBs, "kv-offloading-gb-s", 0, "what it loads per second, 10^9 bytes (50; a disk has about 7)")
	f.IntVar(&config.KVBytesPerToken, "kv-bytes-per-token", 0, "what a token weighs in the KV cache (131072; on hardware: the model's)")
	f.IntVar(&config.Queue, "queue", 0, "requests that may wait (1000); more are refused")
	f.IntVar(&config.QueueStatus, "queue-status", 0, "with this status, 503 or 429 (503)")
	f.DurationVar(&config.StepBase, "step-base", 0, "time of a step (2.33 ms, when no step time is given)")
	f.DurationVar(&config.StepPerSeq, "step-per-seq", 0, "and for each decoding sequence")
	f.DurationVar(&config.StepPerContextToken, "step-per-context-token", 0, "and for each token of their contexts")
	f.DurationVar(&config.StepPerPrefillToken, "step-per-prefill-token", 0, "and for each prompt token in the step")
	f.StringVar(&config.Drift, "drift", "", `times that grow: "5%/h", or "20%@10m" from then on`)
	f.Uint64Var(&config.Seed, "seed", 0, "of tokens, natural output lengths and faults by percentage")
	f.StringArrayVar(&config.Faults, "fault", nil, `go wrong on purpose: "kind[=arg][@n|@p%]", e.g. status=500@10 (repeatable)`)
	f.BoolVar(&config.AllowFaults, "allow-faults", false, "obey the X-Mock-Fault header of requests")
	f.StringVar(&config.APIKey, "require-api-key", "", "refuse requests without this key")
}

// flagOf is the flag for a key of the [mock] table.
func flagOf(key string) string {
	if strings.HasPrefix(key, "faults") {
		return "--fault"
	}
	return "--" + strings.ReplaceAll(key, "_", "-")
}
