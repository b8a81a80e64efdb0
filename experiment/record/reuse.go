package record

import "slices"

// Reuse compares the cached tokens that the server reports with the possible ones. By usage it is over the
// completed requests of the window with reported cached tokens; by the server's counters it is over all
// requests of the row, of every phase.
type Reuse struct {
	Source       string `json:"source,omitempty"`       // "usage" or "counters"
	BlockTokens  int    `json:"block_tokens,omitempty"` // in which hits are possible
	Requests     int    `json:"requests"`
	PromptTokens int    `json:"prompt_tokens"` // as planned
	// in an unbounded cache, with requests in the plan's order and answers of the planned length
	PossibleTokens int `json:"possible_tokens"`
	// InCapacity is PossibleTokens of a cache of the size that the server reports for its KV cache, with
	// vLLM's eviction and one request at a time; absent = size not reported.
	InCapacity   *int    `json:"possible_tokens_in_capacity,omitempty"`
	CachedTokens int     `json:"cached_tokens"` // as the server reports
	PossibleRate float64 `json:"possible_rate"` // of the prompt tokens
	CachedRate   float64 `json:"cached_rate"`
}

const (
	ReuseByUsage    = "usage"    // of each answer
	ReuseByCounters = "counters" // of the server's metrics page, which count all its clients
)

const (
	// fullCache: from this share of the KV cache in use on, evictions explain missing hits.
	fullCache = 0.9
	// fitting: a cache that allows this share of the possible hits excludes evictions.
	fitting = 0.9
)

// EvictsPrefixes reports whether evictions explain missing hits: nearly the whole KV cache was in use, or is too
// small. A low usage excludes none: cached prefixes that no request uses count as free.
func (r *Row) EvictsPrefixes() bool {
	if m := r.Server.Metrics; m != nil && m.KVUsage != nil && m.KVUsage.Max >= fullCache {
		return true
	}
	u := r.Reuse
	return u != nil && u.InCapacity != nil && float64(*u.InCapacity) < fitting*float64(u.PossibleTokens)
}

// Sequential reports whether each request of the row began after the one before had ended, on one server.
func (r *Row) Sequential() bool {
	return r.Spec.Concurrency == 1 && r.Spec.Closed() && len(r.Server.Replicas) < 2
}

// ReportsCached reports whether usage of any request has cached tokens. Then a usage without them is one of none:
// SGLang leaves out a count of 0.
func ReportsCached(records []*Record) bool {
	return slices.ContainsFunc(records, func(r *Record) bool { return r.CachedTokens != nil })
}

func (r *Record) Cached() (tokens int, ok bool) {
	if r.CachedTokens != nil {
		return *r.CachedTokens, true
	}
	return 0, r.PromptTokens != nil
}
