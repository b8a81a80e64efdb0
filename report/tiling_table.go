package report

import (
	"slices"

	"bench/experiment/record"
	"bench/experiment/telemetry"
	"bench/experiment/unit"
)

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
