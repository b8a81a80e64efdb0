package main

import (
	"math"
	"math/rand/v2"
)

// A series draws a level for each of n successive nights; the last is the new one. Its unit is Setting.Night.
type series func(n int, r *rand.Rand) []float64

// each draws nights that are independent of each other.
func each(draw func(r *rand.Rand) float64) series {
	return func(n int, r *rand.Rand) []float64 {
		out := make([]float64, n)
		for i := range out {
			out[i] = draw(r)
		}
		return out
	}
}

func normal(r *rand.Rand) float64 { return r.NormFloat64() }

// student draws from Student's t.
func student(df int) func(r *rand.Rand) float64 {
	return func(r *rand.Rand) float64 {
		squares := 0.0
		for range df {
			z := r.NormFloat64()
			squares += z * z
		}
		return r.NormFloat64() / math.Sqrt(squares/float64(df))
	}
}

// skewed draws an exponential value less its mean.
func skewed(r *rand.Rand) float64 { return r.ExpFloat64() - 1 }

// twoModes draws a night in the slow mode with the given share: a placement that a restart draws anew.
func twoModes(share, apart float64) func(r *rand.Rand) float64 {
	return func(r *rand.Rand) float64 {
		x := 0.3 * r.NormFloat64()
		if r.Float64() < share {
			x += apart
		}
		return x
	}
}

// autoregressive nights have a standard deviation of 1 and remember the night before.
func autoregressive(memory float64) series {
	return func(n int, r *rand.Rand) []float64 {
		out := make([]float64, n)
		x := r.NormFloat64()
		for i := range out {
			x = memory*x + math.Sqrt(1-memory*memory)*r.NormFloat64()
			out[i] = x
		}
		return out
	}
}

// randomWalk has steps with a standard deviation of 1.
func randomWalk(n int, r *rand.Rand) []float64 {
	out := make([]float64, n)
	x := 0.0
	for i := range out {
		x += r.NormFloat64()
		out[i] = x
	}
	return out
}

// drift adds the same to each night, up or down.
func drift(perNight float64) series {
	return func(n int, r *rand.Rand) []float64 {
		slope := perNight
		if r.Float64() < 0.5 {
			slope = -slope
		}
		out := make([]float64, n)
		for i := range out {
			out[i] = slope*float64(i) + r.NormFloat64()
		}
		return out
	}
}

// weekly nights are slower at the weekend; the new night is on any day.
func weekly(slower float64) series {
	return func(n int, r *rand.Rand) []float64 {
		day := r.IntN(7)
		out := make([]float64, n)
		for i := range out {
			out[i] = r.NormFloat64()
			if (day+i)%7 >= 5 {
				out[i] += slower
			}
		}
		return out
	}
}

// badNights are slower in a share of the nights; the new one is not.
func badNights(share, slower float64) series {
	return func(n int, r *rand.Rand) []float64 {
		out := make([]float64, n)
		for i := range out {
			out[i] = r.NormFloat64()
			if r.Float64() < share && i < n-1 {
				out[i] += slower
			}
		}
		return out
	}
}

// stepBefore is a change that is `ago` nights old, for the worse or the better.
func stepBefore(ago int, size float64) series {
	return func(n int, r *rand.Rand) []float64 {
		out, step := make([]float64, n), size
		if r.Float64() < 0.5 {
			step = -size
		}
		for i := range out {
			out[i] = r.NormFloat64()
			if i < n-ago {
				out[i] += step
			}
		}
		return out
	}
}

// louder nights have another standard deviation from `ago` nights on.
func louder(ago int, before float64) series {
	return func(n int, r *rand.Rand) []float64 {
		out := make([]float64, n)
		for i := range out {
			out[i] = r.NormFloat64()
			if i < n-ago {
				out[i] *= before
			}
		}
		return out
	}
}

// spells are nights whose standard deviation itself wanders: loud weeks and quiet weeks.
func spells(n int, r *rand.Rand) []float64 {
	out := make([]float64, n)
	loud := r.NormFloat64()
	for i := range out {
		loud = 0.9*loud + math.Sqrt(1-0.81)*r.NormFloat64()
		out[i] = math.Exp(0.8*loud-0.64) * r.NormFloat64()
	}
	return out
}
