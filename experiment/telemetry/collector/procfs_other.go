//go:build !linux

package collector

import "time"

// procfs is empty: other systems have no /proc. Their samples lack run_delay, threads, core_busy, steal, fds,
// sockets, segments and cost_us.
type files struct{}

func openFiles(string) files    { return files{} }
func (files) close()            {}
func (files) read(*reading)     {}
func threadTime() time.Duration { return 0 }
