package record

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/stat"

	"bench/experiment/stats"
	"bench/experiment/unit"
)

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
			from := 1
			if i > 0 {
				from = 2 + (i-1)*long
			}
			out = append(out, RotationSpan{From: from, To: min(1+i*long, last+1), Rotation: all[i].rotation(reported)})
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
