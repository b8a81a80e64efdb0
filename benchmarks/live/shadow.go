package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"bench/experiment/selftest"
	"bench/experiment/selftest/gateway"
	"bench/experiment/selftest/runner"
	"bench/experiment/server"
)

// shadows sends the same load through a recorder without a candidate, and through others whose candidates misbehave,
// in rounds. All requests are copied.
type shadows struct {
	bench, dir string
	rounds     int
	streams    int
}

// candidate is a server that gets copies.
type candidate struct {
	name  string
	flags []string // of the simulated server; nil: url
	url   string
}

const serverTTFT, serverITL = 50 * time.Millisecond, 20 * time.Millisecond

func (s shadows) run(ctx context.Context, out io.Writer) error {
	flood, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	srv := &http.Server{Handler: http.HandlerFunc(pour)}
	defer srv.Close()
	go func() { _ = srv.Serve(flood) }()
	nothing, err := freeAddress()
	if err != nil {
		return err
	}
	exact := []string{"--ttft", serverTTFT.String(), "--itl", serverITL.String()}
	return s.start(ctx, out, []candidate{
		{name: "candidate as fast", flags: exact},
		{name: "candidate down", url: "http://" + nothing},
		{name: "candidate stalls", flags: append([]string{"--fault", "stall=1"}, exact...)},
		{name: "candidate 10 × slower", flags: []string{"--ttft", (10 * serverTTFT).String(), "--itl", (10 * serverITL).String()}},
		{name: "candidate floods", url: "http://" + flood.Addr().String()},
	}, nil)
}

// pour answers with events that never end.
func pour(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "text/event-stream")
	piece := []byte(strings.Repeat(`data: {"choices":[{"index":0,"delta":{"content":"word"}}]}`+"\n\n", 1000))
	for r.Context().Err() == nil {
		if _, err := w.Write(piece); err != nil {
			return
		}
	}
}

// start starts the candidates one after the other, and then measures.
func (s shadows) start(ctx context.Context, out io.Writer, left, ready []candidate) error {
	if len(left) == 0 {
		return s.measure(ctx, out, ready)
	}
	c := left[0]
	if c.flags == nil {
		return s.start(ctx, out, left[1:], append(ready, c))
	}
	return server.Run(ctx, mock(s.bench, c.flags...), func(ctx context.Context, b server.Running) error {
		c.url = b.URL
		return s.start(ctx, out, left[1:], append(ready, c))
	})
}

func (s shadows) measure(ctx context.Context, out io.Writer, candidates []candidate) error {
	file := func(i int) string { return filepath.Join(s.dir, fmt.Sprintf("%d.jsonl.zst", i)) }
	gateways := []runner.Gateway{{Name: "no candidate", Start: func(to string) (server.Config, error) {
		return recorder(s.bench, to, file(0)), nil
	}}}
	for i, c := range candidates {
		gateways = append(gateways, runner.Gateway{Name: c.name, Start: func(to string) (server.Config, error) {
			return recorder(s.bench, to, file(i+1), "--shadow", c.url, "--share", "100%"), nil
		}})
	}
	r, err := runner.RunGateways(ctx, runner.GatewayConfig{
		Ladder: runner.Ladder{Streams: []int{s.streams}, Tokens: 50, TTFT: serverTTFT, ITL: serverITL, Window: 3 * time.Second},
		Rounds: s.rounds, Gateways: gateways, Command: mock(s.bench, "--ttft", serverTTFT.String(), "--itl", serverITL.String()).Command,
		Begun: func(i, n, round int, _ selftest.Step, path string) {
			fmt.Fprintf(out, "[%d/%d] round %d: %s\n", i, n, round, path)
		},
		Skipped: func(name string, err error) { fmt.Fprintf(out, "%s: %v\n", name, err) },
	})
	if err != nil {
		return err
	}
	for i := range r.Steps {
		r.Steps[i].Paths = r.Steps[i].Paths[1:] // against the recorder without a candidate, not the server itself
		r.Steps[i].Measure()
	}
	if err := gateway.Text(out, r, 100, true); err != nil {
		return err
	}
	for i, c := range candidates {
		if _, counts, err := readRecording(file(i + 1)); err == nil && counts.Shadow != nil {
			fmt.Fprintf(out, "%s: %d copies sent, %d dropped, stopped: %q\n", c.name, counts.Shadow.Sent, counts.Shadow.Dropped, counts.Shadow.Stopped)
		}
	}
	return nil
}
