// Command bench runs declarative sweeps against LLM serving endpoints. This package turns command lines into
// calls and errors into exit codes; the packages below do the work. Its size comes from the flags and help of
// its commands, one file each, and from the keys, signals and terminals that only a program may touch.
package main

import (
	"context"
	"crypto/x509"
	"io"
	"log"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"

	"golang.org/x/crypto/x509roots/fallback/bundle"
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

// useRoots makes Mozilla's root certificates (0.2 MB) the ones that https trusts on a system that has none: an
// image on scratch, a minimal pod. Parsing them takes some milliseconds.
var useRoots = sync.OnceFunc(func() {
	pool := x509.NewCertPool()
	for root := range bundle.Roots() {
		cert, err := x509.ParseCertificate(root.Certificate)
		if err != nil {
			continue // one fewer is trusted
		}
		if root.Constraint == nil {
			pool.AddCert(cert)
		} else {
			pool.AddCertWithConstraint(cert, root.Constraint)
		}
	}
	x509.SetFallbackRoots(pool)
})
