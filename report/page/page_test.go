package page

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"html/template"
	"io"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/text"
	fixture "bench/internal/reporttest"
	"bench/report"
	"bench/report/export"
)

var update = flag.Bool("update", false, "write the goldens anew")

func fixtureRun() *report.Run {
	r := &report.Run{Dir: "results/chat/20261120T120000Z", Notes: fixture.Notes, Missing: []string{"I-lost-r1"}}
	r.Manifest, r.Rows = fixture.Run()
	return r
}

func page1(t *testing.T, runs ...*report.Run) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Runs(&b, runs...); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

var dataScript = regexp.MustCompile(`(?s)<script type="application/json"[^>]*>(.*?)</script>`)

func TestHTMLData(t *testing.T) {
	html := page1(t, fixtureRun())
	var all bytes.Buffer
	for _, m := range dataScript.FindAllSubmatch(html, -1) {
		if err := json.Indent(&all, m[1], "", " "); err != nil {
			t.Fatalf("a data block is not JSON: %v", err)
		}
		all.WriteByte('\n')
	}
	fixture.Golden(t, *update, "page-data.golden.json", all.Bytes())
}

// withoutScripts is the page without its own scripts and style.
func withoutScripts(html string) string {
	for _, s := range newFrame(true).Scripts {
		html = strings.Replace(html, string(s), "", 1)
	}
	return strings.Replace(html, style, "", 1)
}

func TestHTMLIsClosed(t *testing.T) {
	html := page1(t, fixtureRun())
	own := withoutScripts(string(html))
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
	for _, text := range append(newFrame(true).Scripts, template.JS(style)) {
		if !bytes.Contains(html, []byte(text)) {
			t.Error("a script or the style is not in the page as it was hashed")
		}
	}
}

func TestSeveralRuns(t *testing.T) {
	html := page1(t, fixtureRun(), fixtureRun())
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
func copies(n int) *report.Run {
	run := fixtureRun()
	run.Records = func(*record.Row) ([]*record.Record, error) { return fixture.Requests(250), nil }
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
	for n, most := range map[int]int{50: 2_000_000, 200: 4_200_000} {
		got := len(page1(t, copies(n)))
		t.Logf("%d points more: %d bytes", n, got)
		if got > most {
			t.Errorf("%d points more: %d bytes, not below %d", n, got, most)
		}
	}
}

// hostileRows are row files whose text is markup, or whose figures no server has.
var hostileRows = []string{
	`{"schema":"bench/row/v1","id":"x","spec":{"name":"</script>","rate":"inf"},"summary":{"ttft_ms":{"n":1,"p50":-1}}}`,
	`{"schema":"bench/row/v1","id":"x","spec":{"name":"a","concurrency":-4},"slo":[{"verdict":"MAYBE"}],` +
		`"summary":{"duration_s":1e-300,"requests":{"planned":9}}}`,
	`{"schema":"bench/row/v1","id":"x","spec":{"name":"a","point":[{"key":"rate","value":"\u001b"}]},"roofline":{},"classes":{"":{}}}`,
}

// ofRow is a run of one row; nil: the text is not a row.
func ofRow(text string) *report.Run {
	run, err := report.LoadFiles(fstest.MapFS{
		"run.json": {Data: []byte(`{"schema":"bench/run/v1","plan":[{"id":"x"}]}`)}, "x.json": {Data: []byte(text)},
	}, "x")
	if err != nil {
		return nil
	}
	return run
}

// TestRowPages renders the whole page of each.
func TestRowPages(t *testing.T) {
	for _, text := range hostileRows {
		run := ofRow(text)
		if run == nil {
			t.Fatalf("not a row: %s", text)
		}
		var b strings.Builder
		_ = Runs(&b, run) // an error is an answer: JSON has no infinity
		own := withoutScripts(b.String())
		if strings.Count(own, "<script") != strings.Count(own, "</script>") {
			t.Error("the page's scripts don't close")
		}
	}
}

// FuzzRow makes the data of a page of whatever passes for a row: no input may panic, or end a script.
func FuzzRow(f *testing.F) {
	for _, text := range hostileRows {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		run := ofRow(text)
		if run == nil {
			return
		}
		o := run.Analyze()
		for _, p := range newRunView(0, run, &o).Panels {
			for _, f := range p.Figures {
				for _, c := range f.Charts {
					if _, err := c.Data(); err != nil {
						return
					}
				}
			}
		}
		data := report.NewDocument()
		data.Add(run, o)
		if block, err := inline(data); err == nil && strings.Contains(string(block), "<") {
			t.Errorf("the page's data can end its script: %s", block)
		}
	})
}

// FuzzRowText writes whatever passes for a row as text: no input may panic or fail.
func FuzzRowText(f *testing.F) {
	for _, text := range hostileRows {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		run := ofRow(text)
		if run == nil {
			return
		}
		for _, err := range []error{
			report.Markdown(io.Discard, run), report.Text(io.Discard, run, report.Screen{Color: true}), export.CSV(io.Discard, run),
		} {
			if err != nil {
				t.Error(err)
			}
		}
	})
}

// The mark is in the text, not in a colour.
func TestMeasuredIsMarked(t *testing.T) {
	run := fixtureRun()
	x := 5.4
	run.Rows[0].SLO[0] = record.Verdict{Metric: "ttft_p95", Limit: 1000, Unit: "ms", Value: &x, Verdict: "UNDECIDED", Need: 100, Observed: 8}
	if got := string(page1(t, run)); !strings.Contains(got, "5.40 ms, n=8 is too small") || strings.Contains(got, "5.40 ms<") {
		t.Error("a p95 of eight requests is a plain figure")
	}
}

// A search is in the answer, and in a table with what it rests on.
func TestSearchesAreShown(t *testing.T) {
	run, low, high, best := fixtureRun(), 1., 5., 4.5
	run.Rows[0].Spec.Search = &experiment.Search{Axis: "rate", Goal: "slo"}
	run.Manifest.Searches = []record.Found{{Name: "A-short-chat", State: "found", Probes: 9, TookS: 75, Text: "it lies between 1/s and 5/s" + fixture.Hostile,
		Bracket: stats.Bracket{Low: &low, High: &high, Best: &best},
		Search:  experiment.Search{Axis: "rate", Goal: "slo", Min: 1, Max: 64, Tolerance: 0.05}}}
	html := string(page1(t, run))
	for _, want := range []string{"1/s to 5/s", "max rate within SLO", "1 to 64/s, within 5 %", "4.5/s", "75.0 s", "it lies between 1/s and 5/s", "≈ 4.5/s (1–5)"} {
		if !strings.Contains(html, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if at := strings.Index(html, "<p>9 probes, 1m15s"); at < 0 || at > strings.Index(html, `<nav class="tabs"`) {
		t.Error("the answer is not above the tabs")
	}
}

// TestEscapeJSON: what a chart is told is what a table shows of any text, as a key and as a value.
func TestEscapeJSON(t *testing.T) {
	awkward := rapid.StringOf(rapid.SampledFrom([]rune("a\"\\u20e2<&\n\t\r\x1b\x7f\u0085\u200b\u202e\u2028\u2066\ue000\U000f0000é漢😀")))
	rapid.Check(t, func(t *rapid.T) {
		key, value := awkward.Draw(t, "key"), awkward.Draw(t, "value")
		b, err := json.Marshal(map[string]any{key: []any{value, 1.5}})
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]any
		if err := json.Unmarshal([]byte(escapeJSON(string(b))), &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[string]any{text.EscapeLines(key): []any{text.EscapeLines(value), 1.5}}, got); diff != "" {
			t.Error(diff)
		}
	})
}

// TestHiddenMarksInCharts: a name that turns text around does not do so on a canvas.
func TestHiddenMarksInCharts(t *testing.T) {
	run := fixtureRun()
	for i := range run.Rows {
		run.Rows[i].Spec.Name = "\u202e\x1b[31m" + run.Rows[i].Spec.Name
	}
	html := string(page1(t, run))
	charts := regexp.MustCompile(`class="chart-data">[^<]*`).FindAllString(html, -1)
	if len(charts) == 0 {
		t.Fatal("no chart")
	}
	for _, c := range charts {
		if strings.Contains(c, "\u202e") || strings.Contains(c, `\u001b`) {
			t.Errorf("marks that a canvas obeys, in %.300s", c)
		}
	}
}

func TestConnectionsFindingIsShown(t *testing.T) {
	run := fixtureRun()
	run.Rows[0].Findings = []record.Finding{{Code: "client_machine", Severity: record.Caution, Text: "40 of 40 requests opened a connection", Hint: "compare only with runs that connect as often"}}
	var md, text bytes.Buffer
	if err := report.Markdown(&md, run); err != nil {
		t.Fatal(err)
	}
	if err := report.Text(&text, run, report.Screen{}); err != nil {
		t.Fatal(err)
	}
	const hint = "compare only with runs that connect as often"
	for name, got := range map[string]string{"HTML": string(page1(t, run)), "Markdown": md.String(), "text": text.String()} {
		wants := []string{"caution", "client_machine", "40 of 40 requests opened a connection", hint}
		if name != "HTML" { // one line for a caution
			wants = wants[:3]
		}
		for _, want := range wants {
			if !strings.Contains(got, want) {
				t.Errorf("%s lacks %q", name, want)
			}
		}
	}
}

// Each group of figures names its load.
func TestGroupsAsText(t *testing.T) {
	brings := kpiGroup{Of: "at ≈ 74.5/s", KPIs: []kpi{{"users, 1 request a minute each", "≈ 4,500", "", false},
		{"GPU (h100 pcie)", "1", "", false}}}
	measured := kpiGroup{Of: "measured at rate 60/s", KPIs: []kpi{{"TTFT p95", "32.3 ms", "[28.8, –]", true},
		{"requests", "480", "", false}}}
	for want, g := range map[string]kpiGroup{"at ≈ 74.5/s: ≈ 4,500 users, 1 request a minute each; 1 GPU (h100 pcie)": brings,
		"measured at rate 60/s: TTFT p95 32.3 ms; 480 requests": measured, "480 requests": {KPIs: measured.KPIs[1:]}} {
		if got := g.text(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// An interval has its own part of a cell, which a phone shows on a line of its own.
func TestIntervalOfCell(t *testing.T) {
	table := report.Table{Columns: []report.Column{{Head: "point"}, {Head: "load", Num: true}}}
	table.Add(report.TextCell("a [b]"), report.Cell{Text: "48.9/s", Within: "[46.6, 51.3]"})
	cells := newTableView("r0", table).Rows[0].Cells
	if cells[0].Text != "a [b]" || cells[1].Text != "48.9/s" || cells[1].Within != "[46.6, 51.3]" {
		t.Errorf("%+v", cells)
	}
}

// A word of the ruler stands where its part has room.
func TestRoomOfWords(t *testing.T) {
	for width, want := range map[percent]string{20: "", 12: roomOnPaper, 6: roomOnWide, 4: noRoom} {
		if got := roomIn(width, "likely"); got != want {
			t.Errorf("%v: %q, want %q", width, got, want)
		}
	}
}

func TestEmptyRun(t *testing.T) {
	run := &report.Run{}
	var b bytes.Buffer
	if err := report.Text(&b, run, report.Screen{}); err != nil {
		t.Error(err)
	}
	if err := report.Markdown(&b, run); err != nil {
		t.Error(err)
	}
	if err := export.CSV(&b, run); err != nil {
		t.Error(err)
	}
	page1(t, run)
}
