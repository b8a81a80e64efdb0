package telemetry

import (
	"reflect"
	"slices"
)

// Source is where samples of the server or its GPUs come from.
type Source struct {
	Name    string // URL without user info, nvidia-smi or off
	Missing string // why it gives no samples; empty: it gives them
}

// ServerUsage is what the server reported over a window: server.metrics in <row>.json. Counters are
// differences; gauges are interpolated linearly between readings, but not over gaps. Figures that the server does
// not report are absent.
type ServerUsage struct {
	Source  string `json:"source"`            // URL without user info, or "off"
	Missing string `json:"missing,omitempty"` // why there are no figures
	// whose metric names were found: vllm, sglang, tgi, trtllm, triton, llamacpp
	Engine  string `json:"engine,omitempty"`
	Samples int    `json:"samples"` // readings in the window
	Failed  int    `json:"samples_failed,omitempty"`
	// AnswerMs is how long the metrics page took to arrive. The page is read less often when it is slow.
	AnswerMs *Gauge `json:"answer_ms,omitempty"`
	Resets   int    `json:"resets,omitempty"` // counter resets in the window: the server restarted

	Running    *Gauge   `json:"running,omitempty"`            // requests in the running batch
	Waiting    *Gauge   `json:"waiting,omitempty"`            // requests in the queue
	KVUsage    *Gauge   `json:"kv_usage,omitempty"`           // used share of the KV cache, of the fullest engine
	KVCapacity *float64 `json:"kv_capacity_tokens,omitempty"` // size of the KV cache

	Preemptions   *float64 `json:"preemptions,omitempty"`    // requests that lost their place in the batch
	PrefixQueries *float64 `json:"prefix_queries,omitempty"` // looked up in the prefix cache, in prefix_unit
	// found there; cached tokens by usage are in summary.tokens
	PrefixHits *float64 `json:"prefix_hits,omitempty"`
	PrefixUnit string   `json:"prefix_unit,omitempty"` // tokens or blocks
	// hits / queries of the window, else the mean of the server's own rate
	PrefixHitRate    *float64 `json:"prefix_hit_rate,omitempty"`
	Tiers            TierHits `json:"prefix_hits_by_tier,omitzero"`
	PromptTokens     *float64 `json:"prompt_tokens,omitempty"`
	GenerationTokens *float64 `json:"generation_tokens,omitempty"` // of all clients

	Drafts         *float64 `json:"drafts,omitempty"`          // speculative decoding: draft rounds
	DraftTokens    *float64 `json:"draft_tokens,omitempty"`    // proposed tokens
	AcceptedTokens *float64 `json:"accepted_tokens,omitempty"` // accepted tokens
	// AcceptedAt are the accepted tokens by their position in the draft, from the first one.
	AcceptedAt       []float64 `json:"accepted_tokens_by_position,omitempty"`
	AcceptanceRate   *float64  `json:"acceptance_rate,omitempty"`   // accepted / proposed
	AcceptanceLength *float64  `json:"acceptance_length,omitempty"` // tokens per step: 1 + accepted / draft rounds

	// absent = no reading on both sides of the load, or a counter reset
	Whole *ServerCounts `json:"whole_row,omitempty"`
	// between the readings nearest to the window's ends, by the server's histograms
	Times ServerTimes `json:"times,omitzero"`

	Roles []RoleUsage `json:"roles,omitempty"` // by page, if there are several; the figures above combine them
}

// Speculates reports whether the server reports drafted tokens in the window.
func (u *ServerUsage) Speculates() bool {
	if u.DraftTokens != nil {
		return *u.DraftTokens > 0
	}
	return u.AcceptanceLength != nil && *u.AcceptanceLength > 1 || u.AcceptanceRate != nil && *u.AcceptanceRate > 0
}

var (
	usageFigures = fieldsOf[float64](reflect.TypeFor[ServerUsage]())
	// no counters
	levels = []string{"kv_capacity_tokens", "prefix_hit_rate", "acceptance_rate", "acceptance_length"}
)

// SummarizeServer summarizes the samples of a window, µs from their epoch. Missing: why there are no figures.
func SummarizeServer(from Source, samples []Sample, startUs, endUs int64) *ServerUsage {
	u := &ServerUsage{Source: from.Name, Missing: from.Missing}
	if from.Missing != "" {
		return u
	}
	r := readingsOf(samples, SourceServer, startUs, endUs, func(s *Sample) bool { return s.Server != nil })
	u.Samples, u.Failed, u.Missing = r.inside, r.failed, r.missing()
	if len(r.all) == 0 {
		return u
	}
	last := r.all[len(r.all)-1].Server
	u.Engine, u.KVCapacity, u.PrefixUnit = last.Engine, last.KVCapacity, last.PrefixUnit
	u.Whole = r.whole()
	u.Roles = usageOfRoles(samples, startUs, endUs)
	if r.inside == 0 { // counts around a window are not counts of the window
		return u
	}
	u.Times, _ = timesBetween(&r.nearest(startUs).Server.Times, &r.nearest(endUs).Server.Times)
	line := func(get func(*ServerReading) *float64) []point {
		return pointsOf(r.all, r.gaps, func(s *Sample) *float64 { return get(s.Server) })
	}
	named := func(name string) []point {
		return line(func(r *ServerReading) *float64 { return *r.Figure(name) })
	}
	level := func(name string) *Gauge { return gauge(named(name), startUs, endUs) }
	count := func(points []point) *float64 {
		by, resets := increase(points, startUs, endUs)
		u.Resets = max(u.Resets, resets)
		return by
	}
	u.AnswerMs = gauge(pointsOf(r.all, nil, func(s *Sample) *float64 { return new(float64(s.Span) / 1e3) }), startUs,
		endUs)
	u.Running, u.Waiting, u.KVUsage = level("running"), level("waiting"), level("kv_usage")
	for name, index := range usageFigures {
		if !slices.Contains(levels, name) {
			*at[float64](u, index) = count(named(name))
		}
	}
	for i := range last.AcceptedAt {
		by := count(line(func(r *ServerReading) *float64 {
			if i >= len(r.AcceptedAt) {
				return nil
			}
			return &r.AcceptedAt[i]
		}))
		if by == nil {
			break
		}
		u.AcceptedAt = append(u.AcceptedAt, *by)
	}
	u.PrefixHitRate = ratio(u.PrefixHits, u.PrefixQueries, level("prefix_hit_rate"))
	u.AcceptanceRate = ratio(u.AcceptedTokens, u.DraftTokens, level("acceptance_rate"))
	u.AcceptanceLength = ratio(u.AcceptedTokens, u.Drafts, nil)
	if u.AcceptanceLength != nil {
		*u.AcceptanceLength++
	} else if g := level("acceptance_length"); g != nil {
		u.AcceptanceLength = &g.Mean
	}
	if u.Resets > 0 { // sums of two runs of the server
		u.Times = ServerTimes{}
	}
	return u
}

// ratio is part / of; without these counters, the mean of the server's own gauge.
func ratio(part, of *float64, reported *Gauge) *float64 {
	switch {
	case part != nil && of != nil && *of > 0:
		return new(Round(*part / *of, 6))
	case part == nil && reported != nil:
		return &reported.Mean
	}
	return nil
}

// TierRates are the shares of the looked-up prompt tokens that each tier had, in the order of TierNames, over
// the window. nil: the server does not report tiers.
func (u *ServerUsage) TierRates() []*float64 {
	if u == nil || u.Tiers == (TierHits{}) || u.PrefixQueries == nil || *u.PrefixQueries <= 0 {
		return nil
	}
	rates := u.Tiers.List()
	for i, hits := range rates {
		if hits != nil {
			rates[i] = new(Round(*hits / *u.PrefixQueries, 6))
		}
	}
	return rates
}

// ServerCounts are the increases of the server's counters over a whole row, warm-up and cool-down included: from
// the reading before the first request to the one after the last. nil: not reported.
type ServerCounts struct {
	Requests         *float64 `json:"requests,omitempty"` // that ended
	Aborted          *float64 `json:"aborted,omitempty"`  // that ended because their client had gone
	PromptTokens     *float64 `json:"prompt_tokens,omitempty"`
	GenerationTokens *float64 `json:"generation_tokens,omitempty"`
	PrefixQueries    *float64 `json:"prefix_queries,omitempty"` // in prefix_unit
	PrefixHits       *float64 `json:"prefix_hits,omitempty"`
	Tiers            TierHits `json:"prefix_hits_by_tier,omitzero"`

	Times ServerTimes `json:"times,omitzero"` // of all requests of the row
}

var countFigures = fieldsOf[float64](reflect.TypeFor[ServerCounts]())

// whole is the increases over the whole row; nil: a reading is missing on one side, or a counter fell.
func (r *readings) whole() *ServerCounts {
	before, after := r.edge(EdgeBefore), r.edge(EdgeAfter)
	if before == nil || after == nil {
		return nil
	}
	out := &ServerCounts{}
	for name, index := range countFigures {
		by, reset := r.counted(func(r *ServerReading) *float64 { return *r.Figure(name) })
		if reset {
			return nil
		}
		*at[float64](out, index) = by
	}
	var reset bool
	if out.Times, reset = timesBetween(&before.Server.Times, &after.Server.Times); reset {
		return nil
	}
	return out
}

// counted is the increase of one counter over all readings; reset: it fell between two of them. A counter that
// only a later reading has began at 0: some servers list a counter from its first increment on.
func (r *readings) counted(get func(*ServerReading) *float64) (by *float64, reset bool) {
	first, last := 0.0, 0.0
	known := false
	for i, s := range r.all {
		v := get(s.Server)
		switch {
		case v == nil:
			continue
		case known && *v < last:
			return nil, true
		case i == 0:
			first = *v
		}
		last, known = *v, true
	}
	if !known {
		return nil, false
	}
	return new(Round(last-first, 3)), false
}
