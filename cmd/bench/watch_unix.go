package main

import (
	"os"
	"os/signal"
	"syscall"
)

// continued reports when the program continues after a stop (Ctrl-Z, fg), until forget.
func continued() (back <-chan os.Signal, forget func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGCONT)
	return c, func() { signal.Stop(c) }
}
