package page

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/telemetry"
	fixture "bench/internal/reporttest"
	"bench/report"
)

// observedRun is one row on disk with its requests and its samples.
func observedRun(t *testing.T) *report.Run {
	t.Helper()
	row := fixture.Shape{Name: "A " + fixture.Hostile, Rate: 10, N: 90, TTFT: 50, TPOT: 20, Output: 100, Verdict: "PASS"}.Row()
	row.Window = record.Window{StartUs: 1_000_000, EndUs: 10_000_000}
	run := &report.Run{Run: record.Run{Rows: []record.Row{row}}}
	run.Manifest.Schema, run.Manifest.Plan = record.SchemaRun, []record.Planned{{ID: row.ID, State: "done"}}
	run.Dir = fixture.Write(t, run.Manifest, run.Rows, run.Notes)
	create := func(suffix string, fill func(*os.File) error) {
		f, err := os.Create(filepath.Join(run.Dir, row.ID+suffix))
		if err != nil {
			t.Fatal(err)
		}
		if err := fill(f); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	create(".requests.jsonl.zst", func(f *os.File) error {
		w, err := record.NewRecordWriter(f)
		if err != nil {
			return err
		}
		for _, r := range fixture.Requests(100) {
			if err := w.Write(r); err != nil {
				return err
			}
		}
		return w.Close()
	})
	create(".telemetry.jsonl.zst", func(f *os.File) error {
		w, err := telemetry.NewWriter(f)
		if err != nil {
			return err
		}
		for i := range 10 {
			s := telemetry.Sample{Source: "server", TUs: int64(i) * 1_000_000, Server: &telemetry.ServerReading{Running: new(2.0), KVUsage: new(0.5)}, GPUs: []telemetry.GPUReading{{PowerW: new(300.0)}, {PowerW: new(400.0)}}}
			if err := w.Write(&s); err != nil {
				return err
			}
		}
		return w.Close()
	})
	return run
}

// A run of too many requests has no steps for the sliders, and its page says how to ask for other limits.
func TestCrowdedRun(t *testing.T) {
	run := observedRun(t)
	const words = "Above 500,000 requests the page has no sliders"
	if html := string(page1(t, run)); strings.Contains(html, words) || !strings.Contains(html, `"steps":{"ttft_p99"`) {
		t.Error("a small run has no sliders")
	}
	run.Rows[0].Summary.Requests.Sent = mostJudged + 1
	if html := string(page1(t, run)); !strings.Contains(html, words) || strings.Contains(html, `"steps":{"ttft_p99"`) {
		t.Error("a large run has sliders, or does not say that it has none")
	}
}

func TestObserve(t *testing.T) {
	run := observedRun(t)
	o := run.Analyze()
	e := observe(run, &o)
	if len(e.rows) != 1 || len(e.unread.Rows) != 0 {
		t.Fatalf("%d rows, unread %v", len(e.rows), e.unread.Rows)
	}
	row := e.rows[0]
	ttft := row.ecdfs[0]
	if ttft.metric != "ttft" || ttft.n != 81 || ttft.without != 9 || len(ttft.steps) != 60 || ttft.steps[0] != 50 {
		t.Errorf("%+v", ttft)
	}
	if len(row.pairs) != 81 || row.pairs[0] != (pair{110, 50}) {
		t.Errorf("%d pairs, first %v", len(row.pairs), row.pairs[0])
	}
	inFlight := row.panels[0].lines[0]
	middle := inFlight.values[len(inFlight.values)/2]
	if inFlight.name != "concurrency" || math.Abs(middle-2.5) > 0.51 { // 10/s × 250 ms
		t.Errorf("%s %v", inFlight.name, middle)
	}
	if got := row.panels[5].lines[0].values[5]; got != 700 {
		t.Errorf("two GPUs take %v W", got)
	}
	if got := row.panels[1].lines[1].values[40]; collected(got) && got != 50 {
		t.Errorf("the largest ttft is %v ms", got)
	}
}

func TestStepsKeepBothEnds(t *testing.T) {
	at := func(i int) float64 { return float64(i + 1) }
	if diff := cmp.Diff([]float64{1, 500, 1000}, stepsOf(1000, 3, at)); diff != "" {
		t.Error(diff)
	}
	if got := stepsOf(1, 3, at); len(got) != 1 || got[0] != 1 {
		t.Error(got)
	}
}

// The distribution of ITL is that of all gaps of the completed requests.
func TestGapsArePooled(t *testing.T) {
	records := []*record.Record{{Outcome: "ok", Gaps: record.Pack(30_000, 10_000)}, {Outcome: "ok", Gaps: record.Pack(20_000)},
		{Outcome: "timeout", Gaps: record.Pack(90_000)}, {Outcome: "ok"}}
	got := gapsECDF(records, 10)
	if diff := cmp.Diff([]float64{10, 20, 30}, got.steps); diff != "" || got.n != 3 || got.without != 2 {
		t.Errorf("%s: %+v", diff, got)
	}
}

// A file that was cut, or is none, is said on the page and costs no more than its own figures.
func TestUnreadEvidence(t *testing.T) {
	run := observedRun(t)
	name := filepath.Join(run.Dir, run.Rows[0].ID+".requests.jsonl.zst")
	if err := os.WriteFile(name, []byte("not zstd"), 0o644); err != nil {
		t.Fatal(err)
	}
	html := string(page1(t, run))
	if !strings.Contains(html, "Unreadable records") {
		t.Error("nothing is said of it")
	}
}

func TestTimelineSurvivesSilence(t *testing.T) {
	row := record.Row{}
	if got := panelsOf(&row, nil, nil, 20); got != nil {
		t.Error(got)
	}
	got := panelsOf(&row, fixture.Requests(3)[:1], nil, 20)
	if len(got[4].lines) != 0 || len(got[0].lines) != 1 {
		t.Errorf("what nobody told has lines: %+v", got)
	}
}

// The latencies of a row with reasoning have a line more, with a colour of its own.
func TestTimelineOfReasoning(t *testing.T) {
	row := record.Row{Summary: record.Summary{Reasoning: &record.Reasoning{}}}
	panels := panelsOf(&row, fixture.Requests(30), nil, 20)
	if lines := panels[1].lines; len(lines) != 3 || lines[2].name != "TTFO median" {
		t.Errorf("%+v", lines)
	}
	timelineSeries(observed{row: &row, panels: panels}, panelsShown([]observed{{panels: panels}}))
}

// A gauge repeats its last sample for up to two sampling intervals, and is absent in a gap.
func TestGaugeHasGaps(t *testing.T) {
	c := clock{start: 0, end: 10_000_000, n: 20} // bins of half a second
	var samples []*record.Sample
	for _, s := range []int64{0, 1, 2, 3, 8, 9} { // every second, but for five of them
		samples = append(samples, &record.Sample{TUs: s*1_000_000 + 100_000, Server: &telemetry.ServerReading{Running: new(float64(s))}})
	}
	nan := math.NaN()
	want := []float64{0, 0, 1, 1, 2, 2, 3, 3, 3, 3, 3, nan, nan, nan, nan, nan, 8, 8, 9, nan}
	got := c.gauge(samples, running)
	for i := range want {
		if got[i] != want[i] && !(math.IsNaN(got[i]) && math.IsNaN(want[i])) {
			t.Fatalf("%v, want %v", got, want)
		}
	}
	if one := c.gauge(samples[:1], running); one[0] != 0 || collected(one[1]) {
		t.Errorf("of one sample: %v", one)
	}
	samples[1], samples[2] = samples[2], samples[1]
	if late := c.gauge(samples, running); fmt.Sprint(late) != fmt.Sprint(want) {
		t.Errorf("of samples not in order of time: %v", late)
	}
	for _, s := range samples { // every 5 s
		s.TUs = 100_000 + 5*(s.TUs-100_000)
	}
	c.end, c.n = 50_000_000, 50
	if slow := c.gauge(samples, running); slow[9] != 1 || slow[20] != 3 || collected(slow[35]) {
		t.Errorf("of samples every 5 s: %v", slow)
	}
}

// The longest gap stands in the bin in which it ended.
func TestStallsAreSeen(t *testing.T) {
	row := fixture.Shape{Name: "A", Rate: 1, N: 10, TTFT: 5, TPOT: 5}.Row()
	c := clock{start: 0, end: 4_000_000, n: 4}
	r := fixture.Requests(1)[0]
	r.Arrival, r.First, r.Gaps, r.OutputTokens = record.At(0), record.At(500_000), record.Pack(100_000, 2_000_000, 300_000), 4
	r.Last, r.Outcome = record.At(2_900_000), "ok"
	lines := c.tokenTimes(&row, []*record.Record{r})
	if got := lines[1].values; got[0] != 100 || collected(got[1]) || got[2] != 2000 || collected(got[3]) {
		t.Errorf("longest ITL %v", got)
	}
	if got := lines[0].values[0]; got != 800 {
		t.Errorf("median TPOT %v", got)
	}
}

// A colour has one meaning: it is in one panel alone.
func TestTimelineColours(t *testing.T) {
	panel := map[string]int{}
	for i, colors := range panelColors {
		for _, c := range colors {
			if was, seen := panel[c]; seen && was != i {
				t.Errorf("panels %d and %d have lines in %s", was, i, c)
			}
			panel[c] = i
		}
	}
}

// The map has the two axes of a row, and none of the rows that have one or three.
func TestHeat(t *testing.T) {
	var rows []record.Row
	for i, input := range []string{"256", "2048"} {
		for j, slots := range []string{"1", "2"} {
			axes := []experiment.Axis{{Key: "input", Value: input}, {Key: "concurrency", Value: slots}}
			rows = append(rows, fixture.Shape{Name: "two", Axes: axes, Concurrency: j + 1, N: 300, TTFT: 50, TPOT: 7, Output: float64(100 * (1 + 2*i + j)), Verdict: "PASS"}.Row())
		}
	}
	rows = append(rows, fixture.Shape{Name: "one", Axes: fixture.Axis("concurrency", "1"), Concurrency: 1, N: 300, TTFT: 50, TPOT: 7, Output: 100}.Row())
	o := report.Analysis{Series: series.FromRows(rows)}
	tables := heatMaps(&o)
	if len(tables) != 3 {
		t.Fatalf("%d maps", len(tables))
	}
	var got [][]string
	for _, row := range tables[0].Rows {
		var line []string
		for _, c := range row {
			line = append(line, c.Text+string(c.Kind))
		}
		got = append(got, line)
	}
	if diff := cmp.Diff([][]string{{"256", "100heat0", "200heat1"}, {"2048", "300heat3", "400heat4"}}, got); diff != "" {
		t.Error(diff)
	}
}
