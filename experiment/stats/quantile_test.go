package stats

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

var inf = math.Inf(1)

// sample is n values of a linear congruential generator, easy to build again elsewhere:
// x = (1103515245·x + 12345) mod 2³¹ from 12345, over 1000.
func sample(n int) []float64 {
	x := uint64(12345)
	values := make([]float64, n)
	for i := range values {
		x = (1103515245*x + 12345) % (1 << 31)
		values[i] = float64(x) / 1000
	}
	return values
}

func ordered(values []float64) []float64 { return slices.Sorted(slices.Values(values)) }

// The figures are printed by numpy 2.4.6: [float(np.quantile(v, p)) for p in …], and compared to the last
// bit.
func TestQuantileEqualsNumpy(t *testing.T) {
	ps := []float64{0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1}
	tests := []struct {
		name   string
		values []float64
		want   []float64
	}{
		{"ten", []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10},
			[]float64{1.0, 1.9, 3.25, 5.5, 7.75, 9.1, 9.549999999999999, 9.91, 9.991, 10.0}},
		{"mixed", []float64{0.1, 0.2, 0.30000000000000004, 1e-3, 7.7, 123.456, 1e6, 3.3},
			[]float64{0.001, 0.07030000000000002, 0.17500000000000002, 1.7999999999999998, 36.639,
				300086.41919999983, 650043.2095999995, 930008.6419199997, 993000.8641920004, 1000000.0}},
		{"1000", sample(1000),
			[]float64{339.727, 203802.99000000002, 533343.9735000001, 1069681.8835, 1594989.4022499998,
				1916904.2981999998, 2014447.8699, 2121323.66647, 2143027.793418, 2146181.055}},
		{"1537", sample(1537),
			[]float64{339.727, 215124.6014, 541765.144, 1076644.054, 1608358.04, 1933234.9534000002,
				2024040.2885999999, 2121153.36416, 2142114.2903119996, 2146181.055}},
		{"one", []float64{7}, []float64{7, 7, 7, 7, 7, 7, 7, 7, 7, 7}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			sorted := ordered(tt.values)
			for i, p := range ps {
				if got := Quantile(sorted, p); got != tt.want[i] {
					t.Errorf("Quantile(p=%v) = %v, numpy has %v", p, got, tt.want[i])
				}
			}
		})
	}
}

func TestQuantileOfNothing(t *testing.T) {
	nan := math.NaN()
	tests := []struct {
		name   string
		sorted []float64
		p      float64
	}{
		{"empty", nil, 0.5},
		{"p below 0", []float64{1}, -0.1},
		{"p above 1", []float64{1}, 1.1},
		{"p NaN", []float64{1}, nan},
		{"a NaN among them", []float64{nan, 1, 2}, 0.5},
	}
	for _, tt := range tests {
		if got := Quantile(tt.sorted, tt.p); !math.IsNaN(got) {
			t.Errorf("%s: got %v, want NaN", tt.name, got)
		}
	}
}

func TestQuantileOfMissing(t *testing.T) {
	tests := []struct {
		name    string
		sorted  []float64
		missing int
		p, want float64
	}{
		{"none missing", []float64{1, 2, 3}, 0, 0.5, 2},
		{"nothing at all", nil, 2, 0.5, inf},
		{"falls on the last value", []float64{1, 2, 3}, 2, 0.5, 3},
		{"between a value and a missing one", []float64{1, 2, 3}, 3, 0.5, inf},
		{"falls on a missing one", []float64{1, 2}, 3, 0.5, inf},
		{"below the missing ones", []float64{1, 2, 3}, 3, 0.3, 2.5},
		{"the largest", []float64{1, 2}, 1, 1, inf},
		{"the smallest", []float64{1, 2}, 1, 0, 1},
		{"2 of 101 leave p95 alone", slices.Repeat([]float64{4}, 99), 2, 0.95, 4},
		{"2 of 101 make p99 infinite", slices.Repeat([]float64{4}, 99), 2, 0.99, inf},
		{"1 of 101 leaves p99 on the last value", slices.Repeat([]float64{4}, 100), 1, 0.99, 4},
	}
	for _, tt := range tests {
		padded := append(slices.Clone(tt.sorted), slices.Repeat([]float64{inf}, tt.missing)...)
		if got := Quantile(padded, tt.p); got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}

// latencies draws finite values of the sizes that latencies have, many of them equal.
func latencies(minLen int) *rapid.Generator[[]float64] {
	value := rapid.OneOf(rapid.Float64Range(0, 1e7), rapid.Map(rapid.IntRange(0, 5), func(i int) float64 { return float64(i) / 10 }))
	return rapid.SliceOfN(value, minLen, 300)
}

func TestQuantileProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sorted := ordered(latencies(1).Draw(t, "values"))
		missing := rapid.IntRange(0, 20).Draw(t, "missing")
		p := rapid.Float64Range(0, 1).Draw(t, "p")
		q := rapid.Float64Range(p, 1).Draw(t, "q")

		low, high := Quantile(sorted, p), Quantile(sorted, q)
		if low > high {
			t.Fatalf("p=%v gives %v, above p=%v with %v", p, low, q, high)
		}
		if low < sorted[0] || high > sorted[len(sorted)-1] {
			t.Fatalf("%v, %v lie outside the sample", low, high)
		}
		padded := append(slices.Clone(sorted), slices.Repeat([]float64{inf}, missing)...)
		if with := Quantile(padded, p); with < low {
			t.Fatalf("%d missing values improve p=%v from %v to %v", missing, p, low, with)
		}
	})
}
