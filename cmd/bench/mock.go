package main

import (
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/spf13/cobra"

	"bench/experiment/mock"
)

func newMock(c *cli) *cobra.Command {
	var config mock.Config
	var listen string
	cmd := &cobra.Command{
		Use:   "mock",
		Short: "serve the simulated vLLM, to try clients and matrices without a GPU",
		Long: `mock answers like an OpenAI-compatible vLLM (models, completions, chat, tokenize, health, version, metrics).
With --ttft and --itl every token comes at exactly those times; without them a batching scheduler decides.
/debug/requests tells the true times of each request. It listens on this machine only, unless told otherwise.

--fault goes wrong on purpose, "kind[=argument][@n]": on every request, or on every n-th. Kinds:
  status=CODE, reset-before, slow-headers=TIME, html200, garbage; after N tokens: reset-mid=N, fin-mid=N, cut-mid=N, stall=N,
  error-in-stream=N, short=N; and multi=K (tokens an event), crlf, comments, empty-events, no-done, no-usage, split-utf8,
  role-early, role-reasoning, tool-calls (the last three: chat).`,
		Example: `  bench mock                                     simulated: batching, queueing, a prefix cache
  bench mock --ttft 50ms --itl 10ms              exact: to check a client against known times
  bench mock --listen 127.0.0.1:9000 --max-num-seqs 8`,
		Args: positional(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
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
			if err := server.Serve(cmd.Context(), l); err != nil && cmd.Context().Err() == nil {
				return fmt.Errorf("serving: %w", err)
			}
			return &exitError{codeInterrupted, errors.New("")}
		},
	}
	f := cmd.Flags()
	f.StringVar(&listen, "listen", "127.0.0.1:8000", "address to listen on")
	f.StringVar(&config.Model, "model", "", "served model name (bench-mock)")
	f.DurationVar(&config.TTFT, "ttft", 0, "exact time to first token")
	f.DurationVar(&config.ITL, "itl", 0, "exact time between tokens")
	f.IntVar(&config.MaxNumSeqs, "max-num-seqs", 0, "sequences that run at once (64; exact times: no limit)")
	f.IntVar(&config.MaxNumBatchedTokens, "max-num-batched-tokens", 0, "tokens in one step (2048)")
	f.IntVar(&config.MaxModelLen, "max-model-len", 0, "context length in tokens (131072)")
	f.IntVar(&config.KVBlocks, "kv-blocks", 0, "KV cache in blocks of 16 tokens (32768)")
	f.IntVar(&config.Queue, "queue", 0, "requests that may wait (1000); more get a 503")
	f.DurationVar(&config.StepBase, "step-base", 0, "time of a step (2.33 ms, when no step time is given)")
	f.DurationVar(&config.StepPerSeq, "step-per-seq", 0, "and for each decoding sequence")
	f.DurationVar(&config.StepPerContextToken, "step-per-context-token", 0, "and for each token of their contexts")
	f.DurationVar(&config.StepPerPrefillToken, "step-per-prefill-token", 0, "and for each prompt token in the step")
	f.Uint64Var(&config.Seed, "seed", 0, "of tokens and natural output lengths")
	f.StringArrayVar(&config.Faults, "fault", nil, `go wrong on purpose: "kind[=arg][@n]", e.g. status=500@10 (repeatable)`)
	f.BoolVar(&config.AllowFaults, "allow-faults", false, "obey the X-Mock-Fault header of requests")
	f.StringVar(&config.APIKey, "require-api-key", "", "refuse requests without this key")
	return cmd
}

// flagOf is the flag for a key of the [mock] table.
func flagOf(key string) string {
	if strings.HasPrefix(key, "faults") {
		return "--fault"
	}
	return "--" + strings.ReplaceAll(key, "_", "-")
}
