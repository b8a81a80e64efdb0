package report

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"bench/experiment/text"
)

// Names give way to their usual width, then other texts to their longest word, then names again.
func TestTableGivesWay(t *testing.T) {
	table := Table{Columns: []Column{{Head: "point"}, {Head: "output", Unit: "tok/s", Num: true}, {Head: "SLO"}, {Head: "findings"}}}
	for _, s := range [][2]string{{"whole-answers-without-streaming-with-a-long-name †", "none"}, {"short", "1 2 3 4 5 6 7 8 9 10 11"}} {
		table.Add(TextCell(s[0]), TextCell("1,230,000"), TextCell("UNDECIDED"), TextCell(s[1]))
	}
	for width, want := range map[int]string{
		120: `point                                                  output  SLO        findings
                                                        tok/s
whole-answers-without-streaming-with-a-long-name †  1,230,000  UNDECIDED  none
short                                               1,230,000  UNDECIDED  1 2 3 4 5 6 7 8 9 10 11
`,
		70: `point                       output  SLO        findings
                             tok/s
whole-answers-without-   1,230,000  UNDECIDED  none
    streaming-with-a-
    long-name †
short                    1,230,000  UNDECIDED  1 2 3 4 5 6 7 8 9 10 11
`,
		50: `point                  output  SLO        findings
                        tok/s
whole-answers-      1,230,000  UNDECIDED  none
    without-
    streaming-
    with-a-long-
    name †
short               1,230,000  UNDECIDED  1 2 3 4
                                          5 6 7 8
                                          9 10 11
`,
		40: "  point · output tok/s · SLO · findings\n  whole-answers-without-streaming-with-a\n    -long-name † · 1,230,000 · UNDECIDED\n    · none\n" +
			"  short · 1,230,000 · UNDECIDED · 1 2 3\n    4 5 6 7 8 9 10 11\n",
	} {
		p := newPrinter(Screen{Width: width})
		p.table(table)
		if diff := cmp.Diff(want, p.b.String()); diff != "" {
			t.Errorf("in %d:\n%s", width, diff)
		}
	}
}

// Whatever the names, the notes and the width, a table fits the screen, and nothing of it is lost.
func TestTableFits(t *testing.T) {
	color := regexp.MustCompile("\x1b\\[[0-9]+m")
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringOfN(rapid.RuneFrom([]rune("abcdefg-=, 名")), 1, 150, -1)
		var notes []string
		for i := range rapid.IntRange(0, 40).Draw(t, "findings") {
			notes = append(notes, fmt.Sprint(i+1))
		}
		figure := rapid.StringMatching(`[≥~]?[0-9]{1,3}(,[0-9]{3}){0,1}`)
		long := name.Draw(t, "name")
		table := Table{Columns: []Column{{Head: "point"}}, Rows: [][]Cell{{TextCell(name.Draw(t, "series"))}}}
		row := []Cell{TextCell(long)}
		for range rapid.IntRange(0, 8).Draw(t, "figures") {
			table.Columns = append(table.Columns, Column{Head: "TTFT", Unit: "p50 ms", Num: true})
			row = append(row, TextCell(figure.Draw(t, "figure")))
		}
		table.Columns = append(table.Columns, Column{Head: "SLO"}, Column{Head: "findings"})
		table.Add(append(row, Cell{Text: "UNDECIDED", Kind: Undecided}, Cell{Text: strings.Join(notes, " "), Kind: Failed})...)
		width := rapid.IntRange(40, 200).Draw(t, "width")
		p := newPrinter(Screen{Width: width, Color: true})
		p.table(table)
		for _, line := range strings.Split(p.b.String(), "\n") {
			if n := text.Width(line); n > width {
				t.Fatalf("%d columns of %d: %s", n, width, line)
			}
		}
		got := strings.Fields(color.ReplaceAllString(p.b.String(), ""))
		for _, note := range notes {
			if !strings.Contains(" "+strings.Join(got, " ")+" ", " "+note+" ") {
				t.Fatalf("footnote %s is lost:\n%s", note, p.b.String())
			}
		}
		if letters := strings.Count(p.b.String(), "名"); letters != strings.Count(long+table.Rows[0][0].Text, "名") {
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
		p := newPrinter(Screen{})
		p.legend(&Analysis{}, &Table{Rows: [][]Cell{{TextCell("a")}, {TextCell("b"), {Text: "1", Kind: k}}}})
		if got := p.b.String(); got != want {
			t.Errorf("%q: %q", k, got)
		}
	}
}
