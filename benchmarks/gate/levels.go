package main

import "math"

// factors are the logarithms of how slow each figure is.
type factors [figures]float64

// levels are the factors of each point in each night: [night][point].
func (w world) levels(nights int) [][]factors {
	shared := w.ofAPoint(nights)
	out := make([][]factors, nights)
	for i := range out {
		out[i] = make([]factors, w.Points)
	}
	for p := range w.Points {
		own := w.ofAPoint(nights)
		for i := range nights {
			for f := range figures {
				out[i][p][f] = w.Night * mix(w.Shared, shared[i][f], own[i][f])
			}
		}
	}
	return out
}

// ofAPoint is a series of nights for each figure of a point.
func (w world) ofAPoint(nights int) []factors {
	out := make([]factors, nights)
	common := w.Nights(nights, w.rng)
	for f := range figures {
		own := w.Nights(nights, w.rng)
		for i := range out {
			out[i][f] = mix(w.alike(), common[i], own[i])
		}
	}
	return out
}

// mix is a value that has a share of its variance from a common one.
func mix(share, common, own float64) float64 { return math.Sqrt(share)*common + math.Sqrt(1-share)*own }

// alike is the share of a figure's variance that all figures of a point have in common.
func (s *Setting) alike() float64 {
	if s.Independent {
		return 0
	}
	return 1
}
