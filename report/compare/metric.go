package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"bench/experiment"
	"bench/experiment/metric"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

type Verdict string

const (
	Better       Verdict = "better"
	Worse        Verdict = "worse"
	NoChange     Verdict = "no change"    // the change is within the margin, at 95 % confidence
	Inconclusive Verdict = "inconclusive" // Metric.NeedRuns would decide
	Changed      Verdict = "changed"      // a figure of which neither more nor less is better
)

const (
	ByRuns  = "runs"  // Student's t on the means of the runs
	ByPairs = "pairs" // Student's t on the differences of paired repeats
)

// Metric is one figure of one point on both sides. Changes are relative to base (0.05: 5 % more); those of
// a share (error_rate, answers_valid, answers_correct, acceptance_rate) are differences of it.
type Metric struct {
	Name       string   `json:"metric"`
	Unit       string   `json:"unit"`
	Base       *float64 `json:"base"` // median over the repeats; null: no repeat has it
	New        *float64 `json:"new"`
	BaseQuoted Quoted   `json:"base_quoted,omitzero"` // how far base carries a percentile
	NewQuoted  Quoted   `json:"new_quoted,omitzero"`
	// of these medians, whether it can be tested or not; null: a side lacks it, or base is 0
	RawChange *float64     `json:"raw_change"`
	Values    [2][]float64 `json:"repeats"` // the values of base, then those of new
	// between geometric means, or from the median of base; null: not compared, see why
	Change *float64       `json:"change"`
	CI95   stats.Interval `json:"change_ci95"`
	Test   string         `json:"test,omitempty"`
	P      *float64       `json:"p"` // null: no test was possible
	// by Holm, over all gated figures; p itself for a figure without a threshold
	Adjusted           *float64 `json:"p_adjusted"`
	SmallestDetectable *float64 `json:"smallest_detectable_change"` // with a power of 80 %; null: unknown
	Spread             *Spread  `json:"spread,omitempty"`           // between runs; absent: not compared
	Verdict            Verdict  `json:"verdict"`                    // at a risk of 5 %
	// how much worse new is at most, at 95 % confidence (0.03: 3 %); null: no bound
	NoWorseThan *float64 `json:"no_worse_than"`
	// for "no change": the largest change either way, at 95 % confidence
	NoChangeWithin float64 `json:"no_change_within"`
	// the change that matters: the gate's threshold, else the margin of all figures
	Margin float64 `json:"margin,omitempty"`
	// per side (of pairs: pairs), to detect a change of the margin, for "inconclusive"; 0: unknown, or more than a
	// thousand
	NeedRuns int `json:"need_runs"`
	// the same for a change as large as the one shown; 0 also if that is within the margin
	NeedForChange int    `json:"need_runs_for_change,omitempty"`
	Why           string `json:"why"`
	// neither more nor less is better: no verdict of better or worse
	Neutral bool `json:"neutral,omitempty"`

	Given bool `json:"given_by_rate,omitempty"` // equal by construction: both sides kept up with the arrivals

	Limited   bool                  `json:"limited,omitempty"`   // the SLO of a side limits it
	Threshold *experiment.Threshold `json:"threshold,omitempty"` // of the gate
	Gate      stats.Verdict         `json:"gate,omitempty"`

	figure                figure
	base, changed, nights [][]stats.Repeat  // by run, on the scale of comparison
	paired                [2][]stats.Repeat // the same repeats of both sides; nil: not paired
	runSpread             stats.RunSpread
	contrast              stats.Contrast
	within                stats.Interval // of the change: each end is a bound at 95 % confidence
	refused               string         // why it is not compared; empty: it is
	failed                bool           // no request of new completed
	// how new lost a figure that base has, which no ratio can say; empty: it did not
	gone        string
	onlyInvalid bool // a change beyond the threshold rests on rows that are invalid for this figure
}

// Spread is what is known of the differences between runs that nothing changed between.
type Spread struct {
	// runs, history (nights before base too), pairs, machine (its other runs), repeats (twice theirs), or assumed
	Source string `json:"source"`
	// of a run's mean (of pairs: of their difference): a share of the figure; of a share the share itself
	SD float64 `json:"sd"`
}

// Words are "spread between runs: 0.4 % taken, twice that between repeats".
func (s *Spread) Words() string {
	text := "spread between runs: " + Percent(s.SD, false)
	switch s.Source {
	case stats.SpreadOfMachine:
		return text + ", as in other runs on this machine"
	case stats.SpreadOfRepeats:
		return text + " taken, twice that between repeats"
	case stats.SpreadAssumed:
		return text + " assumed"
	}
	return text
}

func (p pair) metrics(class string, o Options) []Metric {
	out := []Metric{}
	limited := p.limited(class)
	for _, f := range figures(o.Gate, limited) {
		if f.Name == "ttfo" && f.threshold == nil && !p.thinks() {
			continue // it is ttft
		}
		if m, ok := p.metric(f, o); ok {
			m.Limited = slices.Contains(limited, f.key)
			m.Given = !m.Limited && f.threshold == nil && p.given(f.key)
			out = append(out, m)
		}
	}
	return out
}

// given reports whether an open loop that both sides kept up with sets the figure: how many requests arrive, and how
// long they are. Answers that end by themselves have their own length.
func (p pair) given(figure string) bool {
	output := strings.HasPrefix(figure, "output_tokens_per_s")
	if !output && figure != "requests_per_s" && figure != "prompt_tokens_per_s" {
		return false
	}
	return !slices.ContainsFunc(slices.Concat(p.base, p.changed), func(s sample) bool {
		spec := &s.row.Spec
		return spec.Rate <= 0 || spec.Rate.IsInf() || spec.Concurrency > 0 || output && !spec.IgnoresEOS() ||
			slices.ContainsFunc(s.row.Findings, func(f record.Finding) bool { return f.Code == "rate_not_achieved" })
	})
}

func (p pair) thinks() bool {
	return slices.ContainsFunc(slices.Concat(p.base, p.changed),
		func(s sample) bool { return s.row.Summary.Reasoning != nil })
}

func (p pair) metric(f figure, o Options) (m Metric, ok bool) {
	m = Metric{Name: f.key, Unit: f.Unit, Threshold: f.threshold, Neutral: f.Neutral(), figure: f,
		CI95: stats.Interval{Lo: math.Inf(-1), Hi: math.Inf(1)}}
	var of [2][]sample
	if f.threshold != nil {
		p.base = p.baseOf(f.key)
	}
	of[0], m.Values[0] = f.having(p.base)
	of[1], m.Values[1] = f.having(p.changed)
	m.Base, m.New = median(m.Values[0]), median(m.Values[1])
	m.BaseQuoted, m.NewQuoted = f.quoted(p.base), f.quoted(p.changed)
	m.RawChange = f.rawChange(m.Base, m.New)
	switch {
	case m.Base == nil && m.New == nil:
		return Metric{}, false
	case m.New == nil && p.allFailed():
		m.refused, m.failed = "every request of new failed", true
	case m.New == nil:
		m.refused = "only base has it"
		m.gone = m.refused
	case m.Base == nil:
		m.refused = "only new has it"
	default:
		if m.gone = f.gone(m.Values); m.gone != "" && p.allFailed() {
			m.gone, m.failed = "", true
		}
		m.refused = cmp.Or(f.definitions(p, o), m.gone, f.noRatio(m.Values), f.unlike(of))
	}
	if m.refused == "" {
		m.refused = f.tooFew(p)
	}
	if m.refused == "" {
		m.collect(p, of, o)
	}
	return m, true
}

func (m *Metric) collect(p pair, of [2][]sample, o Options) {
	f := m.figure
	nights, _ := f.having(p.showing(f.key))
	base, changed := f.scaled(of[0]), f.scaled(of[1])
	m.base, m.changed, m.nights = p.byRun(of[0], base), p.byRun(of[1], changed), p.byRun(nights, f.scaled(nights))
	m.nights = m.nights[max(0, len(m.nights)-spreadNights):]
	if o.Paired {
		m.paired = pairsOf(of, base, changed)
	}
	m.onlyInvalid = m.Threshold != nil && f.onlyInvalid(of, m.Threshold.Worse)
	m.runSpread = f.assumedSpread(o)
	switch was, is := stat.Mean(m.Values[0], nil), stat.Mean(m.Values[1], nil); {
	case f.key == metric.ErrorRate: // of the lower rate: failures that begin are no spread
		m.runSpread.SD = shareSpread * min(was, is)
	case f.absolute(): // most at one half: near 0 and 1 a share cannot vary
		mean := (was + is) / 2
		m.runSpread.SD *= 2 * math.Sqrt(mean*(1-mean))
	}
	if n := len(of[1]); 2*n <= len(p.changed) {
		m.refused = "only " + unit.Plural(n, "repeat") + " of new has it"
	}
	runs := max(len(m.base), len(m.nights)) + len(m.changed)
	if runs < 2+leastRunsOfTotals && (f.unsampled(base) || f.unsampled(changed)) {
		m.refused = "the result has no single requests: the sampling error of " + string(f.stat) + " is unknown"
	}
}

// spreadNights is the largest number of nights that show the spread: a machine that has become quieter, or louder,
// shows it after three weeks.
const spreadNights = 20

// leastRunsOfTotals is the number of runs, besides one per side, that show the sampling error of percentiles without
// requests.
const leastRunsOfTotals = 3

func (f figure) unsampled(repeats []stats.Repeat) bool {
	share, ok := f.stat.P()
	return ok && share > 0.5 && slices.ContainsFunc(repeats, func(r stats.Repeat) bool { return r.Within == 0 })
}

func (p pair) allFailed() bool {
	return len(p.changed) > 0 && !slices.ContainsFunc(p.changed, func(s sample) bool { return !s.row.AllFailed() })
}

// gone says how a throughput of base is 0 in new; empty: it is not.
func (f figure) gone(values [2][]float64) string {
	isZero := func(x float64) bool { return x == 0 }
	if f.ofSomeRows() || !f.MoreIsBetter || slices.ContainsFunc(values[0], isZero) ||
		!slices.ContainsFunc(values[1], isZero) {
		return ""
	}
	return "it is 0 in a repeat of new"
}

func (f figure) rawChange(was, is *float64) *float64 {
	switch {
	case was == nil || is == nil || !f.absolute() && *was == 0:
		return nil
	case f.absolute():
		return new(*is - *was)
	}
	return new(*is / *was - 1)
}

func (f figure) having(samples []sample) (with []sample, values []float64) {
	values = []float64{}
	for _, s := range samples {
		if x, ok := s.row.Figure(f.key); ok {
			with, values = append(with, s), append(values, x)
		}
	}
	return with, values
}

func (f figure) scaled(samples []sample) []stats.Repeat {
	out := make([]stats.Repeat, len(samples))
	for i := range samples {
		x, _ := samples[i].row.Figure(f.key)
		out[i] = stats.Repeat{Value: f.scale(x), Within: f.within(&samples[i], len(samples))}
	}
	return out
}

func median(values []float64) *float64 {
	if len(values) == 0 {
		return nil
	}
	return new(stats.Median(values))
}

// definitions is an error text if two runs define the metric differently and Options.Allow forbids that.
func (f figure) definitions(p pair, o Options) string {
	if slices.Contains(o.Allow, "definitions") {
		return ""
	}
	meaning := func(s sample) string { return cmp.Or(s.run.Definitions[f.Name], "as in docs/reading.md") }
	first := meaning(p.base[0])
	for _, s := range slices.Concat(p.base, p.changed) {
		if other := meaning(s); other != first {
			return fmt.Sprintf("metric definitions differ: %s: %s; %s: %s", p.base[0].run.Name, first, s.run.Name,
				other)
		}
	}
	return ""
}

// noRatio is why values can't be compared by their ratio; empty: they can.
func (f figure) noRatio(values [2][]float64) string {
	if f.absolute() {
		return ""
	}
	for _, x := range slices.Concat(values[0], values[1]) {
		if !(x > 0) {
			return "the value of a repeat is 0: no ratio"
		}
	}
	return ""
}

// tooFew is an error text if a percentile has too few requests for an upper bound.
func (f figure) tooFew(p pair) string {
	share, ok := f.stat.P()
	if !ok {
		return ""
	}
	counted, least := "requests", stats.MinSamples(share, Confidence)
	if f.Name == metric.SessionTime {
		counted = "sessions"
	}
	for _, s := range slices.Concat(p.base, p.changed) {
		if x := s.row.Values(f.Name); x != nil && x.N < least {
			return fmt.Sprintf("n=%d is too small for %s: a repeat needs %d %s", x.N, f.stat, least, counted)
		}
	}
	return ""
}
