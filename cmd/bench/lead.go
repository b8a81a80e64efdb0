package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"bench/experiment/text"
	"bench/experiment/workload"
	"bench/internal/listen"
	"bench/sweep/workers"
)

type leadFlags struct {
	workers int
	listen  string
	token   string   // file
	tls     []string // files of the certificate and its key
}

func (f *leadFlags) register(fl *pflag.FlagSet) {
	fl.IntVar(&f.workers, "workers", 0,
		"`N` load workers (bench work) send the load; this process sends none (docs/scale.md)")
	listenFlag(fl, &f.listen, "127.0.0.1:0")
	tokenFlag(fl, &f.token)
	tlsFlag(fl, &f.tls)
}

const tokenEnv = "BENCH_TOKEN"

func tokenFlag(fl *pflag.FlagSet, into *string) {
	fl.StringVar(into, "token-file", "", "`FILE` with the worker's token; of the leader: one for all workers, or a "+
		"line for each (default: $"+tokenEnv+")")
}

// readTokens are the tokens in a file, one a line, or the one in the environment; nil: there is none.
func readTokens(file string) (tokens []string, err error) {
	text, from := os.Getenv(tokenEnv), tokenEnv
	if file != "" {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, usage("--token-file: %w", err)
		}
		text, from = string(content), file
	} else if text == "" {
		return nil, nil
	}
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		token, err := clean(line, "token", from)
		if err != nil {
			return nil, err
		}
		tokens = append(tokens, token)
	}
	return tokens, nil
}

func (f *leadFlags) check(fl *pflag.FlagSet) error {
	if err := positive(fl, "workers"); err != nil {
		return err
	}
	if f.workers > workers.MostWorkers {
		return usage("--workers %d: at most %d\nhint: one worker sends thousands of requests per second", f.workers,
			workers.MostWorkers)
	}
	for _, name := range []string{"listen", "token-file", "tls"} {
		if f.workers == 0 && fl.Changed(name) {
			return usage("--%s needs --workers\nhint: --workers 4 --%s …", name, name)
		}
	}
	return nil
}

type crew struct {
	*workers.Leader
	url    string
	tokens []string
	start  string // what to start on each worker's machine
	end    func(reason string)
}

func (f *leadFlags) lead(ctx context.Context, c *cli) (*crew, error) {
	tokens, err := readTokens(f.token)
	if err != nil {
		return nil, err
	}
	n, different := len(tokens), len(slices.Compact(slices.Sorted(slices.Values(tokens))))
	if n > 1 && (n != f.workers || different < n) {
		return nil, usage("--token-file: %d lines with %d different tokens for %d workers\nhint: a line for each, or "+
			"one for all", n, different, f.workers)
	}
	build, err := ownBuild()
	if err != nil {
		return nil, err
	}
	encrypted, err := keyPair(f.tls)
	if err != nil {
		return nil, err
	}
	l, err := listenOn(ctx, f.listen, "--listen", "0.0.0.0:9470")
	if err != nil {
		return nil, err
	}
	x := &crew{url: "http://" + reachable(l.Addr()), tokens: tokens}
	if encrypted != nil {
		x.url = "https://" + reachable(l.Addr())
	}
	x.start = "on each: bench work --join " + x.url
	if tokens == nil {
		x.tokens = workers.NewTokens(f.workers)
		x.start = "on each one of these:"
		for _, token := range x.tokens {
			x.start += fmt.Sprintf("\n  %s=%s bench work --join %s", tokenEnv, token, x.url)
		}
	}
	if encrypted == nil {
		c.warnOpen(l, "--listen", " without TLS: anyone who can read its traffic sees the token and the prompts")
	}
	x.Leader = workers.NewLeader(f.workers, x.tokens, build)
	door := &listen.Door{Handler: x.Leader, TLS: encrypted, BodyTimeout: workers.BodyTimeout,
		MaxConnections: 1000 + 8*f.workers} // of strangers; commands of each, and what its transport keeps beside them
	stop := door.Start(l)
	x.end = func(reason string) {
		x.Leader.End(reason)
		stop()
	}
	return x, nil
}

// reachable is a listener's address as others reach it: of one that listens on all addresses, this machine's name.
func reachable(a net.Addr) string {
	tcp, ok := a.(*net.TCPAddr)
	name, err := os.Hostname()
	if !ok || !tcp.IP.IsUnspecified() || err != nil {
		return a.String()
	}
	return net.JoinHostPort(name, fmt.Sprint(tcp.Port))
}

// joining is how long the leader waits for its workers: a scheduler may place them one after the other.
const joining = time.Hour

func (x *crew) await(ctx context.Context, c *cli, of int) error {
	err := x.Await(ctx, joining, func(n int) {
		line := fmt.Sprintf("%d of %d workers joined", n, of)
		if n < of && x.start != "" {
			line += "; " + x.start
			x.start = "" // once
		}
		fmt.Fprintln(c.stderr, text.EscapeLines(line))
	})
	switch {
	case ctx.Err() != nil:
		return errInterruptedEarly
	case err != nil:
		return fmt.Errorf("%w\nhint: on each: bench work --join %s", err, x.url)
	}
	return nil
}

// ownBuild identifies this program: by its content, where it has no commit.
func ownBuild() (workers.Build, error) {
	var b workers.Build
	b.Version, b.Commit = version()
	if b.Commit != "" && !strings.HasSuffix(b.Commit, "+changes") {
		return b, nil
	}
	self, err := os.Executable()
	if err != nil {
		return b, fmt.Errorf("finding the bench program: %w", err)
	}
	if b.Hash, err = workload.HashFile(self); err != nil {
		return b, fmt.Errorf("reading the bench program: %w", err)
	}
	return b, nil
}

func reasonOf(err error) string {
	switch {
	case err == nil:
		return "the sweep is done"
	case errors.Is(err, context.Canceled):
		return "the sweep was interrupted"
	}
	first, _, _ := strings.Cut(err.Error(), "\n")
	return cmp.Or(first, "the sweep has ended")
}
