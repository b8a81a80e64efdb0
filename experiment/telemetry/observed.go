package telemetry

import (
	"fmt"
	"slices"
)

// ServerUsage is what the server told of itself over a window: in <row>.json server.metrics. Counters are differences, gauges
// go straight from reading to reading. What was not told is absent.
type ServerUsage struct {
	Source  string `json:"source"`            // URL without user info, or "off"
	Missing string `json:"missing,omitempty"` // why there are no figures
	Engine  string `json:"engine,omitempty"`  // whose names were found: vllm, sglang, tgi, trtllm, triton, llamacpp
	Samples int    `json:"samples"`           // readings in the window
	Failed  int    `json:"samples_failed,omitempty"`
	// AnswerMs is how long the page took to come; it is read the more rarely the longer.
	AnswerMs *Gauge `json:"answer_ms,omitempty"`
	Resets   int    `json:"resets,omitempty"` // times that a counter fell in the window: the server began anew

	Running    *Gauge   `json:"running,omitempty"`            // requests in the running batch
	Waiting    *Gauge   `json:"waiting,omitempty"`            // requests in the queue
	KVUsage    *Gauge   `json:"kv_usage,omitempty"`           // share of the KV cache in use, of the fullest engine
	KVCapacity *float64 `json:"kv_capacity_tokens,omitempty"` // what the KV cache can hold

	Preemptions      *float64 `json:"preemptions,omitempty"`     // requests that lost their place in the batch
	PrefixQueries    *float64 `json:"prefix_queries,omitempty"`  // looked up in the prefix cache, in prefix_unit
	PrefixHits       *float64 `json:"prefix_hits,omitempty"`     // found there; the tokens that usage told as cached are in summary.tokens
	PrefixUnit       string   `json:"prefix_unit,omitempty"`     // tokens or blocks
	PrefixHitRate    *float64 `json:"prefix_hit_rate,omitempty"` // hits / queries of the window; where only the server's own rate is told, its mean
	PromptTokens     *float64 `json:"prompt_tokens,omitempty"`
	GenerationTokens *float64 `json:"generation_tokens,omitempty"` // of anybody's requests

	Drafts           *float64 `json:"drafts,omitempty"`            // speculations
	DraftTokens      *float64 `json:"draft_tokens,omitempty"`      // tokens that were guessed
	AcceptedTokens   *float64 `json:"accepted_tokens,omitempty"`   // guesses that held
	AcceptanceRate   *float64 `json:"acceptance_rate,omitempty"`   // accepted / guessed
	AcceptanceLength *float64 `json:"acceptance_length,omitempty"` // tokens a step: 1 + accepted / speculations
}

// GPUUsage is how the GPUs fared over a window: the field gpu of <row>.json.
type GPUUsage struct {
	Source  string `json:"source,omitempty"`  // nvidia-smi, an exporter's URL without user info, or "off"
	Missing string `json:"missing,omitempty"` // why there are no figures
	Samples int    `json:"samples"`           // readings in the window
	Failed  int    `json:"samples_failed,omitempty"`

	Devices []GPUDevice `json:"devices,omitempty"` // all that the source tells of, also those that serve something else

	Before []GPUProcess `json:"processes_before,omitzero"` // on the GPUs, before the load; absent: not told
	After  []GPUProcess `json:"processes_after,omitzero"`  // behind it
}

// GPUDevice is one GPU over a window; its figures are explained at GPUReading.
type GPUDevice struct {
	GPU  string `json:"gpu"`
	UUID string `json:"uuid,omitempty"`
	Name string `json:"name,omitempty"`

	Busy         *Gauge `json:"busy,omitempty"`
	EngineActive *Gauge `json:"engine_active,omitempty"`
	SMActive     *Gauge `json:"sm_active,omitempty"`
	TensorActive *Gauge `json:"tensor_active,omitempty"`
	DRAMActive   *Gauge `json:"dram_active,omitempty"`

	PowerW      *Gauge             `json:"power_w,omitempty"`
	EnergyJ     *float64           `json:"energy_j,omitempty"` // in the window; by the device's counter, else power over time
	SMClock     *Gauge             `json:"sm_clock_mhz,omitempty"`
	MemoryClock *Gauge             `json:"memory_clock_mhz,omitempty"`
	UsedMiB     *Gauge             `json:"memory_used_mib,omitempty"`
	TotalMiB    *float64           `json:"memory_total_mib,omitempty"`
	Temperature *Gauge             `json:"temperature_c,omitempty"`
	Throttled   map[string]float64 `json:"throttled,omitempty"` // share of the readings by reason; empty with throttle_known: never
	Known       bool               `json:"throttle_known"`      // it was told whether its clocks were held down
}

// Observe makes of samples what they say of a window, µs from the same epoch as theirs. Without a source there are no
// figures, and Missing says why.
func (s *Sources) Observe(samples []Sample, startUs, endUs int64) (*ServerUsage, *GPUUsage) {
	return s.server.observe(samples, startUs, endUs), s.gpu.observeGPUs(samples, startUs, endUs)
}

// of are the samples of a source that have figures; inside says how many of them lie in the window, failed how many have an
// error there, and why the last of these failed.
func of(samples []Sample, source string, start, end int64, has func(*Sample) bool) (told []*Sample, inside, failed int, why string) {
	for i := range samples {
		s := &samples[i]
		in := s.TUs >= start && s.TUs < end
		switch {
		case s.Source != source:
		case has(s):
			told = append(told, s)
			if in {
				inside++
			}
		case s.Error != "":
			why = s.Error
			if in {
				failed++
			}
		}
	}
	slices.SortStableFunc(told, func(a, b *Sample) int { return int(a.TUs - b.TUs) })
	return told, inside, failed, why
}

// absent says why there is nothing, where there is a source.
func absent(told, inside int, why string) string {
	switch {
	case inside > 0:
		return ""
	case told > 0 && why == "":
		return "no reading in the window: it is too short for one"
	case why != "":
		return why
	}
	return "no reading"
}

func (s source) observe(samples []Sample, start, end int64) *ServerUsage {
	u := &ServerUsage{Source: s.name, Missing: s.missing}
	if s.missing != "" {
		return u
	}
	told, inside, failed, why := of(samples, SourceServer, start, end, func(s *Sample) bool { return s.Server != nil })
	u.Samples, u.Failed, u.Missing = inside, failed, absent(len(told), inside, why)
	if len(told) == 0 {
		return u
	}
	last := told[len(told)-1].Server
	u.Engine, u.KVCapacity, u.PrefixUnit = last.Engine, last.KVCapacity, last.PrefixUnit
	if inside == 0 { // what was counted around a window is not what was counted in it
		return u
	}
	line := func(get func(*ServerReading) *float64) []point {
		return pointsOf(told, func(s *Sample) *float64 { return get(s.Server) })
	}
	level := func(get func(*ServerReading) *float64) *Gauge { return gauge(line(get), start, end) }
	count := func(get func(*ServerReading) *float64) *float64 {
		by, resets := growth(line(get), start, end)
		u.Resets = max(u.Resets, resets)
		return by
	}
	u.AnswerMs = gauge(pointsOf(told, func(s *Sample) *float64 { return new(float64(s.Span) / 1e3) }), start, end)
	u.Running = level(func(r *ServerReading) *float64 { return r.Running })
	u.Waiting = level(func(r *ServerReading) *float64 { return r.Waiting })
	u.KVUsage = level(func(r *ServerReading) *float64 { return r.KVUsage })
	u.Preemptions = count(func(r *ServerReading) *float64 { return r.Preemptions })
	u.PromptTokens = count(func(r *ServerReading) *float64 { return r.Prompt })
	u.GenerationTokens = count(func(r *ServerReading) *float64 { return r.Generated })
	u.PrefixQueries = count(func(r *ServerReading) *float64 { return r.PrefixQueries })
	u.PrefixHits = count(func(r *ServerReading) *float64 { return r.PrefixHits })
	u.PrefixHitRate = ratio(u.PrefixHits, u.PrefixQueries, level(func(r *ServerReading) *float64 { return r.HitRate }))
	u.Drafts = count(func(r *ServerReading) *float64 { return r.Drafts })
	u.DraftTokens = count(func(r *ServerReading) *float64 { return r.Drafted })
	u.AcceptedTokens = count(func(r *ServerReading) *float64 { return r.Accepted })
	u.AcceptanceRate = ratio(u.AcceptedTokens, u.DraftTokens, level(func(r *ServerReading) *float64 { return r.AcceptRate }))
	u.AcceptanceLength = ratio(u.AcceptedTokens, u.Drafts, nil)
	if u.AcceptanceLength != nil {
		*u.AcceptanceLength++
	} else if g := level(func(r *ServerReading) *float64 { return r.AcceptLength }); g != nil {
		u.AcceptanceLength = &g.Mean
	}
	return u
}

// pointsOf is one figure over time.
func pointsOf(told []*Sample, get func(*Sample) *float64) []point {
	var out []point
	for _, s := range told {
		if v := get(s); v != nil && (len(out) == 0 || out[len(out)-1].us < s.TUs) {
			out = append(out, point{s.TUs, *v})
		}
	}
	return out
}

// ratio is that of two counters; where they are not told, the mean of the server's own figure.
func ratio(part, of *float64, told *Gauge) *float64 {
	switch {
	case part != nil && of != nil && *of > 0:
		return new(round(*part / *of, 6))
	case part == nil && told != nil:
		return &told.Mean
	}
	return nil
}

func (s source) observeGPUs(samples []Sample, start, end int64) *GPUUsage {
	u := &GPUUsage{Source: s.name, Missing: s.missing}
	told, inside, failed, why := of(samples, SourceGPU, start, end, func(s *Sample) bool { return s.GPUs != nil })
	u.Samples, u.Failed = inside, failed
	if s.missing == "" {
		u.Missing = absent(len(told), inside, why)
	}
	u.processes(samples)
	if inside == 0 {
		return u
	}
	byGPU := map[string][]*Sample{}
	var order []string
	for _, s := range told {
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
		u.Devices = append(u.Devices, deviceOf(byGPU[name], start, end))
	}
	return u
}

// processes takes the first and the last list; one alone says nothing of a change.
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

// deviceOf is one GPU; each of the samples has it alone.
func deviceOf(told []*Sample, start, end int64) GPUDevice {
	last := &told[len(told)-1].GPUs[0]
	d := GPUDevice{GPU: last.GPU, UUID: last.UUID, Name: last.Name, TotalMiB: last.TotalMiB}
	line := func(get func(*GPUReading) *float64) []point {
		return pointsOf(told, func(s *Sample) *float64 { return get(&s.GPUs[0]) })
	}
	level := func(get func(*GPUReading) *float64) *Gauge { return gauge(line(get), start, end) }
	d.Busy = level(func(r *GPUReading) *float64 { return r.Busy })
	d.EngineActive = level(func(r *GPUReading) *float64 { return r.EngineActive })
	d.SMActive = level(func(r *GPUReading) *float64 { return r.SMActive })
	d.TensorActive = level(func(r *GPUReading) *float64 { return r.TensorActive })
	d.DRAMActive = level(func(r *GPUReading) *float64 { return r.DRAMActive })
	d.PowerW = level(func(r *GPUReading) *float64 { return r.PowerW })
	d.SMClock = level(func(r *GPUReading) *float64 { return r.SMClock })
	d.MemoryClock = level(func(r *GPUReading) *float64 { return r.MemoryClock })
	d.UsedMiB = level(func(r *GPUReading) *float64 { return r.UsedMiB })
	d.Temperature = level(func(r *GPUReading) *float64 { return r.Temperature })
	var resets int
	if d.EnergyJ, resets = growth(line(func(r *GPUReading) *float64 { return r.EnergyJ }), start, end); resets > 0 || d.EnergyJ == nil {
		d.EnergyJ = nil
		if d.PowerW != nil {
			d.EnergyJ = new(round(d.PowerW.Mean*float64(end-start)/1e6, 3))
		}
	}
	d.throttle(told, start, end)
	return d
}

// throttle counts the readings of the window in which each reason held the clocks down.
func (d *GPUDevice) throttle(told []*Sample, start, end int64) {
	n := 0
	count := map[string]float64{}
	for _, s := range told {
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
		count[reason] = round(count[reason]/float64(n), 4)
	}
	d.Known = n > 0
	if len(count) > 0 {
		d.Throttled = count
	}
}

// Changed gives the processes that are only in the second or the first list, as text.
func (u *GPUUsage) Changed() (came, gone []string) {
	if u.Before == nil || u.After == nil {
		return nil, nil
	}
	only := func(in, notIn []GPUProcess) (out []string) {
		for _, p := range in {
			if !slices.ContainsFunc(notIn, func(q GPUProcess) bool { return p.PID == q.PID && p.GPU == q.GPU && p.Name == q.Name }) {
				out = append(out, fmt.Sprintf("%s (%d)", p.Name, p.PID))
			}
		}
		return out
	}
	return only(u.After, u.Before), only(u.Before, u.After)
}
