package compare

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"bench/experiment/metric"
	"bench/experiment/stats"
)

// ShadowFigure is one figure of the requests that both servers answered. Its changes are as a Metric's.
type ShadowFigure struct {
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
	P        *float64 `json:"p"`
	Adjusted *float64 `json:"p_adjusted"`        // by Holm, to compare with 0.05
	Verdict  Verdict  `json:"verdict,omitempty"` // absent = not judged, see why
	Margin   float64  `json:"margin"`
	// NoChangeWithin is the largest change either way, for "no change".
	NoChangeWithin float64 `json:"no_change_within"`
	// in all, to detect a change of the margin, for "inconclusive"; 0 = unknown
	NeedPairs int    `json:"need_pairs"`
	Why       string `json:"why"`

	figure   figure
	contrast stats.Contrast
}

// Values of ShadowFigure.Turns.
const (
	FirstTurns = "first"
	LaterTurns = "later"
)

const (
	shadowMargin      = 0.05 // of a ratio
	shadowShareMargin = 0.01 // of the error rate
	// byCopying is how much a latency can differ because B gets copies: it prefills A's earlier answers, which A has in
	// its cache, beside all its requests. Up to it no latency is better or worse.
	byCopying = 0.01
	// gatedShare of the risk is the gated figures'. The rest is for all others together: what they find is a hint.
	gatedShare = 0.8
)

// laterTurnsWhy is why figures with a prefill of later turns have no verdict.
const laterTurnsWhy = "B must prefill A's earlier answers, which A has in its cache"

// shadowSpecs are the figures in their order.
var shadowSpecs = []struct {
	key, turns string
	gated      bool
}{
	{"ttft_mean", FirstTurns, true}, {"tpot_mean", "", true}, {metric.ErrorRate, "", true},
	{"e2e_mean", FirstTurns, false}, {"output_tokens_mean", "", false},
	{"ttft_p50", FirstTurns, false}, {"ttft_p95", FirstTurns, false}, {"ttft_p99", FirstTurns, false},
	{"tpot_p50", "", false}, {"tpot_p95", "", false}, {"tpot_p99", "", false},
	{"e2e_p50", FirstTurns, false}, {"e2e_p95", FirstTurns, false}, {"e2e_p99", FirstTurns, false},
	{"ttft_mean", LaterTurns, false}, {"e2e_mean", LaterTurns, false},
}

// shadowFigures are the figures of pairs, with verdicts at the risk of a false alarm over all figures.
func shadowFigures(used []*shadowPair) []ShadowFigure {
	ordered := byTime(used)
	out := []ShadowFigure{}
	for _, x := range shadowSpecs {
		of := newFigure(x.key)
		f := ShadowFigure{figure: of, Name: x.key, Turns: x.turns, Unit: "ms", Gated: x.gated, Margin: shadowMargin,
			CI95: stats.Interval{Lo: math.Inf(-1), Hi: math.Inf(1)}}
		p := shadowSample(ordered, of.Name, x.turns)
		f.Pairs = len(p.A)
		switch {
		case f.Pairs > 0 && f.carries():
			f.Sessions = distinct(p.Cluster)
			f.test(p)
		case x.gated:
			f.Verdict, f.Why = Inconclusive, "no pair has it"
		default:
			continue
		}
		out = append(out, f)
	}
	judgeShadow(out)
	return out
}

// carries reports whether the pairs are enough for a percentile.
func (f *ShadowFigure) carries() bool {
	share, ok := f.figure.stat.P()
	return !ok || f.Pairs >= stats.MinSamples(share, confidence)
}

// shadowSample are the values of a metric on both sides, in order of time.
func shadowSample(ordered []*shadowPair, metric, turns string) stats.Pairs {
	var out stats.Pairs
	k := slices.Index(shadowMetrics[:], metric)
	for _, p := range ordered {
		if turns != "" && (turns == FirstTurns) != (p.turn <= 1) {
			continue
		}
		a, b := share01(p.failed[0]), share01(p.failed[1])
		if k >= 0 {
			a, b = p.values[k][0], p.values[k][1]
			if p.blocked || math.IsNaN(a) || math.IsNaN(b) {
				continue
			}
		}
		out.A, out.B, out.Cluster = append(out.A, a), append(out.B, b), append(out.Cluster, p.session)
	}
	ownCluster(&out)
	return out
}

// ownCluster makes requests without a session, whose number is 0, a cluster each.
func ownCluster(p *stats.Pairs) {
	for i, c := range p.Cluster {
		if c == 0 {
			p.Cluster[i] = -1 - i
		}
	}
}

func share01(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

func distinct(clusters []int) int {
	return len(slices.Compact(slices.Sorted(slices.Values(clusters))))
}

func (f *ShadowFigure) test(p stats.Pairs) {
	f.Unit = f.figure.Unit
	share, isQuantile := f.figure.stat.P()
	switch {
	case f.figure.absolute():
		f.Margin = shadowShareMargin
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
	f.P, f.Change = new(f.contrast.PBeyond(f.least())), new(f.figure.change(f.contrast.Difference))
	f.CI95 = f.figure.changes(f.contrast.Interval(confidence))
}

// least is the largest difference, on the scale of comparison, that copying alone explains.
func (f *ShadowFigure) least() float64 {
	if f.Unit != "ms" {
		return 0
	}
	return math.Log1p(byCopying)
}

func (f *ShadowFigure) judged() bool { return f.Turns != LaterTurns }

// Metric is the figure as one of a comparison of runs, for what draws it.
func (f *ShadowFigure) Metric() *Metric {
	return &Metric{Name: f.Name, Unit: f.Unit, Base: f.Base, New: f.New, Change: f.Change, CI95: f.CI95, Test: ByPairs,
		P: f.P, Adjusted: f.Adjusted, Verdict: f.Verdict, NoChangeWithin: f.NoChangeWithin, Margin: f.Margin,
		NeedRuns: f.NeedPairs, Why: f.Why, Neutral: f.figure.Neutral()}
}
