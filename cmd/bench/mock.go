package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"bench/experiment/hostile"
	"bench/experiment/mock"
	"bench/experiment/text"
	"bench/sweep/matrix"
)

type mockFlags struct {
	listen, hostile, model, hardware string
	gpus                             int
	set                              []string
}

func newMock(c *cli) *cobra.Command {
	f := &mockFlags{}
	cmd := &cobra.Command{
		Use:   "mock [FILE]",
		Short: "serve a simulated vLLM, to try clients and matrices without a GPU",
		Long: `mock serves the APIs of vLLM (models, completions, chat, responses, messages, tokenize, health, version,
metrics, reset_prefix_cache). FILE is a matrix whose table [mock] it plays; --set mock.KEY=VALUE changes it.
With mock.ttft and mock.itl every token has exactly those times, else a batching scheduler with a paged KV cache,
prefix hits, preemption and a queue sets the times. The time of a step comes from the roofline of --hardware, or
from the step_… keys. /debug describes the simulation, /debug/requests has the true times of each request.

mock.faults is a list of faults, "kind[=argument][@n|@p%]": into every request, every n-th, or p percent. Kinds:

  status=CODE, reset-before, slow-headers=TIME, freeze=TIME (of all), html200, garbage; after N tokens: reset-mid=N,
  fin-mid=N, cut-mid=N, stall=N, garbage-mid=N, error-in-stream=N, pause=N:TIME, short=N; and multi=K (tokens per event), crlf, comments,
  empty-events, no-done, no-usage, wrong-usage=OUTPUT:CACHED, no-prompt-tokens-details, no-zero-cached-tokens,
  no-completion-tokens-details, no-token-ids, no-text=first|last|all, split-utf8; chat, responses, messages:
  role-early, role-reasoning, tool-calls; responses: incomplete-event.

Reasoning, speculative decoding, adapters and answers can be planted; /debug/requests has the truth.

--hostile NAME is one case of what clients, gateways and readers of files must survive. A server listens, and misbehaves
when it answers a completion; a request or a file is written to standard output.`,
		Example: `  bench mock                                     # batching, queueing, a prefix cache
  bench mock --model llama-3.1-8b --hardware h100-sxm   # the roofline's times of that model and GPU
  bench mock --set mock.ttft=50ms --set mock.itl=10ms   # exact times: to check a client
  bench mock matrices/chat.toml                  # the server that the matrix runs against without an endpoint
  bench mock --listen 127.0.0.1:9000 --set mock.max_num_seqs=8
  bench mock --set mock.reasoning_tokens=50 --set 'mock.speculation={ tokens = 3, acceptance = 0.7 }'
  bench mock --set 'mock.faults=["status=500@1%", "stall=5@100"]' --set mock.drift=5%/h
  bench mock --hostile list                      # all misbehaving servers, requests and files
  (bench mock --hostile cl-te; sleep 2) | nc gateway 8000   # does the gateway survive that request?`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.hostile != "" {
				return f.play(cmd.Context(), c.stdout)
			}
			config, err := f.config(c.stderr, args)
			if err != nil {
				return err
			}
			return f.serve(cmd.Context(), c.stdout, config)
		},
	}
	fl := cmd.Flags()
	listenFlag(fl, &f.listen, "127.0.0.1:8000")
	setFlag(fl, &f.set)
	modelFlag(fl, &f.model,
		"served name; with hardware one in model_configs.json (default: [mock] of the matrix, else bench-mock)")
	hardwareFlags(fl, &f.hardware, &f.gpus, "[mock] of the matrix", "[mock] of the matrix, else 1")
	fl.StringVar(&f.hostile, "hostile", "", "`NAME` of a misbehaving server, request or file; list: all of them")
	return cmd
}

func (f *mockFlags) config(stderr io.Writer, files []string) (mock.Config, error) {
	var config mock.Config
	var err error
	if config.Models, config.Devices, err = readTables(stderr); err != nil {
		return config, err
	}
	file, text := "bench mock", []byte("[mock]\n")
	if len(files) == 1 {
		file = files[0]
		if text, err = os.ReadFile(file); err != nil {
			return config, matrixError(fmt.Errorf("reading the matrix: %w", err))
		}
	}
	typed := []override{{"--model", "mock.model", quoted(f.model)},
		{"--hardware", "mock.hardware", quoted(f.hardware)}, {"--gpus", "mock.gpus", number(float64(f.gpus))}}
	set := append(overridesOf(typed), f.set...)
	m, err := matrix.ParseServer(file, text, set, matrix.Extension{Table: "mock", Into: &config})
	if err != nil {
		return config, matrixError(asTyped(err, typed))
	}
	config.Model = cmp.Or(config.Model, m.Target.Model)
	return config, nil
}

func (f *mockFlags) serve(ctx context.Context, stdout io.Writer, config mock.Config) error {
	server, err := mock.New(config)
	if err != nil {
		return usage("%w", err)
	}
	l, err := listenOn(ctx, f.listen, "--listen", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%s\nlistening on http://%s\n", server.Describe(), l.Addr())
	if err := server.Serve(ctx, l); err != nil && ctx.Err() == nil {
		return fmt.Errorf("serving: %w", err)
	}
	return errEnded
}

// play plays a case of the hostile corpus, or lists them.
func (f *mockFlags) play(ctx context.Context, stdout io.Writer) error {
	if f.hostile == "list" {
		w := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
		for _, x := range hostile.Cases() {
			fmt.Fprintf(w, "%s\t%s\t%s\n", x.Name, x.Kind, x.Text)
		}
		return w.Flush()
	}
	x, ok := hostile.Find(f.hostile)
	switch {
	case !ok:
		return unknownHostile(f.hostile)
	case x.Kind != hostile.Server:
		return x.Write(stdout)
	}
	l, err := listenOn(ctx, f.listen, "--listen", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "hostile server %s: %s\nlistening on http://%s\n", x.Name, x.Text, l.Addr())
	if err := x.Serve(ctx, l); err != nil {
		return fmt.Errorf("serving: %w", err)
	}
	return errEnded
}

func unknownHostile(name string) error {
	var names []string
	for _, x := range hostile.Cases() {
		names = append(names, x.Name)
	}
	if near, ok := text.Nearest(name, names); ok {
		return usage("--hostile %s: there is no such case\nhint: --hostile %s", name, near)
	}
	return usage("--hostile %s: there is no such case\nhint: --hostile list prints all", name)
}
