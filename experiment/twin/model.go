// Package twin is a small model of a server that batches continuously: a step takes
//
//	Base + PerSequence·(decoding sequences) + PerContextToken·(their tokens) + PerPrefillToken·(prompt tokens in it),
//
// of which the first FreePrefillTokens cost nothing: a step that waits for memory computes them beside. At most
// MaxSequences run at once, and a queue is in front of them. Fit finds its parameters from what a client saw.
// Run lets it serve the very arrivals of a row: what differs between row and twin, the residual, has a small error,
// since the luck of the arrivals and the empty start are in both. So the percentile of a long run of the twin,
// corrected by the residuals of all rows, is known more exactly than any row alone shows it: the twin is a control
// variate (Lavenberg, Moeller and Welch 1982). A large residual near the operating point rejects it.
//
// It knows no clock, no file and no verdict. The simulated server (experiment/mock) has the same steps, with a cache,
// preemption and more beside; a test holds the two together.
package twin

// Request is one request. Times are seconds from the row's start.
type Request struct {
	Arrival     float64 // intended; of a closed loop: when a worker was free
	Lag         float64 // of the client: Arrival is so much after the intended one. Only Percentiles and Measured have it
	First, Last float64 // first and last token
	Prompt      int     // tokens
	Cached      int     // of them: not computed
	Output      int     // tokens
	Steps       int     // decode steps; 0 = one for each token after the first
	// Events are the times of the token-bearing events after the first, one for each step; nil = even between First and
	// Last.
	Events []float64
	Window bool // it counts
	Failed bool // it has no latency: it ranks as infinite
	// Group is the number of the prefix that its cached tokens are of, which one of several replicas may lack; 0 =
	// none.
	Group int
}

func (r *Request) steps() int {
	if r.Steps > 0 {
		return r.Steps
	}
	if r.Events != nil {
		return len(r.Events)
	}
	return max(0, r.Output-1)
}

// Model is a server. Times are in seconds.
type Model struct {
	Base            float64 `json:"base_s"`
	PerSequence     float64 `json:"per_sequence_s"`
	PerContextToken float64 `json:"per_context_token_s"` // 0 = not told apart from PerSequence
	PerPrefillToken float64 `json:"per_prefill_token_s"`
	// FreePrefillTokens of a step cost nothing.
	FreePrefillTokens int     `json:"free_prefill_tokens,omitempty"`
	FrontEnd          float64 `json:"front_end_s"` // from the arrival of a request to the queue
	Errors            Errors  `json:"errors,omitzero"`
	// standard error of all step times, as a share: by how much loads differ
	SpeedError    float64 `json:"speed_error"`
	MaxSequences  int     `json:"max_sequences"`             // 0 = unknown: no row queued
	MaxStepTokens int     `json:"max_step_tokens,omitempty"` // 0 = a prompt is computed in one step
	// SequencesReported: MaxSequences is what the engine reports; else, if known, a queue shows it.
	SequencesReported bool `json:"sequences_reported,omitempty"`
	MostRunning       int  `json:"most_running,omitempty"` // lower bound of unknown MaxSequences

	// Step is the time of a step in place of the linear one: of a server that was not measured; nil = the linear one.
	Step func(decoding, context, prefill int) float64 `json:"-"`
}

// StepTime is that of a step with so many decoding sequences, their tokens, and prompt tokens.
func (m *Model) StepTime(decoding, context, prefill int) float64 {
	if m.Step != nil {
		return m.Step(decoding, context, prefill)
	}
	return m.Base + m.PerSequence*float64(decoding) + m.PerContextToken*float64(context) +
		m.PerPrefillToken*float64(max(0, prefill-m.FreePrefillTokens))
}

// Crowded is a server whose free tokens are shared by prompts and decoding sequences: a large batch turns from the
// memory's time to the compute's, which small ones do not show.
func (m *Model) Crowded() *Model {
	own, apart := *m, *m
	if m.FreePrefillTokens > 0 && m.Step == nil {
		own.Step = func(decoding, context, prefill int) float64 {
			return apart.StepTime(decoding, context, decoding+prefill)
		}
	}
	return &own
}

// Scaled is a server whose steps take a factor of the time.
func (m *Model) Scaled(factor float64) *Model {
	own := *m
	own.Base, own.PerSequence = m.Base*factor, m.PerSequence*factor
	own.PerContextToken, own.PerPrefillToken = m.PerContextToken*factor, m.PerPrefillToken*factor
	if step := m.Step; step != nil {
		own.Step = func(decoding, context, prefill int) float64 { return factor * step(decoding, context, prefill) }
	}
	return &own
}

// Run is what the model makes of requests, which are in the order of their arrival: First and Last are its own. With
// workers > 0 that many requests are in flight: each later request arrives when one has ended.
func (m *Model) Run(requests []Request, workers int) []Request {
	return (&Fleet{Model: m}).Run(requests, workers)
}

// Parameters are what tells two models apart.
func (m *Model) Parameters() [8]float64 {
	return [8]float64{m.Base, m.PerSequence, m.PerContextToken, m.PerPrefillToken, m.FrontEnd,
		float64(m.FreePrefillTokens), float64(m.MaxSequences), float64(m.MaxStepTokens)}
}
