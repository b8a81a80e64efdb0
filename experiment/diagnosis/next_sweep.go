package diagnosis

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

// next names one thing to change for the first stage that fails.
func (e *firstFailure) next(series []series.Series, diagnoses []Diagnosis) *NextSweep {
	s := &series[e.series]
	p := &s.Points[e.point]
	d := firstAt(diagnoses, e.series, e.point)
	switch {
	case e.limit == nil:
		return remeasure(findings(p)[0])
	case e.verdict != stats.Fail && openedBy(p, e.limit) != nil:
		return remeasure(*openedBy(p, e.limit))
	case e.verdict != stats.Fail && e.limit.Need > 0:
		return moreRequests(s, p, e.limit)
	case e.verdict != stats.Fail:
		return byHand("missing measurement", e.limit.Metric+": "+e.limit.Why)
	}
	if e.stage == "throughput" || e.stage == "cost" {
		last := e.point == len(s.Points)-1
		if e.limit.Metric != "error_rate" && last && s.Saturation.Point == nil {
			n := loads(s, "the latencies are within their limits and the server keeps up: try more load", 2*p.LoadValue, 4*p.LoadValue)
			if d != nil {
				n.Bottleneck = d.Bottleneck
			}
			return n
		}
		if !last { // the bottleneck of the next higher load keeps it from passing
			d = firstAt(diagnoses, e.series, e.point+1)
		}
	}
	if d == nil {
		return moreTelemetry(p.Rows[0], "")
	}
	n := changeFor(s, p, d)
	n.Bottleneck = d.Bottleneck
	return n
}

// moreRequests makes the row long enough for every limit of the point, as the present share and dependence go.
func moreRequests(s *series.Series, p *series.Point, limit *record.Verdict) *NextSweep {
	spec, planned := &p.Rows[0].Spec, p.Rows[0].Summary.Requests.Planned
	n := planned
	for _, v := range p.Rows[0].SLO {
		n = max(n, planned+v.Need)
	}
	out := &NextSweep{Why: fmt.Sprintf("%s needs %s more requests for a verdict", limit.Metric, unit.Count(limit.Need))}
	var lines []string
	if seconds := time.Duration(spec.Duration).Seconds(); seconds > 0 && planned > 0 {
		longer := fmt.Sprintf("%.0fs", math.Ceil(seconds*float64(n)/float64(planned)))
		out.Variable, out.Values, lines = "duration", []string{longer}, append(lines, fmt.Sprintf("duration = %q", longer))
	}
	if spec.Requests > 0 || len(lines) == 0 {
		out.Variable, out.Values, lines = "requests", []string{strconv.Itoa(n)}, append(lines, fmt.Sprintf("requests = %d", n))
	}
	out.TOML = inRow(s, strings.Join(lines, "\n"))
	return out
}

// byHand is a change without values to sweep.
func byHand(variable, why string) *NextSweep {
	return &NextSweep{Variable: variable, Values: []string{}, Why: why}
}

// remeasure repeats a row without what its finding is about: an invalid point supports no conclusion, and a
// caution can leave a verdict open.
func remeasure(f record.Finding) *NextSweep { return byHand("repeat the row", f.Hint) }

// openedBy is the caution without which the limit would have a verdict; nil: none.
func openedBy(p *series.Point, limit *record.Verdict) *record.Finding {
	for _, f := range findings(p) {
		if f.Severity == record.Caution && strings.Contains(limit.Why, f.Code+":") {
			return &f
		}
	}
	return nil
}

// loads is a sweep of the series' own axis.
func loads(s *series.Series, why string, values ...float64) *NextSweep {
	n := &NextSweep{Variable: s.Axis, Values: []string{}, Why: why}
	for _, x := range values {
		if s.Axis == "concurrency" {
			x = math.Max(1, math.Round(x))
		}
		n.Values = append(n.Values, strconv.FormatFloat(x, 'g', 4, 64))
	}
	n.TOML = inRow(s, fmt.Sprintf("%s = [%s]", s.Axis, strings.Join(n.Values, ", ")))
	return n
}

// changeFor is the first single change for a bottleneck.
func changeFor(s *series.Series, p *series.Point, d *Diagnosis) *NextSweep {
	switch r := p.Rows[0]; d.Bottleneck {
	case ClientLimited:
		return byHand("the client machine", d.Response)
	case ThermalOrPower:
		return byHand("cooling and power limit", d.Response)
	case KVCachePressure:
		return knob("gpu_memory_utilization", "the KV cache is full: give it more memory", 0.85, 0.9, 0.95)
	case PrefixCacheMisses:
		if r.Reuse != nil && r.Reuse.CachedTokens == 0 {
			return byHand("prefix caching", "no prompt token was cached: start the server with --enable-prefix-caching, and run the row again")
		}
		return knob("gpu_memory_utilization", "shared prefixes are evicted: give the KV cache more memory", 0.85, 0.9, 0.95)
	case Queueing:
		return moreConcurrency(s, p)
	case HostOverhead:
		return byHand("CUDA graphs and asynchronous scheduling", "the GPU waits for the host: start the server with them, and run the row again")
	case InefficientDecode:
		return knobOf("attention_backend", "decode is slow while the GPU memory idles: try other kernels", `"FLASH_ATTN"`, `"FLASHINFER"`)
	case ComputeBoundPrefill:
		if b := r.Roofline; b != nil && r.Summary.TPOT != nil && r.Summary.TPOT.P50 > b.TPOT.HighMs {
			return knob("max_num_batched_tokens", "decode waits for the prefill of others: fewer prompt tokens per step", 512, 2048, 8192)
		}
		return moreGPUs(r, "prefill takes the time: add compute")
	case BatchingTradeoff, BandwidthBoundDecode:
		if p.LoadValue > 1 && !math.IsInf(p.LoadValue, 0) {
			return loads(s, "nothing is wrong, but this batch exceeds the limit: lower the load", p.LoadValue/4, p.LoadValue/2)
		}
		return moreGPUs(r, "nothing is wrong, but this hardware exceeds the limit: more bandwidth per token")
	}
	return moreTelemetry(p.Rows[0], strings.Join(d.Missing, "; "))
}

// moreTelemetry: if the bottleneck is unknown, the next step is to collect more, not to change a knob.
func moreTelemetry(r *record.Row, missing string) *NextSweep {
	n := byHand("telemetry", "the bottleneck is unknown: measure the same again with more telemetry")
	n.TOML = "[telemetry]\nserver = \"auto\""
	if r.HasGPUMetrics() {
		n.TOML += "\ngpu    = \"http://127.0.0.1:9400/metrics\"   # DCGM exporter"
	}
	if missing != "" {
		n.Why += "; missing: " + missing
	}
	return n
}

// moreConcurrency is for requests that wait: under the row's own cap, or for a place in the server's batch.
func moreConcurrency(s *series.Series, p *series.Point) *NextSweep {
	r := p.Rows[0]
	if w := r.Summary.CapWait; w != nil && r.Summary.TTFT != nil && w.P99 >= capWaitShare*r.Summary.TTFT.P99 {
		n := knob("concurrency", "requests wait under the row's own cap", 2*float64(r.Spec.Concurrency), 4*float64(r.Spec.Concurrency))
		n.TOML = inRow(s, fmt.Sprintf("concurrency = [%s]", strings.Join(n.Values, ", ")))
		return n
	}
	now := 64.0
	if m := r.Server.Metrics; m != nil && m.Running != nil {
		now = math.Max(1, math.Round(m.Running.Max))
	}
	return knob("max_num_seqs", "requests wait for a place in the batch", now, 2*now, 4*now)
}

func moreGPUs(r *record.Row, why string) *NextSweep {
	n := 1.0
	if r.Roofline != nil {
		n = math.Max(1, float64(r.Roofline.GPUs))
	}
	return knob("tensor_parallel_size", why, n, 2*n)
}

func knob(name, why string, values ...float64) *NextSweep {
	texts := make([]string, len(values))
	for i, x := range values {
		texts[i] = strconv.FormatFloat(x, 'g', -1, 64)
	}
	return knobOf(name, why, texts...)
}

// knobOf is a sweep of a server setting, named as vLLM's flag.
func knobOf(name, why string, values ...string) *NextSweep {
	toml := fmt.Sprintf("[server.knobs]   # with --%s {%s} in the command of [server]\n%s = [%s]", strings.ReplaceAll(name, "_", "-"), name, name, strings.Join(values, ", "))
	return &NextSweep{Variable: name, Values: values, TOML: toml, Why: why}
}

func inRow(s *series.Series, line string) string {
	return fmt.Sprintf("[[row]]\nname = %q   # all else as it is\n%s", s.Name, line)
}
