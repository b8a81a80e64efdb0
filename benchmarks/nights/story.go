package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
)

// setting is what the nights of a history are drawn from. Spreads are relative standard deviations.
type setting struct {
	Name  string
	About string // for the table

	Nights float64  // between nights; its shared part is 0.8 of it, each point's own 0.6
	Walk   float64  // step of the random walk of the server's speed, from night to night
	Season float64  // amplitude of its sine, with a period of 28 nights
	Spread float64  // between the repeats of a night
	Slow   float64  // what the regression adds to the server's times
	Slowed []string // points that the regression slows; empty: all
	Odd    float64  // what one odd night adds to the server's times

	calendar
}

var settings = append(stories(), []setting{
	{Name: "all", About: "4 % slower at all points", Nights: 0.003, Walk: 0.001, Season: 0.005, Spread: 0.003,
		Slow: 0.04, calendar: sixty},
	{Name: "one", About: "4 % slower at one point of three", Nights: 0.003, Walk: 0.001, Season: 0.005,
		Spread: 0.003, Slow: 0.04, Slowed: []string{"batch"}, calendar: sixty},
	{Name: "twice", About: "4 % slower at all points, nights and repeats scatter twice as much",
		Nights: 0.006, Walk: 0.001, Season: 0.005, Spread: 0.006, Slow: 0.04, calendar: sixty},
	{Name: "noise", About: "4 % slower at all points, from the second night after the one of noise",
		Nights: 0.003, Walk: 0.001, Season: 0.005, Spread: 0.003, Slow: 0.04,
		calendar: calendar{failed: 12, noisy: 36, slow: 38, fixed: 46, newServer: 52}},
}...)

// stories are twelve quiet nights, an odd one or none, then a regression that stays, or none: "odd-12+8" is a night that
// is 12 % faster, then 8 % slower for ever.
func stories() (out []setting) {
	const odd = 13
	for _, size := range []int{-12, -5, 0, 5, 12} {
		for _, slow := range []int{0, 5, 8, 12} {
			s := setting{Name: fmt.Sprintf("odd%+d%+d", size, slow),
				About:  fmt.Sprintf("night %d %+d %%, then %+d %%", odd, size, slow),
				Nights: 0.005, Spread: 0.005, Odd: float64(size) / 100, Slow: float64(slow) / 100}
			if size != 0 {
				s.odd = odd
			}
			if slow != 0 {
				s.slow, s.fixed = odd+1, math.MaxInt
			}
			out = append(out, s)
		}
	}
	return out
}

// matrix is nightly.toml; for stories with thresholds of 3 % and one point.
func (s *setting) matrix() string {
	if !strings.HasPrefix(s.Name, "odd") {
		return nightlyMatrix
	}
	head, rows, _ := strings.Cut(strings.ReplaceAll(nightlyMatrix, "+2.5%", "+3%"), "[[row]]")
	return head + "[[row]]" + strings.Split(rows, "[[row]]")[1]
}

// calendar is what happens on which night, from 1; 0: never.
type calendar struct {
	failed      int // one row fails
	slow, fixed int // the regression comes, and is gone
	noisy       int // repeats scatter, and other virtual machines steal CPU time
	newServer   int // from here on: other hardware
	odd         int // the server is faster or slower, this night only
}

var sixty = calendar{failed: 12, slow: 20, fixed: 28, noisy: 36, newServer: 44}

func (c *calendar) slows(n int) bool { return n >= c.slow && n < c.fixed }

// quiet reports whether nothing happens on a night, and its base is five nights of the same server without
// the noisy one.
func (c *calendar) quiet(n int) bool {
	within := func(first, last int) bool { return first > 0 && n >= first && n <= last }
	return !c.slows(n) && n != c.failed && n > 5 && !within(c.noisy, c.noisy+5) &&
		!within(c.newServer, c.newServer+4)
}

const (
	noisySpread = 0.08 // between the repeats of the noisy night
	noisySteal  = 0.15 // share of the client's CPU time
	faster      = 0.7  // step times of the new hardware, relative to the old
	jitter      = 0.03 // of a request: its answer takes longer by a half-normal share with this scale
)

// night is one night of a history: what the server's times are multiplied by.
type night struct {
	N       int                  // from 1
	points  map[string]float64   // by row: its factor
	repeats map[string][]float64 // by row and repeat
	steal   float64              // share of the client's CPU time
	fails   string               // row whose second repeat fails; empty: none
}

var points = []string{"alone", "batch", "chat"}

// nights draws a history.
func (s *setting) nights(count int, seed uint64) []night {
	rng := rand.New(rand.NewPCG(seed, 0x6e69676874))
	phase := 2 * math.Pi * rng.Float64()
	walk := 0.0
	out := make([]night, count)
	for i := range out {
		n := night{N: i + 1, points: map[string]float64{}, repeats: map[string][]float64{}}
		walk += s.Walk * rng.NormFloat64()
		level := math.Exp(walk + s.Season*math.Sin(phase+2*math.Pi*float64(n.N)/28) +
			0.8*s.Nights*rng.NormFloat64())
		spread := s.Spread
		switch {
		case n.N == s.failed:
			n.fails = "chat"
		case n.N == s.noisy:
			spread, n.steal = noisySpread, noisySteal
		case n.N == s.odd:
			level *= 1 + s.Odd
		case s.newServer > 0 && n.N >= s.newServer:
			level *= faster
		}
		for _, point := range points {
			n.points[point] = level * math.Exp(0.6*s.Nights*rng.NormFloat64())
			if s.slows(n.N) && s.slowed(point) {
				n.points[point] *= 1 + s.Slow
			}
			for range 3 {
				n.repeats[point] = append(n.repeats[point], math.Exp(spread*rng.NormFloat64()))
			}
		}
		out[i] = n
	}
	return out
}

func (s *setting) slowed(point string) bool {
	for _, p := range s.Slowed {
		if p == point {
			return true
		}
	}
	return len(s.Slowed) == 0
}
