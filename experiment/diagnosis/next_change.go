package diagnosis

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"bench/experiment/record"
	"bench/experiment/series"
)

func (a *answering) change() *NextSweep {
	if n := a.repair(a.Quoted); n != nil {
		return n
	}
	p := &a.s.Points[a.Quoted]
	if load, finite := p.FiniteLoad(); finite && !p.Rows[0].Spec.IsColdStart() {
		highest := &a.s.Points[len(a.s.Points)-1]
		most, bounded := highest.FiniteLoad()
		switch {
		case bounded && a.firstMiss(0) == len(a.s.Points) && a.s.Saturation.Point == nil:
			load = most
			return a.loads("a throughput or cost limit is missed, latency is not: try more load", 2*load, 3*load,
				4*load)
		case p.FailsByLoad():
			if n := a.loads("every measured load misses the SLO: try less load", load/8, load/4, load/2); n != nil {
				return n
			}
		}
	}
	d := firstAt(a.diagnoses, a.Series, a.Quoted)
	if !p.FailsByLoad() { // the bottleneck of the next higher load keeps it from more output
		if next := firstAt(a.diagnoses, a.Series, a.Quoted+1); next != nil {
			d = next
		}
	}
	if d == nil {
		return moreTelemetry(p.Rows[0], "")
	}
	n := a.changeFor(p, d)
	n.Bottleneck = d.Bottleneck
	return n
}

func (a *answering) repair(j int) *NextSweep {
	if j >= len(a.s.Points) {
		return nil
	}
	d := firstAt(a.diagnoses, a.Series, j)
	if d == nil || d.Bottleneck != serverFailing && d.Bottleneck != serverStalled {
		return nil
	}
	p := &a.s.Points[j]
	if r := failingRow(p.Rows); r != nil && (r.Failure == nil || !r.Failure.AtAnyLoad()) {
		return nil
	}
	n := a.changeFor(p, d)
	n.Bottleneck, n.Text = d.Bottleneck, "repeat "+loadName(a.s, p)+": "+d.Response
	return n
}

func (a *answering) changeFor(p *series.Point, d *Diagnosis) *NextSweep {
	byResponse := map[Bottleneck]string{serverFailing: "the server", serverStalled: "the server",
		rateLimited: "the rate limit", networkOrGateway: "the path to the server", clientLimited: "the client machine",
		thermalOrPower: "cooling and power limit", hostOverhead: "the host's work"}
	if name := byResponse[d.Bottleneck]; name != "" { // what no key of a matrix changes
		return byHand(name, d.Response)
	}
	switch r := p.Rows[0]; d.Bottleneck {
	case memoryBoundDecode:
		return byHand("memory bandwidth",
			"nothing is wrong, but this hardware exceeds the limit: 8-bit weights, or faster memory")
	case kvCachePressure:
		return knobFor(r, cacheMemory, "the KV cache is full: give it more memory", 0.85, 0.9, 0.95)
	case prefixCacheMisses:
		switch {
		case r.EvictsPrefixes():
			return knobFor(r, cacheMemory, "shared prefixes are evicted: give the KV cache more memory", 0.85, 0.9,
				0.95)
		case r.Reuse == nil || r.Reuse.CachedTokens == 0:
			return byHand("prefix caching", "no prompt token was cached: enable "+prefixCaching.of(engineOf(r))+
				" in the server, and run the row again")
		case r.Sequential():
			return byHand("the prefix", d.Response)
		}
		return byHand("routing", d.Response)
	case queueing:
		return moreConcurrency(a.s, p)
	case inefficientDecode:
		return knobOf("--attention-backend", "decode is slow while the GPU memory idles: try other kernels",
			`"FLASH_ATTN"`, `"FLASHINFER"`)
	case computeBoundPrefill:
		if b := r.Roofline; b != nil && r.Summary.TPOT != nil && r.Summary.TPOT.P50 > b.TPOT.HighMs {
			return knobFor(r, stepBudget, "decode waits for the prefill of others: fewer prompt tokens per step", 512,
				2048, 8192)
		}
		return moreGPUs(r, "prefill takes the time: add compute")
	case batchingTradeoff, bandwidthBoundDecode:
		return moreGPUs(r, "nothing is wrong, but this hardware exceeds the limit: more bandwidth per token")
	}
	return moreTelemetry(p.Rows[0], strings.Join(d.Missing, "; "))
}

func moreTelemetry(r *record.Row, missing string) *NextSweep {
	if r.Roofline == nil && strings.Contains(r.NoRoofline, "hardware") {
		n := byHand("hardware", "name the hardware in [target]: the bottleneck is unknown without a roofline")
		n.TOML = "[target]\nhardware = \"h100-sxm\"\ngpus = 1"
		return n
	}
	n := byHand("telemetry", "the bottleneck is unknown: measure the same again with more telemetry")
	n.TOML = "[telemetry]\nserver = \"auto\""
	switch {
	case r.Vendor() == record.AMD:
		n.TOML += "\ngpu    = \"http://127.0.0.1:5000/metrics\"   # AMD Device Metrics Exporter"
	case r.HasGPUMetrics():
		n.TOML += "\ngpu    = \"http://127.0.0.1:9400/metrics\"   # DCGM exporter"
	}
	if missing != "" {
		n.Why += "; missing: " + missing
	}
	return n
}

func moreConcurrency(s *series.Series, p *series.Point) *NextSweep {
	r := p.Rows[0]
	wait, first := percentile(r.Summary.CapWait, tailOf(p)), percentile(r.Summary.TTFT, tailOf(p))
	if wait != nil && first != nil && *wait >= capWaitShare**first {
		more := numbers([]float64{2 * float64(r.Spec.Concurrency), 4 * float64(r.Spec.Concurrency)})
		return knobOf("concurrency", "requests wait under the row's own cap", more...).inRow(s)
	}
	now := 64.0
	if m := r.Server.Metrics; m != nil && m.Running != nil {
		now = math.Max(1, math.Round(m.Running.Max))
	}
	return knobFor(p.Rows[0], batchLimit, "requests wait for a place in the batch", now, 2*now, 4*now)
}

func moreGPUs(r *record.Row, why string) *NextSweep {
	n := 1.0
	if r.Roofline != nil {
		n = math.Max(1, float64(r.Roofline.GPUs))
	}
	return knobFor(r, tensorParallel, why, n, 2*n)
}

func knobFor(r *record.Row, s engineSetting, why string, values ...float64) *NextSweep {
	flag := s.flags[cmp.Or(engineOf(r), "vllm")]
	if flag == "" {
		return byHand(s.name, why)
	}
	return knobOf(flag, why, numbers(values)...)
}

func numbers(values []float64) []string {
	texts := make([]string, len(values))
	for i, x := range values {
		texts[i] = strconv.FormatFloat(x, 'g', -1, 64)
	}
	return texts
}

func knobOf(flag, why string, values ...string) *NextSweep {
	name := strings.ReplaceAll(strings.TrimLeft(flag, "-"), "-", "_")
	text := fmt.Sprintf("%s = [%s]", name, strings.Join(values, ", "))
	return &NextSweep{Text: text, Variable: name, Values: values, Why: why,
		TOML: fmt.Sprintf("[server.knobs]   # with %s {%s} in the command of [server]\n%s", flag, name, text)}
}

func inRow(s *series.Series, line string) string {
	return fmt.Sprintf("[[row]]\nname = %q   # all else as it is\n%s", s.Name, line)
}

type engineSetting struct {
	name  string
	flags map[string]string // by engine, as telemetry.ServerReading names it; an engine without one is missing
}

// Sources: vLLM 0.32 vllm serve --help, SGLang server_args.py, llama.cpp llama-server --help, TensorRT-LLM
// trtllm-serve --help.
var (
	batchLimit = engineSetting{"the batch limit", map[string]string{
		"vllm": "--max-num-seqs", "sglang": "--max-running-requests", "llamacpp": "--parallel",
		"trtllm": "--max_batch_size"}}
	stepBudget = engineSetting{"the token budget of a step", map[string]string{
		"vllm": "--max-num-batched-tokens", "sglang": "--chunked-prefill-size", "llamacpp": "--batch-size",
		"trtllm": "--max_num_tokens"}}
	cacheMemory = engineSetting{"the memory of the KV cache", map[string]string{
		"vllm": "--gpu-memory-utilization", "sglang": "--mem-fraction-static",
		"trtllm": "--kv_cache_free_gpu_memory_fraction"}}
	tensorParallel = engineSetting{"tensor parallelism", map[string]string{
		"vllm": "--tensor-parallel-size", "sglang": "--tp-size", "trtllm": "--tp_size"}}
	prefixCaching = engineSetting{"prefix caching", map[string]string{"vllm": "--enable-prefix-caching"}}
	apiProcesses  = engineSetting{"API server processes", map[string]string{"vllm": "--api-server-count"}}
)

func (s engineSetting) of(engine string) string {
	if flag := s.flags[engine]; flag != "" {
		return s.name + " (" + flag + ")"
	}
	return s.name
}

func engineOf(r *record.Row) string {
	if r.Server.Metrics == nil {
		return ""
	}
	return r.Server.Metrics.Engine
}
