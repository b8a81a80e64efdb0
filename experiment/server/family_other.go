//go:build !linux

package server

import "syscall"

// Other systems have no subreaper, and do not report who listens on a port.
func becomeSubreaper() error { return nil }

func killOrphans() {}

func descendants(int) []int { return nil }

func portOwner(port, family int) (ours, any bool) { return false, false }

func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
