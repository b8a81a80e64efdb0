package diagnosis

import (
	"fmt"
	"strings"

	"bench/experiment/unit"
)

// Regime is what decides a point's latency, as far as its evidence goes.
type Regime string

// The regimes, those first whose presence makes the later ones doubtful.
const (
	ClientBound   Regime = "client_bound"        // this machine held the load back: nothing is known of the server
	PowerLimited  Regime = "thermal_or_power"    // clocks were held down
	KVPressure    Regime = "kv_pressure"         // the KV cache is full: requests wait for blocks, or lose theirs
	CacheMiss     Regime = "prefix_cache_miss"   // prefixes that should be in the cache were computed again
	Queueing      Regime = "queueing"            // requests wait for a place in the batch
	HostBound     Regime = "cpu_bound"           // the GPU waits for its host: overhead of each step
	Inefficient   Regime = "inefficient_decode"  // decode steps are slow while the memory idles
	PrefillCost   Regime = "prefill_cost"        // the time goes into computing prompts
	Batching      Regime = "batching_tradeoff"   // more throughput for slower tokens
	MemoryBound   Regime = "memory_bound_decode" // as fast as the memory allows: the healthy regime of decode
	UnknownRegime Regime = "unknown"             // the evidence does not tell; Missing says what would
)

// Regimes are all of them, in their order.
var Regimes = []Regime{ClientBound, PowerLimited, KVPressure, CacheMiss, Queueing, HostBound, Inefficient, PrefillCost, Batching, MemoryBound, UnknownRegime}

// Words is the regime for people: "memory-bound decode".
func (r Regime) Words() string {
	return strings.NewReplacer("client_", "client-", "cpu_", "CPU-", "memory_", "memory-", "kv_", "KV ", "thermal_or_power", "thermal or power limit",
		"tradeoff", "trade-off", "prefix_", "prefix-", "_", " ").Replace(string(r))
}

// Diagnosis is what one point's figures point to, and what to do next. It is a reading of the evidence, not a proof: Confirm says
// which measurement would settle it.
type Diagnosis struct {
	Series int    `json:"series"`           // index in the run's series
	Point  int    `json:"point"`            // index in the series' points
	Name   string `json:"name"`             // of the point, for people
	Beside string `json:"beside,omitempty"` // the other point, of a rule over a pair

	Symptom  string     `json:"symptom"`
	Regime   Regime     `json:"regime"`
	Evidence []Evidence `json:"evidence"`
	Missing  []string   `json:"missing"` // telemetry that was not there and would tell; of unknown never empty
	Confirm  string     `json:"confirm"`
	Response string     `json:"response"` // the first, cheapest thing to try
}

// Evidence is one figure that a rule looked at, with the line that it was held against. Figures of repeats are their medians.
type Evidence struct {
	Figure string  `json:"figure"`
	Value  float64 `json:"value"`
	Unit   string  `json:"unit,omitempty"` // as Format takes it; empty: a number
	Sign   string  `json:"sign,omitempty"` // how it lies to the line: ≥, <; empty: it is shown, and decides nothing
	Line   float64 `json:"line,omitempty"`
}

// String is the evidence for people: "KV cache in use, max 99.2 % (≥ 95 %)".
func (e Evidence) String() string {
	text := e.Figure + " " + unit.Format(e.Value, e.Unit)
	if e.Sign != "" {
		text += fmt.Sprintf(" (%s %s)", e.Sign, unit.Format(e.Line, e.Unit))
	}
	return text
}
