//go:build !unix

package server

import (
	"os"
	"syscall"
)

func childAttributes() *syscall.SysProcAttr { return nil }

func sessionAttributes() *syscall.SysProcAttr { return nil }

// This system has no SIGTERM.
func terminate(p *os.Process) { kill(p) }

func kill(p *os.Process) { _ = p.Kill() }

func groupAlive(*os.Process) bool { return false }
