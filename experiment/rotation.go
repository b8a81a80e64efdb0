package experiment

import (
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat"
)

// Rotations sets the first rotation of a tiling row, which finds nothing, beside the later ones, over the requests of warm-up and
// window that ended well.
type Rotations struct {
	First Rotation `json:"first"`
	Later Rotation `json:"later"`
}

// Rotation is one or more times round the contexts.
type Rotation struct {
	Requests   int      `json:"requests"`
	TTFTMeanMs *float64 `json:"ttft_mean_ms"` // null: no request, or no stream
	CachedRate *float64 `json:"cached_rate"`  // of the prompt tokens; null: the server did not tell
}

// rotations is nil for a row that is no tiling.
func (e *evidence) rotations() *Rotations {
	if e.Spec.Tile == nil {
		return nil
	}
	return &Rotations{
		First: rotation(e.records, func(i int) bool { return i < e.Spec.Tile.Contexts }),
		Later: rotation(e.records, func(i int) bool { return i >= e.Spec.Tile.Contexts }),
	}
}

func rotation(records []*Record, in func(i int) bool) Rotation {
	var r Rotation
	var ttft []float64
	told, prompt, cached := 0, 0, 0
	for _, q := range records {
		if !in(q.I) || !q.OK() || q.Phase == PhaseCooldown {
			continue
		}
		r.Requests++
		ttft = since(ttft, q.At, q.First)
		if q.CachedTokens != nil {
			told++
			prompt += q.prompt()
			cached += *q.CachedTokens
		}
	}
	if len(ttft) > 0 {
		r.TTFTMeanMs = new(stat.Mean(ttft, nil))
	}
	if told > 0 {
		r.CachedRate = new(share(float64(cached), float64(prompt)))
	}
	return r
}

// CacheTokens is how many tokens the server's KV cache holds by its own words (vLLM's cache_config_info), all engines together;
// 0 = it does not say.
func (s *Server) CacheTokens() int {
	sum := 0
	for _, line := range s.Info.BuildInfo {
		if strings.HasPrefix(line, "vllm:cache_config_info{") {
			sum += label(line, "block_size") * label(line, "num_gpu_blocks")
		}
	}
	return sum
}

// label is a whole number among the labels of a metric's line; 0 = it is not there, or no number.
func label(line, name string) int {
	for _, before := range []string{"{", ","} {
		if _, rest, ok := strings.Cut(line, before+name+`="`); ok {
			value, _, _ := strings.Cut(rest, `"`)
			n, err := strconv.Atoi(value)
			if err != nil {
				return 0
			}
			return n
		}
	}
	return 0
}

// ContextsOver is the least number of contexts that a cache of so many tokens can't hold even without one of them: the worst case
// for it. With fewer it may find some.
func ContextsOver(cache, input int) int { return (cache+input-1)/input + 1 }
