package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bench/experiment/mock"
	"bench/sweep"
)

// mockFlags are the flags of `bench mock`: those typed daily. --set has the others.
type mockFlags struct {
	listen  string
	hostile string
	set     []string
	own     mock.Config // the keys that have flags
	flags   *pflag.FlagSet
	wrong   []string // mistakes of the flags
}

func newMock(c *cli) *cobra.Command {
	f := &mockFlags{}
	cmd := &cobra.Command{
		Use:   "mock [FILE]",
		Short: "serve a simulated vLLM, to try clients and matrices without a GPU",
		Long: `mock serves the APIs of vLLM (models, completions, chat, responses, messages, tokenize, health, version,
metrics, reset_prefix_cache). FILE is a matrix whose table [mock] it plays; --set mock.KEY=VALUE changes it.
With --ttft and --itl every token has exactly those times. Without them a batching scheduler with a paged KV cache,
prefix hits, preemption and a queue sets the times. The time of a step comes from the roofline of --hardware, or
from the step_… keys. /debug describes the simulation, /debug/requests has the true times of each request.

--fault injects faults, "kind[=argument][@n|@p%]": into every request, every n-th, or p percent. Kinds:

  status=CODE, reset-before, slow-headers=TIME, freeze=TIME (of all), html200, garbage; after N tokens: reset-mid=N,
  fin-mid=N, cut-mid=N, stall=N, garbage-mid=N, error-in-stream=N, pause=N:TIME, short=N; and multi=K (tokens per event), crlf, comments,
  empty-events, no-done, no-usage, wrong-usage=OUTPUT:CACHED, no-prompt-tokens-details, no-zero-cached-tokens,
  no-completion-tokens-details, no-token-ids, no-text=first|last|all, split-utf8; chat, responses, messages:
  role-early, role-reasoning, tool-calls; responses: incomplete-event.

Reasoning, speculative decoding, adapters and answers can be planted; /debug/requests has the truth.

--hostile NAME is one case of what clients, gateways and readers of files must survive. A server listens, and misbehaves
when it answers a completion; a request or a file is written to standard output.`,
		Example: `  bench mock                                     batching, queueing, a prefix cache
  bench mock --model llama-3.1-8b --hardware h100-sxm   the roofline's times of that model and GPU
  bench mock --ttft 50ms --itl 10ms              exact times: to check a client
  bench mock matrices/chat.toml                  the server that the matrix runs against without an endpoint
  bench mock --listen 127.0.0.1:9000 --set mock.max_num_seqs=8
  bench mock --set mock.reasoning_tokens=50 --set 'mock.speculation={ tokens = 3, acceptance = 0.7 }'
  bench mock --fault status=500@1% --fault stall=5@100 --set mock.drift=5%/h
  bench mock --hostile list                      all misbehaving servers, requests and files
  (bench mock --hostile cl-te; sleep 2) | nc gateway 8000   does the gateway survive that request?`,
		Args: positional(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.hostile != "" {
				return c.hostile(cmd, f)
			}
			config, err := c.mockConfig(f, args)
			if err != nil {
				return err
			}
			return c.mock(cmd.Context(), config, f.listen)
		},
	}
	f.flags = cmd.Flags()
	f.register()
	return cmd
}

func (f *mockFlags) register() {
	fl := f.flags
	fl.StringVar(&f.listen, "listen", "127.0.0.1:8000",
		"`ADDRESS` to listen on; a host other than 127.0.0.1 opens it to the network")
	setFlag(fl, &f.set)
	fl.StringVar(&f.own.Model, "model", "", "served model name (default bench-mock)")
	fl.StringVar(&f.own.Hardware, "hardware", "", "simulated GPU, e.g. h100-sxm")
	fl.DurationVar(&f.own.TTFT, "ttft", 0, "exact time to first token, e.g. 50ms")
	fl.DurationVar(&f.own.ITL, "itl", 0, "exact time between tokens, e.g. 10ms")
	fl.StringArrayVar(&f.own.Faults, "fault", nil,
		`fault to inject: "kind[=arg][@n|@p%]", e.g. status=500@10 (repeatable)`)
	fl.StringVar(&f.hostile, "hostile", "", "`NAME` of a misbehaving server, request or file; list: all of them")
	fl.StringVar(&f.own.APIKey, "require-api-key", "", "API key that requests must have")
}

type mockTable struct {
	mock.Config
	*mockFlags
}

// Check implements sweep.Extension. A mistake of a flag is none of the file.
func (t *mockTable) Check(bad func(key, problem, hint string)) {
	c := &t.Config
	c.Model, c.Hardware = cmp.Or(t.own.Model, c.Model), cmp.Or(t.own.Hardware, c.Hardware)
	c.TTFT, c.ITL = cmp.Or(t.own.TTFT, c.TTFT), cmp.Or(t.own.ITL, c.ITL)
	c.Faults = append(c.Faults, t.own.Faults...)
	c.APIKey = t.own.APIKey
	c.Check(func(key, problem, hint string) {
		flag := key
		if strings.HasPrefix(key, "faults[") {
			flag = "fault"
		}
		if fl := t.flags.Lookup(flag); fl != nil && fl.Changed {
			t.wrong = append(t.wrong, fmt.Sprintf("--%s: %s\nhint: %s", flag, problem, hint))
			return
		}
		bad(key, problem, hint)
	})
}

func (c *cli) mockConfig(f *mockFlags, files []string) (mock.Config, error) {
	none := mock.Config{}
	table := &mockTable{mockFlags: f}
	var err error
	if table.Models, table.Devices, err = readTables(c.stderr); err != nil {
		return none, err
	}
	file, text := "bench mock", []byte("[mock]\n")
	if len(files) == 1 {
		file = files[0]
		if text, err = os.ReadFile(file); err != nil {
			return none, matrixError(fmt.Errorf("reading the matrix: %w", err))
		}
	}
	m, err := sweep.ParseServer(file, text, f.set, sweep.Extension{Table: "mock", Into: table})
	switch {
	case err != nil:
		return none, matrixError(err)
	case len(f.wrong) > 0:
		return none, usage("%s", strings.Join(f.wrong, "\nerror: "))
	}
	table.Model = cmp.Or(table.Model, m.Target.Model)
	return table.Config, nil
}

func (c *cli) mock(ctx context.Context, config mock.Config, listen string) error {
	server, err := mock.New(config)
	if err != nil {
		return usage("%w", err)
	}
	l, err := listenOn(ctx, listen, "--listen", "127.0.0.1:0")
	if err != nil {
		return err
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
