package stats

import "math"

// clusteredVariance is the variance of a sum of what units add to a figure, in time order, if units depend on others
// of their cluster and on others that are near in time: the variance over clusters, plus the variance that a slow change
// in time shows, minus the variance of independent units, which both have (Cameron, Gelbach and Miller, "Robust
// Inference with Multiway Clustering", JBES 29, 2011). It is at least the larger of the first two. df is
// Satterthwaite's; 0: too few units or clusters.
func clusteredVariance(added []float64, cluster []int) (variance, df float64) {
	if len(added) < LeastPairs {
		return math.NaN(), 0
	}
	ofClusters, df1 := groupedVariance(added, cluster)
	if df1 <= 0 {
		return math.NaN(), 0
	}
	ofTime, df2 := slowVariance(added)
	alone := 0.0
	for _, x := range added {
		alone += x * x
	}
	variance = max(ofClusters, ofTime, ofClusters+ofTime-alone)
	noise := ofClusters*ofClusters/df1 + ofTime*ofTime/df2
	if noise == 0 {
		return variance, df2
	}
	return variance, min(df1+df2, variance*variance/noise)
}

// slowWaves is the number of cosines of slowVariance: the fewer, the slower a change may be that still counts whole. With 6
// a change may last a tenth of the whole.
const slowWaves = 6

// slowVariance is the variance of the sum of a series whose values depend on those before: the mean square of its
// projections on the slowest cosines, with as many degrees of freedom (Lazarus, Lewis, Stock and Watson, "HAR
// Inference: Recommendations for Practice", JBES 36, 2018, equation 10). Unlike batch means it needs no block that is
// longer than the dependence.
func slowVariance(added []float64) (variance, df float64) {
	n := float64(len(added))
	for j := 1; j <= slowWaves; j++ {
		wave := 0.0
		for i, x := range added {
			wave += x * math.Cos(math.Pi*float64(j)*(float64(i)+0.5)/n)
		}
		variance += 2 * wave * wave / slowWaves
	}
	return variance, slowWaves
}

// groupedVariance is the jackknife's: a group is left out at a time, and a large one, which pulls the figure to itself,
// counts for more (CR3 of Bell and McCaffrey, Survey Methodology 28, 2002). df is the effective number of groups less
// one, as if the units of a group were all alike (Carter, Schnepel and Steigerwald, Review of Economics and Statistics
// 99, 2017): ten conversations of a thousand requests beside a thousand of one are about ten.
func groupedVariance[G comparable](added []float64, group []G) (variance, df float64) {
	type total struct{ sum, n float64 }
	totals := map[G]int{} // index into groups, whose order is that of units: sums are the same every time
	var groups []total
	for i, g := range group {
		k, ok := totals[g]
		if !ok {
			k = len(groups)
			totals[g] = k
			groups = append(groups, total{})
		}
		groups[k].sum += added[i]
		groups[k].n++
	}
	m, n := float64(len(groups)), float64(len(added))
	if m < LeastGroups {
		return math.NaN(), 0
	}
	squares, fourths := 0.0, 0.0
	for _, g := range groups {
		x := g.sum / (1 - g.n/n)
		variance += x * x * (m - 1) / m
		squares += g.n * g.n
		fourths += g.n * g.n * g.n * g.n
	}
	return variance, squares*squares/fourths - 1
}
