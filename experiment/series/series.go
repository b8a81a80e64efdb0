package series

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/unit"
	"bench/experiment/verdict"
)

// Series is the rows of one name that differ only in their load (rate or concurrency): a curve.
// It is what a run says, as data, before any renderer.
type Series struct {
	Name   string            `json:"name"`             // the row's
	Others []experiment.Axis `json:"axes,omitempty"`   // the values of the axes that are not the load
	Axis   string            `json:"axis"`             // rate, concurrency
	Closed bool              `json:"closed_loop"`      // latencies count from the slot, not from a schedule
	Prompt string            `json:"prompt_form"`      // forms are never compared in silence
	Marks  []string          `json:"marks,omitempty"`  // what sets the figures apart: cold starts, conversations, natural stop
	Cost   string            `json:"frontier_latency"` // what the frontier trades for output tokens/s, at p99: ttft; e2e without streaming

	Points   []SeriesPoint `json:"points"` // by ascending load
	Headline *int          `json:"headline"`
	Frontier []int         `json:"frontier"` // points that no other beats in both, by ascending latency; without a bound, by its lower end

	Frontiers []Frontier `json:"frontiers"` // of every pair of figures that is traded; those that dominate no other stay in Points

	SLOKnee       Knee   `json:"slo_knee"`       // the highest load that meets the SLO
	GeometricKnee Knee   `json:"geometric_knee"` // after it more load buys little more throughput
	Saturation    Knee   `json:"saturation"`     // the first load that the server does not keep up with
	Sentence      string `json:"sentence"`
}

// SeriesPoint is one load of a series, its repeats together. Figures are medians over the repeats.
type SeriesPoint struct {
	Rows []*record.Row `json:"-"`    // the repeats, in order; the caller's
	Load string        `json:"load"` // "concurrency 8", "rate 2/s", "rate inf"

	OutputTokensPerS       record.Repeats  `json:"output_tokens_per_s"`
	OutputTokensPerSPerGPU *record.Repeats `json:"output_tokens_per_s_per_gpu"` // null: the number of GPUs is not stated
	RequestsPerS           record.Repeats  `json:"requests_per_s"`
	OfferedPerS            record.Repeats  `json:"offered_requests_per_s,omitzero"` // arrivals of the window over its length
	PerUserTokensPerS      record.Repeats  `json:"per_user_tokens_per_s,omitzero"`  // 1 / tpot p50: what one of them sees; absent without tpot

	TTFT record.Percentiles `json:"ttft_ms,omitempty"`
	TPOT record.Percentiles `json:"tpot_ms,omitempty"`
	E2E  record.Percentiles `json:"e2e_ms,omitempty"`

	Valid    bool             `json:"valid"`              // no check of any repeat failed, nor one of them together
	Findings []record.Finding `json:"findings,omitempty"` // of the repeats together
	SLO      stats.Verdict    `json:"slo"`                // the worst of the repeats; empty: no SLO
	Need     int              `json:"need"`               // more requests for a decision; 0 = not a matter of count

	LoadValue float64 `json:"-"`
}

// Latency is the percentiles of ttft, tpot or e2e.
func (p *SeriesPoint) Latency(metric string) record.Percentiles {
	switch metric {
	case "ttft":
		return p.TTFT
	case "tpot":
		return p.TPOT
	case "e2e":
		return p.E2E
	}
	return nil
}

// Offered is the load as a number: slots, or requests/s; ok is false for "inf".
func (p *SeriesPoint) Offered() (load float64, ok bool) {
	return p.LoadValue, !math.IsInf(p.LoadValue, 0)
}

// Label is the series as people read it: its name and the axes that are not the load.
func (s *Series) Label() string {
	return (&experiment.Spec{Name: s.Name, Point: s.Others}).Pretty()
}

// SeriesOf sorts rows into series, in the order of their first row. The points keep pointers into rows.
func SeriesOf(rows []record.Row) []Series {
	groups := map[string][]*record.Row{}
	var order []string
	for i := range rows {
		key := seriesKey(&rows[i])
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], &rows[i])
	}
	series := make([]Series, len(order))
	for i, key := range order {
		series[i] = newSeries(groups[key])
	}
	labels := map[string]int{}
	for i := range series {
		labels[series[i].Label()]++
	}
	for i := range series {
		if labels[series[i].Label()] > 1 { // they differ in the form of their prompts
			series[i].Others = append(series[i].Others, experiment.Axis{Key: "prompt_form", Value: series[i].Prompt})
		}
	}
	return series
}

func seriesKey(r *record.Row) string {
	axis, others := experiment.LoadAxis(&r.Spec)
	return fmt.Sprintf("%q %q %q %q", r.Spec.Name, axis, others, r.PromptForm)
}

func newSeries(rows []*record.Row) Series {
	spec := &rows[0].Spec
	s := Series{Name: spec.Name, Closed: spec.Rate == 0, Prompt: rows[0].PromptForm, Cost: "e2e", Marks: marksOf(rows[0])}
	s.Axis, s.Others = experiment.LoadAxis(spec)
	if spec.Streams() {
		s.Cost = "ttft"
	}
	byLoad := map[float64][]*record.Row{}
	for _, r := range rows {
		byLoad[s.load(r)] = append(byLoad[s.load(r)], r)
	}
	for _, repeats := range byLoad {
		s.Points = append(s.Points, s.pointOf(repeats))
	}
	slices.SortFunc(s.Points, func(a, b SeriesPoint) int { return cmp.Compare(a.LoadValue, b.LoadValue) })
	s.Frontier, s.Frontiers = s.frontierIndices(), s.frontiers()
	s.SLOKnee, s.GeometricKnee, s.Saturation = s.maxLoadWithinSLO(), s.geometricKnee(), s.saturation()
	s.resample()
	s.Headline = s.headline()
	s.Sentence = s.sentence()
	return s
}

func (s *Series) load(r *record.Row) float64 {
	if s.Axis == "rate" {
		return float64(r.Spec.Rate)
	}
	return float64(r.Spec.Concurrency)
}

func (s *Series) pointOf(rows []*record.Row) SeriesPoint {
	slices.SortFunc(rows, func(a, b *record.Row) int { return cmp.Compare(a.Spec.Repeat, b.Spec.Repeat) })
	p := SeriesPoint{Rows: rows, LoadValue: s.load(rows[0]), Valid: true}
	p.Load = s.loadName(p.LoadValue)
	if rows[0].Spec.Cold() {
		p.Load = "cold starts"
	}
	var output, perGPU, requests, offered, perUser []float64
	var ttft, tpot, e2e []*stats.Summary
	for _, r := range rows {
		t := r.Summary.Throughput
		output, requests = append(output, t.OutputTokensPerS), append(requests, t.RequestsPerS)
		if t.OutputTokensPerSPerGPU != nil {
			perGPU = append(perGPU, *t.OutputTokensPerSPerGPU)
		}
		ttft, tpot, e2e = append(ttft, r.Summary.TTFT), append(tpot, r.Summary.TPOT), append(e2e, r.Summary.E2E)
		if d := r.Summary.DurationS; d > 0 {
			offered = append(offered, float64(r.Summary.Requests.Planned)/d)
		}
		if t := r.Summary.TPOT; t != nil && t.P50 > 0 {
			perUser = append(perUser, 1e3/t.P50)
		}
		p.Valid = p.Valid && r.Checks.Valid()
	}
	p.OutputTokensPerS, p.RequestsPerS, p.OfferedPerS = record.RepeatsOf(output), record.RepeatsOf(requests), record.RepeatsOf(offered)
	p.PerUserTokensPerS = record.RepeatsOf(perUser)
	if len(perGPU) > 0 {
		g := record.RepeatsOf(perGPU)
		p.OutputTokensPerSPerGPU = &g
	}
	p.TTFT, p.TPOT, p.E2E = record.PercentilesOf(ttft...), record.PercentilesOf(tpot...), record.PercentilesOf(e2e...)
	p.SLO, p.Need = verdict.SLOOf(rows...)
	if d, ok := betweenRuns(rows); ok {
		p.Findings, p.Valid = append(p.Findings, d), false
	}
	return p
}

// loadName is a load as people read it: "rate 2/s".
func (s *Series) loadName(load float64) string {
	switch {
	case math.IsInf(load, 1):
		return s.Axis + " inf"
	case s.Axis == "rate":
		return s.Axis + " " + strconv.FormatFloat(load, 'g', 4, 64) + "/s"
	}
	return s.Axis + " " + strconv.FormatFloat(load, 'g', -1, 64)
}

// headline is the point to quote: the SLO's knee, else the valid point of the highest
// throughput, else of all.
func (s *Series) headline() *int {
	if s.SLOKnee.Point != nil {
		return s.SLOKnee.Point
	}
	var best *int
	for i := range s.Points {
		p := &s.Points[i]
		if best == nil || (p.Valid && !s.Points[*best].Valid) ||
			(p.Valid == s.Points[*best].Valid && p.OutputTokensPerS.Median > s.Points[*best].OutputTokensPerS.Median) {
			best = &i
		}
	}
	return best
}

// sentence is the series in one: throughput, load, and the latency that it costs beside its limit.
func (s *Series) sentence() string {
	p := &s.Points[*s.Headline]
	text := unit.Format(p.OutputTokensPerS.Median, "output tok/s")
	if p.OutputTokensPerSPerGPU != nil {
		text += fmt.Sprintf(" (%s per GPU)", unit.Digits(p.OutputTokensPerSPerGPU.Median))
	}
	text += " at " + p.Load
	name, limit := s.limit(p)
	l, ok := p.Latency(s.Cost).Get(name)
	if !ok {
		return text + ", no request completed"
	}
	return text + fmt.Sprintf(", %s %s %s%s", s.Cost, name, l.Quoted(), limit)
}

// limit is the percentile to quote and its limit in the SLO, with what came of it: p99, unless another one alone is
// limited.
func (s *Series) limit(p *SeriesPoint) (name, text string) {
	name = "p99"
	for i := len(record.PercentileNames) - 1; i >= 0; i-- {
		q := record.PercentileNames[i]
		for _, v := range p.Rows[0].SLO {
			if v.Class != "" || v.Metric != s.Cost+"_"+q || text != "" && q != "p99" {
				continue
			}
			sign := map[string]string{string(stats.Pass): "<", string(stats.Fail): ">"}[v.Verdict]
			limit := fmt.Sprintf("%g ms", v.Limit) // as it was written, not rounded
			if v.Limit >= 1000 {
				limit = fmt.Sprintf("%g s", v.Limit/1000)
			}
			if name, text = q, " "+sign+" "+limit; sign == "" {
				text = ", undecided against " + limit
			}
		}
	}
	return name, text
}

// PointName is a point of the series as people read it: "D-saturation, concurrency 8". The load is left out where the row has but
// one; a series that was cut off after its first point has more.
func (s *Series) PointName(p *SeriesPoint) string {
	listed := slices.ContainsFunc(p.Rows, func(r *record.Row) bool { return r.Spec.Varies(s.Axis) })
	if len(s.Points) == 1 && !listed {
		return s.Label()
	}
	return s.Label() + ", " + p.Load
}
