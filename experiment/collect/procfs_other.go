//go:build !linux

package collect

import "time"

// procfs is empty: other systems have no /proc. Their samples lack run_delay, core_busy, steal and cost_us.
type procfs struct{}

func openProcfs(string) procfs                 { return procfs{} }
func (procfs) close()                          {}
func (procfs) read(*reading, *ServerProcesses) {}
func (procfs) descriptors() *int               { return nil }
func threadTime() time.Duration                { return 0 }
