package page

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"bench/experiment/record"
	"bench/experiment/unit"
	fixture "bench/internal/reporttest"
	"bench/report"
)

// browse opens the page in headless Chromium and returns the document after its script has run.
func browse(t *testing.T, html []byte, size string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(file, html, 0o644); err != nil {
		t.Fatal(err)
	}
	return fixture.Browse(t, "file://"+file, size)
}

func attribute(t *testing.T, dom, name string) int {
	t.Helper()
	m := regexp.MustCompile(`<html[^>]*\bdata-` + name + `="(\d+)"`).FindStringSubmatch(dom)
	if m == nil {
		t.Fatalf("the script did not write data-%s", name)
	}
	n, err := strconv.Atoi(m[1])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestBrowser(t *testing.T) {
	run, seen := fixtureRun(), observedRun(t)
	run.Dir, run.Rows = seen.Dir, append(run.Rows, seen.Rows...) // a row with its requests
	run.Manifest.Plan = append(run.Manifest.Plan, seen.Manifest.Plan...)
	html := page1(t, run)
	want := len(regexp.MustCompile(`class="chart-data"`).FindAll(html, -1))
	for _, size := range []string{"390,844", "1280,900"} {
		t.Run(size, func(t *testing.T) {
			dom := browse(t, probe(html), size)
			if got := attribute(t, dom, "stood"); got != want || want < 8 {
				t.Errorf("%d charts stand, want %d", got, want)
			}
			if got := attribute(t, dom, "drawn"); got != want {
				t.Errorf("%d of %d charts have ink on them", got, want)
			}
			if got := attribute(t, dom, "switched"); got != 1 {
				t.Error("the theme does not switch")
			}
			if attribute(t, dom, "near") != 1 || attribute(t, dom, "far") != 1 {
				t.Errorf("charts are not drawn when they come near, or all at once: %d, %d", attribute(t, dom, "near"), attribute(t, dom, "far"))
			}
			for _, what := range []string{"toggled", "grouped", "detailed", "sorted", "copied"} {
				if attribute(t, dom, what) != 1 {
					t.Errorf("nothing was %s", what)
				}
			}
			if got := attribute(t, dom, "xss"); got != 0 {
				t.Error("hostile text ran")
			}
			if scroll, client := attribute(t, dom, "scroll-width"), attribute(t, dom, "client-width"); scroll > client {
				t.Errorf("the page is %d px wide on a screen of %d", scroll, client)
			}
		})
	}
}

// TestSLOInSight: the SLO's line is on the axis, logarithmic or not, also where every mark is far below it.
func TestSLOInSight(t *testing.T) {
	run := fixtureRun()
	run.Rows, run.Missing = run.Rows[:1], nil // TTFT of 62 ms, allowed are 1000
	dom := browse(t, with(page1(t, run), awaiting+`addEventListener('load', async () => {
  const box = document.getElementById('r0-latency-load'), root = document.documentElement;
  box.scrollIntoView();
  await drawn(box);
  const top = () => Math.round(echarts.getInstanceByDom(box).getModel().getComponent('yAxis').axis.scale.getExtent()[1]);
  root.dataset.log = top();
  [...box.previousElementSibling.querySelectorAll('input')][2].click();
  root.dataset.linear = top();
});`), "1280,900")
	if log, linear := attribute(t, dom, "log"), attribute(t, dom, "linear"); log < 1000 || linear < 1000 || log == linear {
		t.Errorf("the limit is 1000 ms; axes end at %d and %d", log, linear)
	}
}

// TestNamesAreNoTemplates: ECharts replaces {c} in a formatter; a name with it stays as it is. The chart of latencies
// begins with the limit of the chosen workload.
func TestNamesAreNoTemplates(t *testing.T) {
	run := &report.Run{}
	for i, name := range []string{"{c} {b}", "{a}", "D", "D"} {
		s := fixture.Shape{Name: name, Concurrency: 1, N: 1200, TTFT: 50 + float64(i), TPOT: 5 + float64(i), Output: 100 + float64(i)}
		if name == "D" {
			s.Axes, s.Concurrency, s.Verdict = fixture.Axis("concurrency", strconv.Itoa(i)), i, "PASS"
		}
		row := s.Row()
		run.Rows = append(run.Rows, row)
		run.Manifest.Plan = append(run.Manifest.Plan, record.Planned{ID: row.ID, State: "done"})
	}
	dom := browse(t, with(page1(t, run), awaiting+`addEventListener('load', async () => {
  const box = document.getElementById('r0-latency-load'), root = document.documentElement;
  box.scrollIntoView();
  await drawn(box);
  const lists = () => [...box.previousElementSibling.querySelectorAll('select')].map(s => s.value).join(' ');
  const drawnTexts = () => echarts.getInstanceByDom(box).getZr().storage.getDisplayList(true).map(e => e.style && e.style.text || e.parent && e.parent.style && e.parent.style.text).filter(x => x);
  const radio = name => [...document.querySelectorAll('.workloads input')].find(i => i.closest('label').textContent.includes(name)).click();
  const first = lists();
  radio('{a}');
  const single = lists(), texts = drawnTexts();
  root.dataset.named = texts.includes('{c} {b}, c1') && texts.includes('{a}, c1') ? 1 : 0;
  radio('D');
  root.dataset.opens = first === 'TTFT p99' && single === 'TTFT p95' && lists() === first ? 1 : 0;
  document.body.append([first, single, lists(), ...new Set(texts)].join(' | '));
});`), "1280,900")
	if attribute(t, dom, "named") != 1 || attribute(t, dom, "opens") != 1 {
		t.Errorf("%.900s", dom[max(0, len(dom)-900):])
	}
}

// The page of several runs draws all its charts, the overlay first, and runs nothing that a run calls itself.
func TestSeveralRunsInBrowser(t *testing.T) {
	html := page1(t, another("monday", 1), another(fixture.Hostile, 1.2))
	if !bytes.Contains(html, []byte("all-latency-load")) {
		t.Fatal("no overlay")
	}
	dom := browse(t, probe(html), "390,844")
	want := len(regexp.MustCompile(`class="chart-data"`).FindAll(html, -1))
	if got := attribute(t, dom, "drawn"); got != want {
		t.Errorf("%d of %d charts have ink on them", got, want)
	}
	if scroll, client := attribute(t, dom, "scroll-width"), attribute(t, dom, "client-width"); scroll > client || attribute(t, dom, "xss") != 0 {
		t.Errorf("the page is %d px wide on a screen of %d, or hostile text ran", scroll, client)
	}
}

// The trend page draws its charts under its own policy.
func TestHistoryInBrowser(t *testing.T) {
	html := fixture.Rendered(t, func(w io.Writer) error { return History(w, fixture.History()) })
	want := len(regexp.MustCompile(`class="chart-data"`).FindAllString(html, -1))
	if want != 2 {
		t.Fatalf("%d charts", want)
	}
	dom := browse(t, []byte(html), "1280,4000")
	if got := attribute(t, dom, "charts"); got != want || attribute(t, dom, "ready") == 0 || strings.Contains(dom, "__xss=1<") {
		t.Errorf("%d charts stand, want %d", got, want)
	}
}

// The labels of a narrow axis differ.
func TestNarrowAxisInBrowser(t *testing.T) {
	h := fixture.History()
	for i := range h.Groups[0].Trends {
		trend := &h.Groups[0].Trends[i]
		trend.Changes, trend.Alarm = nil, nil
		for j := range trend.Nights {
			trend.Nights[j].X = 2 + 0.001*float64(j%5)
		}
	}
	html := fixture.Rendered(t, func(w io.Writer) error { return History(w, h) })
	dom := browse(t, with([]byte(html), awaiting+`addEventListener('load', async () => {
  let same = 0, ticks = 0;
  for (const box of document.querySelectorAll('.chart')) {
    box.scrollIntoView();
    await drawn(box);
    const axis = echarts.getInstanceByDom(box).getOption().yAxis[0], labels = [];
    for (let y = axis.min; y < axis.max + axis.interval / 2; y += axis.interval) {
      labels.push(axis.axisLabel.formatter(y));
    }
    ticks += labels.length;
    same += labels.length - new Set(labels).size;
  }
  document.documentElement.dataset.ticks = ticks;
  document.documentElement.dataset.same = same;
});`), "1280,900")
	if ticks := attribute(t, dom, "ticks"); ticks < 6 {
		t.Errorf("%d ticks", ticks)
	}
	if same := attribute(t, dom, "same"); same != 0 {
		t.Errorf("%d labels are the same as another of their axis", same)
	}
}

// TestFigureIsAsInGo: figure.js formats figures as unit.Format does, but for zeros at the end.
func TestFigureIsAsInGo(t *testing.T) {
	type sample struct {
		X          float64
		Unit, Want string
	}
	var samples []sample
	for exponent := -3; exponent < 9; exponent++ {
		for _, digits := range []float64{1, 1.005, 1.25, 4.996, 9.99, 9.999, 1.0 / 3 * 10} {
			for _, u := range []string{"ms", "s", "share", ""} {
				x := digits * math.Pow10(exponent)
				number, rest, _ := strings.Cut(unit.Format(x, u), " ")
				if strings.Contains(number, ".") {
					number = strings.TrimRight(strings.TrimRight(number, "0"), ".")
				}
				samples = append(samples, sample{x, u, strings.TrimSpace(number + " " + rest)})
			}
		}
	}
	b, err := json.Marshal(samples)
	if err != nil {
		t.Fatal(err)
	}
	dom := browse(t, []byte(`<!DOCTYPE html><html><body></body><script>`+figureScript+`
const wrong = `+string(b)+`.filter(s => figure(s.X, s.Unit) !== s.Want);
document.documentElement.dataset.wrong = wrong.length;
document.body.textContent = JSON.stringify(wrong.map(s => [s, figure(s.X, s.Unit)]));
</script></html>`), "800,600")
	if attribute(t, dom, "wrong") > 0 {
		t.Errorf("of %d figures differ: %s", len(samples), dom)
	}
}

// TestCompose: curves.js draws every mark at its estimate with its state, and joins valid neighbours.
func TestCompose(t *testing.T) {
	set := newCurveSet(saturating(), evidence{}, &report.Run{})
	b, err := json.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	dom := browse(t, []byte(`<!DOCTYPE html><html><body></body><script>`+figureScript+curvesScript+`
const data = `+string(b)+`, points = data.curves[0].points;
const view = {metric: 'ttft', name: 'p99', percentile: 3, title: 'TTFT p99', details: false, ink: '#000', paper: '#fff', width: 600};
const compose = (group, more) => curves.compose(data, group, ['load', 'latency'], {...view, ...more});
const wrong = [];
const check = (what, got, want) => { if (JSON.stringify(got) !== JSON.stringify(want)) wrong.push([what, got, want]); };
const one = compose('F'), marks = one.series.find(s => s.type === 'scatter' && s.label);
const bare = s => s.data.map(d => d.value || d);
check('star on top', marks.data.at(-1).label.formatter(), '2/s');
marks.data.splice(1, 0, marks.data.pop());
check('marks', bare(marks), points.map(p => [p.load === null ? 16 * 1.15 : p.load, p.latency.ttft[3][0]]));
check('labels', marks.data.map(d => d.label.formatter()), ['1/s', '2/s', '4/s', '8/s', '16/s', 'inf']);
const dashed = one.series.find(s => s.lineStyle && s.lineStyle.type === 'dashed' && s.data.length), solid = one.series.find(s => s.lineStyle && s.lineStyle.type === 'solid' && s.name === 'F' && s.itemStyle.color === data.curves[0].color);
check('dashed from the thin point', dashed.data.map(d => d[0]), [1, 2, null]);
check('solid to the last valid load', solid.data.map(d => d[0]), [2, 4, null, 4, 8, null]);
check('star', marks.data.map(d => d.symbolSize), [null, 22, null, null, 11, null].map(x => x || undefined));
check('open', marks.data[3].itemStyle.color, '#fff');
check('half', marks.data[2].itemStyle.color.colorStops.map(s => s.color), [data.curves[0].color, data.curves[0].color, '#fff', '#fff']);
check('faint', marks.data.map(d => d.itemStyle.opacity || 1), [0.6, 1, 1, 1, 0.35, 0.6]);
const bar = one.series.find(s => s.type === 'line' && s.lineStyle.opacity);
check('whisker without an upper end', bar.data.slice(0, 2), [[1, points[0].latency.ttft[3][1]], [1, points[0].latency.ttft[3][0]]]);
const arrows = one.series.find(s => s.type === 'scatter' && !s.label);
check('arrow upwards', bare(arrows)[0], [1, points[0].latency.ttft[3][0]]);
check('SLO', one.series.find(s => s.markLine).markLine.data, [{yAxis: 1000, name: 'SLO TTFT p99 ≤ 1 s'}]);
check('names of one curve', one.names, []);
check('axis', [one.load, one.log], ['requests/s', true]);
check('tip', marks.data[0].tip.split('\n').slice(1, 3), ['meets the SLO', 'TTFT p99 ' + figure(points[0].latency.ttft[3][0], 'ms') + ' [' + figure(points[0].latency.ttft[3][1], 'ms') + ', –] (n=40, n too small)']);
const every = compose(curves.all);
check('all', [every.names, every.load, every.series.some(s => s.type === 'scatter' && !s.label)], [['F', 'A', 'SLO'], 'concurrency, or requests/s', false]);
check('labels of several curves', every.series.filter(s => s.name === 'F' && s.label).map(s => s.data.filter(d => d.label.show).map(d => d.label.formatter()).sort()), [['1/s', '2/s', 'inf']]);
check('labels of one curve', marks.data.every(d => d.label.show), true);
check('details', compose('F', {details: true}).series.length > one.series.length || points.every(p => !p.knee && !p.saturation), true);
const place = marks => { const f = curves.layout(100, () => marks); return (i, x) => f({seriesIndex: 0, dataIndex: i, rect: {x: x + 4, y: 66, width: 12, height: 12}, labelRect: {x, y: 50, width: 20, height: 10}}); };
const at = place([]), among = place([[20, 72], [20, 55], [20, 41]]);
check('labels apart', [at(0, 10), at(1, 15), at(2, 90)], [{dx: 0, dy: 0}, {dx: 0, dy: -14}, {dx: -10, dy: 0}]);
check('labels again', at(0, 10), {dx: 0, dy: 0});
check('label below, away from marks', among(0, 10), {dx: 0, dy: 34});
const beside = place([[20, 72], [20, 55], [20, 41], [20, 90]]);
check('label beside its mark', beside(0, 10), {dx: 20, dy: 17});
data.curves[0].published = [{by: 'X', load: 4, latency: {ttft: 50, tpot: 0}}];
const others = more => compose('F', more).series.filter(s => s.name === 'published').map(s => s.data[0]);
check('published beside p50', others({name: 'p50', percentile: 0, title: 'TTFT p50'}), [{value: [4, 50], tip: 'published: X\nTTFT 50 ms at concurrency 4'}]);
check('published beside no other percentile', others({}), []);
check('published without a figure', others({metric: 'tpot', name: 'p50', percentile: 0, title: 'TPOT p50'}), []);
check('opens', [curves.opening(data, 'F'), curves.opening(data, 'single loads')], [['TTFT', 'p99'], ['TTFT', 'p95']]);
document.documentElement.dataset.wrong = wrong.length;
document.body.textContent = JSON.stringify(wrong);
</script></html>`), "800,600")
	if attribute(t, dom, "wrong") > 0 {
		t.Error(dom[strings.LastIndex(dom, "<body>"):])
	}
}
