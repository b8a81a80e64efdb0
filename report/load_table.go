package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"bench/experiment/metric"
	"bench/experiment/record"
	"bench/experiment/telemetry"
	"bench/experiment/unit"
)

func (r *Run) loadTable() Table {
	t := newTable("load", "Load", "row", "completed # ?failures", "failed # ?failures", "mean concurrency #",
		"window|s #", "arrivals|of scheduled, 1/s", "finish reasons", "trend|lowest p of tests ?steady",
		"Little's law ?steady")
	for _, row := range r.Live() {
		q, c := row.Summary.Requests, row.Summary.Concurrency
		mean := Cell{Text: unit.Digits(c.Mean), Title: "maximum " + unit.Count(c.Max)}
		if c.Mean == 0 {
			mean = Absent()
		}
		t.Add(TextCell(row.ID), shortCell(q), failedCell(q), mean,
			TextCell(unit.Digits(row.Summary.DurationS)),
			arrivals(&row), TextCell(finishes(q.Finish)), steadiness(row.Steady), littleCell(row.Little))
	}
	return t
}

func shortCell(q record.Requests) Cell {
	c := count(q.Completed)
	c.Title = fmt.Sprintf("%s planned, %s before for warm-up", unit.Count(q.Planned), unit.Count(q.Warmup))
	if q.Short > 0 {
		c.Tag = unit.Count(q.Short) + " short"
	}
	return c
}

func failedCell(q record.Requests) Cell {
	c := count(q.Failed)
	if q.Failed > 0 {
		c.Kind = Failed
	}
	c.Tag = unit.Counts(q.Errors)
	if q.TurnsLost > 0 {
		c.Tag = strings.TrimPrefix(c.Tag+", ", ", ") + unit.Plural(q.TurnsLost, "turn") + " lost"
	}
	return c
}

// finishes are the server's finish reasons, counted if there are several: then answers ended early.
func finishes(by map[string]int) string {
	named, only := map[string]int{}, ""
	for reason, n := range by {
		only = cmp.Or(reason, "no reason")
		named[only] += n
	}
	if len(named) == 1 {
		return only
	}
	return cmp.Or(unit.Counts(named), "not reported")
}

func arrivals(row *record.Row) Cell {
	a := row.Arrivals
	if a == nil {
		return Absent()
	}
	return TextCell(unit.Digits(a.RatePerS) + " / " + unit.Digits(a.AskedPerS))
}

func steadiness(s *record.Steadiness) Cell {
	if s == nil || len(s.Trends) == 0 {
		return Absent()
	}
	names := slices.Sorted(maps.Keys(s.Trends))
	lowest := slices.MinFunc(names, func(a, b string) int { return cmp.Compare(s.Trends[a].P, s.Trends[b].P) })
	return TextCell(metric.Words(lowest) + " " + unit.Digits(s.Trends[lowest].P))
}

func littleCell(l *record.Little) Cell {
	if l == nil {
		return Absent()
	}
	c := TextCell("✓")
	if !l.Consistent {
		c = Cell{Text: "off by " + unit.Format(l.Off, "share"), Kind: Failed}
	}
	return c
}

func (r *Run) sessionsTable() Table {
	t := newTable("sessions", "Sessions: conversations and agent runs", "sessions", "n # ?sessions",
		"time p50 # ?sessions", "p90 #", "per turn # ?sessions", "tools # ?sessions",
		"E2E tok/s # ?e2e_interactivity", "hits of possible # ?reuse")
	cut := false
	for _, row := range r.Live() {
		s := row.Sessions
		if s == nil {
			continue
		}
		cut = cut || s.Cut > 0
		times := s.Percentiles(s.Time)
		hits := Absent()
		if u := row.Reuse; u != nil {
			hits = TextCell(fmt.Sprintf("%.1f of %s", 100*u.CachedRate, unit.Percent(u.PossibleRate)))
		}
		t.Add(TextCell(row.ID), sessionsCell(s), secondsCell(times, "p50"), secondsCell(times, "p90"),
			secondsCell(s.Percentiles(s.TurnTime), "p50"),
			optional(s.ToolShare, unit.Percent),
			optional(s.Interactivity, func(x record.Interactivity) string { return unit.Digits(x.TokensPerS) }), hits)
	}
	if cut {
		t.Note = "Times are of completed sessions. The row ended in others (cut), the long ones first: true times are longer (≥)."
	}
	return t
}

func sessionsCell(s *record.Sessions) Cell {
	text := unit.Count(s.Completed)
	if s.Failed > 0 {
		text += fmt.Sprintf(" + %d failed", s.Failed)
	}
	if s.Left > 0 {
		text += fmt.Sprintf(" + %d left", s.Left)
	}
	if s.Cut > 0 {
		text += fmt.Sprintf(" + %d cut", s.Cut)
	}
	c := TextCell(text)
	if s.Requests != nil {
		c.Title = unit.Digits(s.Requests.Mean) + " requests in each, on average"
	}
	return c
}

func secondsCell(ps record.Percentiles, name string) Cell {
	format := func(s float64) string { return formatMs(1000 * s) }
	return percentileCell(ps, name, format, format)
}

// tilingTable compares the first rotation of each tiling row with the later ones. Tiers have columns if one below
// the GPU has hits: servers also report tiers that they lack.
func (r *Run) tilingTable() Table {
	t := newTable("tiling", "Tiling: first and later rotations", "rotations", "n #", "TTFT mean|ms # ?ttft",
		"TTFT p50|ms # ?ttft", "hits # ?reuse")
	t.Note = "Hits: cached ÷ prompt tokens."
	tiers := r.tiersWithHits()
	for _, i := range tiers {
		t.Columns = append(t.Columns, Column{Head: "hits", Unit: telemetry.TierNames[i], Num: true, Help: "reuse"})
	}
	if len(tiers) > 0 {
		t.Note += " By tier: the server's counters over the measurement window."
	}
	t.addColumns("speed-up #")
	for _, row := range r.Live() {
		x := row.Rotations
		if x == nil {
			continue
		}
		later, speedup := row.Server.Metrics.TierRates(), Absent()
		if times := x.Speedup(); times > 0 {
			speedup = TextCell(unit.Digits(times) + "×")
		}
		t.Rows = append(t.Rows, rotationCells(row.ID+", first", x.First, tierCells(tiers, nil), Absent()),
			rotationCells(row.ID+", later", x.Later, tierCells(tiers, later), speedup))
	}
	return t
}

// tiersWithHits are indices in telemetry.TierNames; none without hits below the GPU.
func (r *Run) tiersWithHits() (tiers []int) {
	for i := range telemetry.TierNames {
		if i == 0 || slices.ContainsFunc(r.Live(), func(row record.Row) bool {
			rates := row.Server.Metrics.TierRates()
			return row.Rotations != nil && rates != nil && rates[i] != nil && *rates[i] > 0
		}) {
			tiers = append(tiers, i)
		}
	}
	if len(tiers) == 1 {
		return nil
	}
	return tiers
}

func rotationCells(name string, x record.Rotation, tiers []Cell, speedup Cell) []Cell {
	rate := Cell{Text: "not reported", Kind: Faint}
	if x.CachedRate != nil || x.Requests == 0 {
		rate = optional(x.CachedRate, unit.Percent)
	}
	cells := []Cell{TextCell(name), count(x.Requests), optional(x.TTFTMeanMs, unit.Digits),
		optional(x.TTFTP50Ms, unit.Digits), rate}
	return append(append(cells, tiers...), speedup)
}

func tierCells(shown []int, rates []*float64) (out []Cell) {
	for _, i := range shown {
		if rates == nil {
			out = append(out, Absent())
		} else {
			out = append(out, optional(rates[i], unit.Percent))
		}
	}
	return out
}
