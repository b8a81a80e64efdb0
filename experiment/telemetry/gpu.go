package telemetry

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// GPUUsage summarizes the GPUs over a window: the field gpu of <row>.json.
type GPUUsage struct {
	Source  string `json:"source,omitempty"`  // nvidia-smi, the URL of an exporter without user info, or "off"
	Missing string `json:"missing,omitempty"` // why there are no figures
	Samples int    `json:"samples"`           // readings in the window
	Failed  int    `json:"samples_failed,omitempty"`

	// all GPUs of the source, including those that the server does not use
	Devices []GPUDevice `json:"devices,omitempty"`

	Before []GPUProcess `json:"processes_before,omitzero"` // before the load; absent: not collected
	After  []GPUProcess `json:"processes_after,omitzero"`  // after the load
}

// GPUDevice is one GPU over a window; GPUReading explains its figures.
type GPUDevice struct {
	GPU  string `json:"gpu"`
	UUID string `json:"uuid,omitempty"`
	Name string `json:"name,omitempty"`

	Busy         *Gauge `json:"busy,omitempty"`
	EngineActive *Gauge `json:"engine_active,omitempty"`
	SMActive     *Gauge `json:"sm_active,omitempty"`
	TensorActive *Gauge `json:"tensor_active,omitempty"`
	DRAMActive   *Gauge `json:"dram_active,omitempty"`

	PowerW      *Gauge `json:"power_w,omitempty"`
	PowerLimitW *Gauge `json:"power_limit_w,omitempty"`
	// in the window; by the GPU's counter, else mean power × time
	EnergyJ     *float64 `json:"energy_j,omitempty"`
	SMClock     *Gauge   `json:"sm_clock_mhz,omitempty"`
	MemoryClock *Gauge   `json:"memory_clock_mhz,omitempty"`
	UsedMiB     *Gauge   `json:"memory_used_mib,omitempty"`
	TotalMiB    *float64 `json:"memory_total_mib,omitempty"`
	Temperature *Gauge   `json:"temperature_c,omitempty"`
	// share of the readings by reason; absent with throttle_known: never throttled
	Throttled map[string]float64 `json:"throttled,omitempty"`
	Known     bool               `json:"throttle_known"` // throttle reasons were reported
}

// SummarizeGPUs summarizes the samples of a window, µs from their epoch. Missing: why there are no figures.
func SummarizeGPUs(from Source, samples []Sample, startUs, endUs int64) *GPUUsage {
	u := &GPUUsage{Source: from.Name, Missing: from.Missing}
	r := readingsOf(samples, SourceGPU, startUs, endUs, func(s *Sample) bool { return s.GPUs != nil })
	u.Samples, u.Failed = r.inside, r.failed
	if from.Missing == "" {
		u.Missing = r.missing()
	}
	u.processes(samples)
	if r.inside == 0 {
		return u
	}
	byGPU := map[string][]*Sample{}
	var order []string
	for _, s := range r.all {
		for i := range s.GPUs {
			g := &s.GPUs[i]
			if byGPU[g.GPU] == nil {
				order = append(order, g.GPU)
			}
			byGPU[g.GPU] = append(byGPU[g.GPU], &Sample{TUs: s.TUs, GPUs: s.GPUs[i : i+1]})
		}
	}
	slices.Sort(order)
	for _, name := range order {
		u.Devices = append(u.Devices, deviceOf(byGPU[name], r.gaps, startUs, endUs))
	}
	return u
}

func (u *GPUUsage) processes(samples []Sample) {
	for i := range samples {
		switch p := samples[i].Processes; {
		case p == nil:
		case u.Before == nil:
			u.Before = p
		default:
			u.After = p
		}
	}
}

var deviceGauges = fieldsOf[Gauge](reflect.TypeFor[GPUDevice]())

func deviceOf(readings []*Sample, gaps map[int64]bool, start, end int64) GPUDevice {
	last := &readings[len(readings)-1].GPUs[0]
	d := GPUDevice{GPU: last.GPU, UUID: last.UUID, Name: last.Name, TotalMiB: last.TotalMiB}
	line := func(name string) []point {
		return pointsOf(readings, gaps, func(s *Sample) *float64 { return *s.GPUs[0].Figure(name) })
	}
	for name, index := range deviceGauges {
		*at[Gauge](&d, index) = gauge(line(name), start, end)
	}
	var resets int
	if d.EnergyJ, resets = increase(line("energy_j"), start, end); resets > 0 ||
		d.EnergyJ == nil {
		d.EnergyJ = nil
		if d.PowerW != nil {
			d.EnergyJ = new(Round(d.PowerW.Mean*float64(end-start)/1e6, 3))
		}
	}
	d.throttle(readings, start, end)
	return d
}

// Energy is what the row's GPUs took in the window, J: those of the source that report it, or the active ones of more.
// gpus 0: not specified. why: they are not the row's, of are so many; without J and why none reports it.
func (u *GPUUsage) Energy(gpus int) (joules float64, of int, why string) {
	own := slices.DeleteFunc(slices.Clone(u.Devices),
		func(d GPUDevice) bool { return d.EnergyJ == nil || *d.EnergyJ <= 0 })
	if len(own) > gpus {
		own = slices.DeleteFunc(own, GPUDevice.Idle)
	}
	of = len(own)
	switch {
	case of == 0:
	case slices.ContainsFunc(own, func(d GPUDevice) bool { return strings.Contains(d.GPU, ":") }):
		why = "a MIG instance has the power of its whole GPU"
	case gpus == 0 && of > 1:
		why = fmt.Sprintf("%d GPUs were active, and gpus is not specified", of)
	case of < gpus:
		why = fmt.Sprintf("the power of %d of %d GPUs was read", of, gpus)
	case gpus > 0 && of > gpus:
		why = fmt.Sprintf("%d GPUs were active, and the row has %d", of, gpus)
	}
	if why != "" {
		return 0, of, why
	}
	for _, d := range own {
		joules += *d.EnergyJ
	}
	return joules, of, ""
}

// Idle reports whether nothing ran on the GPU in the window.
func (d GPUDevice) Idle() bool {
	busy := cmp.Or(d.Busy, d.EngineActive, d.SMActive)
	return busy != nil && busy.Max == 0
}

func (d *GPUDevice) throttle(readings []*Sample, start, end int64) {
	n := 0
	count := map[string]float64{}
	for _, s := range readings {
		r := &s.GPUs[0]
		if s.TUs < start || s.TUs >= end || len(r.Throttled) == 0 && !r.Unthrottled {
			continue
		}
		n++
		for _, reason := range r.Throttled {
			count[reason]++
		}
	}
	for reason := range count {
		count[reason] = Round(count[reason]/float64(n), 4)
	}
	d.Known = n > 0
	if len(count) > 0 {
		d.Throttled = count
	}
}

// Changed lists the processes that started (came) or ended (gone) between Before and After.
func (u *GPUUsage) Changed() (came, gone []string) {
	if u.Before == nil || u.After == nil {
		return nil, nil
	}
	only := func(in, notIn []GPUProcess) (out []string) {
		for _, p := range in {
			if !slices.ContainsFunc(notIn, func(q GPUProcess) bool {
				return p.PID == q.PID && p.GPU == q.GPU && p.Name == q.Name
			}) {
				out = append(out, fmt.Sprintf("%s (%d)", p.Name, p.PID))
			}
		}
		return out
	}
	return only(u.After, u.Before), only(u.Before, u.After)
}
