package published

type Own struct {
	TTFTMs, TPOTMs float64
	OutputPerGPU   float64 // output tokens per second and GPU
}

// Compared is a figure with one's own values over the published ones; nil = one of them is unknown.
type Compared struct {
	Figure
	TTFTRatio   *float64 `json:"ttft_over_published,omitempty"`
	TPOTRatio   *float64 `json:"tpot_over_published,omitempty"`
	OutputRatio *float64 `json:"output_over_published,omitempty"`
}

func (f Figure) MeanInput() float64 { return f.meanShare() * float64(f.Input) }

func (f Figure) MeanOutput() float64 { return f.meanShare() * float64(f.Output) }

func (f Figure) meanShare() float64 {
	if f.LeastLength == 0 {
		return 1
	}
	return (1 + f.LeastLength) / 2
}

func (f Figure) Beside(own Own) Compared {
	return Compared{f, over(own.TTFTMs, f.TTFTMs), over(own.TPOTMs, f.TPOTMs), over(own.OutputPerGPU, f.OutputPerGPU)}
}

func over(own, published float64) *float64 {
	if own <= 0 || published <= 0 {
		return nil
	}
	return new(own / published)
}
