package record

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestRowTimes(t *testing.T) {
	s := time.Second
	for _, tt := range []struct {
		name string
		m    RowTimes
		want TimeSplit
	}{
		{"every part", RowTimes{Settled: 1 * s, LoadBegan: 3 * s, Window: Window{StartUs: 4e6, EndUs: 14e6}, LoadEnded: 20 * s, Ended: 21 * s},
			TimeSplit{SettleS: 1, PrepareS: 2, WarmupS: 4, WindowS: 10, DrainS: 3, OwnS: 1, TotalS: 21}},
		{"cut in the window", RowTimes{LoadBegan: 1 * s, Window: Window{StartUs: 2e6, EndUs: 60e6}, LoadEnded: 11 * s, Ended: 11 * s},
			TimeSplit{PrepareS: 1, WarmupS: 2, WindowS: 8, TotalS: 11}},
		{"cut in the warm-up", RowTimes{Window: Window{StartUs: 1 << 52, EndUs: 1 << 52}, LoadBegan: 1 * s, LoadEnded: 6 * s, Ended: 7 * s},
			TimeSplit{PrepareS: 1, WarmupS: 5, OwnS: 1, TotalS: 7}},
		{"rounded to µs", RowTimes{Settled: 1400, LoadBegan: 1600, LoadEnded: 1600, Ended: 3499}, TimeSplit{SettleS: 1e-6, PrepareS: 1e-6, OwnS: 1e-6, TotalS: 3e-6}},
	} {
		if diff := cmp.Diff(tt.want, *tt.m.Split()); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

// TestTimeSums: whatever the moments, no part is negative, and the parts sum to the total, which is the last moment.
func TestTimeSums(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	any := func() time.Duration { return time.Duration(r.Int64N(int64(1000 * time.Second))) }
	sum := &TimeSplit{}
	for range 10_000 {
		m := RowTimes{Settled: any(), LoadBegan: any(), LoadEnded: any(), Ended: any(), Window: Window{StartUs: any().Microseconds(), EndUs: any().Microseconds()}}
		split := m.Split()
		sum.Add(split)
		parts := 0.0
		for _, p := range split.Parts() {
			if p.Seconds < 0 {
				t.Fatalf("%+v: %s %v", m, p.Name, p.Seconds)
			}
			parts += p.Seconds
		}
		last := max(m.Settled, m.LoadBegan, m.LoadEnded, m.Ended).Seconds()
		if math.Abs(parts-split.TotalS) > 1e-9 || math.Abs(last-split.TotalS) > 1e-6 {
			t.Fatalf("%+v: parts %v, total %v, last %v", m, parts, split.TotalS, last)
		}
	}
	parts := 0.0
	for _, p := range sum.Parts() {
		parts += p.Seconds
	}
	if math.Abs(parts-sum.TotalS) > 1e-3 {
		t.Errorf("summed: parts %v, total %v", parts, sum.TotalS)
	}
}
