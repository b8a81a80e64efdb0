package record

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"bench/experiment/metric"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

// Figure is the value of a metric's key, ttft_p95 or output_tokens_per_s. ok is false if the row has none.
func (r *Row) Figure(key string) (x float64, ok bool) {
	name, stat := metric.Cut(key)
	if stat != "" {
		x, ok := r.Values(name).Get(string(stat))
		return x, ok && !math.IsNaN(x) // another tool's summary can lack it
	}
	t := &r.Summary.Throughput
	switch name {
	case metric.ErrorRate:
		return r.Summary.FailedShare(), r.Summary.Requests.Stayed() > 0
	case metric.RequestsPerS:
		return t.RequestsPerS, true
	case metric.PromptTokensPerS:
		return t.PromptTokensPerS, true
	case metric.OutputTokensPerS:
		return t.OutputTokensPerS, true
	case metric.OutputTokensPerSPerGPU:
		return known(t.OutputTokensPerSPerGPU)
	case metric.EnergyPerToken, metric.TokensPerJoule:
		if r.Energy != nil {
			return r.Energy.figure(name), true
		}
	case metric.GoodputRequestsPerS:
		if g := r.Summary.Goodput; g != nil {
			return g.RequestsPerS, true
		}
	case metric.Interactivity:
		if r.Sessions != nil && r.Sessions.Interactivity != nil {
			return r.Sessions.Interactivity.TokensPerS, true
		}
	case metric.AnswersValid, metric.AnswersCorrect:
		if x := r.AnswersShare(name); x != nil {
			return x.Share, true
		}
	case metric.AcceptanceRate:
		return known(r.drafts().AcceptanceRate)
	case metric.AcceptanceLength:
		return known(r.drafts().AcceptanceLength)
	case metric.TokensPerStep:
		return known(r.drafts().TokensPerStep)
	}
	return 0, false
}

func known(x *float64) (float64, bool) {
	if x == nil {
		return 0, false
	}
	return *x, true
}

// GPUs is the number by which the row's figures of one GPU were divided; 0 = not specified. It can differ between
// the settings of a server.
func (r *Row) GPUs() int {
	t := r.Summary.Throughput
	if t.OutputTokensPerSPerGPU == nil || *t.OutputTokensPerSPerGPU == 0 {
		return 0
	}
	return int(math.Round(t.OutputTokensPerS / *t.OutputTokensPerSPerGPU))
}

// drafts are without a figure if the row has none.
func (r *Row) drafts() *Speculation { return cmp.Or(r.Speculation, &Speculation{}) }

// AnswersShare is the share of valid or correct answers; nil = none were checked.
func (r *Row) AnswersShare(name string) *Share {
	a := cmp.Or(r.Summary.Answers, &Answers{})
	if name == metric.AnswersValid {
		return a.Valid
	}
	return a.Correct
}

// Values are those of a metric with statistics; nil = the row has none.
func (r *Row) Values(name string) *stats.Summary {
	switch name {
	case metric.SessionTime:
		return cmp.Or(r.Sessions, &Sessions{}).Time
	case metric.ReasoningTokens:
		return cmp.Or(r.Summary.Reasoning, &Reasoning{}).Tokens
	}
	return r.Summary.Latency(name)
}

// Repeats is one figure of a point: its value in each repeat that has it, their median and their spread.
type Repeats struct {
	Values []float64     `json:"values"`
	Median float64       `json:"median"`
	Spread *stats.Spread `json:"spread,omitempty"` // absent = one repeat
}

type Percentile struct {
	Name string `json:"name"` // p50 … p999
	Repeats
	CI95  stats.Interval `json:"ci95"`  // from the lowest to the highest end of the repeats' intervals
	N     int            `json:"n"`     // requests of the repeat with the fewest
	Grade stats.Grade    `json:"grade"` // the worst of the repeats
}

type Percentiles []Percentile

func (ps Percentiles) Get(name string) (Percentile, bool) {
	i := slices.IndexFunc(ps, func(p Percentile) bool { return p.Name == name })
	if i < 0 {
		return Percentile{}, false
	}
	return ps[i], true
}

func RepeatsOf(values []float64) Repeats {
	sorted := slices.Sorted(slices.Values(values))
	if len(sorted) == 0 {
		return Repeats{}
	}
	return Repeats{Values: values, Median: stats.Quantile(sorted, 0.5), Spread: stats.SpreadOf(values)}
}

// PercentilesOf takes each percentile from each repeat. Pooled requests would hide the difference between repeats.
func PercentilesOf(samples ...*stats.Summary) Percentiles {
	samples = slices.DeleteFunc(slices.Clone(samples), func(s *stats.Summary) bool { return s == nil })
	if len(samples) == 0 {
		return nil
	}
	var ps Percentiles
	for _, name := range metric.Percentiles {
		p := Percentile{Name: name, N: math.MaxInt, CI95: stats.Interval{Lo: math.Inf(1), Hi: math.Inf(-1)}}
		var values []float64
		for _, s := range samples {
			x, _ := s.Get(name)
			if math.IsNaN(x) { // results of other tools can lack it
				continue
			}
			values = append(values, x)
			ci, ok := s.CI95[name]
			if !ok {
				ci = stats.Interval{Lo: math.Inf(-1), Hi: math.Inf(1)}
			}
			p.N, p.Grade = min(p.N, s.N), p.Grade.Worst(s.Grade(name))
			p.CI95.Lo, p.CI95.Hi = min(p.CI95.Lo, ci.Lo), max(p.CI95.Hi, ci.Hi)
		}
		p.Repeats = RepeatsOf(values)
		if len(values) > 0 {
			ps = append(ps, p)
		}
	}
	return ps
}

// Mark is how to quote the percentile: without a mark; "~" if the sample is thin; "≥" with the lower end of
// its interval if n is too small for an upper end. ok is false if n is too small for both.
func (p Percentile) Mark() (mark string, ms float64, ok bool) {
	switch {
	case p.Grade == stats.Sound:
		return "", p.Median, true
	case p.Grade == stats.Thin:
		return "~", p.Median, true
	}
	return "≥", p.CI95.Lo, !math.IsInf(p.CI95.Lo, 0)
}

func (p Percentile) String() string { return p.value() + p.sample() }

func (p Percentile) WithIntervalAndN() string { return p.quoted() + p.sample() }

// WithInterval is the percentile and its interval, "127 ms", "[120, 141]", or what an interval needs: "≥127 ms", "(368
// needed)".
func (p Percentile) WithInterval() (value, within string) {
	if p.Grade == stats.NoBound {
		return p.value(), "(" + p.needed() + ")"
	}
	return p.value(), p.Within()
}

func (p Percentile) needed() string { return unit.Count(stats.NeededFor(p.Name)) + " needed" }

func (p Percentile) quoted() string {
	if p.Grade == stats.NoBound { // ≥ is the interval
		return p.value()
	}
	return strings.TrimSpace(p.value() + " " + p.Within())
}

func (p Percentile) value() string {
	mark, ms, ok := p.Mark()
	if !ok {
		return "unknown"
	}
	return mark + unit.Format(ms, "ms")
}

func (p Percentile) sample() string {
	switch n := unit.Count(p.N); p.Grade {
	case stats.Sound:
		return " (n=" + n + ")"
	case stats.Thin:
		return " (n=" + n + ": thin)"
	default:
		return " (n=" + n + ", " + p.needed() + ")"
	}
}

// Within is the 95 % interval in the unit that Format gives the percentile: "[760, 910]", with a dash for an
// unbounded end; empty if both are unbounded.
func (p Percentile) Within() string {
	lo, hi := p.CI95.Lo, p.CI95.Hi
	if math.IsInf(lo, 0) && math.IsInf(hi, 0) {
		return ""
	}
	scale := unit.Scale(p.Median, "ms")
	end := func(x float64) string {
		if math.IsInf(x, 0) {
			return "–"
		}
		return unit.Digits(x * scale)
	}
	return "[" + end(lo) + ", " + end(hi) + "]"
}

// Energy is what the row's GPUs took in the window, over its output tokens; prompts have their share in it.
type Energy struct {
	GPUs           int     `json:"gpus"`
	Joules         float64 `json:"energy_j"` // of all of them
	PowerW         float64 `json:"power_w"`  // mean of all of them together
	PerToken       float64 `json:"energy_j_per_output_token"`
	TokensPerJoule float64 `json:"output_tokens_per_j"` // output tok/s per W
}

// figure is the value of EnergyPerToken or TokensPerJoule.
func (e *Energy) figure(name string) float64 {
	if name == metric.EnergyPerToken {
		return e.PerToken
	}
	return e.TokensPerJoule
}
