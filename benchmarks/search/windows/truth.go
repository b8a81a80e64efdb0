package main

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"bench/benchmarks/search/world"
)

// truth prints the points of [truth]: the percentile at each load, the mean over simulations with different seeds.
// Then the load at which it meets the limit, in two ways: on the line between the neighbours, and on the
// least-squares line through all logarithms, which is more precise where there is no cliff.
func truth(w *world.World, loads string, times int, window time.Duration, out io.Writer) error {
	var points []world.Point
	for _, text := range strings.Split(loads, ",") {
		load, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return fmt.Errorf("-loads: %w", err)
		}
		at, err := point(w, load, times, window)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "  {load = %g, ms = %.4g, se_ms = %.2g},\n", at.Load, at.Ms, at.SEMs)
		points = append(points, at)
	}
	limit := w.SLO.Limit.Seconds() * 1000
	for i, b := range points[1:] {
		if a := points[i]; a.Ms <= limit && b.Ms > limit {
			fmt.Fprintf(out, "load = %.4g # between neighbours\n", a.Load+(b.Load-a.Load)*(limit-a.Ms)/(b.Ms-a.Ms))
		}
	}
	if len(points) > 1 {
		fmt.Fprintf(out, "load = %.4g # line through all logarithms\n", crossing(points, limit))
	}
	return nil
}

// point is the percentile at a load, over simulations with different seeds.
func point(w *world.World, load float64, times int, window time.Duration) (world.Point, error) {
	var sum, squares float64
	for seed := range times {
		all, err := w.Probe(load, time.Minute, window, 1000+uint64(seed))
		if err != nil {
			return world.Point{}, err
		}
		ms := w.SLO.Quantile(all).Seconds() * 1000
		sum, squares = sum+ms, squares+ms*ms
	}
	n := float64(times)
	mean := sum / n
	return world.Point{Load: load, Ms: mean, SEMs: math.Sqrt(max(0, squares/n-mean*mean) / max(1, n-1))}, nil
}

// crossing is where the least-squares line through the logarithms of points meets the limit.
func crossing(points []world.Point, limit float64) float64 {
	n := float64(len(points))
	var load, log, squares, products float64
	for _, p := range points {
		load, log = load+p.Load/n, log+math.Log(p.Ms)/n
	}
	for _, p := range points {
		squares += (p.Load - load) * (p.Load - load)
		products += (p.Load - load) * (math.Log(p.Ms) - log)
	}
	return load + (math.Log(limit)-log)*squares/products
}
