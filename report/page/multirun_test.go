package page

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"bench/experiment/record"
	"bench/experiment/unit"
	"bench/experiment/workload"
	fixture "bench/internal/reporttest"
	"bench/report"
)

// another is a run of the same matrix with latencies that are slower by a factor.
func another(name string, slower float64) *report.Run {
	run := &report.Run{}
	run.Manifest.Matrix, run.Manifest.Run, run.Manifest.Hypothesis = "chat", name, "as "+name+fixture.Hostile
	for _, slots := range []int{1, 2, 4, 8} {
		for repeat := 1; repeat <= 4; repeat++ {
			level := slower * (1 + 0.002*float64(repeat))
			row := fixture.Shape{Name: "D", Axes: fixture.Axis("concurrency", unit.Count(slots)), Concurrency: slots, Repeat: repeat, N: 400,
				TTFT: 80 * level, TPOT: 12 * level, Output: 90 * float64(slots) / level, Verdict: "PASS"}.Row()
			run.Rows = append(run.Rows, row)
			run.Manifest.Plan = append(run.Manifest.Plan, record.Planned{ID: row.ID, State: "done"})
		}
	}
	return run
}

func TestRunsBesideEachOther(t *testing.T) {
	html := page1(t, another("monday", 1), another("tuesday", 1.2))
	if n := strings.Count(string(html), `class="chart-data"`); n < 3 {
		t.Fatalf("%d charts", n)
	}
	for _, want := range []string{"<h1>tuesday against monday</h1>", "tuesday against monday: ", "&#43;20.0 %", "&#43;12.6", "worse",
		`href="#r1"`} {
		if !strings.Contains(string(html), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	var overlay curveSet
	if err := json.Unmarshal(curvesOf(t, html, "all-curves"), &overlay); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range overlay.Curves {
		if c.Group == "D" && len(c.Points) == 4 && c.Full == c.Name+", D" {
			names = append(names, c.Name)
		}
	}
	if !slices.Equal(names, []string{"monday", "tuesday"}) || overlay.First != "D" ||
		overlay.Curves[0].Color == overlay.Curves[1].Color ||
		overlay.Curves[0].Shape == overlay.Curves[1].Shape {
		t.Errorf("curves of %q, first %q", names, overlay.First)
	}
}

// Runs that can't be compared say so, with what to type; their curves are drawn all the same.
func TestRunsThatCannotBeCompared(t *testing.T) {
	b := another("tuesday", 1)
	b.Manifest.Target.Hardware = "b200-sxm"
	a := another("monday", 1)
	a.Manifest.Target.Hardware = "h100-sxm"
	html := string(page1(t, a, b))
	for _, want := range []string{"not compared", "hardware h100-sxm → b200-sxm; raw: ",
		"all-1-forest", "refused; to compare anyway: --allow hardware", "all-latency-load", "all-throughput", "changes, none tested</summary>"} {
		if !strings.Contains(html, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if strings.Contains(string(page1(t, another("monday", 1), another("tuesday", 1.2))), "none tested") {
		t.Error("changes that were tested are folded")
	}
}

// In an open loop throughput over load is the same line for every system.
func TestNoThroughputOfRates(t *testing.T) {
	open := func(name string) *report.Run {
		run := another(name, 1)
		for i := range run.Rows {
			s := &run.Rows[i].Spec
			s.Point = fixture.Axis("rate", unit.Count(s.Load.Concurrency))
			s.Workload.Rate, s.Load.Concurrency = workload.Rate(s.Load.Concurrency), 0
		}
		return run
	}
	if html := string(page1(t, open("monday"), open("tuesday"))); strings.Contains(html, `id="all-throughput"`) || !strings.Contains(html, `id="r0-throughput"`) {
		t.Error("throughput vs load stands above the runs, or not in them")
	}
}

func TestNamesOfRuns(t *testing.T) {
	a, b, c := another("x", 1), another("x", 1), another("x", 1)
	if got := newMultiRun([]*report.Run{a, b}, nil).names; !slices.Equal(got, []string{"x", "x (2)"}) {
		t.Errorf("%q", got)
	}
	c.Manifest.Matrix = "other"
	if got := newMultiRun([]*report.Run{a, c}, nil).names; !slices.Equal(got, []string{"chat x", "other x"}) {
		t.Errorf("%q", got)
	}
}
