package page

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bench/experiment/record"
)

// drawnLines are the names, panels and points of a chart's series: x and y of each.
func drawnLines(t *testing.T, c chart) (out []string) {
	t.Helper()
	for _, s := range c.Option["series"].([]any) {
		b, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var line struct {
			Name  string `json:"name"`
			Panel int    `json:"yAxisIndex"`
			Data  [][]any
			Views map[string]struct{ Data [][]any }
		}
		if err := json.Unmarshal(b, &line); err != nil {
			t.Fatal(err)
		}
		text := line.Name
		if line.Panel > 0 {
			text += " below"
		}
		for _, d := range line.Data {
			text += " " + string(mustJSON(t, d[:2]))
		}
		for _, view := range []string{"a-r1", "b-r1"} {
			for _, d := range line.Views[view].Data {
				text += " " + view + string(mustJSON(t, d[:2]))
			}
		}
		out = append(out, text)
	}
	return out
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestTilingChart(t *testing.T) {
	first := record.RotationSpan{From: 1, To: 1, Rotation: record.Rotation{Requests: 6, TTFTMeanMs: new(223.0), TTFTP50Ms: new(220.0), CachedRate: new(0.0)}}
	later := record.RotationSpan{From: 2, To: 5, Rotation: record.Rotation{Requests: 24, TTFTMeanMs: new(15.1), TTFTP50Ms: new(14.8), CachedRate: new(0.995)}}
	row := func(id string, spans ...record.RotationSpan) observed {
		return observed{row: &record.Row{ID: id}, rotations: spans}
	}
	blind := first // the server reports no cached tokens
	blind.CachedRate = nil
	for name, c := range map[string]struct {
		rows   []observed
		lines  []string
		units  []string
		picked string
	}{
		"no tiling": {rows: []observed{row("a-r1")}},
		"one row": {rows: []observed{row("x-r1"), row("a-r1", first, later)}, units: []string{"ms", "share"},
			lines: []string{"TTFT mean [1,223] [3.5,15.1]", "TTFT p50 [1,220] [3.5,14.8]", "hit rate below [1,0] [3.5,0.995]"}},
		"not reported": {rows: []observed{row("a-r1", blind)}, units: []string{"ms"}, lines: []string{"TTFT mean [1,223]", "TTFT p50 [1,220]"}},
		"two rows": {rows: []observed{row("a-r1", first), row("b-r1", later)}, units: []string{"ms", "share"}, picked: "b-r1",
			lines: []string{"TTFT mean a-r1[1,223] b-r1[3.5,15.1]", "TTFT p50 a-r1[1,220] b-r1[3.5,14.8]", "hit rate below a-r1[1,0] b-r1[3.5,0.995]"}},
	} {
		got := tilingChart(c.rows, "b-r1")
		if c.lines == nil {
			if got.Option != nil {
				t.Errorf("%s: it is drawn", name)
			}
			continue
		}
		if diff := cmp.Diff(c.lines, drawnLines(t, got)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if diff := cmp.Diff(c.units, got.UnitsY); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if n := len(got.Option["grid"].([]any)); n != len(c.units) {
			t.Errorf("%s: %d panels", name, n)
		}
		if c.picked != "" && (len(got.Choices) != 1 || got.Choices[0].First != c.picked) || c.picked == "" && got.Choices != nil {
			t.Errorf("%s: choices %+v", name, got.Choices)
		}
	}
	if tip := rotationTip(later); tip != "rotations 2 to 5, 24 requests\nTTFT mean 15.1 ms, p50 14.8 ms\nhit rate 99.5 %" {
		t.Errorf("tip %q", tip)
	}
}
