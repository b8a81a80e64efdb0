package report

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"bench/experiment"
	"bench/experiment/stats"
	"bench/experiment/text"
	"bench/report/compare"
)

// tested is a figure with its change and interval, in percent.
func tested(name string, v compare.Verdict, change, lo, hi float64) compare.Metric {
	base, changed, p := 100.0, 100+change, 0.001
	if v == compare.Inconclusive || v == compare.NoChange {
		p = 0.5
	}
	return compare.Metric{Name: name, Unit: "ms", Base: &base, New: &changed, RawChange: new(change / 100),
		Change: new(change / 100),
		CI95:   stats.Interval{Lo: lo / 100, Hi: hi / 100}, P: &p, Adjusted: &p, Verdict: v, Margin: 0.05}
}

func gated(m compare.Metric, worse float64, v stats.Verdict) compare.Metric {
	m.Threshold, m.Gate, m.Margin = &experiment.Threshold{Metric: m.Name, Worse: worse}, v, worse
	return m
}

// raw is a percentile that n does not carry.
func raw(name string, change float64) compare.Metric {
	base := 100.0
	return compare.Metric{Name: name, Unit: "ms", Base: &base, New: new(100 + change),
		RawChange: new(change / 100), Verdict: compare.Inconclusive,
		Why: "n=20 is too small for p99", BaseQuoted: compare.Quoted{N: 20, Grade: stats.NoBound,
			AtLeast: new(90.0)}, NewQuoted: compare.Quoted{N: 20, Grade: stats.NoBound}}
}

func comparison(metrics ...compare.Metric) *compare.Comparison {
	return &compare.Comparison{Base: "a", New: "b",
		Points: []compare.Point{{Name: "D concurrency=8", Metrics: metrics}}}
}

func TestForestOrder(t *testing.T) {
	c := comparison(tested("ttft_p50", compare.Inconclusive, 30, -5, 70),
		tested("output_tokens_per_s", compare.Better, 8.8, 2, 15),
		raw("ttft_p99", 40), tested("tpot_p50", compare.Worse, 5.1, 3.9, 6.3),
		tested("e2e_p50", compare.NoChange, 0.4, -1, 1.9),
		tested("e2e_p99", compare.Worse, 9, 3, 15), tested("requests_per_s", compare.Worse, -7, -9, -5),
		tested("itl_p50", compare.Better, -3, -4, -2), raw("tpot_p99", -1))
	f := NewForest(c)
	var got []string
	for _, l := range f.Main {
		got = append(got, fmt.Sprintf("%s %s %.3g", l.Mark.Text(), l.Figure, 100*l.At))
	}
	want := "▶ E2E p99 9, ▶ TPOT p50 5.1, ◀ output tok/s -8.8, ● E2E p50 0.4, ○ TTFT p50 30"
	if strings.Join(got, ", ") != want {
		t.Errorf("%s\nwant %s", strings.Join(got, ", "), want)
	}
	if len(f.Rest) != 4 || f.Rest[0].Figure != "requests/s" || f.Rest[0].At != 0.07 ||
		f.Rest[0].Within != (stats.Interval{Lo: 0.05, Hi: 0.09}) || f.Rest[3].Mark != MarkRaw {
		t.Errorf("%+v", f.Rest)
	}
	if few := NewForest(comparison(c.Points[0].Metrics[:3]...)); len(few.Main) != 3 || len(few.Rest) != 0 {
		t.Errorf("of few figures %d are folded", len(few.Rest))
	}
	if f.Rest[3].Change.Full() != "~-1.0 %" || f.Main[1].Change.Full() != "+5.1 % [+3.9, +6.3]" {
		t.Errorf("%q, %q", f.Rest[3].Change.Full(), f.Main[1].Change.Full())
	}
}

// What the gate does not pass comes first; a figure that it passes without a difference has a mark of its
// own.
func TestForestOfGate(t *testing.T) {
	c := comparison(gated(tested("ttft_p50", compare.Inconclusive, 1, -1, 2.9), 0.05, stats.Pass),
		gated(tested("e2e_p50", compare.Inconclusive, 4, -5, 13), 0.05, stats.Undecided),
		tested("e2e_p99", compare.Worse, 90, 60, 110), gated(tested("tpot_p50", compare.Worse, 5.1, 3.9, 6.3),
			0.03, stats.Fail), tested("itl_p50", compare.Worse, 5, 4, 6),
		raw("tpot_p99", 1), raw("ttft_p99", 1), raw("itl_p99", 1), raw("e2e_p95", 1))
	c.Gate = &compare.Outcome{}
	var got []ForestMark
	for _, l := range NewForest(c).Main {
		got = append(got, l.Mark)
	}
	if fmt.Sprint(got) != fmt.Sprint([]ForestMark{MarkWorse, MarkInconclusive, MarkWorse, MarkPass}) {
		t.Errorf("%q", got)
	}
}

// A forest of many figures shows the worst first, and loses none.
func TestForestOfMany(t *testing.T) {
	c := &compare.Comparison{}
	for i := range 50 {
		c.Points = append(c.Points, compare.Point{Name: fmt.Sprint("D ", i), Metrics: []compare.Metric{
			tested("tpot_p50", compare.Worse, float64(i+1), 1, 60), tested("itl_p50", compare.Worse, 5, 1, 9),
			tested("ttft_p50", compare.Inconclusive, 1, -9, 11)}})
	}
	c.Points[7].Metrics = append(c.Points[7].Metrics, tested("output_tokens_per_s", compare.Better, 9, 4, 14))
	f := NewForest(c)
	cut := f.Cut(30)
	marks := map[ForestMark]int{}
	for _, l := range cut.Main {
		marks[l.Mark]++
	}
	if len(f.Main) != 101 || len(cut.Main) != 30 || len(cut.Rest) != 121 || marks[MarkWorse] != 30 {
		t.Errorf("%d, %d, %d lines: %v", len(f.Main), len(cut.Main), len(cut.Rest), marks)
	}
	if cut.Main[0].At != 0.5 {
		t.Errorf("the worst is not first: %+v", cut.Main[0])
	}
}

// The axis reaches the changes that matter and most of the others; one change of +900 % does not hide them.
func TestReach(t *testing.T) {
	for want, metrics := range map[float64][]compare.Metric{
		// margins of 5 %
		0.1:  {tested("a", compare.Inconclusive, 0.5, -8, 9), tested("b", compare.Inconclusive, 0.1, -8, 9)},
		0.3:  {tested("a", compare.Worse, 20, 11, 26)},
		0.01: {gated(tested("error_rate", compare.NoChange, 0, -0.1, 0.1), 0.005, stats.Pass)},
		0.2: append(repeated(tested("tpot_p50", compare.Worse, 5, 4, 6), 12),
			tested("ttft_p50", compare.Worse, 900, 700, 1100)),
	} {
		if got := NewForest(comparison(metrics...)).Reach; math.Abs(got-want) > 1e-12 {
			t.Errorf("%g, want %g", got, want)
		}
	}
	for x, want := range map[float64]float64{0.011: 0.02, 0.02: 0.02, 0.3: 0.3, 0.31: 0.5, 0.51: 1} {
		if got := niceReach(x); math.Abs(got-want) > 1e-12 {
			t.Errorf("%g becomes %g, want %g", x, got, want)
		}
	}
}

func repeated(m compare.Metric, n int) (out []compare.Metric) {
	for range n {
		out = append(out, m)
	}
	return out
}

func TestForestBars(t *testing.T) {
	p := newPrinter(Screen{})
	for want, m := range map[string]compare.Metric{
		"          │    ├─▶─┤":  tested("tpot_p50", compare.Worse, 7, 5, 9),
		"    ├─◀─┤ │          ": tested("tpot_p50", compare.Better, -4, -6, -2),
		"         ├●┤         ": tested("tpot_p50", compare.NoChange, 0, -1, 1),
		"      ├───┼─○┆──┤    ": gated(tested("tpot_p50", compare.Inconclusive, 2, -4, 6), 0.03,
			stats.Undecided),
		"←─────────○─────────→": tested("tpot_p50", compare.Inconclusive, 0, -40, 40),
		"          │        ▶→": tested("tpot_p50", compare.Worse, 90, 80, 100),
		"          │    ×     ": raw("ttft_p99", 5),
		"     ×    │          ": raw("output_tokens_per_s", 5),
	} {
		l, _ := newForestLine("A", &m)
		if got := p.bar(&l, 0.1, 21); strings.TrimRight(got, " ") != strings.TrimRight(want, " ") {
			t.Errorf("%s\n%s", got, want)
		}
	}
}

// No line of a forest is wider than the screen, whatever the names, and no name reaches the terminal as it
// is.
func TestForestFits(t *testing.T) {
	for _, width := range []int{40, 80, 100, 120, 200} {
		for _, name := range []string{"A", strings.Repeat("long ", 30), "漢字漢字漢字漢字漢字漢字漢字漢字漢字",
			"x\x1b[31m\u202e\n"} {
			c := comparison(tested("tpot_p50", compare.Worse, 7, 5, 9),
				gated(tested("output_tokens_per_s_per_gpu", compare.Worse, -700, -900, -500), 0.03,
					stats.Undecided))
			c.Points[0].Name = name
			f, p := NewForest(c), newPrinter(Screen{Width: width})
			p.forest(&f)
			for line := range strings.SplitSeq(p.b.String(), "\n") {
				if n := text.Width(line); n > max(width, 75) || strings.ContainsAny(line, "\x1b\u202e") {
					t.Errorf("%d columns of %d: %q", n, width, line)
				}
			}
		}
	}
}
