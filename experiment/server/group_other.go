//go:build !unix

package server

import (
	"os"
	"syscall"
)

func attributes() *syscall.SysProcAttr { return nil }

func apart() *syscall.SysProcAttr { return nil }

// There is no way to ask here.
func terminate(p *os.Process) { kill(p) }

func kill(p *os.Process) { _ = p.Kill() }

func left(*os.Process) bool { return false }
