package page

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"bench/experiment/unit"
	"bench/report/fixture"
)

// browse opens the page in headless Chromium and returns the document after its script has run.
func browse(t *testing.T, html []byte, size string) string {
	t.Helper()
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("no chromium on this machine: the page is not driven")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "report.html")
	if err := os.WriteFile(file, html, 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, chromium, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
		"--disable-sync", "--disable-component-update", "--user-data-dir="+dir, "--window-size="+size, "--virtual-time-budget=1000000",
		"--enable-logging=stderr", "--dump-dom", "file://"+file)
	var console bufferedLog
	cmd.Stderr = &console
	dom, err := cmd.Output()
	if err != nil {
		t.Fatalf("chromium: %v\n%s", err, console.String())
	}
	for _, line := range console.messages() {
		t.Errorf("the page complains: %s", line)
	}
	return string(dom)
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
			if got := attribute(t, dom, "stood"); got != want || want < 9 {
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
			for _, what := range []string{"toggled", "sorted", "copied"} {
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
  const box = document.getElementById('r0-tradeoff'), root = document.documentElement;
  box.scrollIntoView();
  await drawn(box);
  const top = () => Math.round(echarts.getInstanceByDom(box).getModel().getComponent('yAxis').axis.scale.getExtent()[1]);
  root.dataset.log = top();
  [...box.previousElementSibling.querySelectorAll('input')][1].click();
  root.dataset.linear = top();
});`), "1280,900")
	if log, linear := attribute(t, dom, "log"), attribute(t, dom, "linear"); log < 1000 || linear < 1000 || log == linear {
		t.Errorf("the limit is 1000 ms; axes end at %d and %d", log, linear)
	}
}

// The page of several runs draws all its charts, the overlay first, and runs nothing that a run calls itself.
func TestSeveralRunsInBrowser(t *testing.T) {
	html := page1(t, another("monday", 1), another(fixture.Hostile, 1.2))
	if !bytes.Contains(html, []byte("all-overlay")) {
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

// TestFigureIsAsInGo: page.js formats figures as unit.Format does, but for zeros at the end.
func TestFigureIsAsInGo(t *testing.T) {
	from, to := strings.Index(script, "const digits"), strings.Index(script, "const dark")
	if from < 0 || to < from {
		t.Fatal("page.js has no digits and figure before dark")
	}
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
	dom := browse(t, []byte(`<!DOCTYPE html><html><body></body><script>`+script[from:to]+`
const wrong = `+string(b)+`.filter(s => figure(s.X, s.Unit) !== s.Want);
document.documentElement.dataset.wrong = wrong.length;
document.body.textContent = JSON.stringify(wrong.map(s => [s, figure(s.X, s.Unit)]));
</script></html>`), "800,600")
	if attribute(t, dom, "wrong") > 0 {
		t.Errorf("of %d figures differ: %s", len(samples), dom)
	}
}
