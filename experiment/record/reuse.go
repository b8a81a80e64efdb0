package record

// Reuse compares the cached tokens that the server reports with the possible ones, over the completed
// requests of the window with reported cached tokens.
type Reuse struct {
	Requests       int `json:"requests"`
	PromptTokens   int `json:"prompt_tokens"`   // as planned
	PossibleTokens int `json:"possible_tokens"` // in an unbounded cache, with requests in the plan's order and answers of the planned length
	// InCapacity is PossibleTokens of a cache of the size that the server reports for its KV cache, with
	// vLLM's eviction and one request at a time; absent = size not reported.
	InCapacity   *int    `json:"possible_tokens_in_capacity,omitempty"`
	CachedTokens int     `json:"cached_tokens"` // as the server reports
	PossibleRate float64 `json:"possible_rate"` // of the prompt tokens
	CachedRate   float64 `json:"cached_rate"`
}
