package main

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// Setting is one kind of nights, and how they are compared.
type Setting struct {
	Group, Name string

	Nights series // nil = independent, normal
	// standard deviation of a night, as a share; of a series, what its 1 is
	Night   float64
	Repeats func(r *rand.Rand) float64 // nil = normal
	Repeat  float64                    // standard deviation of a repeat within its night, as a share
	Memory  float64                    // of successive repeats of a night
	Heating float64                    // what each further repeat of a night is slower, as a share
	// standard error of a repeat by its requests, as a share of Repeat; 0 = 0.5
	Within float64
	Louder float64 // factor of Repeat in the new night; 0 = 1
	Grid   float64 // figures are rounded to multiples, as a share; 0 = not rounded

	Base    []int // repeats of each base night, the oldest first
	New     int   // repeats of the new night
	NewRuns int   // new nights; 0 = 1
	Earlier int   // nights before base
	Before  int   // repeats of each of those; 0 = New
	Paired  bool  // base and new are New repeats of one run that take turns; no night is earlier

	Failing      float64 // share of requests that fail, which is then gated at +0.005; 0 = none
	FailingNight float64 // standard deviation of a night's share, of the logarithm

	Points      int     // 0 = 1
	Shared      float64 // share of a night's variance that all points have in common
	Independent bool    // the figures of a point differ apart from each other; else all by one factor
}

// earlier are the numbers of nights before base with which each setting is run.
var earlier = []int{0, 10, 30}

// settings are all, each with every number of earlier nights.
func settings() (out []Setting) {
	for _, s := range slices.Concat(reviewed, inOneRun, recipes, wandering, odd, uneven, unlike, wide,
		several, failing, turns) {
		for _, n := range earlier {
			if s.Paired && n > 0 {
				continue
			}
			s.Earlier = n
			out = append(out, s.defaults())
		}
	}
	return out
}

func (s Setting) defaults() Setting {
	if s.Nights == nil {
		s.Nights = each(normal)
	}
	if s.Repeats == nil {
		s.Repeats = normal
	}
	if s.Within == 0 {
		s.Within = 0.5
	}
	s.Points, s.Louder, s.Before = max(1, s.Points), cmp.Or(s.Louder, 1), cmp.Or(s.Before, s.New)
	s.NewRuns = max(1, s.NewRuns)
	return s
}

// nights is the same number of repeats in each of n nights.
func nights(n, repeats int) []int { return slices.Repeat([]int{repeats}, n) }

// recipe is settings under the nightly recipe: five base nights and the new one, with this number of repeats
// each.
func recipe(group string, repeats int, all ...Setting) []Setting {
	for i := range all {
		all[i].Group, all[i].Base, all[i].New = group, nights(5, repeats), repeats
	}
	return all
}

func grouped(group string, all ...Setting) []Setting {
	for i := range all {
		all[i].Group = group
	}
	return all
}
