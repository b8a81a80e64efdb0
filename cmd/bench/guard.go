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

// newGuard is the process between bench and a server that bench started. It is hidden: users do not call it.
func newGuard(c *cli) *cobra.Command {
	return &cobra.Command{
		Use:                "guard GRACE COMMAND [ARGUMENT…]",
		Short:              "run a command until stdin closes, then end it and its children",
		Hidden:             true,
		DisableFlagParsing: true, // flags belong to COMMAND
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 {
				return usage("guard takes a grace period and a command\nhint: bench sweep runs it for [server]; do not call it yourself")
			}
			grace, err := time.ParseDuration(args[0])
			if err != nil {
				return usage("the grace period: %w\nhint: bench guard 10s COMMAND", err)
			}
			// The guard survives every signal but SIGKILL: each one asks it to end the command.
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
