package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"bench/experiment/server"
)

// newGuard is what bench starts servers by; people don't call it.
func newGuard(c *cli) *cobra.Command {
	return &cobra.Command{
		Use:                "guard GRACE COMMAND [ARGUMENT…]",
		Short:              "run a command until standard input closes, then end it and all that it started",
		Hidden:             true,
		DisableFlagParsing: true, // all of it is the command's
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 {
				return usage("guard wants a time and a command\nhint: bench sweep starts servers by it: [server]")
			}
			grace, err := time.ParseDuration(args[0])
			if err != nil {
				return usage("the grace period: %w\nhint: bench guard 10s COMMAND", err)
			}
			// The guard outlives every signal but the one that nobody can catch: each asks it to clear up.
			signal.Reset(os.Interrupt, syscall.SIGTERM)
			asked := make(chan os.Signal, 1)
			signal.Notify(asked, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
			status, err := server.Guard(args[1:], grace, c.stdin, asked, os.Stdout)
			if err != nil {
				fmt.Fprintf(os.Stdout, "bench: %v\n", err)
				return &exitError{codeFailed, errors.New("")}
			}
			if status != 0 {
				return &exitError{status, errors.New("")}
			}
			return nil
		},
	}
}
