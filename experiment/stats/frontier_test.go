package stats

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestFrontier(t *testing.T) {
	nan := math.NaN()
	tests := []struct {
		name   string
		points []Point
		want   []int
	}{
		{"none", nil, nil},
		{"one", []Point{{1, 1}}, []int{0}},
		{"a chain", []Point{{3, 30}, {1, 10}, {2, 20}}, []int{1, 2, 0}},
		{"one dominates all", []Point{{3, 1}, {1, 3}, {2, 2}}, []int{1}},
		{"same cost, more gain", []Point{{1, 1}, {1, 2}}, []int{1}},
		{"same gain, less cost", []Point{{2, 1}, {1, 1}}, []int{1}},
		{"equal points stay together", []Point{{1, 1}, {2, 2}, {1, 1}}, []int{0, 2, 1}},
		{"not finite", []Point{{nan, 9}, {1, nan}, {-inf, 1}, {1, inf}, {2, 2}}, []int{4}},
	}
	for _, tt := range tests {
		if got := Frontier(tt.points); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestFrontierAgainstBruteForce(t *testing.T) {
	odd := rapid.SampledFrom([]float64{math.NaN(), inf, -inf})
	value := rapid.OneOf(rapid.Map(rapid.IntRange(0, 8), func(i int) float64 { return float64(i) }), rapid.Float64Range(0, 8), odd)
	rapid.Check(t, func(t *rapid.T) {
		points := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Point {
			return Point{value.Draw(t, "cost"), value.Draw(t, "gain")}
		}), 0, 40).Draw(t, "points")

		sound := func(p Point) bool { return !math.IsNaN(p.Cost-p.Cost) && !math.IsNaN(p.Gain-p.Gain) }
		var want []int
		for i, p := range points {
			dominated := slices.ContainsFunc(points, func(q Point) bool {
				return sound(q) && q.Cost <= p.Cost && q.Gain >= p.Gain && q != p
			})
			if sound(p) && !dominated {
				want = append(want, i)
			}
		}
		slices.SortStableFunc(want, func(i, j int) int { return cmp.Compare(points[i].Cost, points[j].Cost) })
		if got := Frontier(points); !slices.Equal(got, want) {
			t.Fatalf("%v, by brute force %v", got, want)
		}
	})
}
