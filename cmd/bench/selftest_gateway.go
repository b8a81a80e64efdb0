package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bench/experiment/selftest"
	"bench/experiment/selftest/gateway"
	"bench/experiment/selftest/runner"
	"bench/experiment/server"
	"bench/report/export"
)

// gatewayFlags are the flags of `bench selftest --gateway`.
type gatewayFlags struct {
	on     bool
	rounds int
	url    string // of the user's own gateway; empty: none
	listen string // of the exact server
}

const (
	gatewayRounds      = 9
	quickGatewayRounds = gateway.MinRounds
	anyPort            = "127.0.0.1:0"
)

func (f *gatewayFlags) register(fl *pflag.FlagSet) {
	fl.BoolVar(&f.on, "gateway", false, "measure what gateways add to the times, not the client")
	fl.IntVar(&f.rounds, "rounds", 0, "with --gateway: rounds, each with every load on every path (default 9; with --quick 6)")
	fl.StringVar(&f.url, "gateway-url", "", "with --gateway: `URL` of a gateway of yours that sends to --server-listen; it gets the model bench-mock")
	fl.StringVar(&f.listen, "server-listen", anyPort, "with --gateway: `ADDRESS` of the exactly timed server")
}

// check reports flags that do not belong together.
func (f *gatewayFlags) check(fl *pflag.FlagSet) error {
	if !f.on {
		for _, name := range []string{"rounds", "gateway-url", "server-listen"} {
			if fl.Changed(name) {
				return usage("--%s needs --gateway\nhint: bench selftest --gateway --%s %s", name, name, fl.Lookup(name).Value)
			}
		}
		return nil
	}
	switch u, err := url.Parse(f.url); {
	case fl.Changed("save"):
		return usage("--save cannot be combined with --gateway: sweeps use the client's calibration alone\nhint: bench selftest --gateway --format json > gateway.json")
	case fl.Changed("rounds") && (f.rounds < 1 || f.rounds > 1000):
		return usage("--rounds: %d is not between 1 and 1000\nhint: --rounds 9", f.rounds)
	case f.url != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https"):
		return usage("--gateway-url: not an http URL\nhint: --gateway-url http://127.0.0.1:4000")
	case f.url != "" && !fl.Changed("server-listen"):
		return usage("--gateway-url needs --server-listen: the address that the gateway sends to\nhint: --server-listen 127.0.0.1:9000")
	}
	return nil
}

// selftestGateway measures what gateways add.
func (c *cli) selftestGateway(cmd *cobra.Command, f *selftestFlags, ladder runner.Ladder) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding the bench program, which is also the server: %w", err)
	}
	dir, err := os.MkdirTemp("", "bench-gateway-")
	if err != nil {
		return fmt.Errorf("making a directory for the recording: %w", err)
	}
	defer os.RemoveAll(dir)
	rounds := cmp.Or(f.gateway.rounds, gatewayRounds)
	if f.quick && f.gateway.rounds == 0 {
		rounds = quickGatewayRounds
	}
	gateways := gatewaysOf(self, dir, f.gateway)
	fmt.Fprintf(c.stderr, "about %v; keep this machine otherwise idle\n", ladder.ExpectedGateways(rounds, len(gateways)+1).Round(time.Second))
	result, err := runner.RunGateways(cmd.Context(), runner.GatewayConfig{
		Ladder: ladder, Rounds: rounds, Machine: machine(), Gateways: gateways,
		Command: exactServer(self, f.gateway.listen, ladder),
		Begun: func(i, n, round int, s selftest.Step, path string) {
			fmt.Fprintf(c.stderr, "[%d/%d] %s, round %d: %s\n", i, n, s.Name(), round, path)
		},
		Skipped: func(name string, err error) {
			why, _, _ := strings.Cut(err.Error(), "\n") // then its last output
			fmt.Fprintf(c.stderr, "note: without %s: %s\n", name, safe(why))
		},
	})
	switch {
	case cmd.Context().Err() != nil:
		return &exitError{codeInterrupted, errors.New("interrupted: the self-test is incomplete, so there is no result")}
	case err != nil:
		return fmt.Errorf("the self-test: %w", err)
	}
	return c.concludeGateways(result, f)
}

func (c *cli) concludeGateways(r *gateway.Result, f *selftestFlags) error {
	render := func(w io.Writer) error { return gateway.Text(w, r, screenOf(w).Columns(), f.verbose) }
	if f.format == "json" {
		render = func(w io.Writer) error { return export.WriteJSON(w, r) }
	}
	if err := render(c.stdout); err != nil {
		return err
	}
	if !r.Measured() {
		return errors.New("no gateway could be measured: see the reason at each\nhint: bench selftest --gateway --rates 10")
	}
	return nil
}

// gatewaysOf are the gateways to measure: ours, a plain Go proxy, nginx if it is installed, and the user's.
func gatewaysOf(self, dir string, f gatewayFlags) []runner.Gateway {
	all := []runner.Gateway{
		{Name: "bench trace record", Start: func(to string) (server.Config, error) {
			return announced(self, "trace", "record", "--listen", anyPort, "--to", to, "-o", filepath.Join(dir, "live.jsonl.zst")), nil
		}},
		{Name: "Go reverse proxy", Start: func(to string) (server.Config, error) {
			return announced(self, "plain-proxy", "--to", to), nil
		}},
	}
	if nginx, ok := findNginx(); ok {
		all = append(all, runner.Gateway{Name: "nginx", Start: func(to string) (server.Config, error) { return nginxServer(nginx, dir, to) }})
	}
	if f.url != "" {
		all = append(all, runner.Gateway{Name: "your gateway", URL: f.url})
	}
	return all
}

func announced(command ...string) server.Config {
	return server.Config{Command: command, Announce: "listening on "}
}
