package server

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// Guard runs a command in a separate process, so that the command ends when the calling process dies. life is
// a pipe from that process. When it closes, when the command exits, or on a signal from asked, Guard
// terminates and then kills the rest: the process group and, on Linux, all descendants, including those that
// left the group. It returns when they have ended, with the command's exit status.
//
// out gets the command's output, and a line if a signal ended it.
func Guard(command []string, grace time.Duration, life io.Reader, asked <-chan os.Signal,
	out *os.File) (status int, err error) {
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

func spawn(command []string, out *os.File) (*child, error) {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = childAttributes()
	return newChild(cmd)
}
