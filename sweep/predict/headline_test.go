package predict

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/verdict"
	"bench/report"
	"bench/sweep"
)

// drawnServer is a server with a workload and an SLO.
type drawnServer struct {
	kind, matrix, row string // the row lacks its load
}

// drawServer draws from servers of five kinds: on hardware with TTFT and TPOT limited, by either alone, with lognormal
// lengths and E2E limited, and few sequences at once before a queue.
func drawServer(seed uint64) drawnServer {
	rng := rand.New(rand.NewPCG(seed, 7))
	pick := func(all ...string) string { return all[rng.IntN(len(all))] }
	between := func(a, b float64) float64 { return a * math.Pow(b/a, rng.Float64()) }
	device := pick("h100-sxm", "a100-sxm-80gb", "l40s", "h200-sxm")
	input, output := int(between(100, 2000)), int(between(20, 300))
	d := drawnServer{kind: []string{"both", "tpot", "ttft", "lengths", "slots"}[seed%5]}
	tpot := math.Round(map[string]float64{"h100-sxm": 9, "a100-sxm-80gb": 12, "l40s": 25, "h200-sxm": 7}[device]*between(1.5, 4)*10) / 10
	ttft := pick("300ms", "500ms", "1s", "2s")
	target := fmt.Sprintf("model = \"llama-3.1-8b\"\nhardware = %q\ngpus = 1\n", device)
	lengths := fmt.Sprintf("input = %d\noutput = %d\n", input, output)
	extra, slo := "", ""
	switch d.kind {
	case "both":
		slo = fmt.Sprintf("ttft_p95 = %q\ntpot_p95 = \"%gms\"\n", ttft, tpot)
	case "tpot":
		slo = fmt.Sprintf("tpot_p95 = \"%gms\"\n", tpot)
	case "ttft":
		slo = fmt.Sprintf("ttft_p95 = %q\n", ttft)
	case "lengths":
		lengths = fmt.Sprintf("input = { dist = \"lognormal\", p50 = %d, p95 = %d }\noutput = { dist = \"lognormal\", p50 = %d, p95 = %d }\n",
			input, 3*input, output, 3*output)
		slo = fmt.Sprintf("ttft_p95 = %q\ntpot_p95 = \"%gms\"\n", ttft, tpot)
		if rng.IntN(2) == 0 {
			slo = fmt.Sprintf("e2e_p95 = \"%.2gs\"\n", 3*float64(output)*tpot/1000)
		}
	case "slots":
		target = "model = \"llama-3.1-8b\"\n"
		output = int(between(16, 100))
		lengths = fmt.Sprintf("input = 64\noutput = %d\n", output)
		extra = fmt.Sprintf("[mock]\nmodel = \"llama-3.1-8b\"\nmax_num_seqs = %d\nqueue = 100000\nstep_base = \"%.3gms\"\nstep_per_seq = \"%.3gms\"\n",
			int(between(8, 64)), between(5, 25), between(0.05, 0.5))
		slo = fmt.Sprintf("ttft_p95 = %q\n", ttft)
	}
	d.matrix = "name = \"m\"\n[target]\n" + target + extra + "[slo]\n" + slo
	d.row = "[[row]]\nname = \"r\"\narrival = \"poisson\"\n" + lengths
	return d
}

func (d *drawnServer) run(t testing.TB, keys string) (record.Manifest, *record.Row, string) {
	t.Helper()
	m, last, dir := d.keep(t, keys)
	os.RemoveAll(dir)
	return m, last, dir
}

// keep is run without the removal of its directory.
func (d *drawnServer) keep(t testing.TB, keys string) (record.Manifest, *record.Row, string) {
	t.Helper()
	m, p, err := planned(t, d.matrix+d.row+keys)
	if err != nil {
		t.Fatalf("%v\n%s", err, d.matrix+d.row+keys)
	}
	var last *record.Row
	o := sweep.Options{Out: t.TempDir(), Event: func(e sweep.Event) {
		if e.Finished != nil {
			if r := e.Finished.Row; os.Getenv("HEADLINE_PROBES") != "" {
				text := fmt.Sprintf("    %8s warm %4.0f window %4.0f", fmt.Sprintf("%.4g", float64(r.Spec.Rate)), time.Duration(r.Spec.Warmup.Time).Seconds(), r.Summary.DurationS)
				for _, v := range r.SLO {
					text += fmt.Sprintf(" | %s %s", v.Metric, v.Verdict)
					if v.Value != nil {
						text += fmt.Sprintf(" %.3f", *v.Value/v.Limit)
					}
				}
				text += fmt.Sprintf(" | took %.0f s", r.Took().Seconds())
				if l := r.Little; l != nil {
					text += fmt.Sprintf(" | %.1f/s stay %.2f s", l.RequestsS, l.MeanMs/1000)
				}
				t.Log(text)
			}
			last = e.Finished.Row
		}
	}}
	p.Apply(&o)
	result, err := sweep.Run(t.Context(), m, o)
	if err != nil {
		t.Fatal(err)
	}
	return manifest(t, result.Dir), last, result.Dir
}

// excess is ln(value ÷ limit) of the limit that is exceeded most, by the mean of windows of some seconds, each with
// arrivals of its own: near saturation one window shows the luck of its arrivals.
func (d *drawnServer) excess(t testing.TB, rate, seconds float64, windows int) float64 {
	sums := map[string]float64{}
	for i := range windows {
		_, row, _ := d.run(t, fmt.Sprintf("seed = %d\nrate = %g\nwarmup = \"%.0fs\"\nduration = \"%.0fs\"\n", i+1, rate, seconds/5, seconds))
		for _, v := range row.SLO {
			if v.Value == nil {
				return math.Inf(1)
			}
			sums[v.Metric] += math.Log(*v.Value/v.Limit) / float64(windows)
		}
	}
	most := math.Inf(-1)
	for _, x := range sums {
		most = max(most, x)
	}
	return most
}

// truth by the secant from a load nearby, each several long windows.
func (d *drawnServer) truth(t testing.TB, near float64) float64 {
	const step, enough = 0.05, 0.003 // of ln(load)
	excess := func(x float64) float64 {
		rate := math.Exp(x)
		return d.excess(t, rate, max(min(1500, 15000/rate), 400/rate), 4)
	}
	a := math.Log(near)
	fa := excess(a)
	b := a - math.Copysign(min(step, math.Abs(fa)/2), fa)
	for tries := 0; math.Abs(b-a) > enough && tries < 6; tries++ {
		fb := excess(b)
		next := (a*fb - b*fa) / (fb - fa)
		a, fa, b = b, fb, b+max(-step, min(step, next-b))
	}
	return math.Exp(b)
}

func (d *drawnServer) roughly(t testing.TB) float64 {
	low, high := d.bisect(t, 0.05, 1000, 1.5, 60, 1)
	low, high = d.bisect(t, low/1.1, high*1.1, 1.06, 400, 1)
	return math.Sqrt(low * high)
}

func (d *drawnServer) bisect(t testing.TB, low, high, until, seconds float64, windows int) (float64, float64) {
	for high/low > until {
		mid := math.Sqrt(low * high)
		if d.exceeds(t, mid, seconds, windows) {
			high = mid
		} else {
			low = mid
		}
	}
	return low, high
}

func (d *drawnServer) exceeds(t testing.TB, rate, seconds float64, windows int) bool {
	return d.excess(t, rate, max(min(seconds, 15000/rate), 400/rate), windows) > 0
}

const truths = "testdata/headline.csv"

func TestHeadlineTruth(t *testing.T) {
	list := os.Getenv("HEADLINE_TRUTH")
	if list == "" {
		t.Skip("HEADLINE_TRUTH=FROM-TO writes the truth of these servers")
	}
	var from, to uint64
	fmt.Sscanf(list, "%d-%d", &from, &to)
	known := readTruths(t)
	for seed := from; seed < to; seed++ {
		d := drawServer(seed)
		near := known[seed]
		if near == 0 {
			near = d.roughly(t)
		}
		fmt.Printf("%d,%s,%.4g\n", seed, d.kind, d.truth(t, near))
	}
}

func readTruths(t testing.TB) map[uint64]float64 {
	text, err := os.ReadFile(filepath.FromSlash(truths))
	if err != nil {
		t.Fatal(err)
	}
	out := map[uint64]float64{}
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		f := strings.Split(line, ",")
		seed, _ := strconv.ParseUint(f[0], 10, 64)
		out[seed], _ = strconv.ParseFloat(f[2], 64)
	}
	return out
}

// TestHeadline: the estimate after a search of four minutes is near the truth, and seldom above it.
func TestHeadline(t *testing.T) {
	seeds, seconds, windows := []uint64{7, 16, 18}, 300.0, 1 // of long runs; a study's are longer
	if list := os.Getenv("HEADLINE"); list != "" {
		var from, to uint64
		fmt.Sscanf(list, "%d-%d", &from, &to)
		seeds, seconds, windows = nil, 1500, 3
		for seed := from; seed < to; seed++ {
			seeds = append(seeds, seed)
		}
	}
	budget := os.Getenv("HEADLINE_BUDGET")
	if budget == "" {
		budget = "4m"
	}
	all := readTruths(t)
	n, near, above, shipped, wrong, byTwin := 0, 0, 0, 0, 0, 0
	for _, seed := range seeds {
		truth, ok := all[seed]
		if !ok {
			continue
		}
		d := drawServer(seed)
		rng := rand.New(rand.NewPCG(seed, 8))
		low, high := truth/(3+9*rng.Float64()), truth*(1.7+4*rng.Float64())
		ends := fmt.Sprintf("min = %.3g, max = %.3g, ", low, high)
		if os.Getenv("HEADLINE_OPEN") != "" {
			ends = ""
		}
		m, _, dir := d.keep(t, fmt.Sprintf(
			"warmup = \"5s\"\nrate = { search = \"slo\", %stolerance = \"10%%\", budget = %q }\n", ends, budget))
		f := m.Searches[0]
		if os.Getenv("HEADLINE_PROBES") != "" && len(m.Twins) > 0 {
			w := m.Twins[0]
			t.Logf("    %+v %s", w.Model, w.Rejected)
			for _, r := range w.Residuals {
				t.Logf("    %s at %.4g: %+.3f ± %.3f", r.Metric, r.Load, r.Log, r.Error)
			}
		}
		n++
		best, text := math.NaN(), ""
		if f.Best != nil && f.Low != nil && f.High != nil { // else it is no headline
			best = *f.Best / truth
		}
		if math.Abs(best-1) <= 0.1 {
			near++
		}
		if best > 1.05 {
			above++
		}
		if f.Low != nil {
			text += fmt.Sprintf(" low %.2f", *f.Low/truth)
		}
		if f.High != nil {
			text += fmt.Sprintf(" high %.2f", *f.High/truth)
		}
		passed, failed, byOwn := d.decided(t, dir)
		if passed > 0 {
			shipped++
			text += fmt.Sprintf(" PASS %.2f (own %.2f)", passed/truth, byOwn/truth)
			if passed > byOwn {
				byTwin++
			}
		}
		// The stored truth is up to 7 % too high.
		if passed > 0.93*truth && d.exceeds(t, passed, seconds, windows) ||
			failed < 1.05*truth && !d.exceeds(t, failed, seconds, windows) {
			wrong++
			text += fmt.Sprintf(" WRONG (FAIL %.2f)", failed/truth)
		}
		t.Logf("%3d %-8s truth %8.4g  best %.3f %s  %s %d probes %.0f s", seed, d.kind, truth, best, text, f.State, f.Probes, f.TookS)
	}
	t.Logf("%d searches: %d within 10 %%, %d more than 5 %% above", n, near, above)
	t.Logf("%d have a PASS, the highest of %d is the twin's; long runs contradict verdicts of %d searches", shipped,
		byTwin, wrong)
	if n == 0 || near < n*7/10 || above > 1+n/10 || wrong > 1+n/20 {
		t.Errorf("of %d estimates %d are within 10 %%, %d more than 5 %% above; %d searches have a wrong verdict", n, near,
			above, wrong)
	}
}

// decided are the highest load of a run that meets the SLO, and the lowest that does not, the twin's verdicts included;
// and the highest that meets it by its own requests.
func (d *drawnServer) decided(t testing.TB, dir string) (passed, failed, byOwn float64) {
	run, err := report.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	ends := func(rows []record.Row) (most, least float64) {
		least = math.Inf(1)
		for i := range rows {
			load := float64(rows[i].Spec.Rate)
			switch v, _ := verdict.OfRows(&rows[i]); {
			case v == stats.Pass && rows[i].Valid():
				most = max(most, load)
			case v == stats.Fail && rows[i].Valid():
				least = min(least, load)
			}
		}
		return most, least
	}
	byOwn, _ = ends(run.Stored())
	passed, failed = ends(run.Live())
	return passed, failed, byOwn
}
