package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bench/experiment/selftest"
	"bench/experiment/selftest/runner"
	"bench/experiment/target"
)

// gatewayFlags are the flags of `bench selftest --gateway`.
type gatewayFlags struct {
	gateway, server, api, model string
	key                         keyFlags
}

func (g *gatewayFlags) register(f *pflag.FlagSet) {
	f.StringVar(&g.gateway, "gateway", "", "measure the latency that the gateway at `URL` adds to --server, instead of the client")
	f.StringVar(&g.server, "server", "", "`URL` of the bench mock --ttft … --itl … that the gateway forwards to")
	f.StringVar(&g.api, "api", "", "with --gateway: API, completions or chat (default completions)")
	f.StringVar(&g.model, "model", "", "with --gateway: its name of the model (default: the server's)")
	g.key.register(f)
}

// setDefaults replaces the ladder's defaults by those for gateways: loads far below the client's limit, and short answers
// for many first tokens. Flags that are set stay.
func (g *gatewayFlags) setDefaults(l *runner.Ladder, f *pflag.FlagSet) {
	if !f.Changed("streams") && !f.Changed("rates") {
		l.Streams, l.Rates = []int{1, 10, 100}, nil
	}
	if !f.Changed("tokens") {
		l.Tokens = 20
	}
	if !f.Changed("window") {
		l.Window = 5 * time.Second
	}
}

// check refuses flags that cannot be combined.
func (g *gatewayFlags) check(f *pflag.FlagSet) error {
	if g.gateway == "" {
		for _, name := range []string{"server", "api", "model", "api-key", "api-key-file", "api-key-env"} {
			if f.Changed(name) {
				return usage("--%s needs --gateway\nhint: bench selftest --gateway http://127.0.0.1:4000 --server http://127.0.0.1:8000", name)
			}
		}
		return nil
	}
	for _, name := range []string{"save", "ttft", "itl"} {
		if f.Changed(name) {
			return usage("--%s cannot be combined with --gateway: --server sets the times, and nothing is saved\nhint: omit it; --format json > gateway.json keeps the result", name)
		}
	}
	switch {
	case g.server == "":
		return usage("--gateway needs --server, the server that it forwards to\nhint: start bench mock --ttft 50ms --itl 10ms, let the gateway forward to it, and add --server URL")
	case g.api != "" && g.api != target.Completions && g.api != target.Chat:
		return usage("unknown API %q\nhint: use completions or chat", g.api)
	}
	return nil
}

// gateway measures a server directly and through the gateway, and prints the difference.
func (c *cli) gateway(cmd *cobra.Command, f *selftestFlags, ladder runner.Ladder) error {
	g := &f.gateway
	key, err := g.key.resolve(cmd.Flags(), c.stderr)
	if err != nil {
		return err
	}
	open := false
	result, err := runner.Gateway{
		URL: g.gateway, Server: g.server, API: g.api, Model: g.model, Key: key, Ladder: ladder,
		Begun: func(i, n int, s selftest.Step) {
			if open {
				fmt.Fprintln(c.stderr)
			}
			open = true
			fmt.Fprintf(c.stderr, "[%d/%d] %s, directly and through the gateway …", i, n, s.Name())
		},
	}.Compare(cmd.Context(), machine())
	if open {
		fmt.Fprintln(c.stderr)
	}
	switch {
	case cmd.Context().Err() != nil:
		return &exitError{codeInterrupted, errors.New("interrupted: the comparison is incomplete, so there is no result")}
	case err != nil:
		return err
	}
	render := selftest.GatewayText
	if f.format == "json" {
		render = func(w io.Writer, r *selftest.Comparison) error { return writeJSON(w, r) }
	}
	if err := render(c.stdout, result); err != nil {
		return err
	}
	if !result.Measured() {
		return errors.New("no step could be compared: see the reason at each step\nhint: try the gateway: curl -sS " + target.Redact(g.gateway) + "/v1/models")
	}
	return nil
}
