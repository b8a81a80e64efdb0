package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"bench/experiment/published"
	"bench/experiment/roofline"
	"bench/experiment/stats"
)

// predicted is a point beside its prediction.
type predicted struct {
	*point
	ttft, tpot roofline.Bound
	floor      float64 // of TPOT with the requests that ran, in ms
}

func predictedBy(points []point, e roofline.Efficiency) []predicted {
	all := make([]predicted, len(points))
	for i := range points {
		p := &points[i]
		ttft, tpot := p.expect(&e)
		s := p.setup
		if kv := p.Recipe().KV; kv != "" {
			s.KVPrecision = kv
		}
		all[i] = predicted{p, ttft, tpot, s.Decode(p.running(), p.MeanInput()+p.MeanOutput()/2).FloorMs}
	}
	return all
}

// crossValidated predicts each model with constants that were fitted to the others.
func crossValidated(points []point, e roofline.Efficiency) []predicted {
	var names []string
	for _, p := range points {
		if !slices.Contains(names, p.Model) {
			names = append(names, p.Model)
		}
	}
	folds := make(chan []predicted, len(names))
	for _, name := range names {
		go func() {
			var left, kept []point
			for _, p := range points {
				if p.Model == name {
					left = append(left, p)
				} else {
					kept = append(kept, p)
				}
			}
			fit := fitted(kept, start())
			fit.TTFT, fit.TPOT = e.TTFT, e.TPOT
			folds <- predictedBy(left, fit)
		}()
	}
	var all []predicted
	for range names {
		all = append(all, <-folds...)
	}
	return all
}

// table has a line for all points, for the families, models, GPUs, engines and sources.
func table(all []predicted) string {
	var b strings.Builder
	b.WriteString("figures of | n | TPOT MAPE | TPOT in range | TTFT ≤ 4: n | factor, median | in range | TTFT 8–256: n | factor, median\n")
	b.WriteString("---|---:|---:|---:|---:|---:|---:|---:|---:\n")
	row := func(name string, of func(*predicted) bool) {
		var some []predicted
		for i := range all {
			if of(&all[i]) {
				some = append(some, all[i])
			}
		}
		if len(some) > 0 {
			b.WriteString(name + " | " + line(some) + "\n")
		}
	}
	row("all", func(*predicted) bool { return true })
	for _, by := range []func(*predicted) string{
		func(p *predicted) string { return p.family() },
		func(p *predicted) string { return cmp.Or(p.Measured, short(p.Model)) + ", " + p.Precision },
		func(p *predicted) string { return p.GPU },
		func(p *predicted) string { return p.Engine },
		func(p *predicted) string { return published.SourceOf(p.Source).Name },
	} {
		var names []string
		for i := range all {
			if name := by(&all[i]); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		if len(names) == 1 {
			continue // the line of all points
		}
		slices.Sort(names)
		for _, name := range names {
			row(name, func(p *predicted) bool { return by(p) == name })
		}
	}
	b.WriteString("\n" + widths(all))
	return b.String()
}

func line(some []predicted) string {
	var off, tpot, low, lowIn, high []float64
	for i := range some {
		p := &some[i]
		if !p.queued() {
			off = append(off, math.Abs(p.tpot.ExpectedMs/p.TPOTMs-1))
			tpot = append(tpot, inside(p.tpot, p.TPOTMs))
		}
		switch f := factor(p.ttft.ExpectedMs, p.TTFTMs); {
		case p.Concurrency <= 4:
			low, lowIn = append(low, f), append(lowIn, inside(p.ttft, p.TTFTMs))
		case p.Concurrency <= 256:
			high = append(high, f)
		}
	}
	return fmt.Sprintf("%d | %.1f %% | %.0f %% | %d | %s | %s | %d | %s", len(some), 100*stat.Mean(off, nil), 100*stat.Mean(tpot, nil),
		len(low), median(low), share(lowIn), len(high), median(high))
}

func inside(b roofline.Bound, ms float64) float64 {
	if b.LowMs <= ms && ms <= b.HighMs {
		return 1
	}
	return 0
}

func median(x []float64) string {
	if len(x) == 0 {
		return "–"
	}
	slices.Sort(x)
	return fmt.Sprintf("%.2f", stats.Quantile(x, 0.5))
}

func share(x []float64) string {
	if len(x) == 0 {
		return "–"
	}
	return fmt.Sprintf("%.0f %%", 100*stat.Mean(x, nil))
}

// widths says how wide the typical ranges are, and how many points lie below the floor.
func widths(all []predicted) string {
	var ttft, tpot []float64
	below, queued := 0, 0
	for i := range all {
		p := &all[i]
		tpot = append(tpot, p.tpot.HighMs/p.tpot.LowMs)
		if p.Concurrency <= 4 {
			ttft = append(ttft, p.ttft.HighMs/p.ttft.LowMs)
		}
		if p.TPOTMs < p.floor || p.TTFTMs < p.ttft.FloorMs {
			below++
		}
		if p.queued() {
			queued++
		}
	}
	return fmt.Sprintf("Typical range, high over low in the mean: TPOT %.2f, TTFT at concurrency ≤ 4 %.2f. Figures below the floor: %d. Left out of TPOT, since most requests waited: %d.\n",
		stat.Mean(tpot, nil), stat.Mean(ttft, nil), below, queued)
}
