// Package workload defines what is sent and when, as data. A Workload (the keys of a row) and two seeds make
// a Plan. A Plan is a pure function from an index to a Request: its lengths, class, intended arrival, and
// prompt, which is a list of block numbers. A Vocabulary turns blocks into token ids or text. This package
// never waits, sends, or depends on the server's answers.
package workload

import (
	"bench/experiment/prompts"
)

// Workload defines the requests of a row. With a Mix, the classes define input, output and prefix; the row's
// Prefix then has only a state, which applies to classes without one.
type Workload struct {
	Input  Length  `toml:"input" json:"input,omitzero"`   // prompt tokens, including the prefix
	Output Length  `toml:"output" json:"output,omitzero"` // requested output tokens
	Pairs  *Pairs  `toml:"pairs" json:"pairs,omitempty"`  // replaces Input and Output
	Prefix *Prefix `toml:"prefix" json:"prefix,omitempty"`
	Mix    []Class `toml:"mix" json:"mix,omitempty"`

	// synthetic, trace or tiling; empty = trace if Trace is set, else synthetic
	Generator string `toml:"workload" json:"workload,omitempty"`
	// for the workload tiling; replaces pairs, prefix, mix and session
	Tile *Tile `toml:"tile" json:"tile,omitempty"`

	// real prompts; replaces input, pairs and prefix
	Prompts *prompts.Source `toml:"prompts" json:"prompts,omitempty"`
	// in each prompt of classes without their own; nil = none
	Images  *Images  `toml:"images" json:"images,omitempty"`
	Session *Session `toml:"session" json:"session,omitempty"` // nil = each arrival is one request
	// of requests whose class has no model of its own; nil = the target's model
	Adapters *Adapters `toml:"adapters" json:"adapters,omitempty"`
	// users who leave, of classes without their own; nil = none
	Leave *Leave `toml:"leave" json:"leave,omitempty"`
	// limits on the answers, of classes without their own; nil = none
	Answers *Answers `toml:"answers" json:"answers,omitempty"`

	Trace *Trace `toml:"trace" json:"trace,omitempty"` // replaces all of these

	// mean requests (with sessions: conversations) per second; 0 = closed loop
	Rate Rate `toml:"rate" json:"rate,omitzero"`
	// arrival process of the open loop; zero = Poisson
	Arrival Arrival `toml:"arrival" json:"arrival,omitzero"`
	// shape of gamma arrivals, as in vLLM: 1 = Poisson, below 1 burstier; 0 = 1
	Burstiness float64 `toml:"burstiness" json:"burstiness,omitempty"`
	Seed       uint64  `toml:"seed" json:"seed"` // 0 = the matrix's seed
}

func (w Workload) Check(bad func(key, problem, hint string)) {
	row := w.only()
	row.checkModel("", bad)
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

// Longest is the largest possible number of prompt and output tokens of a request. An unbounded distribution
// counts with its 95th percentile, or with its mean plus two standard deviations; a real prompt, whose tokens the
// server counts, with one token.
func (w Workload) Longest() int {
	if t := w.Trace; t != nil { // of the first requests
		return int(t.Head.InputMax + t.Head.OutputMax)
	}
	longest := 0
	for _, c := range w.Classes() {
		longest = max(longest, c.longest())
	}
	return longest
}

// Closed: no rate is set, and a request waits for a worker, who waits for the response before.
func (w *Workload) Closed() bool { return w.Rate == 0 }

// Open: requests arrive whether the server keeps up or not.
func (w *Workload) Open() bool { return w.Rate > 0 }

// Timed: they arrive at a finite rate, not all at once.
func (w *Workload) Timed() bool { return w.Rate > 0 && !w.Rate.IsInf() }
