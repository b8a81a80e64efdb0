package report

import (
	"bytes"
	"flag"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"bench/experiment/record"
	"bench/experiment/text"
	fixture "bench/internal/reporttest"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the goldens anew")

func fixtureRun() *Run {
	r := &Run{Dir: "results/chat/20261120T120000Z", Notes: fixture.Notes, Missing: []string{"I-lost-r1"}}
	r.Manifest, r.Rows = fixture.Run()
	return r
}

func write(t *testing.T, run *Run) string {
	return fixture.Write(t, run.Manifest, run.Rows, run.Notes)
}

func TestText(t *testing.T) {
	var b bytes.Buffer
	if err := Text(&b, fixtureRun(), Screen{}); err != nil {
		t.Fatal(err)
	}
	fixture.Golden(t, *update, "text.golden", b.Bytes())
	for _, line := range strings.Split(b.String(), "\n") {
		if n := text.Width(line); n > usualWidth {
			t.Errorf("%d Columns: %s", n, line)
		}
		if i := strings.IndexFunc(line, unicode.IsControl); i >= 0 {
			t.Errorf("a control character in %q", line)
		}
	}
}

// TestTextOfACutSweep: rows without a result are counted, not listed; one that failed has its own line with
// the reason.
func TestTextOfACutSweep(t *testing.T) {
	run := fixtureRun()
	for i := range 300 {
		id := fmt.Sprintf("J,concurrency=%d-r1", i)
		run.Missing = append(run.Missing, id)
		run.Manifest.Plan = append(run.Manifest.Plan, record.Planned{ID: id, Name: "J", State: "planned"})
	}
	var b bytes.Buffer
	if err := Text(&b, run, Screen{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"J,concurrency=0-r1, and 299 more rows (planned): no result yet", "I-lost-r1 (failed): dial: refused <b>", "Z-removed-r1 (removed): no longer"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "J,concurrency=1-r1") {
		t.Error("every row without a result is listed")
	}
}

// A row that did not fit in the budget is not one that a plain --resume would run.
func TestTextOfASpentBudget(t *testing.T) {
	run := fixtureRun()
	run.Missing = append(run.Missing, "J-r1")
	run.Manifest.Plan = append(run.Manifest.Plan, record.Planned{ID: "J-r1", Name: "J", State: "planned"})
	run.Manifest.Budget = &record.Budget{TotalS: 40, SpentS: 31, NotRun: []record.NotStarted{{ID: "J-r1", NeedS: 30}}}
	var b bytes.Buffer
	if err := Text(&b, run, Screen{Width: 200}); err != nil {
		t.Fatal(err)
	}
	if want := "J-r1 (planned): did not fit in the budget; run bench sweep --resume with a longer budget"; !strings.Contains(b.String(), want) {
		t.Errorf("no %q in\n%s", want, b.String())
	}
}

func TestTextColorOnlyAdds(t *testing.T) {
	var bare, colored bytes.Buffer
	if err := Text(&bare, fixtureRun(), Screen{}); err != nil {
		t.Fatal(err)
	}
	if err := Text(&colored, fixtureRun(), Screen{Color: true}); err != nil {
		t.Fatal(err)
	}
	stripped := regexp.MustCompile("\x1b\\[[0-9]+m").ReplaceAllString(colored.String(), "")
	if diff := cmp.Diff(bare.String(), stripped); diff != "" || bare.Len() == colored.Len() {
		t.Errorf("colour changes the text, or there is none:\n%s", diff)
	}
}

func TestMarkdown(t *testing.T) {
	var b bytes.Buffer
	if err := Markdown(&b, fixtureRun()); err != nil {
		t.Fatal(err)
	}
	fixture.Golden(t, *update, "markdown.golden.md", b.Bytes())
	html := regexp.MustCompile(`<\S`) // CommonMark: a tag has no space after <
	for line := range strings.Lines(b.String()) {
		if !strings.HasPrefix(line, "    ") && html.MatchString(line) { // indented: code
			t.Errorf("HTML could come of %q", line)
		}
	}
}
