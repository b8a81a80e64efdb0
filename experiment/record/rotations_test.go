package record

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// tiled is request i with a TTFT in ms and that many of its 1,000 prompt tokens from cache; < 0: not reported.
func tiled(i int, ms float64, cached int) *Record {
	r := &Record{I: i, Phase: PhaseWindow, Outcome: "ok", PromptRequested: 1000, PromptTokens: new(1000), Arrival: At(1000), First: At(1000 + int64(1000*ms))}
	if cached >= 0 {
		r.CachedTokens = &cached
	}
	return r
}

func TestCompareRotations(t *testing.T) {
	failed, cooldown, warmup := tiled(8, 9000, 0), tiled(9, 9000, 0), tiled(4, 20, 990)
	failed.Outcome, cooldown.Phase, warmup.Phase = "status", PhaseCooldown, PhaseWarmup
	wordless := tiled(10, 0, 990) // a complete answer without text has no TTFT
	wordless.First = Micros{}
	for _, c := range []struct {
		name    string
		records []*Record
		want    Rotations
		speedup float64
		answer  string
	}{
		{"nothing", nil, Rotations{}, 0, "no request after the first rotation completed"},
		{"the first alone", []*Record{tiled(0, 200, 0), tiled(1, 100, 0)},
			Rotations{First: Rotation{2, new(150.0), new(150.0), new(0.0)}}, 0, "no request after the first rotation completed"},
		{"two of each", []*Record{tiled(0, 100, 0), tiled(1, 200, 0), tiled(2, 300, 100), tiled(3, 10, 990), warmup, failed, cooldown, wordless},
			Rotations{First: Rotation{3, new(200.0), new(200.0), new(100.0 / 3000)}, Later: Rotation{3, new(15.0), new(15.0), new(0.99)}}, 200.0 / 15,
			"later rotations: TTFT 15.0 ms, 99.0 % from cache; first rotation 200 ms: 13.3× faster"},
		{"not reported", []*Record{tiled(0, 100, -1), tiled(3, 101, -1)},
			Rotations{First: Rotation{1, new(100.0), new(100.0), nil}, Later: Rotation{1, new(101.0), new(101.0), nil}}, 100.0 / 101,
			"later rotations: TTFT 101 ms, cached tokens not reported; first rotation 100 ms: no faster"},
		{"slower", []*Record{tiled(0, 100, 0), tiled(3, 250, 0)},
			Rotations{First: Rotation{1, new(100.0), new(100.0), new(0.0)}, Later: Rotation{1, new(250.0), new(250.0), new(0.0)}}, 0.4,
			"later rotations: TTFT 250 ms, 0.0 % from cache; first rotation 100 ms: 2.50× slower"},
		{"one stalled", []*Record{tiled(0, 100, 0), tiled(3, 100, 0), tiled(4, 100, 0), tiled(5, 400, 0)},
			Rotations{First: Rotation{1, new(100.0), new(100.0), new(0.0)}, Later: Rotation{3, new(200.0), new(100.0), new(0.0)}}, 0.5,
			"later rotations: TTFT 200 ms, 0.0 % from cache; first rotation 100 ms: no faster"},
		{"half of it hits", []*Record{tiled(0, 100, 0), tiled(3, 100, 0), tiled(4, 10, 990), tiled(5, 100, 0)},
			Rotations{First: Rotation{1, new(100.0), new(100.0), new(0.0)}, Later: Rotation{3, new(70.0), new(100.0), new(0.33)}}, 100.0 / 70,
			"later rotations: TTFT 70.0 ms, 33.0 % from cache; first rotation 100 ms: 1.43× faster"},
		{"the first all failed", []*Record{tiled(3, 10, 990)},
			Rotations{Later: Rotation{1, new(10.0), new(10.0), new(0.99)}}, 0, "later rotations: 99.0 % from cache"},
	} {
		got := CompareRotations(c.records, 3)
		if diff := cmp.Diff(&c.want, got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
		if x := got.Speedup(); x != c.speedup {
			t.Errorf("%s: speed-up %v, want %v", c.name, x, c.speedup)
		}
		if x := got.Answer(); x != c.answer {
			t.Errorf("%s: %s, want %s", c.name, x, c.answer)
		}
	}
}

func TestRotationSpans(t *testing.T) {
	records := []*Record{tiled(0, 200, 0), tiled(1, 100, 0), tiled(2, 10, 990), tiled(5, 30, 500), tiled(4, 20, 1000)}
	r2, r3 := Rotation{1, new(10.0), new(10.0), new(0.99)}, Rotation{2, new(25.0), new(25.0), new(0.75)}
	first := Rotation{2, new(150.0), new(150.0), new(0.0)}
	for most, want := range map[int][]RotationSpan{
		10: {{1, 1, first}, {2, 2, r2}, {3, 3, r3}},
		1:  {{1, 1, first}, {2, 3, Rotation{3, new(20.0), new(20.0), new(0.83)}}},
	} {
		if diff := cmp.Diff(want, RotationSpans(records, 2, most)); diff != "" {
			t.Errorf("at most %d: %s", most, diff)
		}
	}
	if got := RotationSpans(nil, 2, 10); got != nil {
		t.Errorf("no request: %+v", got)
	}
	if got := RotationSpans(records, 0, 10); got != nil {
		t.Errorf("no context: %+v", got)
	}
}

// Spans cover every completed request once, in order, whatever their length; the first one is the first rotation.
func TestRotationSpansCoverAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		contexts, most := rapid.IntRange(1, 9).Draw(t, "contexts"), rapid.IntRange(1, 20).Draw(t, "most")
		var records []*Record
		for i := range rapid.IntRange(1, 300).Draw(t, "requests") {
			records = append(records, tiled(i, 10, 0))
		}
		spans := RotationSpans(records, contexts, most)
		sum, before := 0, 0
		for _, s := range spans {
			if s.From != before+1 || s.To < s.From || s.Requests > contexts*(s.To-s.From+1) {
				t.Fatalf("%+v after rotation %d", s, before)
			}
			sum, before = sum+s.Requests, s.To
		}
		if sum != len(records) || len(spans) > most+1 || spans[0].To != 1 || before != (len(records)+contexts-1)/contexts {
			t.Fatalf("%d of %d requests in %+v", sum, len(records), spans)
		}
	})
}
