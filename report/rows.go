package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"bench/experiment/metric"
	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/stats"
	"bench/experiment/telemetry"
	"bench/experiment/unit"
)

func loadTable(r *Run) Table {
	t := newTable("load", "Load", "row", "completed # ?failures", "failed # ?failures", "mean concurrency #",
		"window|s #", "arrivals|of scheduled, 1/s", "finish reasons", "trend|lowest p of tests ?steady",
		"Little's law ?steady")
	for _, row := range r.Live() {
		q, c := row.Summary.Requests, row.Summary.Concurrency
		mean := Cell{Text: unit.Digits(c.Mean), Title: "maximum " + unit.Count(c.Max)}
		if c.Mean == 0 {
			mean = Absent()
		}
		done, failed := count(q.Completed), Cell{Text: unit.Count(q.Failed), Tag: unit.Counts(q.Errors)}
		done.Title = fmt.Sprintf("%s planned, %s before for warm-up", unit.Count(q.Planned), unit.Count(q.Warmup))
		if q.Short > 0 {
			done.Tag = unit.Count(q.Short) + " short"
		}
		if q.Failed > 0 {
			failed.Kind = Failed
		}
		arrivals := Absent()
		if a := row.Arrivals; a != nil {
			arrivals = TextCell(unit.Digits(a.RatePerS) + " / " + unit.Digits(a.AskedPerS))
		}
		if q.TurnsLost > 0 {
			failed.Tag = joined(", ", failed.Tag, unit.Plural(q.TurnsLost, "turn")+" lost")
		}
		t.Add(TextCell(row.ID), done, failed, mean, TextCell(unit.Digits(row.Summary.DurationS)),
			arrivals, TextCell(finishes(q.Finish)), steadiness(row.Steady), littleCell(row.Little))
	}
	return t
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

func steadiness(s *record.Steadiness) Cell {
	if s == nil || len(s.Trends) == 0 {
		return Absent()
	}
	names := slices.Sorted(maps.Keys(s.Trends))
	lowest := slices.MinFunc(names, func(a, b string) int { return cmp.Compare(s.Trends[a].P, s.Trends[b].P) })
	return TextCell(metric.Words(lowest) + " " + unit.Digits(s.Trends[lowest].P))
}

func littleCell(l *record.Little) Cell {
	switch {
	case l == nil:
		return Absent()
	case !l.Consistent:
		return Cell{Text: "off by " + share(l.Off), Kind: Failed}
	}
	return TextCell("✓")
}

func sessionsTable(r *Run) Table {
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
		t.Add(TextCell(row.ID), sessionsCell(s), secondsCell(times, "p50"), secondsCell(times, "p90"),
			secondsCell(s.Percentiles(s.TurnTime), "p50"), optional(s.ToolShare, unit.Percent),
			optional(s.Interactivity, func(x record.Interactivity) string { return unit.Digits(x.TokensPerS) }),
			optional(row.Reuse, func(u record.Reuse) string {
				return fmt.Sprintf("%.1f of %s", 100*u.CachedRate, unit.Percent(u.PossibleRate))
			}))
	}
	if cut {
		t.Note = "Times are of completed sessions. The row ended in others (cut), the long ones first: " +
			"true times are longer (≥)."
	}
	return t
}

func sessionsCell(s *record.Sessions) Cell {
	c := count(s.Completed)
	for _, x := range []struct {
		n    int
		what string
	}{{s.Failed, "failed"}, {s.Left, "left"}, {s.Cut, "cut"}} {
		if x.n > 0 {
			c.Text += fmt.Sprintf(" + %d %s", x.n, x.what)
		}
	}
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
func tilingTable(r *Run) Table {
	t := newTable("tiling", "Tiling: first and later rotations", "rotations", "n #", "TTFT mean|ms # ?ttft",
		"TTFT p50|ms # ?ttft", "hits # ?reuse")
	t.Note = "Hits: cached ÷ prompt tokens."
	tiers := tiersWithHits(r)
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
		speedup := Absent()
		if times := x.Speedup(); times > 0 {
			speedup = TextCell(unit.Digits(times) + "×")
		}
		add := func(name string, x record.Rotation, rates []*float64, speedup Cell) {
			rate := Cell{Text: "not reported", Kind: Faint}
			if x.CachedRate != nil || x.Requests == 0 {
				rate = optional(x.CachedRate, unit.Percent)
			}
			cells := []Cell{TextCell(row.ID + name), count(x.Requests), known(x.TTFTMeanMs, 1), known(x.TTFTP50Ms, 1),
				rate}
			for _, i := range tiers {
				cells = append(cells, optional(rates[i], unit.Percent))
			}
			t.Add(append(cells, speedup)...)
		}
		none := make([]*float64, len(telemetry.TierNames))
		later := row.Server.Metrics.TierRates()
		if later == nil {
			later = none
		}
		add(", first", x.First, none, Absent())
		add(", later", x.Later, later, speedup)
	}
	return t
}

// tiersWithHits are indices in telemetry.TierNames; none without hits below the GPU.
func tiersWithHits(r *Run) (tiers []int) {
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

func answersTable(r *Run) Table {
	t := newTable("answers", "Answers", "row", "checked #", "valid|% #", "reasons", "correct of #", "correct|% #")
	t.Note = "Valid: of the form that the request asks for. Correct: as expected. With 95 % intervals."
	eachSummary(r, func(name string, row *record.Row, s *record.Summary) {
		if a := s.Answers; a != nil && (a.Valid != nil || a.Correct != nil) {
			checked, valid := shareCells(a.Valid)
			known, correct := shareCells(a.Correct)
			t.Add(TextCell(name), checked, valid, TextCell(unit.Counts(a.Reasons)), known, correct)
		}
		if a := row.Accuracy; a != nil && name == row.ID {
			add := func(what string, x *record.Share) {
				known, correct := shareCells(x)
				t.Add(TextCell(name+", questions "+what), Absent(), Absent(), TextCell(""), known, correct)
			}
			add("before", &a.Correct)
			for _, r := range a.Replicas {
				add("to "+r.Endpoint, &r.Correct)
			}
		}
	})
	return t
}

func shareCells(s *record.Share) (checked, share Cell) {
	if s == nil {
		return Absent(), Absent()
	}
	return count(s.Checked), with95(&s.Share, &s.CI95, unit.PercentDigits)
}

// Latencies are the latencies to show, in order: ttfo is one of them only where a point has reasoning, or a limit on
// it.
func (o *Analysis) Latencies() []string {
	if !o.answers() {
		return slices.Delete(slices.Clone(metric.Shown), 1, 2)
	}
	return metric.Shown
}

func (o *Analysis) answers() bool {
	return o.any((*series.Point).Thinks) ||
		slices.ContainsFunc(metric.Percentiles, func(name string) bool { return o.limits("ttfo", name) })
}

func reasoningTable(r *Run) Table {
	t := newTable("reasoning", "Reasoning", "row", "requests #", "unanswered #", "tokens p50 #", "p95 #",
		"answer tokens p50 #", "time p50|ms #", "p95|ms #", "TTFO p50|ms # ?ttfo")
	t.Note = "Per request with reasoning. Time: first token to first answer token. " +
		"≈: estimated by bench: the server reports no count of reasoning."
	eachSummary(r, func(name string, row *record.Row, s *record.Summary) {
		x := s.Reasoning
		if x == nil {
			return
		}
		tokens := func(s *stats.Summary, name string) Cell {
			c := tokensAt(s, name)
			if x.Estimated && s != nil {
				c.Text = "≈" + c.Text
			}
			return c
		}
		t.Add(TextCell(name), count(x.Requests), count(x.Unanswered), tokens(x.Tokens, "p50"), tokens(x.Tokens, "p95"),
			tokens(x.AnswerTokens, "p50"), tokensAt(x.TimeMs, "p50"), tokensAt(x.TimeMs, "p95"),
			tokensAt(s.Latency("ttfo"), "p50"))
	})
	return t
}

func tokensAt(s *stats.Summary, name string) Cell {
	x, ok := s.Get(name)
	if !ok {
		return Absent()
	}
	return TextCell(unit.Digits(x))
}

func eachSummary(r *Run, f func(name string, row *record.Row, s *record.Summary)) {
	for _, row := range r.Live() {
		f(row.ID, &row, &row.Summary)
		for _, parts := range []map[string]record.Summary{row.Classes, row.Categories} {
			for _, name := range slices.Sorted(maps.Keys(parts)) {
				s := parts[name]
				f(row.ID+", "+name, &row, &s)
			}
		}
	}
}

func speculationTable(r *Run) Table {
	t := newTable("speculation", "Speculative decoding", "row", "by", "draft tokens #", "accepted|% #",
		"acceptance length # ?speculation", "tokens per step # ?speculation", "TPOT p50|ms # ?tpot", "by position|%")
	t.Note = "Acceptance length: tokens of a step that verified a draft. Tokens per step: also of steps without one."
	eachSummary(r, func(name string, row *record.Row, s *record.Summary) {
		x := s.Speculation
		if name == row.ID {
			x = row.Speculation
		}
		if x == nil {
			return
		}
		positions := "" // shares in percent: "90 50 20"
		for _, share := range x.ByPosition[:min(len(x.ByPosition), 8)] {
			positions += " " + unit.Brief(100*share, 3)
		}
		t.Add(TextCell(name), TextCell(x.Source), known(x.DraftTokens, 1),
			with95(x.AcceptanceRate, x.RateCI95, unit.PercentDigits),
			with95(x.AcceptanceLength, x.LengthCI95, unit.Digits), known(x.TokensPerStep, 1),
			tokensAt(s.TPOT, "p50"), cmp.Or(TextCell(strings.TrimPrefix(positions, " ")), Absent()))
	})
	return t
}

func with95(x *float64, within *stats.Interval, digits func(float64) string) Cell {
	c := optional(x, digits)
	if x != nil && within != nil {
		c.Within = fmt.Sprintf("[%s, %s]", digits(within.Lo), digits(within.Hi))
	}
	return c
}
