//go:build !unix

package server

import (
	"errors"
	"os/exec"
	"time"
)

// child is the guarded command.
type child struct {
	status int
	signal string
	ended  chan struct{}
}

func newChild(*exec.Cmd) (*child, error) {
	return nil, errors.New("servers can be started on Unix only\nhint: start it yourself, and leave [server] out")
}

func (c *child) endAll(time.Duration) {}
