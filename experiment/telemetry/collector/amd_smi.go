package collector

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"bench/experiment/telemetry"
)

// amdSMI is a working amd-smi (ROCm 6.2 to 7.2). It is a Python program: each call costs this machine about half
// a second of CPU time.
type amdSMI struct {
	path  string
	names map[string]string // market name by GPU index
}

// findAMDSMI finds amd-smi, and its GPUs' names.
func findAMDSMI(ctx context.Context) (*amdSMI, error) {
	path, err := exec.LookPath(telemetry.AMDSMI)
	if err != nil {
		return nil, errors.New("amd-smi not found on this machine")
	}
	t := &amdSMI{path: path}
	if _, err := t.read(ctx); err != nil {
		return nil, err
	}
	if text, err := t.run(ctx, "static", "--asic"); err == nil { // names only
		t.names, _ = parseAMDNames(text)
	}
	return t, nil
}

// read queries the GPUs once.
func (t *amdSMI) read(ctx context.Context) ([]telemetry.GPUReading, error) {
	text, err := t.run(ctx, "metric")
	if err != nil {
		return nil, err
	}
	gpus, err := parseAMDGPUs(text)
	for i := range gpus {
		gpus[i].Name = t.names[gpus[i].GPU]
	}
	return gpus, err
}

func (t *amdSMI) run(ctx context.Context, args ...string) ([]byte, error) {
	return runSMI(ctx, telemetry.AMDSMI, t.path, append(args, "--json")...)
}

// processes are the processes on the GPUs.
func (t *amdSMI) processes(ctx context.Context) ([]telemetry.GPUProcess, error) {
	text, err := t.run(ctx, "process")
	if err != nil {
		return nil, err
	}
	return parseAMDProcesses(text)
}

// watch samples until ctx ends, and then once more: processes at both ends, and figures if they are wanted.
func (t *amdSMI) watch(ctx context.Context, figures bool, begun func(), each func(telemetry.Sample)) {
	last := smiSample(ctx, t, figures, true)
	each(last)
	begun()
	for figures && ctx.Err() == nil {
		wait := time.NewTimer(nextAMDInterval(time.Duration(last.Span) * time.Microsecond))
		select {
		case <-wait.C:
			last = smiSample(ctx, t, true, false)
			if ctx.Err() == nil {
				each(last)
			}
		case <-ctx.Done():
			wait.Stop()
		}
	}
	<-ctx.Done()
	each(smiSample(context.WithoutCancel(ctx), t, figures, true))
}

// nextAMDInterval is the wait after a call with this duration: calls take a tenth of a core at most.
func nextAMDInterval(took time.Duration) time.Duration {
	return min(max(pageInterval, 10*took), pageMaxInterval)
}

// amdObject is a JSON object whose fields are read one by one: any can be "N/A" in place of what it should be.
type amdObject map[string]json.RawMessage

// object is the object in a field; nil if it is none.
func (o amdObject) object(name string) amdObject {
	var inner amdObject
	if json.Unmarshal(o[name], &inner) != nil {
		return nil
	}
	return inner
}

// text is the string or the number in a field.
func (o amdObject) text(name string) string {
	var s string
	if json.Unmarshal(o[name], &s) == nil {
		return s
	}
	return string(o[name])
}

// figure is the figure in a field, {"value": 120, "unit": "W"} or 120, times the unit's factor; nil: "N/A".
func (o amdObject) figure(name string, units map[string]float64) *float64 {
	raw, factor := o[name], 1.0
	if pair := o.object(name); pair != nil {
		raw = pair["value"]
		f, known := units[pair.text("unit")]
		if !known {
			return nil
		}
		factor = f
	}
	v, err := strconv.ParseFloat(strings.Trim(string(raw), `"`), 64)
	if err != nil || !(v >= 0 && v < 1e18) {
		return nil
	}
	return new(telemetry.Round(v*factor, 6))
}

// Units of amd-smi, with the factors to ours. Its MB are 2^20 bytes.
var (
	amdShare = map[string]float64{"%": 0.01}
	amdMiB   = map[string]float64{"B": 1.0 / (1 << 20), "KB": 1.0 / (1 << 10), "MB": 1, "GB": 1 << 10}
	amdWatt  = map[string]float64{"W": 1, "mW": 1e-3}
	amdJoule = map[string]float64{"J": 1, "mJ": 1e-3, "uJ": 1e-6}
	amdMHz   = map[string]float64{"MHz": 1}
	amdC     = map[string]float64{"C": 1}
)

// amdGPUs are the objects of the GPUs: a list, or since amd-smi 26 an object with the list.
func amdGPUs(text []byte) ([]amdObject, error) {
	if start := bytes.IndexAny(text, "[{"); start >= 0 { // warnings can precede it
		text = text[start:]
	}
	var list []amdObject
	if err := json.Unmarshal(text, &list); err == nil {
		return list, nil
	}
	var whole struct {
		GPUs []amdObject `json:"gpu_data"`
	}
	if err := json.Unmarshal(text, &whole); err != nil {
		return nil, fmt.Errorf("amd-smi: %w", err)
	}
	return whole.GPUs, nil
}

// amdThrottles are amd-smi's violations with NVML's names for the same.
var amdThrottles = []struct{ violation, name string }{
	{"ppt", "sw_power_cap"}, {"prochot", "hw_slowdown"},
	{"socket_thermal", "hw_thermal"}, {"vr_thermal", "hw_thermal"}, {"hbm_thermal", "hw_thermal"},
}

// parseAMDGPUs reads the output of amd-smi metric.
func parseAMDGPUs(text []byte) ([]telemetry.GPUReading, error) {
	list, err := amdGPUs(text)
	if err != nil {
		return nil, err
	}
	var out []telemetry.GPUReading
	for _, o := range list {
		index := o.text("gpu")
		if _, err := strconv.Atoi(index); err != nil {
			continue
		}
		power, memory, heat, clocks := o.object("power"), o.object("mem_usage"), o.object("temperature"), o.object("clock")
		g := telemetry.GPUReading{
			GPU: index, Busy: o.object("usage").figure("gfx_activity", amdShare), PowerW: power.figure("socket_power", amdWatt),
			EnergyJ: o.object("energy").figure("total_energy_consumption", amdJoule),
			UsedMiB: memory.figure("used_vram", amdMiB), TotalMiB: memory.figure("total_vram", amdMiB),
			Temperature: cmp.Or(heat.figure("edge", amdC), heat.figure("hotspot", amdC)),
			SMClock:     clocks.meanClock("gfx_"), MemoryClock: clocks.meanClock("mem_"),
		}
		setAMDThrottled(&g, o.object("throttle"), power)
		out = append(out, g)
	}
	if len(out) == 0 {
		return nil, errors.New("amd-smi lists no GPU")
	}
	return out, nil
}

// meanClock is the mean of the clocks of a kind: one for each die.
func (o amdObject) meanClock(kind string) *float64 {
	n, sum := 0.0, 0.0
	for name := range o {
		if clk := o.object(name).figure("clk", amdMHz); strings.HasPrefix(name, kind) && clk != nil {
			sum += *clk
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return new(telemetry.Round(sum/n, 1))
}

// setAMDThrottled sets the active violations. Without them the power section reports that nothing throttles, or
// that something does, which could be the power limit of normal operation.
func setAMDThrottled(r *telemetry.GPUReading, violations, power amdObject) {
	known := false
	for _, t := range amdThrottles {
		switch violations.text(t.violation + "_violation_status") {
		case "ACTIVE":
			known = true
			addReason(r, t.name)
		case "NOT ACTIVE":
			known = true
		}
	}
	r.Unthrottled = len(r.Throttled) == 0 && (known || power.text("throttle_status") == "UNTHROTTLED")
}

// parseAMDNames reads the market names in the output of amd-smi static.
func parseAMDNames(text []byte) (map[string]string, error) {
	list, err := amdGPUs(text)
	names := map[string]string{}
	for _, o := range list {
		if name := o.object("asic").text("market_name"); name != "N/A" {
			names[o.text("gpu")] = name
		}
	}
	return names, err
}

// parseAMDProcesses reads the output of amd-smi process. It has no UUIDs: a process has the index of its GPU.
func parseAMDProcesses(text []byte) ([]telemetry.GPUProcess, error) {
	list, err := amdGPUs(text)
	if err != nil {
		return nil, err
	}
	out := []telemetry.GPUProcess{}
	for _, o := range list {
		var processes []amdObject
		if json.Unmarshal(o["process_list"], &processes) != nil {
			continue
		}
		for _, p := range processes {
			info := p.object("process_info") // a text if there is none
			pid, err := strconv.Atoi(info.text("pid"))
			if err != nil {
				continue
			}
			used := info.object("memory_usage").figure("vram_mem", amdMiB)
			out = append(out, telemetry.GPUProcess{GPU: o.text("gpu"), PID: pid, Name: info.text("name"), UsedMiB: used})
		}
	}
	return out, nil
}
