package record

// Reuse sets what the server found in its prefix cache beside what its plan lets a cache find, over the completed requests
// of the window whose cached tokens the server told.
type Reuse struct {
	Requests       int `json:"requests"`
	PromptTokens   int `json:"prompt_tokens"`   // as planned
	PossibleTokens int `json:"possible_tokens"` // in a cache without a bound, which serves the requests in the plan's order; answers of the planned length
	// InCapacity is PossibleTokens of a cache as large as the server said that its KV cache is, which frees blocks as vLLM does and serves
	// one request after the other; absent: it did not say.
	InCapacity   *int    `json:"possible_tokens_in_capacity,omitempty"`
	CachedTokens int     `json:"cached_tokens"` // as the server told
	PossibleRate float64 `json:"possible_rate"` // of the prompt tokens
	CachedRate   float64 `json:"cached_rate"`
}
