//go:build !unix

package server

import (
	"os"
	"syscall"
)

func childAttributes() *syscall.SysProcAttr { return nil }

func sessionAttributes() *syscall.SysProcAttr { return nil }

// There is no way to ask here.
func terminate(p *os.Process) { kill(p) }

func kill(p *os.Process) { _ = p.Kill() }

func groupAlive(*os.Process) bool { return false }
