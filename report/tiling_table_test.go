package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/telemetry"
)

// texts are the cells of a table, and its heads with their units.
func texts(t Table) (out []string) {
	var head []string
	for _, c := range t.Columns {
		head = append(head, strings.TrimSpace(c.Head+" "+c.Unit))
	}
	out = append(out, strings.Join(head, "|"))
	for _, row := range t.Rows {
		var cells []string
		for _, c := range row {
			cells = append(cells, c.Text)
		}
		out = append(out, strings.Join(cells, "|"))
	}
	return out
}

func runOf(rows ...record.Row) *Run {
	r := &Run{Run: record.Run{Rows: rows}}
	for _, row := range rows {
		r.Manifest.Plan = append(r.Manifest.Plan, record.Planned{ID: row.ID})
	}
	return r
}

func TestTilingTable(t *testing.T) {
	tiers := record.Row{ID: "tile-r1", Rotations: &record.Rotations{
		First: record.Rotation{Requests: 6, TTFTMeanMs: new(223.0), TTFTP50Ms: new(220.0), CachedRate: new(0.0)},
		Later: record.Rotation{Requests: 120, TTFTMeanMs: new(15.1), TTFTP50Ms: new(14.8), CachedRate: new(0.995)}}}
	tiers.Server.Metrics = &telemetry.ServerUsage{PrefixQueries: new(1000.0), Tiers: telemetry.TierHits{GPU: new(20.0), External: new(975.0)}}
	old := record.Row{ID: "old-r1", Rotations: &record.Rotations{ // without p50, with a server that reports no cached tokens
		First: record.Rotation{Requests: 2, TTFTMeanMs: new(30.0)}, Later: record.Rotation{Requests: 4, TTFTMeanMs: new(60.0)}}}
	short := record.Row{ID: "short-r1", Rotations: &record.Rotations{First: record.Rotation{Requests: 1, CachedRate: new(0.0)}}}
	for name, c := range map[string]struct {
		rows []record.Row
		want []string
	}{
		"no tiling row": {[]record.Row{{ID: "a-r1"}}, []string{"rotations|n|TTFT mean ms|TTFT p50 ms|hits|speed-up"}},
		"with tiers": {[]record.Row{tiers, {ID: "a-r1"}}, []string{
			"rotations|n|TTFT mean ms|TTFT p50 ms|hits|hits GPU|hits external|speed-up",
			"tile-r1, first|6|223|220|0.0 %|–|–|–",
			"tile-r1, later|120|15.1|14.8|99.5 %|2.0 %|97.5 %|14.8×"}},
		"without": {[]record.Row{old, short}, []string{
			"rotations|n|TTFT mean ms|TTFT p50 ms|hits|speed-up",
			"old-r1, first|2|30.0|–|not reported|–",
			"old-r1, later|4|60.0|–|not reported|0.500×",
			"short-r1, first|1|–|–|0.0 %|–",
			"short-r1, later|0|–|–|–|–"}},
	} {
		if diff := cmp.Diff(c.want, texts(tilingTable(runOf(c.rows...)))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	var b bytes.Buffer
	if err := Text(&b, runOf(tiers), Screen{}); err != nil {
		t.Fatal(err)
	}
	if want := "later rotations: TTFT 15.1 ms, 99.5 % from cache; first rotation 223 ms: 14.8× faster\n"; !strings.Contains(b.String(), want) {
		t.Errorf("no %q in\n%s", want, b.String())
	}
}

// TestSteadinessCell: the lowest p has the name of what it is of.
func TestSteadinessCell(t *testing.T) {
	trends := map[string]stats.Trend{"ttft": {P: 0.2}, "in_flight": {P: 0.03}, "tpot": {P: 0.7}}
	if c := steadiness(&record.Steadiness{Trends: trends}); c.Text != "in flight 0.0300" {
		t.Errorf("%q", c.Text)
	}
	trends["e2e"] = stats.Trend{P: 0.01}
	if c := steadiness(&record.Steadiness{Trends: trends}); c.Text != "E2E 0.0100" {
		t.Errorf("%q", c.Text)
	}
}
