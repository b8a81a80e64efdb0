package telemetry

import (
	"math"
	"slices"
)

// CPUWait bounds the share of time in which a local server could not go on for want of a core: while none of its
// threads waits for one, it computes as fast as on an idle machine. Caches and memory shared with other work are
// not in it.
type CPUWait struct {
	Mean float64 `json:"mean"` // share of the window
	// By is the figure that bounds the most parts: run_delay of the server's threads, cpu_pressure of the machine,
	// server_cpu_pressure of the server's cgroup, or other_cores, which the server could have waited for.
	By    string        `json:"by"`
	Parts []CPUWaitPart `json:"parts"` // of the window, in order
}

type CPUWaitPart struct {
	ToUs  int64   `json:"to_us"` // end, µs from the row's epoch
	Share float64 `json:"share"`
}

// Between is the mean share from one time to another, µs from the row's epoch. Outside of the parts the nearest counts.
func (w *CPUWait) Between(fromUs, toUs int64) float64 {
	sum, at := 0.0, fromUs
	for i, p := range w.Parts {
		to := min(p.ToUs, toUs)
		if i == len(w.Parts)-1 {
			to = toUs
		}
		if to > at {
			sum, at = sum+p.Share*float64(to-at), to
		}
		if at == toUs && toUs > fromUs {
			return sum / float64(toUs-fromUs)
		}
		if toUs <= fromUs && (p.ToUs >= toUs || i == len(w.Parts)-1) {
			return p.Share
		}
	}
	return 0
}

// cpuWait is nil without a figure that bounds it. A part is the smallest of the bounds that every sample of it has.
func cpuWait(in []Sample) *CPUWait {
	const most, shortest = 60, 2 // parts, samples of one
	parts := min(most, len(in)/shortest)
	if parts == 0 {
		return nil
	}
	w := &CPUWait{}
	sum, time := 0.0, 0.0
	count := map[string]int{}
	for k := range parts {
		part := in[k*len(in)/parts : (k+1)*len(in)/parts]
		share, by := boundOf(part)
		if by == "" {
			return nil
		}
		for i := range part {
			sum, time = sum+share*float64(part[i].Span), time+float64(part[i].Span)
		}
		if count[by]++; count[by] > count[w.By] || w.By == "" {
			w.By = by
		}
		w.Parts = append(w.Parts, CPUWaitPart{part[len(part)-1].TUs, Round(share, 4)})
	}
	w.Mean = Round(sum/time, 4)
	return w
}

func boundOf(part []Sample) (share float64, by string) {
	share = math.Inf(1)
	for _, b := range []struct {
		name string
		of   func(*Sample) *float64
	}{
		{"run_delay", func(s *Sample) *float64 { return s.ServerRunDelay }},
		{"server_cpu_pressure", func(s *Sample) *float64 { return s.ServerCPUPressure }},
		{"cpu_pressure", func(s *Sample) *float64 { return s.CPUPressure }},
		{"other_cores", otherCores},
	} {
		if slices.ContainsFunc(part, func(s Sample) bool { return b.of(&s) == nil }) {
			continue
		}
		if x := min(1, max(0, *timeMean(part, b.of))); x < share {
			share, by = x, b.name
		}
	}
	return share, by
}

// otherCores are the cores used by processes other than client and server; nil: those of the server are not known.
// It can be below 0, since the kernel counts the machine's use in ticks.
func otherCores(s *Sample) *float64 {
	if s.ServerCores == nil || s.UserCores == nil || s.SystemCores == nil || len(s.CoreBusy) == 0 {
		return nil
	}
	busy := 0.0
	for _, share := range s.CoreBusy {
		busy += share
	}
	return new(busy - *s.ServerCores - *s.UserCores - *s.SystemCores)
}
