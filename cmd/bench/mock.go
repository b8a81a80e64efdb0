package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
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
		Short: "serve a simulated vLLM, to try clients and matrices without a GPU",
		Long: `mock serves the APIs of vLLM (models, completions, chat, responses, messages, tokenize, health, version,
metrics, reset_prefix_cache).
With --ttft and --itl every token has exactly those times. Without them a batching scheduler with a paged KV cache,
prefix hits, preemption and a queue sets the times. The time of a step comes from the roofline of --hardware, or
from the --step flags. /debug describes the simulation, /debug/requests has the true times of each request.

--fault injects faults, "kind[=argument][@n|@p%]": into every request, every n-th, or p percent. Kinds:

  status=CODE, reset-before, slow-headers=TIME, html200, garbage; after N tokens: reset-mid=N, fin-mid=N, cut-mid=N,
  stall=N, garbage-mid=N, error-in-stream=N, pause=N:TIME, short=N; and multi=K (tokens per event), crlf, comments,
  empty-events, no-done, no-usage, wrong-usage=OUTPUT:CACHED, no-prompt-tokens-details, no-zero-cached-tokens,
  no-completion-tokens-details, no-token-ids, no-text=first|last|all, split-utf8; chat, responses, messages:
  role-early, role-reasoning, tool-calls; responses: incomplete-event.

Reasoning, speculative decoding, adapters and answers can be planted; /debug/requests has the truth.

--drift slows the server over time: "5%/h", or "20%@10m" (20 % slower from minute 10 on).`,
		Example: `  bench mock                                     batching, queueing, a prefix cache
  bench mock --model llama-3.1-8b --hardware h100-sxm   the roofline's times of that model and GPU
  bench mock --ttft 50ms --itl 10ms              exact times: to check a client
  bench mock --listen 127.0.0.1:9000 --max-num-seqs 8
  bench mock --reasoning-tokens 50 --speculation-tokens 3 --speculation-acceptance 0.7
  bench mock --models base,sql-lora --adapters sql-lora=1.5
  bench mock --fault status=500@1% --fault stall=5@100 --drift 5%/h`,
		Args: positional(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if err := positive(cmd.Flags(), "gpus"); err != nil {
				return err
			}
			if config.Models, config.Devices, err = tables.read(c.stderr); err != nil {
				return err
			}
			return c.mock(cmd.Context(), config, listen)
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:8000", "`ADDRESS` to listen on; a host other than 127.0.0.1 opens it to the network")
	tables.register(cmd.Flags())
	mockFlags(cmd.Flags(), &config)
	mockAnswerFlags(cmd.Flags(), &config)
	return cmd
}

// mock serves until ctx is done.
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
		return listenError("--listen", "127.0.0.1:0", err)
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

// mockFlags registers a flag for each key of the [mock] table.
func mockFlags(f *pflag.FlagSet, config *mock.Config) {
	f.StringVar(&config.Model, "model", "", "served model name (default bench-mock)")
	f.StringVar(&config.Root, "root", "", "model behind the served name, as /v1/models reports it (default: the name)")
	f.DurationVar(&config.TTFT, "ttft", 0, "exact time to first token, e.g. 50ms")
	f.DurationVar(&config.ITL, "itl", 0, "exact time between tokens, e.g. 10ms")
	f.StringVar(&config.Hardware, "hardware", "", "simulated GPU, e.g. h100-sxm")
	f.IntVar(&config.GPUs, "gpus", 0, "number of GPUs (default 1)")
	f.StringVar(&config.Precision, "precision", "", "precision of the weights, e.g. bf16, fp8 (default: as published)")
	f.StringVar(&config.KVPrecision, "kv-precision", "", "precision of the KV cache (default bf16)")
	f.IntVar(&config.MaxNumSeqs, "max-num-seqs", 0, "largest number of running sequences (default 64; with --hardware 256; with exact times no limit)")
	f.IntVar(&config.MaxNumBatchedTokens, "max-num-batched-tokens", 0, "largest number of tokens in a step (default 2048; with --hardware 8192)")
	f.IntVar(&config.MaxModelLen, "max-model-len", 0, "context length, tokens (default 131072; with --hardware: by model and memory)")
	f.IntVar(&config.KVBlocks, "kv-blocks", 0, "KV cache, in blocks (default 524288 tokens; with --hardware: by memory)")
	f.IntVar(&config.BlockSize, "block-size", 0, "tokens per block of the KV cache (default 16; vLLM on CPUs: 128)")
	f.Float64Var(&config.Watermark, "watermark", 0, "share of the KV blocks, 0 to 1, that admission keeps free while sequences run")
	f.Float64Var(&config.KVOffloadingGB, "kv-offloading-gb", 0, "second tier for KV blocks, 10^9 bytes (default: none)")
	f.Float64Var(&config.KVOffloadingGBs, "kv-offloading-gb-s", 0, "load bandwidth of the second tier, 10^9 bytes/s (default 50; a disk: about 7)")
	f.IntVar(&config.KVBytesPerToken, "kv-bytes-per-token", 0, "KV cache bytes per token (default 131072; with --hardware: the model's)")
	f.IntVar(&config.Queue, "queue", 0, "queue length; more requests are refused (default 1000)")
	f.IntVar(&config.QueueStatus, "queue-status", 0, "HTTP status of refused requests: 503 or 429 (default 503)")
	f.DurationVar(&config.StepBase, "step-base", 0, "base time of a step (default 2.33ms without other step times)")
	f.DurationVar(&config.StepPerSeq, "step-per-seq", 0, "added step time per decoding sequence")
	f.DurationVar(&config.StepPerContextToken, "step-per-context-token", 0, "added step time per context token of decoding sequences")
	f.DurationVar(&config.StepPerPrefillToken, "step-per-prefill-token", 0, "added step time per prompt token in the step")
	f.BoolVar(&config.IgnoreDisconnect, "ignore-disconnect", false, "compute requests to their end after the client has gone")
	f.StringVar(&config.Drift, "drift", "", `slowdown over time: "5%/h", or "20%@10m"`)
	f.DurationVar(&config.LoadTime, "load-time", 0, "time during which requests get 503 Loading model")
	f.Uint64Var(&config.Seed, "seed", 0, "seed of tokens, natural output lengths and random faults")
	f.StringArrayVar(&config.Faults, "fault", nil, `fault to inject: "kind[=arg][@n|@p%]", e.g. status=500@10 (repeatable)`)
	f.BoolVar(&config.AllowFaults, "allow-faults", false, "obey the X-Mock-Fault header of requests")
	f.StringVar(&config.APIKey, "require-api-key", "", "API key that requests must have")
}

// mockAnswerFlags registers the flags of what answers are planted with. Figures by category are in the table alone.
func mockAnswerFlags(f *pflag.FlagSet, config *mock.Config) {
	f.StringSliceVar(&config.ServedModels, "models", nil, "served `NAMES`: the base model, then its LoRA adapters")
	f.Func("adapters", "`NAME=FACTOR` of an adapter's times (repeatable)", func(text string) error {
		name, number, _ := strings.Cut(text, "=")
		factor, err := strconv.ParseFloat(number, 64)
		if err != nil {
			return errors.New("must be NAME=FACTOR, such as sql-lora=1.5")
		}
		if config.Adapters == nil {
			config.Adapters = map[string]float64{}
		}
		config.Adapters[name] = factor
		return nil
	})
	f.IntVar(&config.ReasoningTokens, "reasoning-tokens", 0, "reasoning tokens of each chat answer")
	f.Float64Var(&config.ReasoningShare, "reasoning-share", 0, "share of the requests that reason, 0 to 1 (default: all)")
	f.StringVar(&config.ReasoningField, "reasoning-field", "", "field of reasoning in chat: reasoning_content or reasoning (default reasoning_content)")
	f.IntVar(&config.Speculation.Tokens, "speculation-tokens", 0, "tokens that speculative decoding drafts in a step")
	f.Float64Var(&config.Speculation.Acceptance, "speculation-acceptance", 0, "probability, 0 to 1, that a draft is accepted")
	f.StringVar(&config.Speculation.Report, "speculation-report", "", "where answers report drafts: usage (OpenAI), timings (llama.cpp)")
	share(f, &config.ValidAnswers, "valid-answers", "share of structured answers and tool calls that fit their schema (default 1)")
	share(f, &config.CorrectAnswers, "correct-answers", `share of right answers to "What is 1 + 2?" (default 1)`)
	f.IntVar(&config.ImageTokens, "image-tokens", 0, "prompt tokens of an image (default 576)")
}

// share registers a flag that may be 0 or absent.
func share(f *pflag.FlagSet, into **float64, name, usage string) {
	f.Func(name, usage, func(text string) error {
		v, err := strconv.ParseFloat(text, 64)
		*into = &v
		return err
	})
}

// flagOf returns the flag of a key of the [mock] table.
func flagOf(key string) string {
	if strings.HasPrefix(key, "faults") {
		return "--fault"
	}
	key, _, _ = strings.Cut(key, "[")
	if name, ok := strings.CutPrefix(key, "adapters."); ok {
		return "--adapters " + name
	}
	return "--" + strings.NewReplacer("_", "-", ".", "-").Replace(key)
}
