// Command bench runs declarative sweeps against LLM serving endpoints. This package turns words
// into calls and errors into exit codes; what it calls is in the packages below.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	// The first Ctrl-C ends the run in order; the second leaves now. What is on disk is whole either way.
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		cancel()
		<-signals
		os.Exit(codeInterrupted)
	}()
	os.Exit(bench(ctx, os.Stdin, os.Stdout, os.Stderr, os.Args[1:]))
}
