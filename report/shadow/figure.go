package shadow

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"bench/experiment/metric"
	"bench/experiment/stats"
	"bench/report/compare"
)

// Figure is one figure of the requests that both servers answered. Its changes are as a Metric's.
type Figure struct {
	Name     string         `json:"metric"`          // ttft_mean: as in docs/reading.md, TTFT and E2E from send
	Turns    string         `json:"turns,omitempty"` // of the conversations: first, later; absent = all
	Unit     string         `json:"unit"`
	Gated    bool           `json:"gated,omitempty"` // the answer is about it: it has most of the risk
	Pairs    int            `json:"pairs"`
	Sessions int            `json:"sessions"`
	Base     *float64       `json:"base"` // of A; null: no pair
	New      *float64       `json:"new"`
	Change   *float64       `json:"change"` // null: not tested, see why
	CI95     stats.Interval `json:"change_ci95"`
	// of latencies: that the change is at most 1 %, which copying can cause
	P        *float64        `json:"p"`
	Adjusted *float64        `json:"p_adjusted"`        // by Holm, to compare with 0.05
	Verdict  compare.Verdict `json:"verdict,omitempty"` // absent = not judged, see why
	Margin   float64         `json:"margin"`
	// NoChangeWithin is the largest change either way, for "no change".
	NoChangeWithin float64 `json:"no_change_within"`
	// in all, to detect a change of the margin, for "inconclusive"; 0 = unknown
	NeedPairs int    `json:"need_pairs"`
	Why       string `json:"why"`

	scale    compare.Scale
	stat     metric.Stat
	contrast stats.Contrast
}

// Values of Figure.Turns.
const (
	firstTurns = "first"
	laterTurns = "later"
)

const (
	ratioMargin = 0.05 // of a ratio
	shareMargin = 0.01 // of the error rate
	// byCopying is how much a latency can differ because B gets copies: it prefills A's earlier answers, which A has in
	// its cache, beside all its requests. Up to it no latency is better or worse.
	byCopying = 0.01
	// gatedShare of the risk is the gated figures'. The rest is for all others together: what they find is a hint.
	gatedShare = 0.8
)

// laterTurnsWhy is why figures with a prefill of later turns have no verdict.
const laterTurnsWhy = "B must prefill A's earlier answers, which A has in its cache"

// specs are the figures in their order.
var specs = []struct {
	key, turns string
	gated      bool
}{
	{"ttft_mean", firstTurns, true}, {"tpot_mean", "", true}, {metric.ErrorRate, "", true},
	{"e2e_mean", firstTurns, false}, {"output_tokens_mean", "", false},
	{"ttft_p50", firstTurns, false}, {"ttft_p95", firstTurns, false}, {"ttft_p99", firstTurns, false},
	{"tpot_p50", "", false}, {"tpot_p95", "", false}, {"tpot_p99", "", false},
	{"e2e_p50", firstTurns, false}, {"e2e_p95", firstTurns, false}, {"e2e_p99", firstTurns, false},
	{"ttft_mean", laterTurns, false}, {"e2e_mean", laterTurns, false},
}

// figuresOf are the figures of pairs, with verdicts at the risk of a false alarm over all figures.
func figuresOf(used []*pair) []Figure {
	ordered := slices.SortedStableFunc(slices.Values(used),
		func(a, b *pair) int { return cmp.Compare(a.sent[0], b.sent[0]) })
	out := []Figure{}
	for _, x := range specs {
		name, stat := metric.Cut(x.key)
		f := Figure{scale: compare.Scale{Metric: metric.ByName(name)}, stat: stat, Name: x.key, Turns: x.turns,
			Unit: "ms", Gated: x.gated, Margin: ratioMargin, CI95: stats.Interval{Lo: math.Inf(-1), Hi: math.Inf(1)}}
		p := sampleOf(ordered, name, x.turns)
		f.Pairs = len(p.A)
		share, isPercentile := stat.P()
		switch {
		// A percentile takes enough pairs.
		case f.Pairs > 0 && (!isPercentile || f.Pairs >= stats.MinSamples(share, compare.Confidence)):
			f.Sessions = len(slices.Compact(slices.Sorted(slices.Values(p.Cluster))))
			f.test(p)
		case x.gated:
			f.Verdict, f.Why = compare.Inconclusive, "no pair has it"
		default:
			continue
		}
		out = append(out, f)
	}
	judge(out)
	return out
}

// sampleOf are the values of a metric on both sides, in order of time.
func sampleOf(ordered []*pair, metric, turns string) stats.Pairs {
	var out stats.Pairs
	k := slices.Index(metrics[:], metric)
	for _, p := range ordered {
		if turns != "" && (turns == firstTurns) != (p.turn <= 1) {
			continue
		}
		a, b := share01(p.failed[0]), share01(p.failed[1])
		if k >= 0 {
			a, b = p.values[k][0], p.values[k][1]
			if p.blocked || math.IsNaN(a) || math.IsNaN(b) {
				continue
			}
		}
		cluster := p.session
		if cluster == 0 { // without a session each request is a cluster
			cluster = -1 - len(out.Cluster)
		}
		out.A, out.B, out.Cluster = append(out.A, a), append(out.B, b), append(out.Cluster, cluster)
	}
	return out
}

func share01(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

func (f *Figure) test(p stats.Pairs) {
	f.Unit = f.scale.Unit
	share, isQuantile := f.stat.P()
	switch {
	case f.scale.IsShare():
		f.Margin = shareMargin
		f.contrast = stats.DifferenceOfShares(p)
	case isQuantile:
		f.contrast = stats.RatioOfQuantiles(p, share)
	default:
		f.contrast = stats.RatioOfMeans(p)
	}
	side := func(values []float64) *float64 {
		if isQuantile {
			return new(stats.Quantile(slices.Sorted(slices.Values(values)), share))
		}
		return new(stat.Mean(values, nil))
	}
	f.Base, f.New = side(p.A), side(p.B)
	if f.contrast.DF <= 0 || math.IsNaN(f.contrast.P) {
		return
	}
	f.P, f.Change = new(f.contrast.PBeyond(f.least())), new(f.scale.Change(f.contrast.Difference))
	f.CI95 = f.scale.Changes(f.contrast.Interval(compare.Confidence))
}

// least is the largest difference, on the scale of comparison, that copying alone explains.
func (f *Figure) least() float64 {
	if f.Unit != "ms" {
		return 0
	}
	return math.Log1p(byCopying)
}

func (f *Figure) judged() bool { return f.Turns != laterTurns }

// Metric is the figure as one of a comparison of runs, for what draws it.
func (f *Figure) Metric() *compare.Metric {
	return &compare.Metric{Name: f.Name, Unit: f.Unit, Base: f.Base, New: f.New, Change: f.Change, CI95: f.CI95,
		Test: compare.ByPairs, P: f.P, Adjusted: f.Adjusted, Verdict: f.Verdict, NoChangeWithin: f.NoChangeWithin,
		Margin: f.Margin, NeedRuns: f.NeedPairs, Why: f.Why, Neutral: f.scale.Neutral()}
}

// judge gives every figure its verdict. The probability of even one false alarm is risk: gated figures share
// most of it, the others the rest, each family by Holm. Adjusted p-values compare with risk.
func judge(figures []Figure) {
	for _, gated := range []bool{true, false} {
		part := compare.Risk * gatedShare
		if !gated {
			part = compare.Risk - part
		}
		var family []*Figure
		var p []float64
		for i := range figures {
			f := &figures[i]
			if f.Gated == gated && f.judged() && f.P != nil {
				family, p = append(family, f), append(p, *f.P)
			}
		}
		for i, adjusted := range stats.Holm(p) {
			family[i].Adjusted = new(min(1, adjusted*compare.Risk/part))
			family[i].judge(part, len(family))
		}
	}
	for i := range figures {
		f := &figures[i]
		switch {
		case !f.judged():
			f.Why = laterTurnsWhy
		case f.P == nil && f.Why == "":
			f.Verdict, f.NeedPairs = compare.Inconclusive, 0
			f.Why = "the values that it depends on are of a few moments or conversations only"
			if f.Pairs < stats.LeastPairs || f.Sessions < stats.LeastGroups {
				f.Why = fmt.Sprintf("too few pairs: at least %d of %d conversations are needed", stats.LeastPairs,
					stats.LeastGroups)
			}
		}
	}
}

// judge sets the verdict of a figure that is one of a family with a risk.
func (f *Figure) judge(part float64, family int) {
	// the largest change either way that the data leave, each way at a confidence of 1 − part
	iv := f.scale.Changes(f.contrast.Interval(1 - 2*part))
	farthest := max(-iv.Lo, iv.Hi)
	switch f.Verdict = f.scale.Judge(*f.Change, *f.Adjusted, farthest, f.Margin); f.Verdict {
	case compare.Changed:
		f.Why = compare.NoDirection
	case compare.NoChange:
		f.NoChangeWithin = farthest
	case compare.Inconclusive:
		f.NeedPairs = f.need(part / float64(family))
		f.Why = "the interval includes no change and more than the margin"
		if *f.P <= compare.Risk {
			f.Why = "significant alone, but not among all figures"
		}
	}
}

// need is the number of pairs, in all, with which a change of the margin is detected; 0 = unknown.
func (f *Figure) need(level float64) int {
	times := f.contrast.Detectable(level, compare.Power) / (f.scale.Distance(f.Margin) - f.least())
	if n := float64(f.Pairs) * max(1.1, times*times); n < 1e9 {
		step := math.Pow(10, math.Floor(math.Log10(n))-1)
		return int(math.Ceil(n/step) * step)
	}
	return 0
}
