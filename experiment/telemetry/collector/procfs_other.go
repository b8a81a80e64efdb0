//go:build !linux

package collector

import "time"

// files: other systems have no /proc. Absent from their samples are run_delay, threads, core_busy, steal,
// fds, sockets, segments and the cost of a sample.
type files struct{}

func openFiles(string) files    { return files{} }
func (files) close()            {}
func (files) read(*reading)     {}
func threadTime() time.Duration { return 0 }
