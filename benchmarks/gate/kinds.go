package main

import (
	"fmt"
	"slices"
)

var reviewed = slices.Concat(recipe("5 base nights x 5", 5,
	Setting{Name: "nights 0, repeats 1 %", Repeat: 0.01},
	Setting{Name: "nights 1 %, repeats 0.5 %", Night: 0.01, Repeat: 0.005},
	Setting{Name: "nights 2 %, repeats 0.5 %", Night: 0.02, Repeat: 0.005},
	Setting{Name: "nights 3 %, repeats 1 %", Night: 0.03, Repeat: 0.01},
), grouped("1 base night x 5",
	Setting{Name: "nights 2 %, repeats 0.5 %", Night: 0.02, Repeat: 0.005, Base: nights(1, 5), New: 5},
), firstNights(1), firstNights(2), firstNights(3))

// firstNights are the second, third and fourth morning of a job.
func firstNights(n int) []Setting {
	return grouped(fmt.Sprintf("%d base nights x 3", n),
		Setting{Name: "nights 0.5 %, repeats 0.5 %", Night: 0.005, Repeat: 0.005}.with(nights(n, 3), 3, 1),
		Setting{Name: "nights 1 %, repeats 0.5 %", Night: 0.01, Repeat: 0.005}.with(nights(n, 3), 3, 1),
		Setting{Name: "nights 2 %, repeats 0.5 %", Night: 0.02, Repeat: 0.005}.with(nights(n, 3), 3, 1),
		Setting{Name: "nights 2 %, repeats 1 %", Night: 0.02, Repeat: 0.01}.with(nights(n, 3), 3, 1))
}

// inOneRun has one run a side, and runs that do not differ but in their repeats.
var inOneRun = func() (out []Setting) {
	for _, kind := range []Setting{
		{Name: "repeats 1 %", Repeat: 0.01},
		{Name: "repeats 3 %", Repeat: 0.03},
		{Name: "repeats t(2)", Repeat: 0.01, Repeats: student(2)},
		{Name: "repeats 1 %, memory 0.99", Repeat: 0.01, Memory: 0.99, Within: 0.1},
	} {
		for _, n := range [][2]int{{2, 2}, {3, 3}, {5, 5}, {5, 1}} {
			s := kind
			s.Group, s.Base, s.New = fmt.Sprintf("1 night of %d, new of %d", n[0], n[1]), []int{n[0]}, n[1]
			out = append(out, s)
		}
	}
	return out
}()

// noise is the noise of a server that is neither very quiet nor loud.
var noise = Setting{Name: "nights 1 %, repeats 1 %", Night: 0.01, Repeat: 0.01}

// recipes are the recipe's nights and repeats at the noise of a good machine.
var recipes = slices.Concat(recipe("recipe 5 x 3", 3,
	Setting{Name: "nights 0, repeats 1 %", Repeat: 0.01},
	Setting{Name: "nights 0.5 %, repeats 0.5 %", Night: 0.005, Repeat: 0.005},
	Setting{Name: "nights 1 %, repeats 0", Night: 0.01},
	noise,
	Setting{Name: "figures apart, nights 1 %, repeats 1 %", Night: 0.01, Repeat: 0.01, Independent: true},
), recipe("recipe 5 x 1", 1, noise),
	grouped("2 base nights x 3", noise.with(nights(2, 3), 3, 1)),
	grouped("3 base nights x 3", noise.with(nights(3, 3), 3, 1)))

func (s Setting) with(base []int, repeats, newRuns int) Setting {
	s.Base, s.New, s.NewRuns = base, repeats, newRuns
	return s
}

// wandering nights depend on those before them.
var wandering = recipe("drift", 3,
	Setting{Name: "random walk, steps 0.5 %", Nights: randomWalk, Night: 0.005, Repeat: 0.005},
	Setting{Name: "random walk, steps 1 %", Nights: randomWalk, Night: 0.01, Repeat: 0.005},
	Setting{Name: "0.2 % a night, nights 0.5 %", Nights: drift(0.4), Night: 0.005, Repeat: 0.005},
	Setting{Name: "0.5 % a night, nights 0.5 %", Nights: drift(1), Night: 0.005, Repeat: 0.005},
	Setting{Name: "AR(0.5), nights 2 %", Nights: autoregressive(0.5), Night: 0.02, Repeat: 0.005},
	Setting{Name: "AR(0.8), nights 2 %", Nights: autoregressive(0.8), Night: 0.02, Repeat: 0.005},
	Setting{Name: "AR(0.95), nights 2 %", Nights: autoregressive(0.95), Night: 0.02, Repeat: 0.005},
	Setting{Name: "weekends 1 % slower, nights 0.5 %", Nights: weekly(2), Night: 0.005, Repeat: 0.005},
	Setting{Name: "weekends 2 % slower, nights 0.5 %", Nights: weekly(4), Night: 0.005, Repeat: 0.005},
)

// odd nights are not normal, or not alike.
var odd = recipe("odd nights", 3,
	Setting{Name: "5 % of nights 6 % slower, nights 1 %", Nights: badNights(0.05, 6), Night: 0.01,
		Repeat: 0.005},
	Setting{Name: "Student t(2), 1 %", Nights: each(student(2)), Night: 0.01, Repeat: 0.005},
	Setting{Name: "Student t(3), 1 %", Nights: each(student(3)), Night: 0.01, Repeat: 0.005},
	Setting{Name: "exponential, 1 %", Nights: each(skewed), Night: 0.01, Repeat: 0.005},
	Setting{Name: "a fifth of the nights 3 % slower", Nights: each(twoModes(0.2, 3)), Night: 0.01,
		Repeat: 0.003},
	Setting{Name: "loud and quiet weeks, 1 %", Nights: spells, Night: 0.01, Repeat: 0.005},
	Setting{Name: "quiet until base, then 1 %", Nights: louder(6, 0.2), Night: 0.01, Repeat: 0.005},
	Setting{Name: "loud until base, then 0.5 %", Nights: louder(6, 6), Night: 0.005, Repeat: 0.005},
	Setting{Name: "10 % step before base, nights 1 %", Nights: stepBefore(6, 10), Night: 0.01, Repeat: 0.005},
	Setting{Name: "2 % step within base, nights 0.5 %", Nights: stepBefore(4, 4), Night: 0.005,
		Repeat: 0.005},
)

// uneven nights have different numbers of repeats.
var uneven = grouped("repeats",
	Setting{Name: "5, 1, 3, 1, 4 and new 1, nights 0.5 %, repeats 2 %", Night: 0.005, Repeat: 0.02,
		Base: []int{5, 1, 3, 1, 4}, New: 1},
	Setting{Name: "1, 1, 1, 1, 1 and new 10, nights 0.5 %, repeats 2 %", Night: 0.005, Repeat: 0.02,
		Base: nights(5, 1), New: 10},
	Setting{Name: "10 each and new 1, nights 0.5 %, repeats 2 %", Night: 0.005, Repeat: 0.02,
		Base: nights(5, 10), New: 1},
	Setting{Name: "each 0.5 % slower; 3 in base, new 5", Night: 0.005, Repeat: 0.003, Heating: 0.005,
		Base: nights(5, 3), New: 5},
	Setting{Name: "1 in earlier nights, else 5, nights 0, repeats 2 %", Repeat: 0.02, Before: 1,
		Base: nights(5, 5), New: 5},
	Setting{Name: "10 in earlier nights, else 1, nights 0.3 %, repeats 2 %", Night: 0.003, Repeat: 0.02,
		Before: 10, Base: nights(5, 1), New: 1},
)

// unlike repeats are not normal, not alike, or rounded.
var unlike = slices.Concat(recipe("repeats", 3,
	Setting{Name: "t(2) within nights, nights 1 %", Night: 0.01, Repeat: 0.01, Repeats: student(2)},
	Setting{Name: "each 0.5 % slower than the one before", Night: 0.005, Repeat: 0.003, Heating: 0.005},
	Setting{Name: "all nights and repeats alike"},
	Setting{Name: "in steps of 1 %, nights 0.3 %, repeats 0.3 %", Night: 0.003, Repeat: 0.003, Within: 0.001,
		Grid: 0.01},
	Setting{Name: "new 5 x louder, nights 0.5 %, repeats 0.5 %", Night: 0.005, Repeat: 0.005, Louder: 5},
	Setting{Name: "new 3 x louder, nights 0, repeats 1 %", Repeat: 0.01, Louder: 3},
	Setting{Name: "requests' error 3 x the repeats' spread", Night: 0.005, Repeat: 0.005, Within: 3},
), recipe("repeats", 1,
	Setting{Name: "one, in steps of 1 %, nights 0.3 %", Night: 0.003, Repeat: 0.001, Within: 0.001,
		Grid: 0.01},
))

// wide are matrices of several points.
var wide = recipe("points", 3,
	Setting{Name: "3, sharing their nights", Points: 3, Shared: 0.8, Night: 0.01, Repeat: 0.005},
	Setting{Name: "10, sharing their nights", Points: 10, Shared: 0.8, Night: 0.01, Repeat: 0.005},
	Setting{Name: "10, apart", Points: 10, Night: 0.01, Repeat: 0.005},
	Setting{Name: "10, figures apart too", Points: 10, Night: 0.01, Repeat: 0.005, Independent: true},
	Setting{Name: "10, apart, random walk, steps 0.5 %", Points: 10, Nights: randomWalk, Night: 0.005,
		Repeat: 0.005},
)

// several has more than one new night.
var several = slices.Concat(
	grouped("2 nights each side x 3", noise.with(nights(2, 3), 3, 2)),
	grouped("3 nights each side x 3", noise.with(nights(3, 3), 3, 3)),
	grouped("5 nights each side x 3", noise.with(nights(5, 3), 3, 5),
		Setting{Name: "AR(0.5), nights 2 %", Nights: autoregressive(0.5), Night: 0.02,
			Repeat: 0.005}.with(nights(5, 3), 3, 5),
		Setting{Name: "random walk, steps 0.5 %", Nights: randomWalk, Night: 0.005,
			Repeat: 0.005}.with(nights(5, 3), 3, 5)))

// failing has failed requests, whose share is gated too.
var failing = slices.Concat(recipe("failures", 3,
	Setting{Name: "0.1 % fail", Failing: 0.001, Night: 0.005, Repeat: 0.005},
	Setting{Name: "1 % fail", Failing: 0.01, Night: 0.005, Repeat: 0.005},
	Setting{Name: "1 % fail, nights differ by a factor of 2", Failing: 0.01, FailingNight: 0.7, Night: 0.005,
		Repeat: 0.005},
), grouped("failures, 1 base night x 3",
	Setting{Name: "0.1 % fail", Failing: 0.001, Night: 0.005, Repeat: 0.005, Base: nights(1, 3), New: 3},
	Setting{Name: "1 % fail, nights differ by a factor of 2", Failing: 0.01, FailingNight: 0.7, Night: 0.005,
		Repeat: 0.005,
		Base:   nights(1, 3), New: 3},
))

// turns are the two variants of one interleaved run, which share each turn.
var turns = grouped("pairs",
	Setting{Name: "5, walk with steps of 2 %, repeats 1 %", Paired: true, New: 5, Nights: randomWalk,
		Night: 0.02, Repeat: 0.01},
	Setting{Name: "10, walk with steps of 2 %, repeats 1 %", Paired: true, New: 10, Nights: randomWalk,
		Night: 0.02, Repeat: 0.01},
	Setting{Name: "10, walk with steps of 2 %, repeats t(2)", Paired: true, New: 10, Nights: randomWalk,
		Night: 0.02, Repeat: 0.01,
		Repeats: student(2)},
	Setting{Name: "20, turns 5 %, repeats 1 %", Paired: true, New: 20, Night: 0.05, Repeat: 0.01},
)
