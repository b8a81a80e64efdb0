// Command live tries `bench trace record` for longer and worse than a test can: see README.md.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"bench/experiment/server"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "error: "+err.Error())
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	program := flag.String("bench", "", "`FILE` of bench (required)")
	mode := flag.String("try", "soak", "soak: many streams for long; shadow: a candidate that misbehaves")
	streams := flag.Int("streams", 0, "streams at once (default 1000; shadow: 100)")
	duration := flag.Duration("for", 10*time.Minute, "soak: time")
	rounds := flag.Int("rounds", 9, "shadow: rounds")
	flag.Parse()
	if *program == "" {
		return errors.New("no bench\nhint: go build -o bench ./cmd/bench && go run ./benchmarks/live -bench ./bench")
	}
	self, err := filepath.Abs(*program)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "bench-live-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	switch *mode {
	case "soak":
		return soak{bench: self, dir: dir, streams: cmp.Or(*streams, 1000), duration: *duration}.run(ctx, os.Stdout)
	case "shadow":
		return shadows{bench: self, dir: dir, rounds: *rounds, streams: cmp.Or(*streams, 100)}.run(ctx, os.Stdout)
	}
	return fmt.Errorf("no try %q\nhint: -try soak, -try shadow", *mode)
}

// mock is the command of a simulated server.
func mock(bench string, flags ...string) server.Config {
	return server.Config{
		Command:  append([]string{bench, "mock", "--listen", "127.0.0.1:0", "--queue", "1000000"}, flags...),
		Announce: "listening on ",
	}
}

// recorder is the command of a proxy that records to a file.
func recorder(bench, to, file string, flags ...string) server.Config {
	return server.Config{
		Command:  append([]string{bench, "trace", "record", "--listen", "127.0.0.1:0", "--to", to, "-o", file}, flags...),
		Announce: "listening on ",
		Grace:    40 * time.Second, // more than it waits for open answers
	}
}

// freeAddress is a loopback address that was free a moment ago.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}
