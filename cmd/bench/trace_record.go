package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bench/experiment/target"
	"bench/experiment/unit"
	"bench/internal/listen"
	"bench/live/proxy"
	"bench/live/recording"
	"bench/report/foreign"
	"bench/report/page"
)

type recordFlags struct {
	listen, to, ca, output, admin, sessionHeader string
	tls                                          []string // files of the certificate and its key
	keepModels                                   bool
	duration                                     time.Duration
	shadow                                       shadowFlags
}

func newTraceRecord(c *cli) *cobra.Command {
	var f recordFlags
	cmd := &cobra.Command{
		Use:   "record --to URL -o FILE",
		Short: "record live traffic without its text: a reverse proxy before a server",
		Long: `record passes requests to a server and records what callers get: arrivals, first token, gaps, usage, finish, sessions. Bytes
pass untouched, streams as they come, cancellations at once. Requests of more than 64 MiB get status 413, and none is sent
twice; errors of the server pass as they are.

The file has no text, key, header or address. Prompts are hashes of blocks, under a key that exists in memory only. It
replays as a trace ([row.trace] file), and bench report shows it as a row. docs/live.md describes what is measured.

With --shadow whole conversations are copied to a candidate, whose answers are read, measured and thrown away. What a request
makes the candidate do, such as tool calls of its own, happens a second time.

Ctrl-C or SIGTERM ends it: no new connections, 30 s for the open answers, exit code 0. A second one ends at once.`,
		Example: `  bench trace record --to http://localhost:8000 -o live.jsonl.zst
  bench trace record --listen :8080 --to http://10.0.0.7:8000/v1 -o live.jsonl.zst --for 1h
  bench trace record --to https://llm.example.com/v1 -o live.jsonl.zst --session-header X-Session-ID
  bench trace record --to http://localhost:8000 -o live.jsonl.zst --shadow http://localhost:9000 --share 10%
  bench trace record --listen 0.0.0.0:8443 --tls cert.pem,key.pem --to http://localhost:8000 -o live.jsonl.zst`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.record(cmd.Context(), c) },
	}
	f.register(cmd.Flags())
	return cmd
}

func (f *recordFlags) register(fl *pflag.FlagSet) {
	listenFlag(fl, &f.listen, "127.0.0.1:8080")
	fl.StringVar(&f.to, "to", "", "`URL` of the server, e.g. http://localhost:8000")
	authorityFlag(fl, &f.ca, "the servers")
	fl.StringVarP(&f.output, "output", "o", "", "`FILE` to write, a new one, compressed if its name ends in .zst")
	fl.StringVar(&f.admin, "admin", "127.0.0.1:0",
		"`ADDRESS` of the live page, /metrics, /healthz and /readyz, e.g. :8081 (port 0: a free one)")
	tlsFlag(fl, &f.tls)
	fl.StringVar(&f.sessionHeader, "session-header", "",
		"request header with the conversation's id (default: conversations are recognised by their messages)")
	fl.BoolVar(&f.keepModels, "keep-models", false, "record the names of models, not numbers")
	fl.DurationVar(&f.duration, "for", 0, "end after this time, e.g. 1h (default: until interrupted)")
	f.shadow.register(fl)
}

func (f *recordFlags) config() (proxy.Config, *tls.Config, error) {
	c := proxy.Config{SessionHeader: f.sessionHeader, KeepModels: f.keepModels}
	var wrong mistakes
	bad := wrong.add
	c.To = serverURL("--to", f.to, bad)
	if f.sessionHeader != "" {
		if problem := target.HeaderProblem(f.sessionHeader, ""); problem != "" {
			bad("--session-header %s\nhint: --session-header X-Session-ID", problem)
		}
	}
	if f.duration < 0 {
		bad("--for must not be negative\nhint: --for 1h")
	}
	if f.output == "" {
		bad("missing -o\nhint: bench trace record --to URL -o live.jsonl.zst")
	} else if strings.HasSuffix(f.output, ".gz") {
		bad("-o %s: a recording is not written as gzip\nhint: end its name in .zst", f.output)
	}
	incoming, err := keyPair(f.tls)
	if err != nil {
		bad("%v", err)
	}
	if c.TLS, err = trustOnly(f.ca); err != nil {
		bad("%v", err)
	}
	c.Shadow = f.shadow.config(bad)
	return c, incoming, wrong.err()
}

// serverURL reads the address of a server; its errors have no user info.
func serverURL(flag, text string, bad func(format string, args ...any)) *url.URL {
	if text == "" {
		bad("missing %s\nhint: %s http://localhost:8000", flag, flag)
		return nil
	}
	if strings.ContainsAny(text, "?#") {
		bad("%s has a query or fragment\nhint: remove it: callers send their own keys, which pass", flag)
		return nil
	}
	base, err := target.BaseURL(text)
	if err != nil {
		bad("%s: %v", flag, err)
		return nil
	}
	u, user, err := target.SplitUser(base)
	switch {
	case err != nil:
		bad("%s: %v", flag, err)
	case user != nil:
		bad("%s has user info, which would be sent for all callers\nhint: callers send their own keys, which pass",
			flag)
	}
	return u
}

// recordGC is the GOGC of a recorder, unless it is set. The heap is tens of MB, but requests that pass while it is
// collected are up to a millisecond later: p99 of TTFT at 1,000 requests/s.
const recordGC = 400

const (
	recordConnections = 10_000           // of callers at once; more wait
	recordDrain       = 30 * time.Second // for open answers at the end
)

func (f *recordFlags) record(ctx context.Context, c *cli) error {
	if os.Getenv("GOGC") == "" {
		defer debug.SetGCPercent(debug.SetGCPercent(recordGC))
	}
	config, incoming, err := f.config()
	if err != nil {
		return err
	}
	l, err := listenOn(ctx, f.listen, "--listen", ":8081")
	if err != nil {
		return err
	}
	defer l.Close()
	admin, err := listenOn(ctx, f.admin, "--admin", ":8082")
	if err != nil {
		return err
	}
	defer admin.Close()
	config.Started = time.Now()
	header := recordingHeader(config, &f.shadow)
	file, err := createRecording(f.output, header, c.stderr)
	if err != nil {
		return err
	}
	config.Done = file.write
	live := foreign.NewRecording(filepath.Base(f.output), header, latestShown)
	config.Done = func(x *recording.Exchange) {
		file.write(x)
		live.Add(x)
	}
	p, err := proxy.New(config)
	if err != nil {
		return errors.Join(err, file.close(recording.Counts{}))
	}
	server := &proxy.Server{Proxy: p, TLS: incoming, MaxConnections: recordConnections, Drain: recordDrain,
		Unrecorded: file.unwritten,
		Page:       func() []byte { return livePage(live, file.counts(p)) }, PagePolicy: page.Policy()}
	stopAdmin := (&listen.Door{Handler: server.Admin()}).Start(admin)
	defer stopAdmin()
	f.announce(c, l, admin, incoming != nil)
	if f.duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, f.duration)
		defer cancel()
	}
	stopWatch := file.watch(p, c.stderr)
	served := server.Serve(ctx, l)
	patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordDrain) // for the copies
	_ = p.Close(patience)
	cancel()
	stopWatch()
	counts := file.counts(p)
	ended := time.Now()
	counts.EndedAt = &ended
	closed := file.close(counts)
	file.summarize(c.stdout, counts)
	return errors.Join(served, closed)
}

// latestShown is the number of requests on the page of the administration: few enough to make it in a second.
const latestShown = 5000

// livePage is the report so far. The comparison with a candidate is of all requests.
func livePage(live *foreign.Recording, c recording.Counts) []byte {
	var b bytes.Buffer
	if err := page.Runs(&b, live.Run(c)); err != nil {
		return []byte("the page could not be made\n")
	}
	return b.Bytes()
}

func recordingHeader(c proxy.Config, f *shadowFlags) recording.Header {
	v, _ := version()
	h := recording.Header{BlockBytes: proxy.BlockBytes, Recorded: recording.Recorded{StartedAt: c.Started, Bench: v}}
	if c.Shadow != nil {
		h.Recorded.Shadow = &recording.Shadow{Share: c.Shadow.Share, WarmupS: f.warmup.Seconds()}
	}
	return h
}

func (f *recordFlags) announce(c *cli, traffic, admin net.Listener, encrypted bool) {
	scheme := "http"
	if encrypted {
		scheme = "https"
	}
	c.warnOpen(traffic, "--listen", "")
	c.warnOpen(admin, "--admin", "")
	fmt.Fprintf(c.stdout,
		"recording to %s (Ctrl-C ends it)\nlistening on %s://%s\npage, /metrics, /readyz: http://%s/\n", safe(f.output),
		scheme, traffic.Addr(), admin.Addr())
}

func (f *recordingFile) summarize(stdout io.Writer, n recording.Counts) {
	if f.removed {
		fmt.Fprintf(stdout, "%s is removed: no request was recorded\n", safe(f.name))
	} else {
		fmt.Fprintf(stdout, "%s: %s of %s recorded\n", safe(f.name), unit.Plural(f.written(), "request"),
			unit.Count(n.Requests))
	}
	fmt.Fprint(stdout, counted("  ", "\n",
		count{n.Unrecorded, "not recorded: the disk was full, or the recorder was behind"},
		count{n.Unhashed, "without hashes: the body was too large, or unreadable"},
		count{n.Unreadable, "answers in an encoding that is not read"},
		count{n.Refused, "refused: larger than 64 MiB, or a loop"},
		count{n.Unreachable, "without an answer: the server could not be reached"},
		count{n.Other, "to other paths, passed on only"}))
	if s := n.Shadow; s != nil {
		line := unit.Plural(s.Sent, "request") + " copied to the candidate" + counted(", ", "",
			count{s.Dropped, "dropped"}, count{s.Failed, "answers failed"}, count{s.Cut, "cut in flight"},
			count{s.Unread, "with an answer that is not read"})
		if s.Stopped != "" {
			line += "; copying ended: " + s.Stopped
		}
		fmt.Fprintf(stdout, "  %s\n", line)
	}
	if f.written() > 0 {
		fmt.Fprintf(stdout, "read it: bench report %s; bench trace %s\n", safe(f.name), safe(f.name))
	}
}

type shadowFlags struct {
	to, share, keyEnv string
	warmup            time.Duration
}

func (f *shadowFlags) register(fl *pflag.FlagSet) {
	fl.StringVar(&f.to, "shadow", "", "`URL` of a candidate server that gets copies of whole conversations")
	fl.StringVar(&f.share, "share", "", "share of the conversations that are copied, e.g. 10% (default 10%)")
	fl.StringVar(&f.keyEnv, "shadow-key-env", "",
		"environment variable `VAR` with the candidate's API key (default: the caller's key is sent)")
	fl.DurationVar(&f.warmup, "shadow-warmup", time.Minute, "time since the first copy whose requests are not compared")
}

// config reads the flags; nil: no candidate.
func (f *shadowFlags) config(bad func(format string, args ...any)) *proxy.ShadowConfig {
	if f.to == "" {
		if f.share != "" || f.keyEnv != "" {
			bad("--share and --shadow-key-env need --shadow\nhint: --shadow http://localhost:9000")
		}
		return nil
	}
	c := &proxy.ShadowConfig{To: serverURL("--shadow", f.to, bad), Share: 0.1}
	switch f.share {
	case "":
	case "100%":
		c.Share = 1
	default:
		c.Share = percentage("--share", f.share, "10%", func(string, ...any) {
			bad("--share %q: expected above 0%% and at most 100%%\nhint: --share 10%%", f.share)
		})
	}
	if f.warmup < 0 {
		bad("--shadow-warmup must not be negative\nhint: --shadow-warmup 1m")
	}
	if f.keyEnv != "" {
		if c.Key = os.Getenv(f.keyEnv); c.Key == "" {
			bad("--shadow-key-env: environment variable %s is not set\nhint: export %s=...", f.keyEnv, f.keyEnv)
		}
	}
	return c
}

type count struct {
	n    int
	text string
}

// counted are the counts above 0 as text, each between two others.
func counted(before, after string, counts ...count) (out string) {
	for _, x := range counts {
		if x.n > 0 {
			out += before + unit.Count(x.n) + " " + x.text + after
		}
	}
	return out
}
