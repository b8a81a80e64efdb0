package runner

import (
	"time"

	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/process"
)

// usage is what was used of the cores up to a moment, or between two; 0: the system does not tell.
type usage struct {
	at      time.Duration // when, since the program began
	client  time.Duration // by this process, its children left out
	server  time.Duration
	machine time.Duration // by all there is, and taken by a hypervisor
}

var processStart = time.Now()

// used reads what was used until now.
func used(serverPID int) usage {
	u := usage{at: time.Since(processStart), client: cpuTime()}
	if p, err := process.NewProcess(int32(serverPID)); err == nil {
		if t, err := p.Times(); err == nil {
			u.server = seconds(t.User + t.System)
		}
	}
	if all, err := cpu.Times(false); err == nil && len(all) == 1 {
		t := all[0]
		u.machine = seconds(t.User + t.Nice + t.System + t.Irq + t.Softirq + t.Steal)
	}
	return u
}

func (u usage) since(before usage) usage {
	return usage{u.at - before.at, u.client - before.client, u.server - before.server, u.machine - before.machine}
}

// others is what neither the client nor the server used. The system counts in ticks of some ms: it is never below 0.
func (u usage) others() time.Duration { return max(0, u.machine-u.client-u.server) }

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
