// Command live tries `bench trace record` for longer and worse than a test can: see README.md.
package main

import (
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
	streams := flag.Int("streams", 1000, "streams at once")
	duration := flag.Duration("for", 10*time.Minute, "time of the load")
	flag.Parse()
	if *program == "" {
		return errors.New("no bench\nhint: go build -o bench ./cmd/bench && go -C benchmarks run ./live -bench ../bench")
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
	return soak{bench: self, dir: dir, streams: *streams, duration: *duration}.run(ctx, os.Stdout)
}

// mock is the command of a simulated server.
func mock(bench string, flags ...string) server.Config {
	return server.Config{
		Command:  append([]string{bench, "mock", "--listen", "127.0.0.1:0", "--set", "mock.queue=1000000"}, flags...),
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
