package compare

import (
	"math/rand/v2"
	"strings"
	"testing"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/telemetry"
)

// pairOf is two runs of the quiet server, with three repeats each.
func pairOf(seed uint64) (base, changed Run) {
	r := rand.New(rand.NewPCG(17, seed))
	return quiet.run("base", 3, r), quiet.run("new", 3, r)
}

func engineMetrics(name string) *telemetry.ServerUsage { return &telemetry.ServerUsage{Engine: name} }

func has(ds []Difference, what, was, is string, refused bool) bool {
	for _, d := range ds {
		if d.What == what && d.Base == was && d.New == is && d.refuses() == refused {
			return true
		}
	}
	return false
}

// A difference that makes figures incomparable is refused unless its key is allowed.
func TestSidesThatDiffer(t *testing.T) {
	base, changed := pairOf(1)
	changed.Manifest.Target.Model, changed.Manifest.Target.Hardware, changed.Manifest.Client.Version = "qwen", "", "1.1"
	c := compared(t, side(base), side(changed), Options{Gate: gate("tpot_p50 +5%")})
	if !c.Refused || !c.Points[0].Refused || !has(c.Differences, "model", "llama", "qwen", true) {
		t.Errorf("another model is compared: %+v", c.Differences)
	}
	if !has(c.Differences, "hardware", "h100-sxm", "not specified", false) || !has(c.Differences, "client version", "1.0", "1.1", false) {
		t.Errorf("not reported: %+v", c.Differences)
	}
	if c.Gate.Verdict != stats.Undecided || c.Gate.Passes {
		t.Errorf("gate %+v of sides that were not compared", c.Gate)
	}
	if m := c.find("tpot_p50"); m.RawChange == nil || m.Change != nil || m.P != nil || m.Why != "not comparable" || len(c.Gate.Cases) != 1 {
		t.Errorf("a refused figure has its raw change alone: %+v, %+v", m, c.Gate.Cases)
	}
	c = compared(t, side(base), side(changed), Options{Allow: []string{"model"}})
	if c.Refused || len(c.Points) != 1 || !has(c.Differences, "model", "llama", "qwen", false) {
		t.Errorf("an allowed difference is refused or not reported: %+v", c.Differences)
	}
	if _, err := Compare(side(base), side(changed), Options{Allow: []string{"modle"}}); err == nil {
		t.Error("anything can be allowed")
	}
}

// Another client is refused by a key of its own: clients send and time requests differently.
func TestClientsThatDiffer(t *testing.T) {
	base, changed := pairOf(1)
	changed.Manifest.Client = record.ClientInfo{Tool: "aiperf", Version: "0.13.0"}
	c := compared(t, side(base), side(changed), Options{Allow: []string{"workload", "definitions"}})
	if !c.Refused || !has(c.Differences, "client", "bench", "aiperf", true) {
		t.Errorf("%+v", c.Differences)
	}
	if c := compared(t, side(base), side(changed), Options{Allow: []string{"client"}}); c.Refused || c.Points[0].Refused {
		t.Errorf("%+v", c.Differences)
	}
}

// A model or a load that a file of another tool lacks could be any: two files without it are not alike.
func TestUnknownModelAndLoad(t *testing.T) {
	base, changed := pairOf(1)
	for _, r := range []*Run{&base, &changed} {
		r.Manifest.Client, r.Manifest.Target.Model = record.ClientInfo{Tool: "aiperf"}, ""
		for i := range r.Rows {
			r.Rows[i].Spec.Concurrency = 0
		}
	}
	c := compared(t, side(base), side(changed), Options{})
	if !c.Refused || !has(c.Differences, "model", "not reported", "not reported", true) {
		t.Errorf("%+v", c.Differences)
	}
	c = compared(t, side(base), side(changed), Options{Allow: []string{"model"}})
	if p := c.Points[0]; !p.Refused || !has(p.Differences, "load", "not reported", "not reported", true) {
		t.Errorf("%+v", p.Differences)
	}
	c = compared(t, side(base), side(changed), Options{Allow: []string{"model", "workload"}})
	if c.Refused || c.Points[0].Refused {
		t.Errorf("%+v", c.Differences)
	}
	changed.Manifest.Client.Tool, changed.Manifest.Target.Model = "", "llama"
	for i := range changed.Rows {
		changed.Rows[i].Spec.Concurrency = 4
	}
	c = compared(t, side(base), side(changed), Options{Allow: []string{"client"}})
	if !has(c.Differences, "model", "not reported", "llama", true) ||
		!has(c.Points[0].Differences, "load", "not reported", "A", true) {
		t.Errorf("%+v, %+v", c.Differences, c.Points[0].Differences)
	}
}

// Load workers are reported, beside a machine that sent nothing.
func TestLoadWorkersDiffer(t *testing.T) {
	base, changed := pairOf(4)
	base.Manifest.Client = record.ClientInfo{Host: "one"}
	changed.Manifest.Client = record.ClientInfo{Host: "two"}
	for i := range changed.Rows {
		changed.Rows[i].Workers = []record.Worker{{Host: "a"}, {Host: "b"}, {Host: "a"}}
	}
	c := compared(t, side(base), side(changed), Options{})
	if !has(c.Differences, "load workers", "none", "3 on 2 hosts", false) || !has(c.Differences, "client machine", "one", "leader: two", false) {
		t.Errorf("%+v", c.Differences)
	}
}

// A difference between the runs of one side is reported.
func TestSideThatDiffersInItself(t *testing.T) {
	a, b := pairOf(2)
	other, _ := pairOf(3)
	other.Manifest.Target.Version = map[string]any{"version": "0.12"}
	c := compared(t, side(a, other), side(b), Options{})
	if !has(c.Differences, "server version", `not reported | {"version":"0.12"}`, "not reported", false) {
		t.Errorf("not reported: %+v", c.Differences)
	}
	if c.Points[0].BaseRepeats != 6 {
		t.Errorf("%d repeats in two runs of three", c.Points[0].BaseRepeats)
	}
}

func TestWorkloadsThatDiffer(t *testing.T) {
	base, changed := pairOf(4)
	for i := range changed.Rows {
		changed.Rows[i].Spec.Concurrency = 8
		changed.Rows[i].Spec.Requests = 100
	}
	c := compared(t, side(base), side(changed), Options{Gate: gate("tpot_p50 +5%")})
	p := c.Points[0]
	if !p.Refused || p.Metrics[0].Change != nil || p.Metrics[0].RawChange == nil || !has(p.Differences, "concurrency", "4", "8", true) || !has(p.Differences, "requests", "none", "100", false) {
		t.Errorf("%+v", p)
	}
	if c.Gate.Verdict != stats.Undecided {
		t.Errorf("gate %v", c.Gate.Verdict)
	}
	changed.Rows[0].PromptForm = "token_ids"
	if d := compared(t, side(base), side(changed), Options{Allow: []string{"workload"}}).Points[0].Differences; !has(d, "prompt form", "text", "token_ids", true) {
		t.Errorf("another form of the prompts is not refused: %+v", d)
	}
}

func TestPointsAreMatched(t *testing.T) {
	base, changed := pairOf(5)
	r := rand.New(rand.NewPCG(17, 6))
	named := func(name string, slots int) record.Row {
		row, _ := quiet.repeat(name, 1, 1, r)
		row.Spec.Concurrency = slots
		return row
	}
	base.Records, changed.Records = nil, nil
	base.Rows = append(base.Rows, named("old", 9), named("gone", 10))
	changed.Rows = append(changed.Rows, named("renamed", 9), named("more", 11))
	c := compared(t, side(base), side(changed), Options{Gate: gate("tpot_p50 +5%")})
	if len(c.Points) != 2 || c.Points[1].Name != "renamed (was old)" || strings.Join(c.Missing, " ") != "gone" || strings.Join(c.Added, " ") != "more" {
		t.Errorf("%d points, missing %v, added %v", len(c.Points), c.Missing, c.Added)
	}
	if last := c.Gate.Cases[len(c.Gate.Cases)-1]; last.Point != "gone" || last.Verdict != stats.Undecided {
		t.Errorf("a missing point passes: %+v", last)
	}
}

// A point that the new side skipped is missing for a stated reason.
func TestSkippedPoint(t *testing.T) {
	base, changed := pairOf(5)
	r := rand.New(rand.NewPCG(17, 6))
	gone, _ := quiet.repeat("gone", 1, 1, r)
	gone.Spec.Concurrency, gone.Spec.Point = 10, []experiment.Axis{{Key: "concurrency", Value: "10"}}
	base.Records, changed.Records = nil, nil
	base.Rows = append(base.Rows, gone)
	const why = "beyond the FAIL at concurrency 5"
	changed.Manifest.Plan = []record.Planned{{ID: "gone,concurrency=10-r1", Name: "gone", State: record.StateSkipped, Reason: why, Point: gone.Spec.Point}}
	c := compared(t, side(base), side(changed), Options{Gate: gate("tpot_p50 +5%")})
	if c.Unmeasured["gone concurrency=10"] != "skipped in new: "+why {
		t.Errorf("%v of %v", c.Unmeasured, c.Missing)
	}
	if last := c.Gate.Cases[len(c.Gate.Cases)-1]; last.Verdict != stats.Undecided || last.Why != "skipped in new: "+why {
		t.Errorf("%+v", last)
	}
}

// A point without a row in new is UNDECIDED if new's matrix has it, and listed if it has not.
func TestPointWithoutRow(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 7))
	gone, _ := quiet.repeat("gone", 1, 1, r)
	gone.Spec.Concurrency, gone.Spec.Point = 10, []experiment.Axis{{Key: "endpoint", Value: "h:80"}}
	for _, x := range []struct {
		name, run string
		planned   record.Planned
		why       string
	}{
		{"failed", "done", record.Planned{ID: "gone,endpoint=h%3A80-r1", State: "failed", Error: "HTTP 500"}, "failed in new: HTTP 500"},
		{"cut", "interrupted", record.Planned{ID: "gone,endpoint=h%3A80-r1", State: "planned"}, "not run: new was interrupted"},
		{"not run", "failed", record.Planned{ID: "gone,endpoint=h%3A80-r1", State: "planned"}, "not run in new"},
		{"lost", "done", record.Planned{ID: "gone,endpoint=h%3A80-r1", State: "done"}, "the result is missing in new"},
		{"removed", "done", record.Planned{ID: "gone,endpoint=h%3A80-r1", State: record.StateRemoved}, ""},
		{"never there", "done", record.Planned{ID: "A-r1", State: "done"}, ""},
	} {
		base, changed := pairOf(5)
		base.Records, changed.Records = nil, nil
		base.Rows = append(base.Rows, gone)
		changed.Manifest.State, changed.Manifest.Plan = x.run, []record.Planned{x.planned}
		c := compared(t, side(base), side(changed), Options{Gate: gate("error_rate +0.5")})
		last := c.Gate.Cases[len(c.Gate.Cases)-1]
		if open := last.Point == gone.Spec.Label(); open != (x.why != "") || open && last.Why != x.why || len(c.Missing) != 1 || c.Unmeasured[gone.Spec.Label()] != x.why {
			t.Errorf("%s: %+v, %v", x.name, last, c.Unmeasured)
		}
	}
}

// One repeat per side shows no spread: the assumed one decides what can be told.
func TestOneRepeatPerSide(t *testing.T) {
	base, changed := pairOf(7)
	base.Rows, changed.Rows = base.Rows[:1], changed.Rows[:1]
	m := compared(t, side(base), side(changed), Options{}).find("tpot_p50")
	if m.Verdict != Inconclusive || m.NeedRuns < leastRuns || m.Margin != 0.05 || !strings.Contains(m.Describe(), "runs per side to detect 5 %") || m.Spread.Source != stats.SpreadAssumed || m.Why != "too few runs to show their spread; spread between runs: 2.88 % assumed" {
		t.Errorf("%+v", m)
	}
	// A change above the margin is detected by fewer runs than one of the margin; one far above is told now.
	for times, want := range map[float64]Verdict{8: Worse, 0.1: Better, 1.07: Inconclusive} {
		far := base
		far.Rows = []record.Row{base.Rows[0]}
		tpot := *far.Rows[0].Summary.TPOT
		tpot.P50 *= times
		far.Rows[0].Summary.TPOT = &tpot
		m := compared(t, side(base), side(far), Options{}).find("tpot_p50")
		if m.Verdict != want || want == Inconclusive && (m.NeedForChange < leastRuns || m.NeedForChange > m.NeedRuns || !strings.Contains(m.Describe(), "runs per side to detect a change this large")) {
			t.Errorf("%g times: %d for the change, %d for the margin: %s", times, m.NeedForChange, m.NeedRuns, m.Describe())
		}
	}
}

// Equal figures on both sides are "no change", within what the spread allows.
func TestSameIsSame(t *testing.T) {
	base, _ := pairOf(9)
	m := compared(t, side(base), side(base), Options{Gate: gate("tpot_p50 +10%")}).find("tpot_p50")
	if m.Verdict != NoChange || m.NoChangeWithin > 0.1 || *m.Change != 0 || m.Gate != stats.Pass {
		t.Errorf("%+v", m)
	}
	if m.SmallestDetectable == nil || *m.SmallestDetectable <= 0 || *m.SmallestDetectable > 0.2 {
		t.Errorf("detectable %v", m.SmallestDetectable)
	}
}

func TestGateOutcomes(t *testing.T) {
	base, _ := pairOf(10)
	r := rand.New(rand.NewPCG(17, 11))
	slow := quiet
	slow.tpot *= 1.2
	changed := slow.run("new", 3, r)
	fails := compared(t, side(base), side(changed), Options{Gate: gate("tpot_p50 +5%")})
	if fails.Gate.Verdict != stats.Fail || fails.find("tpot_p50").Gate != stats.Fail {
		t.Errorf("20 %% slower: %+v", fails.Gate)
	}
	// Significant, and smaller than the threshold.
	if c := compared(t, side(base), side(changed), Options{Gate: gate("tpot_p50 +50%")}); c.Gate.Verdict != stats.Pass {
		t.Errorf("20 %% slower where 50 %% may be: %+v", c.Gate)
	}
	// Twice as much throughput is no regression, half of it is.
	for i := range changed.Rows {
		changed.Rows[i].Summary.Throughput.RequestsPerS *= 0.5
	}
	if c := compared(t, side(base), side(changed), Options{Gate: gate("requests_per_s -5%")}); c.Gate.Verdict != stats.Fail {
		t.Errorf("half of the throughput: %+v", c.Gate)
	}
	if c := compared(t, side(changed), side(base), Options{Gate: gate("requests_per_s -5%")}); c.Gate.Verdict != stats.Pass || c.find("requests_per_s").Verdict != Better {
		t.Errorf("twice the throughput: %+v", c.Gate)
	}
	// A threshold without a figure does not pass, nor does an invalid row.
	if c := compared(t, side(base), side(base), Options{Gate: gate("goodput_requests_per_s -5%")}); c.Gate.Verdict != stats.Undecided || c.Gate.Passes {
		t.Errorf("no goodput at all: %+v", c.Gate)
	}
	if c := compared(t, side(base), side(base), Options{Gate: gate("goodput_requests_per_s -5%"), UndecidedPasses: true}); !c.Gate.Passes {
		t.Errorf("asked to pass: %+v", c.Gate)
	}
	base.Rows[0].Findings = []record.Finding{{Code: "errors", Severity: record.Invalid}}
	if c := compared(t, side(base), side(base), Options{Gate: gate("tpot_p50 +10%")}); c.Gate.Verdict != stats.Undecided || !strings.Contains(c.Gate.Cases[0].Why, "invalid: A-r1 of base (errors)") {
		t.Errorf("an invalid row: %+v", c.Gate)
	}
	base.Rows[0].Findings[0] = record.Finding{Code: "client_bound", Severity: record.Caution}
	if c := compared(t, side(base), side(base), Options{Gate: gate("tpot_p50 +10%")}); c.Gate.Verdict != stats.Pass || len(c.Points[0].Cautions) != 2 {
		t.Errorf("a row with a caution: %+v", c.Gate)
	}
	changed.Rows[0].Findings = base.Rows[0].Findings
	if c := compared(t, side(base), side(changed), Options{Gate: gate("tpot_p50 +5%")}); c.Gate.Verdict != stats.Fail || !strings.HasSuffix(c.Gate.Cases[0].Why, "; cautions of new: client_bound") {
		t.Errorf("a regression of a row with a caution: %+v", c.Gate)
	}
}

// More failures are a regression, whatever the latencies of the completed requests.
func TestErrorRate(t *testing.T) {
	base, changed := pairOf(12)
	for i := range changed.Rows {
		changed.Rows[i].Summary.ErrorRate = new(0.1 + 0.002*float64(i))
	}
	m := compared(t, side(base), side(changed), Options{Gate: gate("error_rate +0.01")}).find("error_rate")
	if m.Verdict != Worse || m.Gate != stats.Fail || *m.Change < 0.09 {
		t.Errorf("%+v", m)
	}
}

// A metric that another tool defines differently is not compared; the others are.
func TestDefinitionsThatDiffer(t *testing.T) {
	base, changed := pairOf(13)
	changed.Definitions = map[string]string{"ttft": "send to the first event"}
	c := compared(t, side(base), side(changed), Options{})
	if m := c.find("ttft_p50"); m.Verdict != Inconclusive || m.Change != nil || !strings.Contains(m.Why, "send to the first event") {
		t.Errorf("%+v", m)
	}
	if m := c.find("tpot_p50"); m.Change == nil {
		t.Errorf("%+v", m)
	}
	if m := compared(t, side(base), side(changed), Options{Allow: []string{"definitions"}}).find("ttft_p50"); m.Change == nil {
		t.Errorf("%+v", m)
	}
}
