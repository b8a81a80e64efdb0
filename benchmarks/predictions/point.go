package main

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"bench/experiment/published"
	"bench/experiment/roofline"
)

// point is a published figure and the setup that it is of.
type point struct {
	published.Figure
	setup roofline.Setup
}

// publishedPoints are the figures at a concurrency: those that the constants are fitted to, and those held back.
func publishedPoints(models roofline.Models, hardware roofline.Hardware) (fit, heldBack []point, err error) {
	for _, f := range published.All() {
		if f.Concurrency == 0 {
			continue
		}
		s, err := setupOf(f, models, hardware)
		if err != nil {
			return nil, nil, err
		}
		p := point{f, s}
		if f.HeldBack {
			heldBack = append(heldBack, p)
		} else {
			fit = append(fit, p)
		}
	}
	return fit, heldBack, nil
}

func setupOf(f published.Figure, models roofline.Models, hardware roofline.Hardware) (roofline.Setup, error) {
	m, errModel := models.Find(f.Model)
	d, errDevice := hardware.Find(f.GPU)
	if err := cmp.Or(errModel, errDevice); err != nil {
		return roofline.Setup{}, err
	}
	s := roofline.Setup{Model: m, Device: d, GPUs: f.GPUs}
	if m.ExpertWeights != f.Precision { // gpt-oss: its experts, as published
		s.Precision = f.Precision
	}
	if err := s.Check(); err != nil {
		return s, fmt.Errorf("%s on %d × %s: %w", f.Model, f.GPUs, f.GPU, err)
	}
	return s, nil
}

// expect is the expected TTFT and TPOT of the published run.
func (p *point) expect(e *roofline.Efficiency) (ttft, tpot roofline.Bound) {
	s := p.setup
	s.Efficiency = e
	return s.Published(p.Figure)
}

// family is the part of the table that a model belongs to.
func (p *point) family() string {
	if p.setup.Model.MoE.Layers > 0 {
		return "sparse"
	}
	return "dense"
}

// queued reports that most requests waited to be admitted, so that fewer than the published concurrency ran: by
// Little's law, more than half of a request's time was TTFT.
func (p *point) queued() bool {
	return p.TTFTMs > p.decodeMs()
}

// running is the mean number of requests that decoded, by Little's law.
func (p *point) running() float64 {
	return float64(p.Concurrency) * p.decodeMs() / (p.TTFTMs + p.decodeMs())
}

// decodeMs is the mean time from the first to the last token.
func (p *point) decodeMs() float64 { return (p.MeanOutput() - 1) * p.TPOTMs }

// factor is how many times one is the other, whichever is larger.
func factor(a, b float64) float64 { return math.Exp(math.Abs(math.Log(a / b))) }

// short is the name of a model without its organisation.
func short(model string) string { return model[strings.LastIndex(model, "/")+1:] }
