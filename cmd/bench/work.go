package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bench/experiment"
	"bench/experiment/endpoint"
	"bench/experiment/target"
	"bench/experiment/text"
	"bench/sweep/workers"
)

// joinFor is how long a worker tries to join, also when the leader is gone. Tests shorten it.
var joinFor = 5 * time.Minute

type workFlags struct {
	key                       keyFlags
	join, token, ca, endpoint string
}

func newWork(c *cli) *cobra.Command {
	f := &workFlags{}
	cmd := &cobra.Command{
		Use:   "work",
		Short: "send a share of the load of a sweep on another machine",
		Long: `work joins bench sweep --workers N, the leader, and sends its share of the load of each row. It ends when the
leader ends. The leader has the matrix, reads the server's metrics and writes the results; a worker needs only its own API key.
All must be the same build of bench.

A worker tries to join for 5 minutes. Its number, from 0, is $JOB_COMPLETION_INDEX or $SLURM_PROCID, else the leader gives
it one.`,
		Example: `  bench sweep matrices/chat.toml --endpoint http://gpu:8000 --workers 4 --listen 0.0.0.0:9470  # one
  BENCH_TOKEN=… bench work --join http://leader:9470                                           # on four others
  srun --ntasks 4 bench work --join http://leader:9470 --token-file token                      # with Slurm`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.work(cmd.Context(), c, cmd.Flags()) },
	}
	f.register(cmd.Flags())
	return cmd
}

func (f *workFlags) register(fl *pflag.FlagSet) {
	fl.StringVar(&f.join, "join", "", "`URL` of the leader, as it prints it")
	tokenFlag(fl, &f.token)
	authorityFlag(fl, &f.ca, "the leader")
	fl.StringVar(&f.endpoint, "endpoint", "",
		"URL of the server under test, if this machine reaches it at another URL than the leader")
	f.key.register(fl)
}

func (f *workFlags) work(ctx context.Context, c *cli, fl *pflag.FlagSet) error {
	w, err := f.worker()
	if err != nil {
		return err
	}
	key, err := f.key.resolve(fl, c.stderr)
	if err != nil {
		return err
	}
	if w.Build, err = ownBuild(); err != nil {
		return err
	}
	defer ignoreSIGPIPE()()
	saved := savedSelftest(c.stderr)
	w.Note = func(line string) { fmt.Fprintln(c.stderr, time.Now().Format(time.TimeOnly)+" "+line) }
	w.Reach = func(ctx context.Context, a endpoint.ServerAddress, s *experiment.Spec) (workers.Sharer, error) {
		base, err := f.base(a)
		if err == nil && key != "" {
			err = f.admit(base, a, s, w.Note)
		}
		if err != nil {
			return nil, err
		}
		server, err := c.reachFor(ctx, []experiment.Spec{*s}, a.Target, base, key, nil, maxLoading)
		if err != nil {
			return nil, f.unreachable(base, key, a.Target.HTTP2, err)
		}
		server.Selftest = saved
		return server, nil
	}
	if err = w.Run(ctx); ctx.Err() != nil {
		return interrupted("interrupted")
	}
	return err
}

func (f *workFlags) worker() (*workers.Worker, error) {
	at, err := url.Parse(f.join)
	if err != nil || at.Host == "" || at.User != nil || at.Scheme != "http" && at.Scheme != "https" {
		return nil, usage("--join needs the URL of the leader\nhint: --join http://leader:9470, as bench sweep --workers prints it")
	}
	if f.ca != "" && at.Scheme != "https" {
		return nil, usage("--tls-ca needs a leader at https://\nhint: give bench sweep --tls cert.pem,key.pem")
	}
	trust, err := trustOnly(f.ca)
	if err != nil {
		return nil, err
	}
	w := &workers.Worker{Join: f.join, Wait: joinFor, Client: workers.NewClient(trust)}
	switch tokens, err := readTokens(f.token); {
	case err != nil:
		return nil, err
	case len(tokens) == 0:
		return nil, usage("the token is missing\nhint: export %s=…, or --token-file FILE: the leader prints it, or "+
			"has the same file", tokenEnv)
	case len(tokens) > 1:
		return nil, usage("--token-file: %s has %d tokens, a worker only its own\nhint: a file with one of its lines",
			f.token, len(tokens))
	default:
		w.Token = tokens[0]
	}
	if w.Index, err = placedIndex(); err != nil {
		return nil, err
	}
	if w.Host, err = os.Hostname(); err != nil {
		return nil, fmt.Errorf("finding the name of this machine: %w", err)
	}
	return w, nil
}

// placedIndex is the number that a scheduler gave this process; -1: none did.
func placedIndex() (int, error) {
	for _, name := range []string{"JOB_COMPLETION_INDEX", "SLURM_PROCID"} {
		text := os.Getenv(name)
		if text == "" {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return 0, usage("%s is %q, not the number of a worker\nhint: unset %[1]s: the leader gives one", name, text)
		}
		return n, nil
	}
	return -1, nil
}

func authorityFlag(fl *pflag.FlagSet, into *string, of string) {
	fl.StringVar(into, "tls-ca", "",
		"certificate `FILE` (PEM) of the authority of "+of+" at https:// (default: the system's)")
}

// trustOnly reads the authority of --tls-ca; nil: the system's are trusted.
func trustOnly(ca string) (*tls.Config, error) {
	if ca == "" {
		return nil, nil
	}
	text, err := os.ReadFile(ca)
	if err != nil {
		return nil, usage("--tls-ca: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, usage("--tls-ca: %s contains no certificate (PEM)", ca)
	}
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, nil
}

func (f *workFlags) base(a endpoint.ServerAddress) (string, error) {
	if f.endpoint == "" {
		return a.Base, nil
	}
	if len(a.Target.Endpoints)+len(a.Target.Replicas) > 0 {
		return "", errors.New("--endpoint names one server, the matrix several\nhint: use names in the matrix that all machines resolve")
	}
	return target.BaseURL(f.endpoint)
}

// admit states the servers that get the API key, before they do. With --endpoint no other does: the leader, or who
// alters its messages, could name any.
func (f *workFlags) admit(base string, a endpoint.ServerAddress, s *experiment.Spec, note func(string)) error {
	others := slices.Clone(a.Target.Replicas[min(1, len(a.Target.Replicas)):]) // the first is base
	for _, r := range experiment.Routes([]experiment.Spec{*s}, a.Target) {
		if r.Endpoint != "" {
			others = append(others, r.Endpoint)
		}
	}
	if a.Target.Proxy != "" {
		others = append(others, "the proxy "+a.Target.Proxy)
	}
	if f.endpoint != "" && len(others) > 0 {
		return fmt.Errorf("the matrix names %s, which --endpoint keeps from getting the API key\nhint: omit --endpoint, or run without a key", target.Redact(others[0]))
	}
	for _, e := range append([]string{base}, others...) {
		note("requests with the API key go to " + text.Escape(target.Redact(e)))
	}
	return nil
}

func (f *workFlags) unreachable(base, key string, http2 bool, err error) error {
	err = unreachable(base, key, http2, &f.key, err)
	if u, parse := url.Parse(base); parse == nil && (u.Hostname() == "localhost" ||
		strings.HasPrefix(u.Hostname(), "127.")) {
		return fmt.Errorf("%w\nhint: on another machine than the server's, give bench work --endpoint http://SERVER:PORT, or the matrix an address that all reach", err)
	}
	return err
}
