package compare

// Headline is a run on one line: its state, and the answer of the workload to read first.
type Headline struct {
	State   string `json:"state"` // running, done, interrupted, failed
	Rows    int    `json:"rows"`  // with a result
	Planned int    `json:"planned"`
	Server  string `json:"server,omitempty"` // engine and version, or simulated; absent = not reported

	// SHIP, LIKELY, NOT YET, NO POINT MEETS THE SLO, MEASURED; absent = no row has a result
	Answer    string `json:"answer,omitempty"`
	Verdict   string `json:"verdict,omitempty"` // PASS, FAIL, UNDECIDED; absent = no SLO
	Workloads int    `json:"workloads"`

	// the operating point, else the point that the answer is about; an invalid one has no figures
	Point            string  `json:"point,omitempty"`
	OutputTokensPerS float64 `json:"output_tokens_per_s,omitempty"`
	// absent = the number of GPUs is not specified
	PerGPU *float64    `json:"output_tokens_per_s_per_gpu,omitempty"`
	TTFT   *Percentile `json:"ttft,omitempty"`
	TPOT   *Percentile `json:"tpot,omitempty"`

	Invalid  int    `json:"invalid,omitempty"`  // rows that are left out of the answer
	Cautions int    `json:"cautions,omitempty"` // valid rows with a caution
	Trust    string `json:"trust,omitempty"`    // both in one sentence
	// to the answer; absent = not recorded, or the number of GPUs is not specified
	GPUSeconds *float64 `json:"gpu_seconds,omitempty"`
}

// Percentile is a percentile that the SLO limits, p95 if it limits none.
type Percentile struct {
	Stat string  `json:"stat"`
	Text string  `json:"text"` // with unit and the mark of its sample: "~106 ms"
	Ms   float64 `json:"ms"`
}
