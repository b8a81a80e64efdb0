package record

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
