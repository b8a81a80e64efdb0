package series

import (
	"fmt"
	"math"

	"bench/experiment/stats"
	"bench/experiment/unit"
)

const (
	// leastGain is the throughput of an added request, as a share of the first ones', below which the loop is
	// saturated.
	leastGain = 0.1
	// gainConfidence is the one-sided confidence that a gain is below the limit.
	gainConfidence = 0.95
	// assumedMargin is the margin of a series with too few runs to show it: 5 % noise at gainConfidence.
	assumedMargin = 0.08
)

// closedSaturation is the first load that hardly adds throughput, by more than its margin of noise.
func (s *Series) closedSaturation() LoadLimit {
	first := s.Points[0].OutputTokensPerS.Median / s.Points[0].LoadValue
	margin := s.gainMargin()
	unclear := ""
	for i := 1; i < len(s.Points); i++ {
		gain := s.gain(i-1, i)
		if !(first > 0 && gain < leastGain*first) {
			continue
		}
		text := fmt.Sprintf("above %s each added request gains %s%%s tok/s (%s each at first)", s.Points[i-1].Load,
			unit.Brief(gain, 3), unit.Brief(first, 3))
		for j := i; j < len(s.Points); j++ {
			if s.gain(i-1, j)+margin(i-1, j) < leastGain*first {
				return LoadLimit{Point: &i, Why: fmt.Sprintf(text, "")}
			}
		}
		unclear = fmt.Sprintf(text, " ± "+unit.Brief(margin(i-1, i), 3))
	}
	switch {
	case len(s.Points) < 2:
		return none("no saturation: the series has one load")
	case unclear != "":
		return none("saturation is undecided: %s; add repeats or higher loads", unclear)
	}
	return none("no saturation: each added request still gains throughput")
}

func (s *Series) gain(from, to int) float64 {
	a, b := &s.Points[from], &s.Points[to]
	return (b.OutputTokensPerS.Median - a.OutputTokensPerS.Median) / (b.LoadValue - a.LoadValue)
}

func (s *Series) gainMargin() func(from, to int) float64 {
	load, output := s.runs()
	ofRun, known := stats.NoiseMargin(load, output, gainConfidence)
	return func(from, to int) float64 {
		a, b := &s.Points[from], &s.Points[to]
		margin := ofRun
		if !known {
			margin = assumedMargin * max(a.OutputTokensPerS.Median, b.OutputTokensPerS.Median)
		}
		return margin * math.Sqrt(1/float64(len(a.Rows))+1/float64(len(b.Rows))) / (b.LoadValue - a.LoadValue)
	}
}
