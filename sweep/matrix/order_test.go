package matrix

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"bench/experiment"
)

// variantMatrix has one row of several points and repeats on several endpoints.
func variantMatrix(t *testing.T, order string, variants, points, repeats int) *Matrix {
	t.Helper()
	list := func(n int, format string) string {
		var out []string
		for i := range n {
			out = append(out, fmt.Sprintf(format, i+1))
		}
		return strings.Join(out, ", ")
	}
	return mustParse(t, fmt.Sprintf(`name = "m"
order = %q
[target]
endpoints = [%s]
[[row]]
name = "r"
input = 16
output = 4
concurrency = [%s]
requests = 5
repeats = %d
`, order, list(variants, `"host-%d:8000"`), list(points, "%d"), repeats))
}

// letters are the variants of points in order of execution: A, B, …
func letters(m *Matrix) string {
	var b strings.Builder
	for _, p := range m.Points {
		b.WriteByte(byte('A' + slices.IndexFunc(m.Variants, func(v Variant) bool { return v.Name == p.Variant })))
	}
	return b.String()
}

func TestInterleaved(t *testing.T) {
	for _, tt := range []struct {
		variants, points, repeats int
		want                      string
	}{
		{2, 1, 1, "AB"},
		{2, 1, 4, "ABBAABBA"},
		{2, 4, 1, "ABBAABBA"},
		{2, 2, 2, "ABBABAAB"}, // each point in both directions
		{3, 1, 2, "ABCCBA"},
		{3, 2, 2, "ABCCBACBAABC"},
	} {
		m := variantMatrix(t, "interleaved", tt.variants, tt.points, tt.repeats)
		if got := letters(m); got != tt.want {
			t.Errorf("%d variants, %d points, %d repeats: %s, want %s", tt.variants, tt.points, tt.repeats, got, tt.want)
		}
	}
}

// The order has the points of the order as written. With an even number of repeats a linear drift adds the
// same to every variant, of each point and of all, and every variant runs equally often in each half.
func TestInterleavedCancelsDrift(t *testing.T) {
	for variants := 2; variants <= 5; variants++ {
		for points := 1; points <= 5; points++ {
			for repeats := 1; repeats <= 6; repeats++ {
				name := fmt.Sprintf("%d variants, %d points, %d repeats", variants, points, repeats)
				m := variantMatrix(t, "interleaved", variants, points, repeats)
				listed := variantMatrix(t, "listed", variants, points, repeats)
				if got, want := slices.Sorted(slices.Values(ids(m.Points))), slices.Sorted(slices.Values(ids(listed.Points))); !slices.Equal(got, want) {
					t.Fatalf("%s: points %q, want %q", name, got, want)
				}
				if points*repeats%2 == 0 {
					whole := counts(m.Points, letters(m), func(i int, _ *experiment.Spec) (string, int) { return "all", i })
					half := len(m.Points) / 2
					first := counts(m.Points[:half], letters(m)[:half], func(int, *experiment.Spec) (string, int) { return "half", 1 })
					if !equal(whole["all"]) || !equal(first["half"]) {
						t.Errorf("%s: positions %v, in the first half %v", name, whole, first)
					}
				}
				if repeats%2 == 0 {
					for point, sums := range counts(m.Points, letters(m), func(i int, s *experiment.Spec) (string, int) { return fmt.Sprint(s.Concurrency), i }) {
						if !equal(sums) {
							t.Errorf("%s: sums of positions at concurrency %s: %v", name, point, sums)
						}
					}
				}
			}
		}
	}
}

// counts sums a value of each point by a key and by variant.
func counts(points []experiment.Spec, variants string, value func(i int, s *experiment.Spec) (string, int)) map[string]map[byte]int {
	out := map[string]map[byte]int{}
	for i := range points {
		key, n := value(i, &points[i])
		if out[key] == nil {
			out[key] = map[byte]int{}
		}
		out[key][variants[i]] += n
	}
	return out
}

func equal(sums map[byte]int) bool {
	values := slices.Collect(maps.Values(sums))
	return len(values) > 1 && slices.Min(values) == slices.Max(values)
}

// Rows may have different numbers of repeats; each point alternates by its own.
func TestInterleavedRepeats(t *testing.T) {
	text := `name = "m"
order = "interleaved"
[target]
endpoints = ["a:1", "b:1"]
[defaults]
input = 16
output = 4
requests = 5
concurrency = 1
[[row]]
name = "once"
[[row]]
name = "often"
repeats = 3
`
	m := mustParse(t, text)
	var often strings.Builder
	for i, c := range letters(m) {
		if m.Points[i].Name == "often" {
			often.WriteRune(c)
		}
	}
	if often.String() != "BAABBA" || len(m.Points) != 8 {
		t.Errorf("%s of %s", &often, order(m))
	}
}

// Alternating knobs costs starts: the last server of a point is the first one of the next.
func TestInterleavedStarts(t *testing.T) {
	m := mustParse(t, fmt.Sprintf(knobby, `order = "interleaved"`, ""))
	if n := m.Starts(); len(m.Points) != 12 || n != 10 {
		t.Errorf("%d points, %d starts: %s", len(m.Points), n, order(m))
	}
}
