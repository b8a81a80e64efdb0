package series

import (
	"cmp"

	"bench/experiment/published"
	"bench/experiment/record"
	"bench/experiment/stats"
)

// Published are figures that others published for the setup and the lengths of a point, beside its own: medians over
// the repeats, 0 = not measured.
type Published struct {
	Concurrency  float64 `json:"concurrency"`           // mean in flight
	TTFTMs       float64 `json:"ttft_from_send_p50_ms"` // published TTFTs count from sending, too
	TPOTMs       float64 `json:"tpot_p50_ms"`           //
	OutputPerGPU float64 `json:"output_tokens_per_s_per_gpu"`
	// Figures has the server's engine first. Those at another concurrency have no ratio.
	Figures []published.Compared `json:"figures"`
}

func (s *Series) addPublished() {
	var highest *Point
	for i := range s.Points {
		p := &s.Points[i]
		if p.Valid && (highest == nil || p.OutputTokensPerS.Median > highest.OutputTokensPerS.Median) {
			highest = p
		}
	}
	for i := range s.Points {
		p := &s.Points[i]
		if q, ok := p.setup(); ok {
			p.Published = p.beside(published.Near(q), p == highest)
		}
	}
}

const mostScatter = 0.25

func oneLength(s *stats.Summary) bool { return s != nil && s.Mean > 0 && s.Std <= mostScatter*s.Mean }

// setup is what published figures are looked up by; false: no figure is comparable.
func (p *Point) setup() (q published.Query, ok bool) {
	rows := p.Shown()
	row, r := rows[0], rows[0].Roofline
	in, out := row.Lengths.PromptTokens, row.Lengths.OutputTokens
	if !p.Valid || r == nil || row.Spec.IsColdStart() || !oneLength(in) || !oneLength(out) ||
		r.Cached > published.Tolerance*in.Mean {
		return q, false
	}
	q = published.Query{Model: r.Model, Precision: cmp.Or(r.Weights, r.Precision), GPU: r.Hardware, GPUs: r.GPUs,
		Input: in.Mean, Output: out.Mean}
	q.Concurrency, _ = inFlight(rows)
	if m := row.Server.Metrics; m != nil {
		q.Engine = m.Engine
	}
	return q, true
}

func (p *Point) beside(figures []published.Figure, highest bool) *Published {
	rows := p.Shown()
	own := &Published{TTFTMs: median(percentiles(rows, "", "ttft_from_send")), TPOTMs: median(p.TPOT)}
	own.Concurrency, _ = inFlight(rows)
	if p.OutputTokensPerSPerGPU != nil {
		own.OutputPerGPU = p.OutputTokensPerSPerGPU.Median
	}
	for _, f := range figures {
		switch {
		case f.Concurrency == 0 && highest:
			own.Figures = append(own.Figures, f.Beside(published.Own{OutputPerGPU: own.OutputPerGPU}))
		case f.Close(own.Concurrency):
			own.Figures = append(own.Figures, f.Beside(published.Own{TTFTMs: own.TTFTMs, TPOTMs: own.TPOTMs}))
		case f.Concurrency > 0:
			own.Figures = append(own.Figures, f.Beside(published.Own{}))
		}
	}
	if len(own.Figures) == 0 {
		return nil
	}
	return own
}

func median(ps record.Percentiles) float64 {
	p, _ := ps.Get("p50")
	return p.Median
}
