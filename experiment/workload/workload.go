// Package workload says what is sent and when, as data. A Workload (the keys of a row) and two
// seeds make a Plan; a Plan is a pure function from an index to a Request: its lengths, its class,
// its intended arrival and its prompt, which is a list of block numbers. A Vocabulary turns blocks
// into token ids or text. Nothing here waits, sends or looks at what the server answers.
package workload

// Workload is what a row says of its requests. With a Mix the shape (input, output, prefix) is the
// classes' own; its Prefix then has a state alone, which goes for all classes that state none.
type Workload struct {
	Input  Length  `toml:"input" json:"input,omitzero"`   // prompt tokens, the prefix included
	Output Length  `toml:"output" json:"output,omitzero"` // tokens to write
	Pairs  *Pairs  `toml:"pairs" json:"pairs,omitempty"`  // instead of input and output
	Prefix *Prefix `toml:"prefix" json:"prefix,omitempty"`
	Mix    []Class `toml:"mix" json:"mix,omitempty"`

	Generator string `toml:"workload" json:"workload,omitempty"` // synthetic, trace or tiling; empty = trace where there is one, else synthetic
	Tile      *Tile  `toml:"tile" json:"tile,omitempty"`         // with the workload tiling: in place of pairs, prefix, mix and session

	Session *Session `toml:"session" json:"session,omitempty"` // nil = each arrival is one request
	Trace   *Trace   `toml:"trace" json:"trace,omitempty"`     // instead of all of these

	Rate       Rate    `toml:"rate" json:"rate,omitzero"`              // requests per second of the open loop (conversations, where arrivals are such), on average; 0 = closed loop
	Arrival    Arrival `toml:"arrival" json:"arrival,omitzero"`        // of the open loop; zero = Poisson
	Burstiness float64 `toml:"burstiness" json:"burstiness,omitempty"` // shape of gamma arrivals as in vLLM: 1 = Poisson, below 1 burstier; 0 = 1
	Seed       uint64  `toml:"seed" json:"seed"`                       // 0 = the matrix's
}

// Check reports what is wrong or impossible.
func (w Workload) Check(bad func(key, problem, hint string)) {
	w.checkArrival(bad)
	w.checkGenerator(bad)
	if w.Trace != nil {
		w.checkTrace(bad)
		return
	}
	if w.Tile != nil {
		w.checkTile(bad)
		return
	}
	if len(w.Mix) > 0 {
		w.checkMix(bad)
		return
	}
	only := w.only()
	only.check("", bad)
}

// Longest is the most tokens, prompt and output together, that a request may have. A drawn length
// without a max has none: it counts as its 95th percentile, or its mean and two deviations.
func (w Workload) Longest() int {
	if t := w.Trace; t != nil { // as far as it was looked at
		return int(t.Head.InputMax + t.Head.OutputMax)
	}
	longest := 0
	for _, c := range w.Classes() {
		longest = max(longest, c.longest())
	}
	return longest
}
