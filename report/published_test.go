package report

import (
	"bytes"
	"strings"
	"testing"

	"bench/experiment/text"
	fixture "bench/internal/reporttest"
)

func publishedRun() *Run {
	run := &Run{Dir: "results/chat/20261120T120000Z"}
	run.Manifest, run.Rows = fixture.Published()
	return run
}

// TestPublishedText: the figures beside the operating point, with the distance in words; text without figures has
// no word of them.
func TestPublishedText(t *testing.T) {
	var b bytes.Buffer
	if err := Text(&b, publishedRun(), Screen{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"Published figures\n", "301 (5 % slower)", "TensorRT-LLM", "InferenceX: lengths 80–100 % of 1,024/1,024",
	} {
		if !strings.Contains(strings.Join(strings.Fields(b.String()), " "), strings.TrimSpace(want)) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	for line := range strings.Lines(b.String()) {
		if text.Width(strings.TrimSpace(line)) > usualWidth {
			t.Errorf("too wide: %s", line)
		}
	}
	b.Reset()
	if err := Text(&b, fixtureRun(), Screen{}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "ublished") {
		t.Error(b.String())
	}
}

// TestPublishedTable: measured beside published, with words at the same concurrency alone.
func TestPublishedTable(t *testing.T) {
	o := publishedRun().Analyze()
	table := publishedTable(&o, nil)
	if len(table.Rows) != 9 {
		t.Fatalf("%d rows", len(table.Rows))
	}
	cells := func(row []Cell) string {
		var texts []string
		for _, c := range row {
			texts = append(texts, strings.TrimSpace(c.Text+" "+c.Tag))
		}
		return strings.Join(texts, " | ")
	}
	for i, want := range map[int]string{
		0: "chat, concurrency 16 | SGLang 0.5.9 | c16 | 286 | 301 (5 % slower) | 16.6 | 17.1 (3 % slower) | InferenceX, 2026-03-25",
		3: "chat, concurrency 24 | SGLang 0.5.9 | c16 | 286 | 402 | 16.6 | 21.1 | InferenceX, 2026-03-25",
		4: "chat, concurrency 24 | SGLang 0.5.9 | c32 | 338 | 402 | 23.3 | 21.1 | InferenceX, 2026-03-25",
	} {
		if got := cells(table.Rows[i]); got != want {
			t.Errorf("row %d:\n%s\nwant\n%s", i, got, want)
		}
	}
	if p := publishedPoint(&o); p == nil || p.LoadValue != 16 {
		t.Errorf("the operating point is at concurrency 16: %+v", p)
	}
	var b bytes.Buffer
	if err := Markdown(&b, publishedRun()); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "| InferenceX, "); n != 3 {
		t.Errorf("%d figures in\n%s", n, b.String())
	}
}
