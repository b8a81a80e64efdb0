package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"bench/experiment/record"
)

var update = flag.Bool("update", false, "write the goldens anew")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-want +got); -update if that is right:\n%s", name, diff)
	}
}

func TestText(t *testing.T) {
	var b bytes.Buffer
	if err := Text(&b, fixture(), false); err != nil {
		t.Fatal(err)
	}
	golden(t, "text.golden", b.Bytes())
	for _, line := range strings.Split(b.String(), "\n") {
		if n := cells(line); n > screen {
			t.Errorf("%d columns: %s", n, line)
		}
		if i := strings.IndexFunc(line, unicode.IsControl); i >= 0 {
			t.Errorf("a control character in %q", line)
		}
	}
}

// TestTextOfACutSweep: rows without a result are counted, not listed; one that failed has its own line with the reason.
func TestTextOfACutSweep(t *testing.T) {
	run := fixture()
	for i := range 300 {
		id := fmt.Sprintf("J,concurrency=%d-r1", i)
		run.Missing = append(run.Missing, id)
		run.Manifest.Plan = append(run.Manifest.Plan, record.Planned{ID: id, Name: "J", State: "planned"})
	}
	var b bytes.Buffer
	if err := Text(&b, run, false); err != nil {
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

func TestTextColorOnlyAdds(t *testing.T) {
	var bare, colored bytes.Buffer
	if err := Text(&bare, fixture(), false); err != nil {
		t.Fatal(err)
	}
	if err := Text(&colored, fixture(), true); err != nil {
		t.Fatal(err)
	}
	stripped := regexp.MustCompile("\x1b\\[[0-9]+m").ReplaceAllString(colored.String(), "")
	if diff := cmp.Diff(bare.String(), stripped); diff != "" || bare.Len() == colored.Len() {
		t.Errorf("colour changes the text, or there is none:\n%s", diff)
	}
}

func TestMarkdown(t *testing.T) {
	var b bytes.Buffer
	if err := Markdown(&b, fixture()); err != nil {
		t.Fatal(err)
	}
	golden(t, "summary.golden.md", b.Bytes())
	for line := range strings.Lines(b.String()) {
		if !strings.HasPrefix(line, "    ") && strings.Contains(line, "<") { // indented: code
			t.Errorf("HTML could come of %q", line)
		}
	}
}

func TestCSV(t *testing.T) {
	run := fixture()
	run.Rows[0].Spec.Name = "=HYPERLINK(1)"
	var b bytes.Buffer
	if err := CSV(&b, run); err != nil {
		t.Fatal(err)
	}
	golden(t, "rows.golden.csv", b.Bytes())
	lines, err := csv.NewReader(&b).ReadAll() // refuses lines of different lengths
	if err != nil {
		t.Fatal(err)
	}
	if want := 1 + len(run.Rows) + len(run.Missing); len(lines) != want {
		t.Errorf("%d lines, want %d", len(lines), want)
	}
	for _, line := range lines {
		for _, field := range line {
			if strings.IndexAny(field, "=+-@\t\r") == 0 {
				t.Errorf("a spreadsheet would run %q", field)
			}
		}
	}
}

func page1(t *testing.T, runs ...*Run) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := HTML(&b, runs...); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

var dataScript = regexp.MustCompile(`(?s)<script type="application/json"[^>]*>(.*?)</script>`)

func TestHTMLData(t *testing.T) {
	html := page1(t, fixture())
	var all bytes.Buffer
	for _, m := range dataScript.FindAllSubmatch(html, -1) {
		if err := json.Indent(&all, m[1], "", " "); err != nil {
			t.Fatalf("a data block is not JSON: %v", err)
		}
		all.WriteByte('\n')
	}
	golden(t, "page-data.golden.json", all.Bytes())
}

func TestHTMLIsClosed(t *testing.T) {
	html := page1(t, fixture())
	own := strings.NewReplacer(echarts, "", script, "", style, "").Replace(string(html))
	if n := strings.Count(own, "<script"); n != strings.Count(own, "</script>") || strings.Contains(own, "window.__xss=1</script>") {
		t.Errorf("hostile text is markup")
	}
	for _, pattern := range []string{`(?i)\s(src|href)="?[^#"]`, `style="`, ` on[a-z]+="`, `(?i)<(link|iframe|img|base|form)\b`} {
		if m := regexp.MustCompile(pattern).FindString(own); m != "" {
			t.Errorf("the page has %q", m)
		}
	}
	policy := regexp.MustCompile(`content="(default-src[^"]*)"`).FindStringSubmatch(own)
	if policy == nil || strings.Contains(policy[1], "unsafe") || strings.Contains(policy[1], "http") {
		t.Errorf("policy %q", policy)
	}
	for _, text := range []string{echarts, script, style} {
		if !bytes.Contains(html, []byte(text)) {
			t.Error("a script or the style is not in the page as it was hashed")
		}
	}
}

func TestSeveralRuns(t *testing.T) {
	html := page1(t, fixture(), fixture())
	seen := map[string]bool{}
	for _, m := range regexp.MustCompile(`\sid="([^"]*)"`).FindAllSubmatch(html, -1) {
		if id := string(m[1]); seen[id] {
			t.Errorf("two elements are %q", id)
		} else {
			seen[id] = true
		}
	}
	for _, m := range regexp.MustCompile(`href="#([^"]*)"`).FindAllSubmatch(html, -1) {
		if !seen[string(m[1])] {
			t.Errorf("a link leads to %q, which is not there", m[1])
		}
	}
}

// copies is a run of n points more, each with 250 requests.
func copies(n int) *Run {
	run := fixture()
	run.Records = func(*record.Row) ([]*record.Record, error) { return requests(250), nil }
	for i := range n {
		row := run.Rows[3]
		row.Spec.Name = fmt.Sprintf("copy-%d", i)
		row.ID = row.Spec.Name
		run.Rows = append(run.Rows, row)
		run.Manifest.Plan = append(run.Manifest.Plan, record.Planned{ID: row.ID, State: "done"})
	}
	return run
}

func TestSize(t *testing.T) {
	for n, most := range map[int]int{50: 2_000_000, 500: 9_000_000} {
		got := len(page1(t, copies(n)))
		t.Logf("%d points more: %d bytes", n, got)
		if got > most {
			t.Errorf("%d points more: %d bytes, not below %d", n, got, most)
		}
	}
}

func TestEmptyRun(t *testing.T) {
	run := &Run{}
	var b bytes.Buffer
	if err := Text(&b, run, false); err != nil {
		t.Error(err)
	}
	if err := Markdown(&b, run); err != nil {
		t.Error(err)
	}
	if err := CSV(&b, run); err != nil {
		t.Error(err)
	}
	page1(t, run)
}
