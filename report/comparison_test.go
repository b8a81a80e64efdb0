package report

import (
	"io"
	"strings"
	"testing"

	"bench/report/fixture"

	"bench/experiment/columns"
)

func TestComparisonText(t *testing.T) {
	text := fixture.Rendered(t, func(w io.Writer) error { return ComparisonText(w, fixture.Comparison(t), Screen{}) })
	for _, want := range []string{"gate: UNDECIDED, does not pass", "tpot_p50 ", "+20.0 %", "worse (p=0.0286)", "(class rag) · tpot_p50 · UNDECIDED", "rate=4: class rag", "r5 · left out of base", "r2 · included", `client version · base\x1b[31m · new\x1b[31m · noted`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for _, line := range strings.Split(text, "\n") {
		if n := columns.Width(line); n > usualWidth || strings.Contains(line, "\x1b") {
			t.Errorf("%d Columns: %q", n, line)
		}
	}
}
