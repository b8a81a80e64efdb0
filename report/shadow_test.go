package report

import (
	"bytes"
	"strings"
	"testing"

	"bench/experiment/text"
	fixture "bench/internal/reporttest"
	"bench/report/compare"
	"bench/report/shadow"
)

// The verdict on a candidate stands at the end of the text, after its tables; on every screen no line is too long.
func TestShadowText(t *testing.T) {
	var all bytes.Buffer
	for _, l := range []fixture.Live{{Requests: 2000, Share: 0.3, Slower: 0.05, Errors: 0.005, Seed: 1}, {Requests: 20, Share: 1, Seed: 2}, {Share: 1}} {
		run := &Run{Shadow: l.Compared()}
		for _, width := range []int{0, 40} {
			var b bytes.Buffer
			p := newPrinter(Screen{Width: width})
			p.shadow(run)
			p.line("")
			p.shadowAnswer(run.Shadow)
			if err := p.flush(&b); err != nil {
				t.Fatal(err)
			}
			for _, line := range strings.Split(b.String(), "\n") {
				if width == 0 && text.Width(line) > usualWidth {
					t.Errorf("%d columns: %s", text.Width(line), line)
				}
			}
			if width == 0 {
				all.Write(b.Bytes())
				all.WriteString("\n----\n")
			}
		}
	}
	fixture.Golden(t, *update, "shadow.golden", all.Bytes())
}

// Each verdict has its words, with the sign of the change in them.
func TestShadowWords(t *testing.T) {
	change := func(x, lo, hi float64, v compare.Verdict) *shadow.Figure {
		f := &shadow.Figure{Name: "tpot_mean", Verdict: v, Change: &x, NoChangeWithin: 0.021, NeedPairs: 4000}
		f.CI95.Lo, f.CI95.Hi = lo, hi
		return f
	}
	for want, f := range map[string]*shadow.Figure{
		"TPOT +4.1 % [+3.2, +5.0] worse":        change(0.041, 0.032, 0.05, compare.Worse),
		"TPOT -4.1 % [-5.0, -3.2] better":       change(-0.041, -0.05, -0.032, compare.Better),
		"TPOT no change within 2.1 %":           change(0.01, 0, 0.02, compare.NoChange),
		"TPOT inconclusive (needs 4,000 pairs)": change(0.01, -0.2, 0.2, compare.Inconclusive),
	} {
		if got := shadowWords(f); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
