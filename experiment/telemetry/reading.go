package telemetry

// ServerReading is what a server said of itself at one moment, in one set of words for all engines. A nil figure was not told.
// Counters are totals since the server's start; several engines (data parallel) are added up.
type ServerReading struct {
	Engine string `json:"engine"` // whose names they are: vllm, sglang, tgi, trtllm, triton, llamacpp

	Running    *float64 `json:"running,omitempty"`            // requests in the running batch
	Waiting    *float64 `json:"waiting,omitempty"`            // requests in the queue
	KVUsage    *float64 `json:"kv_usage,omitempty"`           // share of the KV cache in use, of the fullest engine
	KVCapacity *float64 `json:"kv_capacity_tokens,omitempty"` // what the KV cache can hold

	Preemptions   *float64 `json:"preemptions,omitempty"`     // counter: requests that lost their place in the batch
	PrefixQueries *float64 `json:"prefix_queries,omitempty"`  // counter: tokens looked up in the prefix cache; blocks where prefix_unit says so
	PrefixHits    *float64 `json:"prefix_hits,omitempty"`     // counter: those found there
	PrefixUnit    string   `json:"prefix_unit,omitempty"`     // tokens, or blocks in old versions of vLLM
	HitRate       *float64 `json:"prefix_hit_rate,omitempty"` // as the server reckons it, over a time of its own choice
	Prompt        *float64 `json:"prompt_tokens,omitempty"`   // counter
	Generated     *float64 `json:"generation_tokens,omitempty"`

	Drafts       *float64 `json:"drafts,omitempty"`            // counter: speculations
	Drafted      *float64 `json:"draft_tokens,omitempty"`      // counter: tokens that were guessed
	Accepted     *float64 `json:"accepted_tokens,omitempty"`   // counter: guesses that held
	AcceptLength *float64 `json:"acceptance_length,omitempty"` // tokens a step, as the server reckons it
	AcceptRate   *float64 `json:"acceptance_rate,omitempty"`   // accepted / guessed, as the server reckons it
}

// GPUReading is how one GPU stood at one moment. A nil figure was not told. Shares are of the source's own averaging time.
type GPUReading struct {
	GPU  string `json:"gpu"` // its index, and that of its slice behind a colon
	UUID string `json:"uuid,omitempty"`
	Name string `json:"name,omitempty"`

	Busy         *float64 `json:"busy,omitempty"`          // share of the time with any kernel on it: says little about how well it is used
	EngineActive *float64 `json:"engine_active,omitempty"` // share of the time with its compute or graphics engine active
	SMActive     *float64 `json:"sm_active,omitempty"`     // share of its multiprocessors with work, over time
	TensorActive *float64 `json:"tensor_active,omitempty"` // share of the time with its tensor cores active
	DRAMActive   *float64 `json:"dram_active,omitempty"`   // share of the time with its memory transferring: times the peak it is the bandwidth in use

	PowerW      *float64 `json:"power_w,omitempty"`
	EnergyJ     *float64 `json:"energy_j,omitempty"` // counter: since the driver was loaded
	SMClock     *float64 `json:"sm_clock_mhz,omitempty"`
	MemoryClock *float64 `json:"memory_clock_mhz,omitempty"`
	UsedMiB     *float64 `json:"memory_used_mib,omitempty"`
	TotalMiB    *float64 `json:"memory_total_mib,omitempty"`
	Temperature *float64 `json:"temperature_c,omitempty"`
	Throttled   []string `json:"throttled,omitempty"`   // why its clocks are held down, see throttles; nil: not told
	Unthrottled bool     `json:"unthrottled,omitempty"` // it was told that nothing holds them down
}

// GPUProcess is a process that computes on a GPU. In containers its id is that of another namespace, or hidden.
type GPUProcess struct {
	GPU     string   `json:"gpu_uuid"`
	PID     int      `json:"pid"`
	Name    string   `json:"name"`
	UsedMiB *float64 `json:"memory_used_mib,omitempty"`
}
