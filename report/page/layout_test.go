package page

import (
	"fmt"
	"path/filepath"
	"testing"

	"bench/experiment/record"
	"bench/experiment/telemetry"
	fixture "bench/internal/reporttest"
	"bench/report"
)

// words counts the words of the page by their first letter or digit. Shown are those within 1440 × 900.
const words = `
const words = (shown) => {
  let n = 0;
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text; (text = walk.nextNode());) {
    const parent = text.parentElement, range = document.createRange();
    if (parent.closest('script, style, noscript, option, footer, .matrix')) continue;
    range.selectNodeContents(text);
    if (shown && !(parent.checkVisibility() && [...range.getClientRects()].some(b => b.width && b.bottom > 0 && b.right > 0 && b.top < 900 && b.left < 1440))) continue;
    n += text.data.split(/\s+/).filter(word => /[\p{L}\p{N}]/u.test(word)).length;
  }
  return n;
};
addEventListener('load', () => {
  document.documentElement.dataset.first = words(true);
  document.documentElement.dataset.all = words(false);
});`

// exampleRun is the run of the default matrix in the repository.
func exampleRun(t *testing.T) *report.Run {
	t.Helper()
	dirs, err := filepath.Glob("../../results/example/*Z")
	if err != nil || len(dirs) != 1 {
		t.Fatalf("%q %v", dirs, err)
	}
	run, err := report.Load(dirs[0])
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// noisyRun is 14 rows as the first matrix of a reader has them, measured on a busy machine: many cautions, a row that is
// undecided because of one, and rows that miss the SLO.
func noisyRun() *report.Run {
	const busy = "find other work on this machine (top), or give the server at most as many threads as cores; then run again"
	caution := func(code, text, hint string) record.Finding {
		return record.Finding{Code: code, Severity: record.Caution, Text: text, Hint: hint}
	}
	cautions := []record.Finding{
		caution("buffered", "3 of 100 answers arrived all at once: their tpot and itl can't be measured; tpot_p95 UNDECIDED because of it", "disable buffering between server and client (nginx: proxy_buffering off)"),
		caution("client_bound", "client lag p95 3.34 ms is part of ttft and e2e; ttft_p95 limit 2 s: verdict unaffected", "use a larger client machine, or lower the load (bench selftest --save measures this machine's limit)"),
		caution("client_machine", "load average 7.5 before and 7.55 after the row on 2 cores: the local server waited for CPU; tpot_p95 limit 40 ms, ttft_p95 limit 2 s: verdicts unaffected", busy),
		caution("client_bound", "CPU steal 9.91 %: timestamps up to 290 ms late; tpot_p95 limit 40 ms, ttft_p95 limit 2 s: verdicts unaffected", busy),
		caution("unsteady", "the warm-up was too short: the first 50 of 100 requests have a mean ttft of 72.4 ms, the others 55.7 ms (MSER-5)", "make warmup longer"),
	}
	note := record.Finding{Code: "closed_loop", Severity: record.Note, Text: "closed loop: ttft_p95 count from a free worker; users who arrive independently queue first and wait longer", Hint: "limit users' latency in a row with a rate"}
	run := &report.Run{Dir: "results/chat/20261120T120000Z"}
	run.Manifest, _ = fixture.Run()
	run.Manifest.Plan, run.Manifest.Target.Model = nil, "meta-llama/Llama-3.2-1B-Instruct"
	add := func(s fixture.Shape) {
		i := len(run.Rows)
		s.Findings = append(s.Findings, cautions[i%len(cautions)])
		if s.Roofline = true; s.Rate == 0 {
			s.Findings = append(s.Findings, note)
		}
		if s.Verdict == "" {
			s.Verdict = "PASS"
		}
		row := s.Row()
		row.Server.Metrics = &telemetry.ServerUsage{Engine: "vllm", Running: &record.Gauge{Mean: 3.86, Max: 4}, Waiting: &record.Gauge{Mean: 0.4, Max: float64(i)}, KVUsage: &record.Gauge{Mean: 0.0297, Max: 0.032}}
		run.Rows = append(run.Rows, row)
		run.Manifest.Plan = append(run.Manifest.Plan, record.Planned{ID: row.ID, Name: s.Name, State: "done"})
	}
	add(fixture.Shape{Name: "A-short-chat", Concurrency: 1, N: 100, TTFT: 2.8, TPOT: 1.06, Output: 872, Expect: "the healthy baseline: TTFT of a few ms, TPOT of one step at batch 1"})
	add(fixture.Shape{Name: "B-long-prefill", Concurrency: 1, N: 100, TTFT: 13.8, TPOT: 1.07, Output: 706, Verdict: "UNDECIDED", Need: 60, Expect: "TTFT grows with the prompt; TPOT does not change"})
	add(fixture.Shape{Name: "C-long-decode", Concurrency: 1, N: 100, TTFT: 2.83, TPOT: 1.06, Output: 881, Expect: "TTFT as in A; TPOT does not change over a longer answer"})
	for i, c := range []int{4, 8, 16, 32, 128} {
		s := fixture.Shape{Name: "D-saturation", Axes: fixture.Axis("concurrency", fmt.Sprint(c)), Concurrency: c, N: 100, TTFT: 55 + float64(i), TPOT: 1.7 + 2*float64(i), Output: 1900 + 400*float64(i),
			Expect: "throughput levels off while TPOT keeps growing; above max_num_seqs requests queue, and TTFT misses the SLO"}
		if c == 128 {
			s.TTFT, s.Verdict = 3780, "FAIL"
		}
		add(s)
	}
	for _, state := range []string{"cold", "warm"} {
		add(fixture.Shape{Name: "E-shared-prefix", Axes: fixture.Axis("prefix.state", state), Concurrency: 1, N: 100, Prefix: state, TTFT: 20, TPOT: 1.08, Output: 700,
			Expect: "a warm prefix halves the prefill and thus TTFT; TPOT does not change"})
	}
	for i, rate := range []float64{20, 30, 45, 150} {
		s := fixture.Shape{Name: "F-production-mix", Axes: fixture.Axis("rate", fmt.Sprint(rate)), Rate: rate, N: int(8 * rate), Mix: true, TTFT: 6.5, TPOT: 1.3 + float64(i), Output: 1700 * float64(i+1),
			Expect: "saturation between 60 and 150 requests/s; above it TTFT is mostly queueing and misses the SLO"}
		if rate == 150 {
			s.TTFT, s.Verdict = 4340, "FAIL"
		}
		add(s)
	}
	return run
}

// TestFewWords: a reader has the answer in ten seconds. The matrix is a file of the user and does not count.
func TestFewWords(t *testing.T) {
	for name, run := range map[string]*report.Run{"example": exampleRun(t), "noisy": noisyRun()} {
		t.Run(name, func(t *testing.T) { fewWords(t, run) })
	}
}

func fewWords(t *testing.T, run *report.Run) {
	t.Helper()
	html := page1(t, run)
	if len(html) > 1_000_000 {
		t.Errorf("%d bytes, want at most 1 MB", len(html))
	}
	dom := browse(t, with(html, words), "1440,900")
	first, all := attribute(t, dom, "first"), attribute(t, dom, "all")
	t.Logf("%d words on the first screen, %d on the page, %d bytes", first, all, len(html))
	if first > 180 || first < 60 {
		t.Errorf("%d words on the first screen, want at most 180", first)
	}
	if all > 2750 {
		t.Errorf("%d words on the page, want at most 2750", all)
	}
}

// keys drives tabs and workloads as a keyboard does: arrows, Home, End and the space bar on tabs; on radio buttons
// the browser itself moves the choice.
const keys = awaiting + `addEventListener('load', async () => {
  const root = document.documentElement, tabs = [...document.querySelectorAll('#r0 [role=tab]')];
  const panel = tab => document.getElementById(tab.getAttribute('aria-controls'));
  const chosen = () => tabs.findIndex(tab => tab.getAttribute('aria-selected') === 'true');
  const sound = () => tabs.every((tab, i) => panel(tab).hidden === (i !== chosen()) && tab.tabIndex === (i === chosen() ? 0 : -1)) && document.activeElement === tabs[chosen()];
  const press = key => document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true, cancelable: true}));
  const wrong = [];
  tabs[0].focus();
  for (const [key, want] of [['ArrowRight', 1], ['ArrowRight', 2], ['ArrowLeft', 1], ['End', tabs.length - 1], ['ArrowRight', 0], ['ArrowLeft', tabs.length - 1], ['Home', 0], [' ', 0]]) {
    press(key);
    if (chosen() !== want || !sound()) wrong.push(key + ' leads to ' + chosen());
  }
  root.dataset.tabs = tabs.length;

  for (const [hash, id] of [['#trust', 'r0-trust'], ['#r0-roofline', 'r0-roofline'], ['#def-ttft', 'definitions'], ['#r0-points', 'r0-summary']]) {
    location.hash = hash;
    await new Promise(ok => addEventListener('hashchange', () => setTimeout(ok), {once: true}));
    if (panel(tabs[chosen()]).id !== id) wrong.push(hash + ' opens ' + panel(tabs[chosen()]).id);
  }

  const [now, other] = [':checked', ':not(:checked)'].map(state => document.querySelector('.workloads input' + state));
  const head = () => document.querySelector('.chosen h2').textContent, was = head();
  if (now.name !== other.name || now.tabIndex < 0) wrong.push('the workloads are not one radio group');
  other.focus();
  other.click();
  if (head() === was || !head().includes(other.closest('label').textContent.trim().slice(2))) wrong.push('the answer is still ' + head());
  const first = document.querySelector('[data-workload]');
  if (first.dataset.workload !== other.value || !first.classList.contains('of')) wrong.push('the points are not those of the workload');
  const choices = [...document.querySelectorAll('.workloads input')], at = () => choices.findIndex(c => c.checked);
  for (const [key, want] of [['End', choices.length - 1], ['Home', 0]]) {
    press(key);
    if (at() !== want || document.activeElement !== choices[want] || !head().includes(choices[want].closest('label').textContent.trim().slice(2))) wrong.push(key + ' leads to workload ' + at());
  }
  root.dataset.wrong = wrong.length;
  document.body.append(wrong.join('; '));
});`

func TestKeyboard(t *testing.T) {
	dom := browse(t, with(page1(t, fixtureRun()), keys), "1440,900")
	if attribute(t, dom, "wrong") != 0 || attribute(t, dom, "tabs") < 8 {
		t.Errorf("%d tabs: %.600s", attribute(t, dom, "tabs"), dom[max(0, len(dom)-600):])
	}
}
