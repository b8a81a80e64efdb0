package verdict

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"bench/experiment"
	"bench/experiment/check"
	"bench/experiment/metric"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

func (e *Measured) judgeFigure(v *record.Verdict, q question, s *record.Summary, t experiment.Target) {
	l := q.limit
	if (l.Unit == "usd" && t.Priced() || strings.HasSuffix(l.Unit, "J")) && s.Throughput.OutputTokensPerS == 0 {
		decide(v, stats.Fail, "no output token in the window")
		return
	}
	x, missing := e.figure(l.Metric, s, t)
	if missing != "" {
		decide(v, stats.Undecided, missing)
		return
	}
	v.Value = &x
	iv, of := e.figureInterval(q, x)
	verdict := func(iv stats.Interval) stats.Verdict {
		if strings.HasPrefix(l.Metric, "min_") { // as a limit on the negative figure
			return stats.Interval{Lo: math.Nextafter(-iv.Hi, math.Inf(1)), Hi: -iv.Lo}.Against(-l.Value)
		}
		return iv.Against(l.Value)
	}
	why := fmt.Sprintf("%s over a window of %s s", unit.Brief(x, 4), unit.Brief(s.DurationS, 3))
	if iv.Lo < iv.Hi {
		v.Interval, v.Confidence = &iv, e.Spec.SLO.At()
		why = fmt.Sprintf("%s %s (%s) over a window of %s s", unit.Brief(x, 4), EndsText(iv), of,
			unit.Brief(s.DurationS, 3))
	}
	decide(v, verdict(iv), why)
	low, high := figureEnds(e.effects, l.Metric)
	for _, d := range []*end{&low, &high} {
		if at := (stats.Interval{Lo: d.figure(iv.Lo), Hi: d.figure(iv.Hi)}); !d.untouched() &&
			v.Verdict != stats.Undecided && v.Verdict != verdict(at) {
			openBy(v, d)
		}
	}
}

// figureInterval is the interval of a closed loop's throughput, or of a figure that follows from it: by 60 parts of the
// window, or, where these depend on each other, the range of tenths that all lie below half or above twice the limit.
// A row with a rate sets its throughput.
func (e *Measured) figureInterval(q question, x float64) (iv stats.Interval, of string) {
	if e.Spec.Open() || strings.HasPrefix(q.limit.Metric, "min_goodput") {
		return stats.Interval{Lo: x, Hi: x}, ""
	}
	by, tenths, bounded := e.byParts(q, x, e.Spec.SLO.At())
	if limit := q.limit.Value; !bounded && (tenths.Hi <= limit/2 || tenths.Lo > 2*limit) {
		return tenths, "by tenths"
	}
	return by, unit.Brief(100*e.Spec.SLO.At(), 4) + " %"
}

// byParts is the interval of a figure by 60 parts of the window, which dependence can leave without an end, and the
// range of its tenths.
func (e *Measured) byParts(q question, x, confidence float64) (by, tenths stats.Interval, bounded bool) {
	perS := e.inParts(q, 60)
	mean := stat.Mean(perS, nil)
	if point := (stats.Interval{Lo: x, Hi: x}); !(mean > 0) {
		return point, point, true
	}
	scaled := func(lo, hi float64) stats.Interval {
		low, high := max(0, lo/mean), hi/mean
		if metric.PerToken(q.limit.Metric) {
			low, high = 1/high, 1/low
		}
		return stats.Interval{Lo: x * low, Hi: x * high}
	}
	ten := e.inParts(q, 10)
	iv := stats.MeanInterval(perS, confidence, rand.New(rand.NewPCG(record.Seed, 3)))
	return scaled(iv.Lo, iv.Hi), scaled(slices.Min(ten), slices.Max(ten)), !math.IsInf(iv.Hi, 1)
}

// FigureInterval is the interval at 95 % of a row's figure of the whole window, with the noise of its arrivals: of a
// throughput, of what follows from one, or of answers. It has no end for other figures.
func FigureInterval(row *record.Row, records []*record.Record, key string, x float64) stats.Interval {
	about := func(*record.Record) bool { return true }
	switch key {
	case metric.RequestsPerS, metric.PromptTokensPerS, metric.OutputTokensPerS, metric.OutputTokensPerSPerGPU,
		metric.Price, metric.EnergyPerToken, metric.TokensPerJoule:
	case metric.GoodputRequestsPerS:
		key = metric.RequestsPerS
		about = func(r *record.Record) bool {
			g := record.GoodputOf([]*record.Record{r}, row.Window, row.Spec.Streams(), row.Spec.SLO.PerRequest())
			return g != nil && g.RequestsPerS > 0
		}
	case metric.AnswersValid, metric.AnswersCorrect:
		if share := row.AnswersShare(key); share != nil {
			return share.CI95
		}
		fallthrough
	default:
		return stats.Interval{Hi: math.Inf(1)}
	}
	e, q := Measured{Row: row, Records: records}, question{limit: experiment.Limit{Metric: key}, about: about}
	by, tenths, bounded := e.byParts(q, x, experiment.DefaultConfidence)
	if !bounded {
		return tenths
	}
	return by
}

func (e *Measured) inParts(q question, parts int) []float64 {
	perS := make([]float64, parts)
	for i, t := range record.ThroughputInParts(filter(e.Records, q.about), e.Window, parts) {
		switch strings.TrimPrefix(q.limit.Metric, "min_") {
		case metric.RequestsPerS:
			perS[i] = t.RequestsPerS
		case metric.PromptTokensPerS:
			perS[i] = t.PromptTokensPerS
		default:
			perS[i] = t.OutputTokensPerS
		}
	}
	return perS
}

func (e *Measured) figure(key string, s *record.Summary, t experiment.Target) (x float64, missing string) {
	name, row := strings.TrimPrefix(key, "min_"), record.Row{Summary: *s}
	switch name {
	case metric.Price:
		usd, ok := costPerMillion(s, t)
		if !ok {
			return 0, NoPrice
		}
		return usd, ""
	case metric.EnergyPerToken, metric.TokensPerJoule:
		if row.Energy, missing = check.EnergyOver(e.Row, s, t.GPUs); row.Energy == nil {
			return 0, cmp.Or(missing, noPower)
		}
	}
	x, ok := row.Figure(name)
	switch {
	case ok:
		return x, ""
	case name == metric.OutputTokensPerSPerGPU:
		return 0, "number of GPUs not specified: write gpus = 1 in [target]"
	}
	return 0, "per-request limit not specified: write [slo.each]"
}

// noPower is the reason of a row whose GPUs' power was not collected.
const noPower = "GPU power not collected: set gpu in [telemetry]"
