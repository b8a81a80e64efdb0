package series

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"bench/experiment"
	"bench/experiment/check"
	"bench/experiment/metric"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/unit"
	"bench/experiment/verdict"
)

// Point is one load of a series. Its figures are medians over the repeats; of a point to which a budget added longer
// repeats they are the longest one's.
type Point struct {
	Rows  []*record.Row `json:"-"`               // the repeats, in order; owned by the caller of FromRows
	Class string        `json:"class,omitempty"` // of a mix, which the figures are about; absent: all requests
	// "concurrency 8", "rate 2/s", "rate inf"; "concurrency 6.4 (requested 8)" if workers waited for the client
	Load string `json:"load"`
	// LoadParts are "concurrency 6.4" and "(requested 8)"; the second is empty where Load is the first.
	LoadParts [2]string `json:"-"`

	OutputTokensPerS record.Repeats `json:"output_tokens_per_s"`
	// null: the number of GPUs is not specified
	OutputTokensPerSPerGPU *record.Repeats `json:"output_tokens_per_s_per_gpu"`
	RequestsPerS           record.Repeats  `json:"requests_per_s"`
	// absent: the GPUs' power was not collected
	EnergyPerToken *record.Repeats `json:"energy_j_per_output_token,omitempty"`
	// arrivals in the window over its length
	OfferedPerS record.Repeats `json:"offered_requests_per_s,omitzero"`
	// interactivity, 1 / tpot p50; absent without tpot
	PerUserTokensPerS record.Repeats `json:"per_user_tokens_per_s,omitzero"`

	TTFT record.Percentiles `json:"ttft_ms,omitempty"`
	TTFO record.Percentiles `json:"ttfo_ms,omitempty"` // absent = as ttft_ms: no request had reasoning
	TPOT record.Percentiles `json:"tpot_ms,omitempty"`
	ITL  record.Percentiles `json:"itl_ms,omitempty"` // n is the number of gaps
	E2E  record.Percentiles `json:"e2e_ms,omitempty"`

	Valid    bool             `json:"valid"`              // no finding of a repeat is invalid
	Findings []record.Finding `json:"findings,omitempty"` // between the repeats

	// figures of others; absent = none for this setup and these lengths
	Published *Published `json:"published,omitempty"`

	SLO  stats.Verdict `json:"slo"`  // the worst of the repeats; empty: no SLO
	Need int           `json:"need"` // more requests until a verdict; 0: more requests do not help

	// each limit, in the order of the SLO: the worst repeat; absent: no SLO
	Limits []record.Verdict `json:"limits,omitempty"`
	// Classes of a mix, each with its own figures and limits. Absent: no class has an SLO of its own.
	Classes []Point `json:"classes,omitempty"`

	// concurrency (the mean in flight if workers waited for the client) or requests/s; +Inf: all requests at once
	LoadValue float64 `json:"-"`
}

// pointOf joins the repeats of one load. It sorts rows by repeat.
func pointOf(axis string, rows []*record.Row) Point {
	slices.SortFunc(rows, func(a, b *record.Row) int { return cmp.Compare(a.Spec.Repeat, b.Spec.Repeat) })
	p := Point{Rows: rows, LoadValue: loadOn(axis, &rows[0].Spec), Valid: true}
	p.LoadParts[0] = loadName(axis, p.LoadValue)
	if mean, ok := inFlight(rows); ok && axis == "concurrency" {
		p.LoadValue = mean
		p.LoadParts = [2]string{axis + " " + unit.Brief(mean, 3),
			fmt.Sprintf("(requested %d)", rows[0].Spec.Concurrency)}
	}
	if rows[0].Spec.IsColdStart() {
		p.LoadParts = [2]string{"cold starts"}
	}
	p.Load = strings.TrimSpace(p.LoadParts[0] + " " + p.LoadParts[1])
	var output, perGPU, requests, offered, perUser, energy []float64
	for _, r := range rows {
		p.Valid = p.Valid && r.Valid()
	}
	shown := longest(rows)
	for _, r := range shown {
		t := r.Summary.Throughput
		output, requests = append(output, t.OutputTokensPerS), append(requests, t.RequestsPerS)
		if t.OutputTokensPerSPerGPU != nil {
			perGPU = append(perGPU, *t.OutputTokensPerSPerGPU)
		}
		if r.Energy != nil {
			energy = append(energy, r.Energy.PerToken)
		}
		if d := r.Summary.DurationS; d > 0 {
			offered = append(offered, float64(r.Summary.Requests.Planned)/d)
		}
		if t := r.Summary.TPOT; t != nil && t.P50 > 0 {
			perUser = append(perUser, 1e3/t.P50)
		}
	}
	p.OutputTokensPerS, p.RequestsPerS = record.RepeatsOf(output), record.RepeatsOf(requests)
	p.OfferedPerS, p.PerUserTokensPerS = record.RepeatsOf(offered), record.RepeatsOf(perUser)
	if len(perGPU) > 0 {
		p.OutputTokensPerSPerGPU = new(record.RepeatsOf(perGPU))
	}
	if len(energy) > 0 {
		p.EnergyPerToken = new(record.RepeatsOf(energy))
	}
	for name, ps := range p.latencies() {
		if name != metric.TTFO || slices.ContainsFunc(shown, thinks) {
			*ps = percentiles(shown, "", name)
		}
	}
	p.SLO, p.Need = verdict.OfRows(rows...)
	p.Limits = verdict.EachLimit(rows...)
	if d, ok := betweenRuns(rows); ok {
		p.Findings = append(p.Findings, d)
	}
	return p
}

// longest are the repeats that count: what longer ones answer is theirs.
func longest(rows []*record.Row) []*record.Row {
	most := slices.MaxFunc(rows, func(a, b *record.Row) int {
		return cmp.Compare(a.Spec.Added, b.Spec.Added)
	}).Spec.Added
	return slices.DeleteFunc(slices.Clone(rows), func(r *record.Row) bool {
		own, _ := verdict.OfRows(r)
		return r.Spec.Added < most || (own == stats.Undecided || own != stats.Fail && r.Spec.Search != nil) &&
			slices.ContainsFunc(rows, func(o *record.Row) bool { return verdict.Longer(o, r) })
	})
}

// Shown are the repeats that the figures are from.
func (p *Point) Shown() []*record.Row { return longest(p.Rows) }

func inFlight(rows []*record.Row) (mean float64, ok bool) {
	for _, r := range rows {
		mean += r.Summary.Concurrency.Mean / float64(len(rows))
		for _, f := range r.Findings {
			ok = ok || f.Touches(record.MetricConcurrency)
		}
	}
	return mean, ok
}

// compared are the latencies whose repeats are compared. ITL is not: its gaps are not independent requests.
var compared = []string{"ttft", "tpot", "e2e"}

// percentiles of a latency over repeats, of a class of them, or of whole rows if it is empty.
func percentiles(rows []*record.Row, class, metric string) record.Percentiles {
	all := make([]*stats.Summary, len(rows))
	for i, r := range rows {
		s := &r.Summary
		if class != "" {
			s = new(r.Classes[class])
		}
		all[i] = s.Latency(metric)
	}
	return record.PercentilesOf(all...)
}

func thinks(r *record.Row) bool { return r.Summary.Reasoning != nil }

func (p *Point) Thinks() bool { return slices.ContainsFunc(p.Rows, thinks) }

func (p *Point) latencies() map[string]*record.Percentiles {
	return map[string]*record.Percentiles{metric.TTFT: &p.TTFT, metric.TTFO: &p.TTFO, metric.TPOT: &p.TPOT,
		metric.ITL: &p.ITL, metric.E2E: &p.E2E}
}

func (p *Point) Latency(name string) record.Percentiles {
	if name == metric.TTFO && !p.Thinks() {
		name = metric.TTFT
	}
	if ps := p.latencies()[name]; ps != nil {
		return *ps
	}
	if metric.IsLatency(name) {
		return percentiles(p.Shown(), p.Class, name)
	}
	return nil
}

// FiniteLoad is the load as a number, concurrency or requests/s; ok is false for "inf".
func (p *Point) FiniteLoad() (load float64, ok bool) {
	return p.LoadValue, !math.IsInf(p.LoadValue, 0)
}

func (p *Point) Completed() int {
	least := math.MaxInt
	for _, r := range p.Shown() {
		least = min(least, r.Summary.Requests.Completed)
	}
	return least
}

// MissesSLO reports whether the point is known to miss the SLO. Failed requests are what an overloaded server does;
// one that died shows nothing of its load.
func (p *Point) MissesSLO() bool {
	for _, r := range p.Rows {
		if r.ServerLost && !r.Valid() {
			return false
		}
		if slices.ContainsFunc(r.Codes(record.Invalid), func(code string) bool { return code != failedRequests }) {
			return false
		}
	}
	return p.SLO == stats.Fail
}

const failedRequests = "errors"

func (p *Point) FailsByLoad() bool {
	for _, r := range p.Rows {
		for _, v := range r.SLO {
			if v.Verdict == stats.Fail && !(experiment.Limit{Key: v.Metric}).EasierByLoad() {
				return true
			}
		}
	}
	return false
}

func (p *Point) queue() (t stats.Trend, ok bool) {
	for _, r := range p.Rows {
		if r.Steady == nil {
			continue
		}
		if t, ok := r.Steady.Trends["in_flight"]; ok && check.SignificantTrend(t) && t.Change > 0 {
			return t, true
		}
	}
	return stats.Trend{}, false
}

func MedianCost(rows []*record.Row) *record.Cost {
	costs := make([]*record.Cost, 0, len(rows))
	for _, r := range rows {
		if r.Cost == nil {
			return nil
		}
		costs = append(costs, r.Cost)
	}
	slices.SortFunc(costs, func(a, b *record.Cost) int { return cmp.Compare(a.USDPerMillion, b.USDPerMillion) })
	return costs[len(costs)/2]
}

// StepMs is the p50 of itl if each event has one token, since tpot includes other requests' prefill; else of tpot.
func StepMs(r *record.Row) (ms float64, ok bool) {
	const tolerance = 0.01 // of one token per event
	s := &r.Summary
	if s.ITL != nil && math.Abs(s.TokensPerEvent-1) <= tolerance {
		return s.ITL.P50, s.ITL.P50 > 0
	}
	if s.TPOT != nil {
		return s.TPOT.P50, s.TPOT.P50 > 0
	}
	return 0, false
}

func SameSetup(a, b *record.Roofline) bool {
	return a.Model == b.Model && a.Hardware == b.Hardware && a.GPUs == b.GPUs && a.Precision == b.Precision
}
