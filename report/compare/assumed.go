package compare

import (
	"maps"
	"slices"

	"bench/experiment"
	"bench/experiment/stats"
)

// assumedSpreads are those between runs, by figure, for as long as the runs of a comparison are too few to show them.
func assumedSpreads(machine []Run, g experiment.Gate) map[string]stats.RunSpread {
	series := map[string][]sample{} // by matrix, point and workload
	for i := range machine {
		r := &machine[i]
		found, _ := points(Side{Runs: machine[i : i+1]})
		for name, samples := range found {
			key := r.Manifest.Matrix + "\x00" + name + "\x00" + workloadKey(&samples[0].row.Spec)
			series[key] = append(series[key], samples...)
		}
	}
	out := map[string]stats.RunSpread{}
	for _, f := range figures(g, nil) {
		var all [][][]stats.Repeat
		for _, key := range slices.Sorted(maps.Keys(series)) {
			samples := series[key]
			if with, values := f.having(samples); len(values) > 0 && f.noRatio([2][]float64{values}) == "" {
				all = append(all, pair{}.byRun(with, f.scaled(with)))
			}
		}
		if spread, ok := stats.SpreadOfMany(all); ok && !f.absolute() {
			out[f.key] = spread
		}
	}
	return out
}

// assumedSpread is that of the machine, else twice that between repeats: of shares, which repeats rarely show, a fixed
// one.
func (f figure) assumedSpread(o Options) stats.RunSpread {
	if s, ok := o.spreads[f.key]; ok {
		return s
	}
	s := stats.AssumedSpread
	if !f.absolute() {
		s.OfRepeats = 2
	}
	return s
}
