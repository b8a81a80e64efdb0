package server

import (
	"os/exec"
	"testing"
)

// A server does not outlive the process that started it, not even one that is killed.
func TestParentIsKilled(t *testing.T) {
	c, dir := as(t, "parent")
	parent := exec.Command(c.Command[0], c.Command[1:]...)
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	pid := noted(t, dir, "pid")
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	gone(t, pid)
}
