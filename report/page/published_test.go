package page

import (
	"strings"
	"testing"

	fixture "bench/internal/reporttest"
	"bench/report"
)

func TestPublishedMarks(t *testing.T) {
	run := &report.Run{Dir: "results/chat/20261120T120000Z"}
	run.Manifest, run.Rows = fixture.Published()
	o := run.Analyze()
	marks := publishedMarks(&o.Series[0])
	loads := map[int]int{}
	for _, m := range marks {
		loads[m.Load]++
	}
	if len(marks) != 6 || loads[16] != 3 || loads[32] != 3 || marks[0].By != "SGLang 0.5.9 (InferenceX, 2026-03-25)" || marks[0].Latency["tpot"] != 16.63 {
		t.Errorf("got %+v", marks)
	}
	html := string(page1(t, run))
	for _, want := range []string{"△ published, beside p50", `id="r0-published"`, "<details><summary>9 rows</summary>"} {
		if !strings.Contains(html, want) {
			t.Errorf("no %s", want)
		}
	}
	html = string(page1(t, fixtureRun()))
	for _, unwanted := range []string{"△ published", `id="r0-published"`} {
		if strings.Contains(html, unwanted) {
			t.Errorf("%s without figures", unwanted)
		}
	}
}
