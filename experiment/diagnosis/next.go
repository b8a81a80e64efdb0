package diagnosis

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

// next names one thing to change, where the walk ended.
func (e *firstFailure) next(series []series.Series, found []Diagnosis) *NextSweep {
	s := &series[e.series]
	p := &s.Points[e.point]
	d := firstAt(found, e.series, e.point)
	switch {
	case e.limit == nil:
		return remeasure(p)
	case e.verdict != stats.Fail && e.limit.Need > 0:
		n := p.Rows[0].Summary.Requests.Planned + e.limit.Need
		return &NextSweep{Variable: "requests", Values: []string{strconv.Itoa(n)}, TOML: inRow(s, fmt.Sprintf("requests = %d", n)),
			Why: fmt.Sprintf("%s needs %s more requests for a decision", e.limit.Metric, unit.Count(e.limit.Need))}
	case e.verdict != stats.Fail:
		return &NextSweep{Variable: "what is not measured", Values: []string{}, Why: e.limit.Metric + ": " + e.limit.Why}
	}
	if e.stage == "throughput" || e.stage == "cost" {
		if e.limit.Metric != "error_rate" && e.point == len(s.Points)-1 && s.Saturation.Point == nil {
			return more(s, p, d)
		}
		if e.point < len(s.Points)-1 { // what keeps higher loads from passing is in the way
			d = firstAt(found, e.series, e.point+1)
		}
	}
	if d == nil {
		return nothingKnown(p.Rows[0], "")
	}
	n := changeFor(s, p, d)
	n.Regime = d.Regime
	return n
}

// change is what is changed, with the values to try.
func (n *NextSweep) change() string {
	if len(n.Values) == 0 {
		return n.Variable
	}
	return n.Variable + " = " + strings.Join(n.Values, ", ")
}

// remeasure: a doubted point says nothing, so the finding comes first.
func remeasure(p *series.SeriesPoint) *NextSweep {
	findings := p.Findings
	for _, r := range p.Rows {
		findings = append(r.Findings, findings...)
	}
	n := &NextSweep{Variable: "the measurement itself", Values: []string{}, Why: "a doubted point is no evidence"}
	if len(findings) > 0 {
		n.Why += ": " + findings[0].Text + "; " + findings[0].Hint
	}
	return n
}

// more load is what a throughput or a price asks for, as long as the server takes it.
func more(s *series.Series, p *series.SeriesPoint, d *Diagnosis) *NextSweep {
	n := loads(s, 2*p.LoadValue, 4*p.LoadValue)
	n.Why = "the latencies leave room, and the server took all of the load: try more of it"
	if d != nil {
		n.Regime = d.Regime
	}
	return n
}

// loads is a sweep of the series' own axis.
func loads(s *series.Series, values ...float64) *NextSweep {
	n := &NextSweep{Variable: s.Axis, Values: []string{}}
	for _, x := range values {
		if s.Axis == "concurrency" {
			x = math.Max(1, math.Round(x))
		}
		n.Values = append(n.Values, strconv.FormatFloat(x, 'g', 4, 64))
	}
	n.TOML = inRow(s, fmt.Sprintf("%s = [%s]", s.Axis, strings.Join(n.Values, ", ")))
	return n
}

// changeFor is the first single change that a regime asks for.
func changeFor(s *series.Series, p *series.SeriesPoint, d *Diagnosis) *NextSweep {
	switch r := p.Rows[0]; d.Regime {
	case ClientBound:
		return &NextSweep{Variable: "the client", Values: []string{}, Why: d.Response}
	case PowerLimited:
		return &NextSweep{Variable: "cooling and power limit", Values: []string{}, Why: d.Response}
	case KVPressure:
		return knob("gpu_memory_utilization", "the KV cache is full: give it more of the memory", 0.85, 0.9, 0.95)
	case CacheMiss:
		if r.Reuse != nil && r.Reuse.CachedTokens == 0 {
			return &NextSweep{Variable: "prefix caching", Values: []string{}, Why: "nothing was found in the cache: start the server with --enable-prefix-caching, and run the row again"}
		}
		return knob("gpu_memory_utilization", "shared prefixes are evicted: give the KV cache more of the memory", 0.85, 0.9, 0.95)
	case Queueing:
		return slotsFor(s, p)
	case HostBound:
		return &NextSweep{Variable: "CUDA graphs and asynchronous scheduling", Values: []string{}, Why: "the GPU waits for its host: start the server with them, and run the row again"}
	case Inefficient:
		return knobOf("attention_backend", "decode is slow and the memory idles: try other kernels", `"FLASH_ATTN"`, `"FLASHINFER"`)
	case PrefillCost:
		if b := r.Roofline; b != nil && r.Summary.TPOT != nil && r.Summary.TPOT.P50 > b.TPOT.HighMs {
			return knob("max_num_batched_tokens", "tokens wait for the prompts of others: fewer prompt tokens in a step", 512, 2048, 8192)
		}
		return wider(r, "computing the prompt takes the time: more compute for it")
	case Batching, MemoryBound:
		if p.LoadValue > 1 && !math.IsInf(p.LoadValue, 0) {
			n := loads(s, p.LoadValue/4, p.LoadValue/2)
			n.Why = "nothing is wrong, and the limit is below what this batch gives: a smaller load"
			return n
		}
		return wider(r, "nothing is wrong, and the limit is below what this hardware gives: more bandwidth for each token")
	}
	return nothingKnown(p.Rows[0], strings.Join(d.Missing, "; "))
}

// nothingKnown: without a cause the next step is to see more, not to turn a knob.
func nothingKnown(r *record.Row, missing string) *NextSweep {
	toml := "[telemetry]\nserver = \"auto\""
	if r.Observable() {
		toml += "\ngpu    = \"http://127.0.0.1:9400/metrics\"   # DCGM exporter"
	}
	n := &NextSweep{Variable: "telemetry", Values: []string{}, TOML: toml, Why: "the cause is unknown: measure the same again with more of the server in view"}
	if missing != "" {
		n.Why += "; missing: " + missing
	}
	return n
}

// slotsFor is more room where requests wait: under the row's own cap, or in the server's batch.
func slotsFor(s *series.Series, p *series.SeriesPoint) *NextSweep {
	r := p.Rows[0]
	if w := r.Summary.CapWait; w != nil && r.Summary.TTFT != nil && w.P99 >= capWaitLine*r.Summary.TTFT.P99 {
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

// wider is the same model on more devices.
func wider(r *record.Row, why string) *NextSweep {
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

// knobOf is a sweep of a setting of the server, by the name of vLLM's flag.
func knobOf(name, why string, values ...string) *NextSweep {
	toml := fmt.Sprintf("[server.knobs]   # with --%s {%s} in the command of [server]\n%s = [%s]", strings.ReplaceAll(name, "_", "-"), name, name, strings.Join(values, ", "))
	return &NextSweep{Variable: name, Values: values, TOML: toml, Why: why}
}

func inRow(s *series.Series, line string) string {
	return fmt.Sprintf("[[row]]\nname = %q   # all else as it is\n%s", s.Name, line)
}
