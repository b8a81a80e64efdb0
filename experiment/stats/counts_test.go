package stats

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// micros draws samples of whole numbers: many equal ones, and some at and beyond the ends of the table.
func micros() *rapid.Generator[[]int64] {
	return rapid.SliceOf(rapid.OneOf(
		rapid.Int64Range(0, 20), rapid.Int64Range(0, 30_000), rapid.Int64Range(tableEnd-3, tableEnd+3),
		rapid.Int64Range(-5, 5), rapid.Int64Range(-1<<40, 1<<40),
	))
}

func TestCountsAreTheSampleItself(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := micros().Draw(t, "values")
		var c Counts
		values := make([]float64, len(whole))
		for i, x := range whole {
			c.Add(x)
			values[i] = float64(x) / 1e3
		}
		sorted := c.Sorted(1e3)
		if c.N() != len(whole) || sorted.size() != len(whole) {
			t.Fatalf("%d and %d of %d values", c.N(), sorted.size(), len(whole))
		}
		slices.Sort(values)
		for i, x := range values {
			if got := sorted.at(i); got != x {
				t.Fatalf("value %d is %v, want %v", i, got, x)
			}
		}
		p := rapid.Float64Range(0, 1).Draw(t, "p")
		got, want := sorted.Quantile(p), Quantile(values, p)
		if got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Fatalf("quantile %v is %v, want %v", p, got, want)
		}
		// Only mean and std may differ, in the last bits: equal values are added as one product.
		scale := 1e-13
		if n := len(values); n > 0 {
			scale *= max(-values[0], values[n-1])
		}
		if d := cmp.Diff(Summarize(values), summarize(sorted), cmpopts.EquateApprox(1e-13, scale)); d != "" {
			t.Fatal(d)
		}
	})
}

func TestCountsPercentilesAreTheSameToTheBit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := rapid.SliceOfN(rapid.Int64Range(0, 2*tableEnd), 1, 300).Draw(t, "values")
		var c Counts
		values := make([]float64, len(whole))
		for i, x := range whole {
			c.Add(x)
			values[i] = float64(x) / 1e3
		}
		got, want := summarize(c.Sorted(1e3)), Summarize(values)
		got.Mean, got.Std = want.Mean, want.Std
		if d := cmp.Diff(want, got); d != "" {
			t.Fatal(d)
		}
	})
}

// Like summary_test's: a naive sum of the products would lose the small values.
func TestCountsMeanIsAccurate(t *testing.T) {
	var c Counts
	for range 10_000 {
		c.Add(1)
	}
	c.Add(1e16)
	if got, want := summarize(c.Sorted(1)).Mean, (1e16+1e4)/10_001; got != want {
		t.Errorf("mean %v, want %v", got, want)
	}
	if s := summarize(new(Counts).Sorted(1)); s != nil {
		t.Errorf("a summary of nothing: %+v", s)
	}
}

func TestCountsGrowWithWhatIsSeen(t *testing.T) {
	var c Counts
	for _, x := range []int64{0, 1 << 11, 1 << 12, tableEnd - 1, tableEnd} {
		c.Add(x)
		if len(c.table) > tableEnd || x < tableEnd && len(c.beyond) > 0 {
			t.Errorf("after %d: a table of %d, %d beyond it", x, len(c.table), len(c.beyond))
		}
	}
	if len(c.beyond) != 1 {
		t.Errorf("%d values beyond the table, want 1", len(c.beyond))
	}
}

func BenchmarkCounts(b *testing.B) {
	values := make([]int64, 1_000_000)
	for i, x := range sample(len(values)) {
		values[i] = 5000 + int64(x)/100
	}
	b.ReportAllocs()
	for b.Loop() {
		var c Counts
		for _, x := range values {
			c.Add(x)
		}
		summarize(c.Sorted(1e3))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(values)), "ns/event")
}
