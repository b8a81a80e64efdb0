package runner

import (
	"syscall"
	"time"

	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/process"
)

// coreUsage is CPU time up to a moment, or between two; 0: not reported.
type coreUsage struct {
	elapsed time.Duration // time since the start of the program
	client  time.Duration // this process without its children
	server  time.Duration
	machine time.Duration // all processes, and CPU steal
}

var processStart = time.Now()

func coresUsed(server int) coreUsage {
	u := coreUsage{elapsed: time.Since(processStart), client: cpuTime(), server: processTime(server)}
	if all, err := cpu.Times(false); err == nil && len(all) == 1 {
		t := all[0]
		u.machine = seconds(t.User + t.Nice + t.System + t.Irq + t.Softirq + t.Steal)
	}
	return u
}

func (u coreUsage) since(before coreUsage) coreUsage {
	return coreUsage{u.elapsed - before.elapsed, u.client - before.client, u.server - before.server,
		u.machine - before.machine}
}

func processTime(pid int) time.Duration {
	p, err := process.NewProcess(int32(pid))
	if err != nil {
		return 0
	}
	t, err := p.Times()
	if err != nil {
		return 0
	}
	return seconds(t.User + t.System)
}

// others is the CPU time of all but client and server. The bound at 0 covers the tick resolution of several ms.
func (u coreUsage) others() time.Duration { return max(0, u.machine-u.client-u.server) }

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// cpuTime is the CPU time of this process without its children; 0: not reported.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
