package main

import (
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	root "bench"
	"bench/experiment/published"
	"bench/experiment/roofline"
)

// Each of 101 tokens takes 10 ms after the first: 1 s of decoding.
func TestQueuedAndRunning(t *testing.T) {
	for _, c := range []struct {
		ttft    float64
		queued  bool
		running float64
	}{{999, false, 8 * 1000. / 1999}, {1001, true, 8 * 1000. / 2001}, {3000, true, 2}} {
		p := point{Figure: published.Figure{Concurrency: 8, Output: 101, TTFTMs: c.ttft, TPOTMs: 10}}
		if got := p.queued(); got != c.queued {
			t.Errorf("TTFT %g ms: queued %v", c.ttft, got)
		}
		if got := p.running(); math.Abs(got-c.running) > 1e-9 {
			t.Errorf("TTFT %g ms: %g running, want %g", c.ttft, got, c.running)
		}
	}
}

// builtinPoints are the points with the built-in tables.
func builtinPoints(t *testing.T) (fit, heldBack []point) {
	t.Helper()
	models, err := roofline.ParseModels(root.ModelConfigs)
	if err != nil {
		t.Fatal(err)
	}
	fit, heldBack, err = publishedPoints(models, roofline.BuiltinHardware())
	if err != nil {
		t.Fatal(err)
	}
	return fit, heldBack
}

// TestBuiltinIsFitted: no constant of gpus.json would be notably more probable 5 % larger or smaller. The loss is −2
// times the logarithm of the probability.
func TestBuiltinIsFitted(t *testing.T) {
	points, _ := builtinPoints(t)
	e := roofline.BuiltinHardware().Efficiency
	x := make([]float64, 0, len(constants)+len(engines))
	for _, c := range constants {
		x = append(x, math.Log(*c.of(&e)/c.prior))
	}
	for _, engine := range engines {
		x = append(x, math.Log(e.Engines[engine.name]/engine.prior))
	}
	loss := func() (sum float64) {
		for _, r := range residuals(points, e, x) {
			sum += r * r
		}
		return sum
	}
	const notably = 0.1
	least := loss()
	for i := range x {
		for _, by := range []float64{-0.05, 0.05} {
			x[i] += by
			if got := loss(); got < least-notably {
				t.Errorf("constant %d: the loss is %g, and %g at %+g %%: run this program with -fit", i, least, got, 100*by)
			}
			x[i] -= by
		}
	}
}

// TestFloor: no figure is below the floor, whether constants are fitted to it or not.
func TestFloor(t *testing.T) {
	fit, heldBack := builtinPoints(t)
	if len(fit) < 1000 {
		t.Fatalf("%d figures to fit", len(fit))
	}
	all := predictedBy(slices.Concat(fit, heldBack), roofline.BuiltinHardware().Efficiency)
	for i := range all {
		if p := &all[i]; p.TPOTMs < p.floor || p.TTFTMs < p.ttft.FloorMs {
			t.Errorf("%+v is below the floor", p.Figure)
		}
	}
}

// TestHeldBackTable: figures held back are in range nearly as often as those that constants are fitted to, and their
// table is in README.md.
func TestHeldBackTable(t *testing.T) {
	_, heldBack := builtinPoints(t)
	if len(heldBack) < 900 {
		t.Fatalf("%d figures are held back", len(heldBack))
	}
	all := predictedBy(heldBack, roofline.BuiltinHardware().Efficiency)
	in, n := 0., 0.
	for i := range all {
		p := &all[i]
		if p.Source == "inferencex" && !p.queued() {
			in, n = in+inside(p.tpot, p.TPOTMs), n+1
		}
	}
	if in < 0.85*n {
		t.Errorf("TPOT of %.0f of %.0f figures of InferenceX is in range", in, n)
	}
	inDocs(t, all, func(name string) bool { // the page leaves the lines of servers out
		return !slices.ContainsFunc(all, func(p predicted) bool { return name == p.GPU || name == p.Engine })
	})
}

// TestCrossValidatedTable: the table of each model predicted by the others is in README.md.
func TestCrossValidatedTable(t *testing.T) {
	if testing.Short() {
		t.Skip("fits the constants four times")
	}
	fit, _ := builtinPoints(t)
	inDocs(t, crossValidated(fit, roofline.BuiltinHardware().Efficiency), func(string) bool { return true })
}

// inDocs checks that the lines with these names of the table of points are in README.md.
func inDocs(t *testing.T, all []predicted, named func(string) bool) {
	t.Helper()
	docs, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	lines, widths, _ := strings.Cut(table(all), "\n\n")
	for line := range strings.Lines(lines + "\n") {
		if name, _, _ := strings.Cut(line, " |"); named(name) && !strings.Contains(string(docs), "\n"+line) {
			t.Errorf("README.md lacks %s", line)
		}
	}
	if !strings.Contains(widths, "Figures below the floor: 0.") {
		t.Error(widths)
	}
}

func TestRunErrors(t *testing.T) {
	var out strings.Builder
	if err := run([]string{"x"}, &out); err == nil || err.Error() != `unexpected argument "x"` || out.Len() > 0 {
		t.Errorf("got %v, %q", err, out.String())
	}
}
