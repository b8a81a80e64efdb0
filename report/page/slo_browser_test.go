package page

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bench/experiment"
	"bench/experiment/diagnosis"
	"bench/experiment/record"
	"bench/report"
)

// judged is what a page shows of a workload under some limits.
type judgedWorkload struct {
	Workload int
	States   []diagnosis.Status
	Verdict  string
}

// curvesOfExample is the example with its rows of several loads.
func curvesOfExample(t *testing.T) *report.Run {
	run := exampleRun(t)
	run.Rows = slices.DeleteFunc(run.Rows, func(r record.Row) bool {
		return r.Spec.Name != "D-saturation" && r.Spec.Name != "F-mix" && r.Spec.Name != "A-short"
	})
	return run
}

// evaluated is what bench report --slo says of the workloads whose limits the reader can change.
func evaluated(t *testing.T, limits map[string]float64, workloads []int) []judgedWorkload {
	t.Helper()
	run := curvesOfExample(t)
	err := run.EvaluateAgain(report.Evaluation{Given: "limits", Limits: func(s *experiment.Spec) {
		s.SLO.Limits = append([]experiment.Limit{}, s.SLO.Limits...)
		for i, l := range s.SLO.Limits {
			if ms, ok := limits[l.Key]; ok {
				s.SLO.Limits[i].Value = ms
			}
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	o := run.Analyze()
	var out []judgedWorkload
	for _, i := range workloads {
		w := o.Answer.Workloads[i]
		j := judgedWorkload{Workload: i, Verdict: string(w.Verdict)}
		for _, p := range w.Points {
			j.States = append(j.States, p.Status)
		}
		out = append(out, j)
	}
	return out
}

// TestSLOOnThePage: the page says the same under other limits as bench report --slo.
func TestSLOOnThePage(t *testing.T) {
	rng := rand.New(rand.NewPCG(20, 42))
	var all []map[string]float64
	for range 3 { // each fits the twins of the example again
		at := func(low, high float64) float64 { return low * math.Pow(high/low, rng.Float64()) }
		all = append(all, map[string]float64{"ttft_p95": at(5, 10_000), "tpot_p95": at(1, 20)})
	}
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	html := page1(t, curvesOfExample(t))
	dom := browse(t, with(html, fmt.Sprintf(`addEventListener('load', () => {
  const curves = page.charts.data('r0-curves').curves.filter(c => c.slo);
  const out = %s.map(limits => curves.map(c => {
    const found = slo.judge(c, limits);
    return {Workload: c.slo.workload, States: found.states, Verdict: found.verdict};
  }));
  document.body.textContent = '<<' + JSON.stringify(out) + '>>';
});`, text)), "1440,900")
	found := regexp.MustCompile(`&lt;&lt;(.*)&gt;&gt;`).FindSubmatch([]byte(dom))
	if found == nil {
		t.Fatal("the page has no verdicts")
	}
	var got [][]judgedWorkload
	if err := json.NewDecoder(bytes.NewReader(found[1])).Decode(&got); err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for i, limits := range all {
		var workloads []int
		for _, w := range got[i] {
			workloads = append(workloads, w.Workload)
			seen[w.Verdict]++
		}
		if diff := cmp.Diff(evaluated(t, limits, workloads), got[i]); diff != "" {
			t.Errorf("%v (-report +page):\n%s", limits, diff)
		}
	}
	t.Log(seen)
	if len(got[0]) < 3 || len(seen) < 3 {
		t.Errorf("%d workloads, %v", len(got[0]), seen)
	}
}

// TestSliders: a slider moves the star, the words of the table, the ruler and the charts, and says so; reset takes all back.
func TestSliders(t *testing.T) {
	dom := browse(t, with(page1(t, exampleRun(t)), awaiting+`addEventListener('load', async () => {
  const root = document.documentElement, $ = of => document.querySelector(of);
  await drawn($('.chart'));
  const look = () => [$('.chosen').innerText, $('[id$=points] table').innerText, $('.ruler').innerHTML];
  const picture = () => $('.chart canvas').toDataURL();
  const was = look(), drawnFirst = picture(), slider = $('.slo-bar input');
  const own = slider.value, move = to => { slider.value = to; slider.dispatchEvent(new Event('input')); };
  move(own); // at the run's own limit nothing is changed
  await drawn($('.chart'));
  root.dataset.touched = $('.retold') || look().some((x, i) => x !== was[i]) ? 1 : 0;
  root.dataset.spoken = slider.getAttribute('aria-valuetext') === '2 s' ? 1 : 0;
  slider.value = 0;
  slider.dispatchEvent(new Event('input'));
  await drawn($('.chart'));
  const now = look();
  root.dataset.moved = now.filter((x, i) => x !== was[i]).length + (picture() !== drawnFirst ? 1 : 0);
  root.dataset.told = now[0].includes('measured SLO: TTFT p95 ≤ 2 s') && now[0].includes("--slo 'ttft_p95=") && !now[0].includes('SHIP') && !$('[id$=points] table').innerText.includes('★') ? 1 : 0;
  root.dataset.hidden = now[0].includes('estimate hidden') === was[2].includes('estimate') && page.charts.data('r0-curves').curves.every(c => !c.slo || c.slo.workload !== Number($('.workloads :checked').value) || !c.twin) ? 1 : 0;
  move(own);
  await drawn($('.chart'));
  root.dataset.again = look().filter((x, i) => x === was[i]).length;
  move(0);
  $('.retold button').click();
  await drawn($('.chart'));
  root.dataset.back = look().filter((x, i) => x === was[i]).length;
});`), "1440,900")
	for name, want := range map[string]int{"moved": 4, "told": 1, "back": 3, "touched": 0, "spoken": 1, "hidden": 1, "again": 3} {
		if got := attribute(t, dom, name); got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
}

// TestLegend: a curve that the reader turns on or off stays so.
func TestLegend(t *testing.T) {
	dom := browse(t, with(page1(t, exampleRun(t)), awaiting+`addEventListener('load', async () => {
  const root = document.documentElement, box = document.getElementById('r0-ecdf'), chart = () => echarts.getInstanceByDom(box);
  document.getElementById('tab-r0-latency').click();
  box.scrollIntoView();
  await drawn(box);
  const {data, selected} = chart().getOption().legend[0], shown = data.filter(name => selected[name] !== false), hidden = data.find(name => name.startsWith('B-long-prefill'));
  root.dataset.shown = shown.length;
  const toggle = async name => {
    const was = chart();
    was.dispatchAction({type: 'legendToggleSelect', name});
    for (let k = 0; k < 1000 && chart() === was; k++) await new Promise(ok => setTimeout(ok, 20));
  };
  await toggle(shown[2]);
  await toggle(hidden);
  const now = chart().getOption().legend[0].selected;
  root.dataset.kept = now[hidden] && !now[shown[2]] && now[shown[0]] ? 1 : 0;
});`), "1440,900")
	for name, want := range map[string]int{"shown": 3, "kept": 1} {
		if got := attribute(t, dom, name); got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
}
