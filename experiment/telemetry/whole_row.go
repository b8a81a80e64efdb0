package telemetry

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

// counters are the reading's counters in the order of ServerCounts.fields.
func (r *ServerReading) counters() []*float64 {
	return append([]*float64{r.Requests, r.Aborted, r.Prompt, r.Generated, r.PrefixQueries, r.PrefixHits},
		r.Tiers.List()...)
}

func (c *ServerCounts) fields() []**float64 {
	return append([]**float64{&c.Requests, &c.Aborted, &c.PromptTokens, &c.GenerationTokens, &c.PrefixQueries,
		&c.PrefixHits}, c.Tiers.fields()...)
}

// whole is the increases over the whole row; nil: a reading is missing on one side, or a counter fell.
func (r *readings) whole() *ServerCounts {
	before, after := r.edge(EdgeBefore), r.edge(EdgeAfter)
	if before == nil || after == nil {
		return nil
	}
	out := &ServerCounts{}
	for i, field := range out.fields() {
		var reset bool
		if *field, reset = r.counted(func(r *ServerReading) *float64 { return r.counters()[i] }); reset {
			return nil
		}
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
