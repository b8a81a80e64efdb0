package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"bench/experiment/series"
	"bench/experiment/twin"
	"bench/report"
)

// real fits the twin to some loads of a run and compares the others with it, each on its own arrivals.
func real(dir, fit string, seqs int) error {
	run, err := report.Load(dir)
	if err != nil {
		return err
	}
	var chosen []float64
	for text := range strings.SplitSeq(fit, ",") {
		x, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return err
		}
		chosen = append(chosen, x)
	}
	var fitted, all []twin.Trial
	for i := range run.Rows {
		records, err := run.Requests(&run.Rows[i])
		if err != nil {
			return err
		}
		t, ok := series.TrialOf(&run.Rows[i], records)
		if !ok {
			continue
		}
		all = append(all, t)
		if slices.Contains(chosen, t.Load) {
			fitted = append(fitted, t)
		}
	}
	m, err := twin.Fit(fitted, seqs)
	if err != nil {
		return err
	}
	fmt.Printf("fitted on %v: %+v\n", chosen, m)
	const refused = 1.1 // times the highest load, and further on: bench ask does not answer
	var held, corrected []float64
	for _, t := range all {
		out := !slices.Contains(chosen, t.Load) && t.Load <= refused*slices.Max(chosen)
		fmt.Printf("%8.4g", t.Load)
		for _, metric := range []string{"ttft", "tpot"} {
			for _, p := range []float64{.5, .95} {
				l := twin.Limit{Metric: metric, P: p, Value: 1}
				if out {
					for _, f := range m.Foresee(fitted, []twin.Trial{t}, []twin.Limit{l})[0] {
						corrected = append(corrected, math.Abs(f.Value/f.Measured-1))
					}
				}
				for _, r := range m.Residuals([]twin.Trial{t}, l)[0] {
					fmt.Printf("  %s p%.0f %8.1f / %8.1f (%+5.1f %%, se %.1f)", metric, 100*p, 1000*r.Measured, 1000*r.Twin, 100*math.Expm1(r.Log), 100*r.Error)
					if out {
						held = append(held, math.Abs(math.Expm1(-r.Log)))
					}
				}
			}
		}
		fmt.Println()
	}
	for kind, errors := range map[string][]float64{"on their own arrivals": held, "corrected": corrected} {
		slices.Sort(errors)
		if n := len(errors); n > 0 {
			fmt.Printf("held out, %s: median error %.1f %%, largest %.1f %%\n", kind,
				50*(errors[(n-1)/2]+errors[n/2]), 100*errors[n-1])
		}
	}
	return nil
}
