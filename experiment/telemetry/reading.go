package telemetry

import (
	"reflect"
	"strings"
)

// ServerReading is one reading of a server's metrics, with the same names for all engines. A nil figure was
// not reported. Counters are totals since the server's start. The engines of a data-parallel server are
// summed.
type ServerReading struct {
	Engine string `json:"engine"` // by the metric names: vllm, sglang, tgi, trtllm, triton, llamacpp

	Running *float64 `json:"running,omitempty"` // requests in the running batch
	Waiting *float64 `json:"waiting,omitempty"` // requests in the queue
	// used share of the KV cache, of the fullest engine
	KVUsage    *float64 `json:"kv_usage,omitempty"`
	KVCapacity *float64 `json:"kv_capacity_tokens,omitempty"`        // size of the KV cache
	CacheBlock *float64 `json:"prefix_cache_block_tokens,omitempty"` // in which the prefix cache finds prompts

	Preemptions   *float64 `json:"preemptions,omitempty"`     // counter: preempted requests
	PrefixQueries *float64 `json:"prefix_queries,omitempty"`  // counter: looked up in the prefix cache, in prefix_unit
	PrefixHits    *float64 `json:"prefix_hits,omitempty"`     // counter: found in the prefix cache
	PrefixUnit    string   `json:"prefix_unit,omitempty"`     // tokens; blocks in old versions of vLLM
	HitRate       *float64 `json:"prefix_hit_rate,omitempty"` // as the server computes it, over its own interval
	Tiers         TierHits `json:"prefix_hits_by_tier,omitzero"`
	Prompt        *float64 `json:"prompt_tokens,omitempty"` // counter
	Generated     *float64 `json:"generation_tokens,omitempty"`
	Requests      *float64 `json:"requests,omitempty"` // counter: requests that ended
	Aborted       *float64 `json:"aborted,omitempty"`  // counter: requests that ended because their client had gone

	Times TimeReading `json:"times,omitzero"`

	Drafts   *float64 `json:"drafts,omitempty"`          // counter: draft rounds of speculative decoding
	Drafted  *float64 `json:"draft_tokens,omitempty"`    // counter: proposed tokens
	Accepted *float64 `json:"accepted_tokens,omitempty"` // counter: accepted tokens
	// AcceptedAt are the accepted tokens by their position in the draft, from the first one; counters.
	AcceptedAt   []float64 `json:"accepted_tokens_by_position,omitempty"`
	AcceptLength *float64  `json:"acceptance_length,omitempty"` // tokens per step, as the server computes it
	AcceptRate   *float64  `json:"acceptance_rate,omitempty"`   // accepted / proposed, as the server computes it
}

// Figure is the field with a JSON name, "running" or "prefix_hits_by_tier.gpu"; usages and counts have the same names.
func (r *ServerReading) Figure(name string) **float64 { return at[float64](r, serverFigures[name]) }

// Figure is the field with a JSON name.
func (r *GPUReading) Figure(name string) **float64 { return at[float64](r, gpuFigures[name]) }

var (
	serverFigures = fieldsOf[float64](reflect.TypeFor[ServerReading]())
	gpuFigures    = fieldsOf[float64](reflect.TypeFor[GPUReading]())
)

// fieldsOf are the fields of a struct that point to a T, by their JSON names.
func fieldsOf[T any](t reflect.Type) map[string][]int {
	out := map[string][]int{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Type == reflect.TypeFor[*T]() {
			out[name] = []int{i}
		}
		if f.Type.Kind() == reflect.Struct {
			for inner, index := range fieldsOf[T](f.Type) {
				out[name+"."+inner] = append([]int{i}, index...)
			}
		}
	}
	return out
}

func at[T any](of any, index []int) **T {
	return reflect.ValueOf(of).Elem().FieldByIndex(index).Addr().Interface().(**T)
}

// Largest are the figures of which several engines have the largest value; of others they have the sum.
var Largest = []string{"kv_usage", "prefix_cache_block_tokens", "prefix_hit_rate", "acceptance_length",
	"acceptance_rate"}

// TierHits are the cached prompt tokens by the tier that had them. A nil figure was not reported; all are nil
// for a server with one tier.
type TierHits struct {
	GPU  *float64 `json:"gpu,omitempty"`  // GPU memory
	Host *float64 `json:"host,omitempty"` // CPU memory
	P2P  *float64 `json:"p2p,omitempty"`  // another instance of the server
	Disk *float64 `json:"disk,omitempty"` // disk or remote storage
	// a KV connector: CPU memory, disk or remote storage, by its configuration
	External *float64 `json:"external,omitempty"`
}

// TierNames are the names of the tiers, the fastest first.
var TierNames = []string{"GPU", "host", "p2p", "disk", "external"}

func (t *TierHits) List() []*float64 { return []*float64{t.GPU, t.Host, t.P2P, t.Disk, t.External} }

// GPUReading is one reading of one GPU. A nil figure was not reported. Shares are means over the source's own
// interval. AMD's GPUs report busy (the graphics engine's activity), but neither sm_active, tensor_active nor
// dram_active: gfx activity is no share of busy compute units.
type GPUReading struct {
	GPU  string `json:"gpu"` // index; for a MIG instance index:instance
	UUID string `json:"uuid,omitempty"`
	Name string `json:"name,omitempty"`

	// share of the time with any kernel running; not a measure of utilization
	Busy *float64 `json:"busy,omitempty"`
	// share of the time with its compute or graphics engine active
	EngineActive *float64 `json:"engine_active,omitempty"`
	SMActive     *float64 `json:"sm_active,omitempty"`     // mean share of its multiprocessors with work
	TensorActive *float64 `json:"tensor_active,omitempty"` // share of the time with its tensor cores active
	// share of the time with memory transfers; times the peak bandwidth, the bandwidth in use
	DRAMActive *float64 `json:"dram_active,omitempty"`

	PowerW      *float64 `json:"power_w,omitempty"`
	PowerLimitW *float64 `json:"power_limit_w,omitempty"`
	EnergyJ     *float64 `json:"energy_j,omitempty"` // counter: since the driver was loaded
	SMClock     *float64 `json:"sm_clock_mhz,omitempty"`
	MemoryClock *float64 `json:"memory_clock_mhz,omitempty"`
	UsedMiB     *float64 `json:"memory_used_mib,omitempty"`
	TotalMiB    *float64 `json:"memory_total_mib,omitempty"`
	Temperature *float64 `json:"temperature_c,omitempty"`
	Throttled   []string `json:"throttled,omitempty"`   // reasons of reduced clocks; nil: none, or not reported
	Unthrottled bool     `json:"unthrottled,omitempty"` // reported: no reason reduces the clocks
}

// GPUProcess is a compute process on a GPU. In a container, PID may be of another namespace or hidden.
type GPUProcess struct {
	GPU     string   `json:"gpu_uuid"` // AMD: its index
	PID     int      `json:"pid"`
	Name    string   `json:"name"`
	UsedMiB *float64 `json:"memory_used_mib,omitempty"`
}
