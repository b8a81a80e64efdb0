package stats

import (
	"math"
	"testing"
)

func TestGradeOf(t *testing.T) {
	tests := []struct {
		p           float64
		thin, sound int // the first n of that grade
	}{
		{0.5, 6, 20}, {0.9, 36, 100}, {0.95, 72, 200}, {0.99, 368, 1_000}, {0.999, 3_688, 100_000},
		{0.75, 13, 40}, {0.1, 36, 100}, {0.01, 368, 1_000}, {0.995, 736, 2_000},
	}
	for _, tt := range tests {
		if got := soundSamples(tt.p); got != tt.sound {
			t.Errorf("soundSamples(%v) = %d, want %d", tt.p, got, tt.sound)
		}
		for n, want := range map[int]Grade{
			0: NoBound, tt.thin - 1: NoBound, tt.thin: Thin, tt.sound - 1: Thin, tt.sound: Sound, 10 * tt.sound: Sound,
		} {
			if got := GradeOf(n, float64(n), tt.p); got != want {
				t.Errorf("GradeOf(%d, %v) = %s, want %s", n, tt.p, got, want)
			}
		}
	}
	// Many dependent requests are worth few, but they still bound the percentile.
	if got := GradeOf(1000, 150, 0.95); got != Thin {
		t.Errorf("1000 requests worth 150: %s", got)
	}
	for _, p := range []float64{0, 1, -1, 2, math.NaN()} {
		if got := soundSamples(p); got != math.MaxInt {
			t.Errorf("soundSamples(%v) = %d", p, got)
		}
		if got := GradeOf(1_000_000, 1e6, p); got != NoBound {
			t.Errorf("GradeOf(1000000, %v) = %s", p, got)
		}
	}
}
