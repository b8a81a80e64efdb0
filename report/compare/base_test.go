package compare

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/telemetry"
)

// runOf is a run of `repeats` repeats at a date of November; change alters it.
func runOf(day, repeats int, change func(*Run)) Run {
	r := quiet.run(fmt.Sprint(day), repeats, rand.New(rand.NewPCG(uint64(day), 3)))
	r.Manifest.Run, r.Manifest.StartedAt = r.Name, time.Date(2026, 11, day, 2, 0, 0, 0, time.UTC)
	r.Manifest.State = "done"
	for i := range r.Rows {
		r.Manifest.Plan = append(r.Manifest.Plan, record.Planned{ID: r.Rows[i].ID, Name: "A", State: "done"})
	}
	if change != nil {
		change(&r)
	}
	return r
}

// candidate is a run with a gate of that verdict; empty: without.
func candidate(r Run, verdict stats.Verdict) Candidate {
	var gate *GateRecord
	if verdict != "" {
		gate = &GateRecord{Schema: SchemaGate, Run: r.Name, Verdict: verdict}
	}
	r.Gate = gate
	return Candidate{r.Name, func() (Run, error) { return r, nil }}
}

func names(runs []Run) string {
	var out []string
	for _, r := range runs {
		out = append(out, r.Name)
	}
	return strings.Join(out, " ")
}

func engineOf(name string) func(*Run) {
	return func(r *Run) {
		for i := range r.Rows {
			r.Rows[i].Server.Metrics = &telemetry.ServerUsage{Engine: name}
		}
	}
}

// The base is the last runs that are comparable and finished; the others up to the oldest of them are listed. With those
// before it they show the spread.
func TestChooseBase(t *testing.T) {
	model := func(r *Run) { r.Manifest.Target.Model = "qwen" }
	version := func(r *Run) { r.Manifest.Target.Version = "0.12" }
	workload := func(r *Run) {
		for i := range r.Rows {
			r.Rows[i].Spec.Concurrency = 8
		}
	}
	cut := func(r *Run) { r.Rows = r.Rows[:1] }
	invalid := func(r *Run) {
		for i := range r.Rows {
			r.Rows[i].Findings = []record.Finding{{Code: "errors", Severity: record.Invalid}}
		}
	}
	damaged := Candidate{"18", func() (Run, error) { return Run{}, errors.New("reading 18: no JSON\nhint: x") }}
	b := ChooseBase(runOf(20, 3, nil), []Candidate{
		candidate(runOf(19, 3, nil), stats.Fail), damaged, candidate(runOf(17, 3, model), ""), candidate(runOf(16, 3, version), stats.Undecided),
		candidate(runOf(15, 3, workload), ""), candidate(runOf(14, 3, cut), ""), candidate(runOf(13, 3, invalid), ""),
		candidate(runOf(12, 3, nil), stats.Pass), candidate(runOf(11, 3, model), ""), candidate(runOf(10, 3, nil), ""), candidate(runOf(9, 3, nil), stats.Fail), candidate(runOf(8, 3, nil), ""),
	}, 2, nil)
	if names(b.Runs) != "16 19" || names(b.Nights) != "8 9 10 12 16 19" || b.New != nil || b.Nights[0].Records != nil || b.Runs[0].Records == nil {
		t.Errorf("base %s, nights %s", names(b.Runs), names(b.Nights))
	}
	want := []LeftOut{{Run: "18", Why: "reading 18: no JSON"}, {Run: "17", Why: "model qwen (new: llama)"}}
	if diff := cmp.Diff(want, b.leftOut); diff != "" {
		t.Error(diff)
	}
	// An allowed difference is none.
	if b := ChooseBase(runOf(20, 3, nil), []Candidate{candidate(runOf(17, 3, model), "")}, 2, []string{"model"}); names(b.Runs) != "17" {
		t.Errorf("%+v", b)
	}
}

// A new model, engine or matrix begins a new base; another version of the server does not.
func TestNewBase(t *testing.T) {
	o := Options{Gate: gate("tpot_p50 +5%")}
	for _, x := range []struct {
		name            string
		before, changed func(*Run)
		want            string
	}{
		{"model", func(r *Run) { r.Manifest.Target.Model = "qwen" }, nil, "since 19 changed: model qwen (new: llama)"},
		{"engine", engineOf("vllm"), engineOf("sglang"), "since 19 changed: engine vllm (new: sglang)"},
		{"workload", nil, func(r *Run) {
			for i := range r.Rows {
				r.Rows[i].Spec.Concurrency = 8
			}
		}, "since 19 changed: concurrency 4 (new: 8)"},
		{"matrix", nil, func(r *Run) {
			for i := range r.Rows {
				r.Rows[i].Spec.Name, r.Rows[i].Spec.Concurrency = "B", 8
				r.Manifest.Plan[i].ID = fmt.Sprintf("B-r%d", i+1)
			}
			r.Rows = append(r.Rows, r.Rows[0])
			r.Rows[3].Spec.Name, r.Rows[3].Spec.Concurrency = "C", 9
		}, "no point of 19 is in new"},
		{"version", nil, func(r *Run) { r.Manifest.Target.Version = "0.12" }, ""},
		{"engine not reported", engineOf("vllm"), nil, ""},
	} {
		b := ChooseBase(runOf(20, 3, x.changed), []Candidate{candidate(runOf(19, 3, x.before), ""), candidate(runOf(18, 3, x.before), "")}, 5, nil)
		got := ""
		if b.New != nil {
			got = b.New.Reason()
		}
		if got != x.want {
			t.Errorf("%s: %q, %+v", x.name, got, b.leftOut)
		}
		c, err := b.Compare(runOf(20, 3, x.changed), o)
		if err != nil || (c.NewBase != nil) != (x.want != "") || x.want != "" && !c.Gate.Passes {
			t.Errorf("%s: %+v, %v", x.name, c.Gate, err)
		}
	}
	if c, err := ChooseBase(Run{}, nil, 5, nil).Compare(Run{}, o); err != nil || c.Gate.Passes || c.NoBase != "no row of new finished" {
		t.Errorf("a run without a row begins a base: %+v, %v", c.Gate, err)
	}
	if b := ChooseBase(runOf(20, 3, nil), nil, 5, nil); b.New.Reason() != "the first run here" {
		t.Errorf("%+v", b)
	}
}

// A matrix that changed some points begins a new base for them alone: they are listed, and not UNDECIDED.
func TestNewBaseOfAPoint(t *testing.T) {
	two := func(slots int) func(*Run) {
		return func(r *Run) {
			row := r.Rows[0]
			row.ID, row.Spec.Name, row.Spec.Concurrency = "B-r1", "B", slots
			r.Rows = append(r.Rows, row)
			records := r.Records
			r.Records = func(row *record.Row) ([]*record.Record, error) {
				a := *row
				a.ID = strings.Replace(a.ID, "B", "A", 1)
				return records(&a)
			}
		}
	}
	changed := runOf(20, 3, two(16))
	var earlier []Candidate
	for day := 19; day > 14; day-- {
		earlier = append(earlier, candidate(runOf(day, 3, two(8)), ""))
	}
	c, err := ChooseBase(changed, earlier, 5, nil).Compare(changed, Options{Gate: gate("tpot_p50 +5%")})
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Points) != 1 || len(c.Gate.Cases) != 1 || len(c.LeftOut) != 5 || c.LeftOut[0] != (LeftOut{Run: "15", Row: "B", Why: "concurrency 8 (new: 16)"}) || strings.Join(c.Added, " ") != "B" {
		t.Errorf("%+v, left out %+v", c.Gate, c.LeftOut)
	}
}

// Comparable runs of which none is good are no reason for a new base: the gate does not pass.
func TestNoGoodBase(t *testing.T) {
	empty := func(r *Run) { r.Rows = nil }
	b := ChooseBase(runOf(20, 3, nil), []Candidate{candidate(runOf(19, 3, empty), ""), candidate(runOf(18, 3, empty), "")}, 5, nil)
	c, err := b.Compare(runOf(20, 3, nil), Options{Gate: gate("tpot_p50 +5%")})
	if err != nil || c.NewBase != nil || c.Gate.Passes || c.NoBase != "no earlier run is good: 19: 0 of 3 rows finished; and 1 more" || len(c.LeftOut) != 2 {
		t.Errorf("%+v %q, %v", c.Gate, c.NoBase, err)
	}
}

// A regression is known since the first run of those that failed with it, until a run passes.
func TestKnownSince(t *testing.T) {
	a, other := GatedFigure{"A", "", "tpot_p50"}, GatedFigure{"B", "", "tpot_p50"}
	fail := func(run, since string, f GatedFigure) GateRecord {
		return GateRecord{Run: run, Verdict: stats.Fail, Regressions: []Regression{{GatedFigure: f, Since: since}}}
	}
	open := func(u GatedFigure) GateRecord {
		return GateRecord{Run: "open", Verdict: stats.Undecided, Undecided: []GatedFigure{u}}
	}
	pass := GateRecord{Run: "pass", Verdict: stats.Pass}
	for name, x := range map[string]struct {
		gates []GateRecord
		want  string
	}{
		"none":                    {nil, ""},
		"last night":              {[]GateRecord{fail("9", "7", a)}, "7"},
		"of another point":        {[]GateRecord{fail("9", "7", other)}, ""},
		"passed since":            {[]GateRecord{pass, fail("9", "7", a)}, ""},
		"undecided since":         {[]GateRecord{open(a), fail("9", "7", a)}, "7"},
		"not measured since":      {[]GateRecord{open(GatedFigure{Point: "A"}), fail("9", "7", a)}, "7"},
		"nothing compared since":  {[]GateRecord{open(GatedFigure{}), fail("9", "7", a)}, "7"},
		"another undecided since": {[]GateRecord{open(other), fail("9", "7", a)}, ""},
	} {
		got := ""
		if r := known(x.gates, a, false); r != nil {
			got = r.Since
		}
		if got != x.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// A known regression that differs by more than the threshold is a new one, however slowly it grew.
func TestKnownRegressionGrows(t *testing.T) {
	a := GatedFigure{Point: "A", Metric: "tpot_p50"}
	at := func(run string, change float64) GateRecord {
		return GateRecord{Run: run, Verdict: stats.Fail, Regressions: []Regression{{GatedFigure: a, Change: &change, Since: "7"}}}
	}
	gates := []GateRecord{at("9", 0.09), at("8", 0.08), at("7", 0.05)}
	for change, want := range map[float64]string{0.04: "7", 0.099: "7", 0.101: "", 0.3: "", -0.01: ""} {
		x := Case{Point: a.Point, Metric: a.Metric, Verdict: stats.Fail, Change: &change, of: &Metric{Threshold: &experiment.Threshold{Worse: 0.05}}}
		if got := x.knownSince(gates); got != want {
			t.Errorf("%v: %q", change, got)
		}
	}
}

// Night after night: a regression fails the first night, is known from the second on, and its nights are no base.
func TestNightsOfARegression(t *testing.T) {
	slow := quiet
	slow.tpot *= 1.3
	o := Options{Gate: gate("tpot_p50 +5%")}
	var earlier []Candidate
	for day := 1; day <= 9; day++ {
		now := runOf(day, 3, nil)
		if day > 6 {
			rows := slow.run(now.Name, 3, rand.New(rand.NewPCG(uint64(day), 4)))
			now.Rows, now.Records = rows.Rows, rows.Records
		}
		b := ChooseBase(now, earlier, 5, nil)
		c, err := b.Compare(now, o)
		if err != nil {
			t.Fatal(err)
		}
		now.Gate = c.Record(now.Name)
		earlier = append([]Candidate{{now.Name, func() (Run, error) { return now, nil }}}, earlier...)
		switch {
		case day == 1:
			if c.NewBase == nil || !c.Gate.Passes {
				t.Errorf("the first night: %+v", c.Gate)
			}
		case day < 4: // few runs show no spread
		case day <= 6:
			if c.Gate.Verdict != stats.Pass {
				t.Errorf("night %d: %+v", day, c.Gate)
			}
		default:
			since := map[int]string{7: "", 8: "7", 9: "7"}[day]
			if c.Gate.Verdict != stats.Fail || c.Gate.Passes != (day > 7) || c.Gate.Cases[0].Since != since || len(c.Points[0].Metrics[0].Values[0]) != 15 || now.Gate.Regressions[0].Since != "7" {
				t.Errorf("night %d, base %s: %+v", day, names(b.Runs), c.Gate)
			}
		}
	}
}

// A figure that differs by more than its threshold, either way, is no base of later nights; the others of that night are.
func TestHeldFigure(t *testing.T) {
	x := GatedFigure{"A", "", "tpot_p50"}
	for change, want := range map[float64]string{-0.12: "14 15 16 17 18", 0.12: "14 15 16 17 18", 0: "15 16 17 18 19"} {
		var candidates []Candidate
		for day := 19; day > 10; day-- {
			run := runOf(day, 3, nil)
			run.Gate = &GateRecord{Schema: SchemaGate, Verdict: stats.Pass}
			if day == 19 && change != 0 {
				run.Gate.Held = []HeldFigure{{x, change}}
			}
			candidates = append(candidates, Candidate{fmt.Sprint(day), func() (Run, error) { return run, nil }})
		}
		b := ChooseBase(runOf(20, 3, nil), candidates, 5, nil)
		pairs, _, _ := match(Side{Runs: b.Runs}, Side{Runs: []Run{runOf(20, 3, nil)}}, b.Nights)
		pairs[0].nights = pairs[0].likeBase()
		for name, runs := range map[string]string{"tpot_p50": want, "ttft_p50": "15 16 17 18 19"} {
			var got []string
			for _, s := range pairs[0].baseOf(name) {
				if !slices.Contains(got, s.run.Name) {
					got = append(got, s.run.Name)
				}
			}
			if strings.Join(got, " ") != runs {
				t.Errorf("%v: base of %s: %s", change, name, got)
			}
		}
	}
}

// Gates of the night before: a figure that is beyond its threshold again fails, though no single night decides it.
func TestTwoNightsBeyond(t *testing.T) {
	beyond := GateRecord{Run: "1", Held: []HeldFigure{{GatedFigure{"A", "", "tpot_p50"}, 0.06}}}
	better := GateRecord{Run: "1", Held: []HeldFigure{{GatedFigure{"A", "", "tpot_p50"}, -0.06}}}
	for _, x := range []struct {
		gates []GateRecord
		want  stats.Verdict
	}{{nil, stats.Undecided}, {[]GateRecord{{Run: "1"}, beyond}, stats.Undecided}, {[]GateRecord{better}, stats.Undecided}, {[]GateRecord{beyond}, stats.Fail}} {
		m := &Metric{Name: "tpot_p50", Threshold: &experiment.Threshold{Metric: "tpot_p50", Worse: 0.05}, Verdict: Inconclusive, Why: "x"}
		c := &Comparison{Gate: &Outcome{Verdict: stats.Undecided,
			Cases: []Case{{Point: "A", Metric: "tpot_p50", Verdict: stats.Undecided, Change: new(0.07), of: m}}}}
		c.markKnown(x.gates)
		if c.Gate.Verdict != x.want || c.Gate.Passes {
			t.Errorf("%+v: %+v", x.gates, c.Gate)
		}
	}
}

// An accepted run begins a new base: runs before it count no more, nor gates of later runs whose base is of them.
func TestAcceptedRun(t *testing.T) {
	gated := func(day int, g GateRecord) Candidate {
		return Candidate{fmt.Sprint(day), func() (Run, error) {
			run := runOf(day, 3, nil)
			run.Manifest.Run, run.Gate = run.Name, &g
			return run, nil
		}}
	}
	a := GatedFigure{Point: "A", Metric: "tpot_p50"}
	fail := func(base string) GateRecord {
		return GateRecord{Run: "x", BaseRuns: []string{base}, Verdict: stats.Fail, Regressions: []Regression{{GatedFigure: a, Change: new(0.1), Since: "x"}}}
	}
	candidates := []Candidate{gated(19, fail("17")), gated(18, fail("12")), gated(17, GateRecord{Verdict: stats.Pass, Accepted: true}),
		gated(16, fail("12")), gated(12, GateRecord{Verdict: stats.Pass})}
	b := ChooseBase(runOf(20, 3, nil), candidates, 5, nil)
	if names(b.Runs) != "17 18 19" || len(b.leftOut) != 0 {
		t.Errorf("base %s, left out %+v", names(b.Runs), b.leftOut)
	}
	if r := known(b.gates, a, false); r == nil || r.Since != "x" || len(b.gates) != 2 {
		t.Errorf("known %+v of %d gates", r, len(b.gates))
	}
}

// Runs that cannot be read begin no base: the evidence is damaged.
func TestDamagedRunsBeginNoBase(t *testing.T) {
	damaged := Candidate{"19", func() (Run, error) { return Run{}, errors.New("reading 19: no JSON") }}
	c, err := ChooseBase(runOf(20, 3, nil), []Candidate{damaged}, 5, nil).Compare(runOf(20, 3, nil), Options{Gate: gate("tpot_p50 +5%")})
	if err != nil || c.NewBase != nil || c.Gate.Verdict != stats.Undecided || !strings.Contains(c.NoBase, "cannot be read") {
		t.Errorf("%v: %+v", err, c.Gate)
	}
}

// A server that becomes slow and so unsteady that no single night decides fails the gate in the second night, and
// neither night is a base. One such night alone does not.
func TestUnsteadyRegression(t *testing.T) {
	unsteady, o := quiet, Options{Gate: gate("tpot_p50 +5%"), UndecidedPasses: true}
	unsteady.tpot, unsteady.between = quiet.tpot*1.25, 0.15
	trials := 3
	if long() {
		trials = 100
	}
	failed := 0
	for trial := range trials {
		var earlier []Candidate
		failures := 0
		for day := 1; day <= 10; day++ {
			now := runOf(day, 3, nil)
			if day > 6 && day != 8 {
				rows := unsteady.run(now.Name, 3, rand.New(rand.NewPCG(uint64(trial), uint64(day))))
				now.Rows, now.Records = rows.Rows, rows.Records
			}
			b := ChooseBase(now, earlier, 5, nil)
			c, err := b.Compare(now, o)
			if err != nil {
				t.Fatal(err)
			}
			if day > 8 && c.Gate.Verdict == stats.Fail {
				failures++
			}
			now.Gate = c.Record(now.Name)
			earlier = append([]Candidate{{now.Name, func() (Run, error) { return now, nil }}}, earlier...)
		}
		if failures > 0 {
			failed++
		}
	}
	if failed < trials*4/5 {
		t.Errorf("in two nights in a row %d of %d failed", failed, trials)
	}
}
