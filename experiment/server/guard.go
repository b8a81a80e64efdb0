package server

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// Guard runs a command for a process that may die: it is called in a process of its own, whose standard input is a pipe that the
// first one holds. When that closes, because all is done or because its holder was killed, whatever the command has left is asked
// to end and then killed: its process group, and where the system can find them (Linux) all its descendants, those that left
// the group included. Guard returns when they are gone, with the command's exit status.
//
// asked ends it too; it is for signals. out takes the command's output, and what is to be said of its end.
func Guard(command []string, grace time.Duration, life io.Reader, asked <-chan os.Signal, out *os.File) (status int, err error) {
	if err := becomeSubreaper(); err != nil {
		return 0, fmt.Errorf("becoming the parent of orphans: %w", err)
	}
	child, err := spawn(command, out)
	if err != nil {
		return 0, fmt.Errorf("starting %s: %w", command[0], err)
	}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_, _ = io.Copy(io.Discard, life)
	}()
	select {
	case <-child.ended:
	case <-closed:
	case <-asked:
	}
	child.endAll(grace)
	<-child.ended
	if child.signal != "" {
		fmt.Fprintf(out, "bench: %s was ended by a signal: %s\n", command[0], child.signal)
	}
	return child.status, nil
}

// spawn starts the command as the leader of a process group.
func spawn(command []string, out *os.File) (*child, error) {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = childAttributes()
	return newChild(cmd)
}
