// Package diagnosis names the bottleneck of each point of a run and what to do next. Diagnose collects the figures of
// every point and applies the rules (rules.go); NewAnswer makes the Answer: operating point, limit, next change.
//
// It measures nothing, judges no limit and changes no figure. A missing figure never satisfies a rule: without
// evidence the bottleneck is unknown, and Missing names the telemetry that would show it.
package diagnosis

import (
	"cmp"
	"fmt"
	"strings"

	"bench/experiment/series"
	"bench/experiment/unit"
)

// Bottleneck is what limits the latency of a point, according to the evidence. Empty: not diagnosed.
type Bottleneck string

// The bottlenecks; one that makes the later ones doubtful is before them.
const (
	serverFailing Bottleneck = "server_failing" // requests fail: the figures cover the others
	// the server or its gateway answers 429: a quota, no failure
	rateLimited   Bottleneck = "rate_limited"
	serverStalled Bottleneck = "server_stalled" // all streams stood still at once
	// the client delayed requests: nothing is known of the server
	clientLimited  Bottleneck = "client_limited"
	thermalOrPower Bottleneck = "thermal_or_power" // GPU clocks were throttled
	// the KV cache is full: requests wait for blocks or are preempted
	kvCachePressure Bottleneck = "kv_cache_pressure"
	// prefixes that should be cached are computed again
	prefixCacheMisses Bottleneck = "prefix_cache_misses"
	networkOrGateway  Bottleneck = "network_or_gateway" // the first token is late outside of the server
	queueing          Bottleneck = "queueing"           // requests wait for a place in the batch
	hostOverhead      Bottleneck = "host_overhead"      // the GPU waits for the CPU in each step
	// decode steps are slow while the GPU memory idles
	inefficientDecode   Bottleneck = "inefficient_decode"
	computeBoundPrefill Bottleneck = "compute_bound_prefill" // computing prompts takes the time
	// more throughput at a higher TPOT: nothing is wrong
	batchingTradeoff     Bottleneck = "batching_tradeoff"
	bandwidthBoundDecode Bottleneck = "hbm_bandwidth_bound_decode"    // as fast as the memory allows: nothing is wrong
	memoryBoundDecode    Bottleneck = "memory_bandwidth_bound_decode" // the same of a CPU
	// nothing waits and no figure is wrong; decode is compared with no roofline
	noBottleneck Bottleneck = "none"
	// the evidence does not suffice; Missing says what is needed
	unknownBottleneck Bottleneck = "unknown"
)

var Bottlenecks = []Bottleneck{serverFailing, rateLimited, serverStalled, clientLimited, thermalOrPower,
	kvCachePressure, prefixCacheMisses, networkOrGateway, queueing, hostOverhead, inefficientDecode,
	computeBoundPrefill, batchingTradeoff, bandwidthBoundDecode, memoryBoundDecode, noBottleneck, unknownBottleneck}

func (b Bottleneck) Name() string {
	return cmp.Or(map[Bottleneck]string{memoryBoundDecode: "memory-bandwidth-bound decode",
		clientLimited: "client-limited", thermalOrPower: "thermal or power limit", kvCachePressure: "KV-cache pressure",
		prefixCacheMisses: "prefix-cache misses", hostOverhead: "host (CPU) overhead",
		computeBoundPrefill: "compute-bound prefill", batchingTradeoff: "batching trade-off",
		bandwidthBoundDecode: "HBM-bandwidth-bound decode", noBottleneck: "none visible at this load",
	}[b], strings.ReplaceAll(string(b), "_", " "))
}

// Diagnosis is the bottleneck of one point with its evidence. It is not a proof: Confirm names the
// measurement that would settle it.
type Diagnosis struct {
	Series int    `json:"series"`           // index in the run's series
	Point  int    `json:"point"`            // index in the series' points
	Name   string `json:"name"`             // of the point, for display
	Beside string `json:"beside,omitempty"` // the other point, if the rule compares two

	Observation string     `json:"observation"`
	Bottleneck  Bottleneck `json:"bottleneck"`
	Evidence    []Evidence `json:"evidence"`
	// what was not collected and would show the bottleneck; not empty if it is unknown
	Missing  []string `json:"missing"`
	Confirm  string   `json:"confirm"`
	Response string   `json:"response"` // the first, cheapest thing to try
}

// Evidence is one figure that a rule used. Figures of repeats are their medians.
type Evidence struct {
	Figure    string  `json:"figure"`
	Value     float64 `json:"value"`
	Unit      string  `json:"unit,omitempty"`      // as unit.Format takes it; empty: a number
	Sign      string  `json:"sign,omitempty"`      // of the comparison with the threshold: ≥, <; empty: shown only
	Threshold float64 `json:"threshold,omitempty"` // in the unit
}

func (e Evidence) String() string {
	text := e.Figure + " " + unit.Format(e.Value, e.Unit)
	if e.Sign != "" {
		text += fmt.Sprintf(" (%s %s)", e.Sign, unit.Format(e.Threshold, e.Unit))
	}
	return text
}

func Diagnose(series []series.Series) []Diagnosis {
	out := []Diagnosis{}
	all := pointMetricsOf(series)
	for i := range all {
		out = append(out, all[i].diagnose(all)...)
	}
	return out
}
