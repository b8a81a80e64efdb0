package telemetry

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// line is readings without a gap: times and values in turn.
func line(numbers ...int64) (out []point) {
	for i := 0; i < len(numbers); i += 2 {
		out = append(out, point{us: numbers[i], v: float64(numbers[i+1])})
	}
	return out
}

// broken is the line with a gap before some of its points.
func broken(points []point, before ...int) []point {
	for _, i := range before {
		points[i].gap = true
	}
	return points
}

func TestGauge(t *testing.T) {
	points := line(0, 0, 10, 10, 20, 10, 30, 0)
	for _, c := range []struct {
		what       string
		points     []point
		start, end int64
		want       *Gauge
	}{
		{"all of it", points, 0, 30, &Gauge{Mean: 6.666667, Max: 10, Last: 0}},
		{"from the middle of one interval to that of another", points, 5, 25, &Gauge{Mean: 8.75, Max: 10, Min: 5, Last: 5}},
		{"inside one interval: what lies around it is no reading of it", points, 2, 4, nil},
		{"a reading at its end", points, 5, 10, &Gauge{Mean: 7.5, Max: 10, Min: 5, Last: 10}},
		{"longer than the readings: as far as they go", line(10, 2, 20, 4), 0, 100, &Gauge{Mean: 3, Max: 4, Min: 2, Last: 4, Covered: new(0.1)}},
		{"one reading", line(10, 2), 0, 100, &Gauge{Mean: 2, Max: 2, Min: 2, Last: 2, Covered: new(0.0)}},
		{"a gap in the middle is no straight line", broken(line(0, 4, 10, 4, 50, 0, 60, 2), 2), 0, 60, &Gauge{Mean: 2.5, Max: 4, Last: 2, Covered: new(0.333)}},
		{"the window ends in a gap", broken(line(0, 2, 10, 4, 90, 100), 2), 0, 50, &Gauge{Mean: 3, Max: 4, Min: 2, Last: 4, Covered: new(0.2)}},
		{"gaps on both sides of one reading", broken(line(0, 9, 10, 4, 20, 9), 1, 2), 5, 15, &Gauge{Mean: 4, Max: 4, Min: 4, Last: 4, Covered: new(0.0)}},
		{"none inside", line(10, 2), 20, 100, nil},
		{"none", nil, 0, 1, nil},
	} {
		if diff := cmp.Diff(c.want, gauge(c.points, c.start, c.end)); diff != "" {
			t.Errorf("%s: %s", c.what, diff)
		}
	}
}

func TestGrowth(t *testing.T) {
	points := line(0, 100, 10, 200, 20, 40, 30, 60)
	for _, c := range []struct {
		what       string
		start, end int64
		want       *float64
		resets     int
	}{
		{"before a reset", 0, 10, new(100.0), 0},
		{"over a reset: what came before it is kept, and what it then counted", 0, 30, new(160.0), 1},
		{"behind it", 20, 30, new(20.0), 0},
		{"by the straight line", 5, 8, new(30.0), 0},
		{"begun before the readings", -1, 10, nil, 0},
		{"ends behind them", 20, 31, nil, 0},
	} {
		by, resets := increase(points, c.start, c.end)
		if diff := cmp.Diff(c.want, by); diff != "" || resets != c.resets {
			t.Errorf("%s: %d resets, %s", c.what, resets, diff)
		}
	}
}

// Whatever the readings: a mean lies between the extremes, a counter that never falls grows by what it grew,
// and two halves of a window make its whole.
func TestWindowProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 20).Draw(t, "n")
		var level, counter []point
		at, total := int64(0), 0.0
		low, high := math.Inf(1), math.Inf(-1)
		for range n {
			at += rapid.Int64Range(1, 1000).Draw(t, "step")
			v := rapid.Float64Range(0, 100).Draw(t, "v")
			total += v
			low, high = min(low, v), max(high, v)
			level, counter = append(level, point{us: at, v: v}), append(counter, point{us: at, v: total})
		}
		start := rapid.Int64Range(level[0].us, at).Draw(t, "start")
		end := rapid.Int64Range(start, at).Draw(t, "end")
		inside := slices.ContainsFunc(level, func(p point) bool { return p.us >= start && p.us <= end })
		if g := gauge(level, start, end); (g == nil) == inside || inside && (g.Mean < low-1e-6 || g.Mean > high+1e-6 || g.Max < g.Mean-1e-6 || g.Max > high+1e-6) {
			t.Fatalf("%+v of %v", g, level)
		}
		all, resets := increase(counter, counter[0].us, at)
		if resets != 0 || math.Abs(*all-(counter[n-1].v-counter[0].v)) > 1e-2 {
			t.Fatalf("grew by %g with %d resets: %v", *all, resets, counter)
		}
		middle := rapid.Int64Range(start, end).Draw(t, "middle")
		a, _ := increase(counter, start, middle)
		b, _ := increase(counter, middle, end)
		whole, _ := increase(counter, start, end)
		if math.Abs(*a+*b-*whole) > 1e-2 {
			t.Fatalf("%g and %g are not %g", *a, *b, *whole)
		}
	})
}
