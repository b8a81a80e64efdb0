package verdict

import (
	"gonum.org/v1/gonum/stat"

	"bench/experiment/record"
)

// rotations is nil for a row that is no tiling.
func (e *Measured) compareRotations() *record.Rotations {
	if e.Spec.Tile == nil {
		return nil
	}
	return &record.Rotations{
		First: rotation(e.Records, func(i int) bool { return i < e.Spec.Tile.Contexts }),
		Later: rotation(e.Records, func(i int) bool { return i >= e.Spec.Tile.Contexts }),
	}
}

func rotation(records []*record.Record, in func(i int) bool) record.Rotation {
	var r record.Rotation
	var ttft []float64
	told, prompt, cached := 0, 0, 0
	for _, q := range records {
		if !in(q.I) || !q.OK() || q.Phase == record.PhaseCooldown {
			continue
		}
		r.Requests++
		ttft = record.AppendSince(ttft, q.At, q.First)
		if q.CachedTokens != nil {
			told++
			prompt += q.Prompt()
			cached += *q.CachedTokens
		}
	}
	if len(ttft) > 0 {
		r.TTFTMeanMs = new(stat.Mean(ttft, nil))
	}
	if told > 0 {
		r.CachedRate = new(record.Ratio(float64(cached), float64(prompt)))
	}
	return r
}
