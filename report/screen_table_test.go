package report

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"bench/experiment/columns"
)

// The column of footnotes gives way before names become too narrow to read.
func TestTableGivesWay(t *testing.T) {
	wide, _ := (&Outcome{}).textTable()
	figures := []Cell{TextCell("1,230,000"), TextCell("≥123,000"), TextCell("≥123,000"), TextCell("1,230"), TextCell("≥1,230,000"), TextCell("1,200"), TextCell("UNDECIDED")}
	for _, s := range [][2]string{{"whole-answers-without-streaming-with-a-long-name †", "none"}, {"short", "1 2 3 4 5 6 7 8 9 10 11"}} {
		wide.Rows = append(wide.Rows, append(append([]Cell{TextCell(s[0])}, figures...), TextCell(s[1])))
	}
	p := &printer{}
	p.table(wide)
	want := `point                   output  TTFT p50  TTFT p99  TPOT p50     E2E p99
                         tok/s        ms        ms        ms          ms      n  SLO        findings
whole-answers-       1,230,000  ≥123,000  ≥123,000     1,230  ≥1,230,000  1,200  UNDECIDED  none
    without-
    streaming-with-
    a-long-name †
short                1,230,000  ≥123,000  ≥123,000     1,230  ≥1,230,000  1,200  UNDECIDED  1 2 3 4
                                                                                            5 6 7 8
                                                                                            9 10 11
`
	if diff := cmp.Diff(want, p.b.String()); diff != "" {
		t.Error(diff)
	}
}

// Whatever the names and the notes, a table fits the screen, and nothing of them is lost.
func TestTableFits(t *testing.T) {
	color := regexp.MustCompile("\x1b\\[[0-9]+m")
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringOfN(rapid.RuneFrom([]rune("abcdefg-=, 名")), 1, 150, -1)
		var notes []string
		for i := range rapid.IntRange(0, 40).Draw(t, "findings") {
			notes = append(notes, fmt.Sprint(i+1))
		}
		figure := rapid.StringMatching(`[≥~]?[0-9]{1,3}(,[0-9]{3}){0,1}`)
		wide, _ := (&Outcome{}).textTable()
		long := name.Draw(t, "name")
		wide.Rows = [][]Cell{{TextCell(name.Draw(t, "series"))}, {TextCell("a"), TextCell("1"), TextCell("2"), TextCell("3"), TextCell("4"), TextCell("5"), TextCell("6"), TextCell("PASS"), TextCell("none")}}
		row := []Cell{TextCell(long)}
		for range 6 {
			row = append(row, TextCell(figure.Draw(t, "figure")))
		}
		wide.Rows = append(wide.Rows, append(row, Cell{Text: "UNDECIDED", Kind: Undecided}, Cell{Text: strings.Join(notes, " "), Kind: Failed}))
		p := &printer{color: true}
		p.table(wide)
		for _, line := range strings.Split(p.b.String(), "\n") {
			if n := columns.Width(line); n > screen {
				t.Fatalf("%d Columns: %s", n, line)
			}
		}
		got := strings.Fields(color.ReplaceAllString(p.b.String(), ""))
		for _, note := range notes {
			if !strings.Contains(" "+strings.Join(got, " ")+" ", " "+note+" ") {
				t.Fatalf("footnote %s is lost:\n%s", note, p.b.String())
			}
		}
		if letters := strings.Count(p.b.String(), "名"); letters != strings.Count(long+wide.Rows[0][0].Text, "名") {
			t.Fatalf("a name is cut:\n%s", p.b.String())
		}
	})
}

func TestFold(t *testing.T) {
	for _, tt := range []struct {
		s     string
		width int
		want  []string
	}{
		{"short", 10, []string{"short"}},
		{"", 10, []string{""}},
		{"whole-answers-without-streaming", 20, []string{"whole-answers-", "    without-", "    streaming"}},
		{"abcdefghijklmnop", 10, []string{"abcdefghij", "    klmnop"}},
		{"名前名前名前", 8, []string{"名前名前", "    名前"}},
	} {
		if diff := cmp.Diff(tt.want, fold(tt.s, tt.width)); diff != "" {
			t.Errorf("%q in %d: %s", tt.s, tt.width, diff)
		}
	}
}

// A mark is explained where it is seen, and only there.
func TestLegend(t *testing.T) {
	for k, want := range map[Kind]string{Plain: "\n", Thin: "\n  ~ thin: few independent requests beyond it\n"} {
		p := &printer{}
		p.legend(&Outcome{}, &Table{Rows: [][]Cell{{TextCell("a")}, {TextCell("b"), {Text: "1", Kind: k}}}})
		if got := p.b.String(); got != want {
			t.Errorf("%q: %q", k, got)
		}
	}
}
