package record

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/stat"

	"bench/experiment/stats"
	"bench/experiment/unit"
)

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

// Rotations compares the first rotation of a tiling row, which can't hit a cache, with the later ones, over
// the completed requests of warm-up and window.
type Rotations struct {
	First Rotation `json:"first"`
	Later Rotation `json:"later"`
}

type Rotation struct {
	Requests   int      `json:"requests"`              // completed
	TTFTMeanMs *float64 `json:"ttft_mean_ms"`          // null = no request, or no stream
	TTFTP50Ms  *float64 `json:"ttft_p50_ms,omitempty"` // absent = as the mean
	CachedRate *float64 `json:"cached_rate"`           // of the prompt tokens; null = not reported
}

// CompareRotations: request i asks about context i mod contexts.
func CompareRotations(records []*Record, contexts int) *Rotations {
	var first, later sums
	for _, r := range records {
		if r.I < contexts {
			first.add(r)
		} else {
			later.add(r)
		}
	}
	reported := ReportsCached(records)
	return &Rotations{First: first.rotation(reported), Later: later.rotation(reported)}
}

func (r *Rotations) Speedup() float64 {
	first, later := r.First.TTFTMeanMs, r.Later.TTFTMeanMs
	if first == nil || later == nil || *later <= 0 {
		return 0
	}
	return *first / *later
}

const sameTTFT = 1.05

func (r *Rotations) Answer() string {
	if r.Later.Requests == 0 {
		return "no request after the first rotation completed"
	}
	cached := "cached tokens not reported"
	if r.Later.CachedRate != nil {
		cached = unit.Percent(*r.Later.CachedRate) + " from cache"
	}
	if r.Speedup() == 0 {
		return "later rotations: " + cached
	}
	return fmt.Sprintf("later rotations: TTFT %s, %s; first rotation %s: %s",
		unit.Format(*r.Later.TTFTMeanMs, "ms"), cached, unit.Format(*r.First.TTFTMeanMs, "ms"), r.change())
}

// change: one stalled request can move a mean, so without more hits the medians must differ too.
func (r *Rotations) change() string {
	times, medians := r.Speedup(), 0.0
	if first, later := r.First.TTFTP50Ms, r.Later.TTFTP50Ms; first != nil && later != nil && *later > 0 {
		medians = *first / *later
	}
	hits := r.Later.CachedRate != nil && (r.First.CachedRate == nil || *r.Later.CachedRate > *r.First.CachedRate)
	switch {
	case times >= sameTTFT && (hits || medians == 0 || medians >= sameTTFT):
		return unit.Digits(times) + "× faster"
	case times <= 1/sameTTFT && medians <= 1/sameTTFT:
		return unit.Digits(1/times) + "× slower"
	}
	return "no faster"
}

// RotationSpan is the requests of successive rotations, numbered from 1.
type RotationSpan struct {
	From, To int
	Rotation
}

// RotationSpans are the rotations of a row in order, at most `most` spans of equal length after the first
// rotation, which stays alone. Spans without a completed request are left out.
func RotationSpans(records []*Record, contexts, most int) []RotationSpan {
	if contexts < 1 || len(records) == 0 {
		return nil
	}
	last := 0
	for _, r := range records {
		last = max(last, r.I/contexts)
	}
	long := max(1, (last+most-1)/max(1, most)) // rotations of a span
	all := make([]sums, 1+(last+long-1)/long)
	for _, r := range records {
		all[(r.I/contexts+long-1)/long].add(r)
	}
	var out []RotationSpan
	reported := ReportsCached(records)
	for i := range all {
		if all[i].requests > 0 {
			out = append(out, RotationSpan{From: max(1, 2+(i-1)*long), To: min(1+i*long, last+1),
				Rotation: all[i].rotation(reported)})
		}
	}
	return out
}

type sums struct {
	requests       int
	ttft           []float64 // ms
	counted        int       // requests with usage
	prompt, cached int       // tokens of those
}

func (s *sums) add(r *Record) {
	if !r.OK() || r.Phase == PhaseCooldown {
		return
	}
	s.requests++
	if ms, ok := r.Latency("ttft", true); ok {
		s.ttft = append(s.ttft, ms)
	}
	if cached, ok := r.Cached(); ok {
		s.counted++
		s.prompt += r.Prompt()
		s.cached += cached
	}
}

func (s *sums) rotation(reported bool) Rotation {
	out := Rotation{Requests: s.requests}
	if len(s.ttft) > 0 {
		slices.Sort(s.ttft)
		out.TTFTMeanMs, out.TTFTP50Ms = new(stat.Mean(s.ttft, nil)), new(stats.Quantile(s.ttft, 0.5))
	}
	if reported && s.counted > 0 {
		out.CachedRate = new(float64(s.cached) / float64(max(s.prompt, 1)))
	}
	return out
}

// Prompts says which real prompts the requests of the window had; later turns of conversations do not count.
type Prompts struct {
	Requests  int `json:"requests"`
	Different int `json:"different"` // prompts
	Repeated  int `json:"repeated"`  // requests whose prompt an earlier request of the row had, also of the warm-up
	// Known are the requests with the first use of their prompt of which the server reports the cached tokens; Warm of
	// them had all but the last block of their prompt in the cache.
	Known int `json:"first_uses_known"`
	Warm  int `json:"first_uses_warm"`
}

// fewestWarmBlocks is the length of a prompt, in blocks of the cache, from which on a cached one is no chance.
const fewestWarmBlocks = 3

func PromptsOf(records []*Record, block int) *Prompts {
	var p Prompts
	seen, inWindow := map[string]bool{}, map[string]bool{}
	for _, r := range byArrival(append([]*Record(nil), records...)) {
		if r.PromptHash == "" || r.Turn != nil && *r.Turn > 0 {
			continue
		}
		before := seen[r.PromptHash]
		seen[r.PromptHash] = true
		if r.Phase != PhaseWindow {
			continue
		}
		p.Requests++
		inWindow[r.PromptHash] = true
		if before {
			p.Repeated++
			continue
		}
		p.addFirstUse(r, block)
	}
	if p.Different = len(inWindow); p.Requests == 0 {
		return nil
	}
	return &p
}

func (p *Prompts) addFirstUse(r *Record, block int) {
	if !r.OK() || r.PromptTokens == nil || r.CachedTokens == nil || *r.PromptTokens < fewestWarmBlocks*block {
		return
	}
	if p.Known++; *r.CachedTokens >= *r.PromptTokens-block {
		p.Warm++
	}
}

type RefusedPrompts struct {
	N       int             `json:"n"`
	Counted int             `json:"counted"` // prompts that the server was asked to count
	First   []RefusedPrompt `json:"first"`   // up to 20
}

type RefusedPrompt struct {
	Line  string `json:"line"`  // where it stands: "prompts.jsonl:17"
	Error string `json:"error"` // of the server, without text of the prompt
}

const mostRefused = 20 // lines that are named

func (p *RefusedPrompts) Add(line, reason string) {
	if p.N++; len(p.First) < mostRefused {
		p.First = append(p.First, RefusedPrompt{line, reason})
	}
}

func (p *RefusedPrompts) String() string {
	return fmt.Sprintf("%s of %s left out that the server refused to count: %s: %s",
		unit.Count(p.N), unit.Plural(p.Counted, "prompt"), p.First[0].Line, p.First[0].Error)
}
