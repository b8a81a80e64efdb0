// Command bench runs declarative sweeps against LLM serving endpoints. This package turns command lines into
// calls and errors into exit codes; the packages below do the work. Its size comes from the flags and help of
// its commands, one file each, and from the keys, signals and terminals that only a program may touch.
package main

import (
	"context"
	"io"
	"log"
	"os"
	"os/signal"
	"slices"
	"syscall"
)

func main() {
	log.SetOutput(io.Discard) // net/http's clients log what a server sends unasked, with its text
	// The first Ctrl-C ends the run in order; the second exits at once. Files on disk are whole either way.
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores it: a closed terminal must not end the run
		signal.Notify(signals, syscall.SIGHUP)
	}
	// Commands that only read do not watch for an end.
	reads := len(os.Args) > 1 && slices.Contains([]string{"report", "compare", "history", "ask", "verify"}, os.Args[1])
	go func() {
		<-signals
		cancel()
		if reads {
			os.Exit(codeInterrupted)
		}
		for s := range signals {
			if s != syscall.SIGHUP { // the system and the shell both send one when a terminal closes
				os.Exit(codeInterrupted)
			}
		}
	}()
	os.Exit(bench(ctx, os.Stdin, os.Stdout, os.Stderr, os.Args[1:]))
}

// ignoreSIGPIPE keeps a closed stdout from ending the run: Ctrl-C ends `bench tile | tee log` both, and a
// write to the closed pipe would kill bench before its results are saved. undo restores the signal.
func ignoreSIGPIPE() (undo func()) {
	signal.Ignore(syscall.SIGPIPE)
	return func() { signal.Reset(syscall.SIGPIPE) }
}
