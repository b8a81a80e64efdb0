package page

import (
	"fmt"
	"io"
	"regexp"
	"testing"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/unit"
	fixture "bench/internal/reporttest"
	"bench/report"
	"bench/report/compare"
)

// manyPoints is a comparison of n points that call themselves hostile names, with 16 figures each.
func manyPoints(t *testing.T, n int) *compare.Comparison {
	t.Helper()
	var runs []*report.Run
	for k, slower := range []float64{1, 1.2} {
		run := &report.Run{}
		run.Manifest.Matrix, run.Manifest.Run = "chat", fmt.Sprint("run ", k)
		for i := range n {
			shape := fixture.Shape{Name: fixture.Hostile + fmt.Sprint(i/4),
				Axes: fixture.Axis("concurrency", unit.Count(1+i%4)), Concurrency: 1 + i%4, N: 400,
				TTFT: 80 * slower, TPOT: 12 * slower, Output: 90 * float64(1+i%4) / slower}
			run.Rows = append(run.Rows, shape.Row())
		}
		runs = append(runs, run)
	}
	m := multiRun{runs: runs, names: []string{"base", "new" + fixture.Hostile}}
	for _, r := range runs {
		for _, row := range r.Rows {
			r.Manifest.Plan = append(r.Manifest.Plan, record.Planned{ID: row.ID, State: "done"})
		}
	}
	c, err := compare.Compare(m.side(0), m.side(1),
		compare.Options{Gate: experiment.Gate{Thresholds: []experiment.Threshold{{Metric: "tpot_p50",
			Worse: 0.03}}}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The page of a comparison draws the forest and the curves under its own policy at every width, folded
// figures when the reader opens them, and is never wider than a phone; 160 figures fit it as well as 16.
func TestComparisonInBrowser(t *testing.T) {
	for _, points := range []int{1, 12} {
		for _, size := range []string{"1440,900", "390,844"} {
			if points == 1 && size == "390,844" {
				continue // the many fit a phone, and each page costs two seconds of CPU
			}
			t.Run(fmt.Sprintf("%d points, %s", points, size), func(t *testing.T) {
				html := fixture.Rendered(t,
					func(w io.Writer) error { return Comparison(w, manyPoints(t, points)) })
				want := len(regexp.MustCompile(`class="chart-data"`).FindAllString(html, -1))
				dom := browse(t, with([]byte(html), awaiting+`addEventListener('load', async () => {
  const root = document.documentElement, boxes = [...document.querySelectorAll('.chart')];
  root.dataset.forest = boxes[0].getBoundingClientRect().top < innerHeight ? 1 : 0;
  for (const d of document.querySelectorAll('details')) d.open = true;
  let ink = 0;
  for (const box of boxes) {
    box.scrollIntoView();
    await drawn(box);
    const c = box.querySelector('canvas');
    if (c && new Set(c.getContext('2d').getImageData(0, 0, c.width, Math.min(c.height, 900)).data).size > 5) ink++;
  }
  root.dataset.ink = ink;
  root.dataset.xss = window.__xss ? 1 : 0;
  root.dataset.wide = root.scrollWidth > root.clientWidth ? 1 : 0;
});`), size)
				if ink := attribute(t, dom, "ink"); ink != want || want < 2 {
					t.Errorf("%d of %d charts have ink on them", ink, want)
				}
				if attribute(t, dom, "xss") != 0 || attribute(t, dom, "wide") != 0 {
					t.Error("hostile text ran, or the page is wider than its screen")
				}
				if attribute(t, dom, "forest") != 1 {
					t.Error("the forest is not on the first screen")
				}
			})
		}
	}
}
