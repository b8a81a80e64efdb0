package diagnosis

import (
	"slices"
	"strings"
	"testing"

	"bench/experiment"
	"bench/experiment/fixture"
	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/stats"
	"bench/experiment/telemetry"
	"bench/experiment/unit"
)

// offered is a healthy row of a closed loop at concurrency n, with an SLO.
func offered(n int, output float64, slo ...record.Verdict) record.Row {
	r := healthy()
	r.Spec.Concurrency, r.Spec.Point, r.Summary.Throughput.OutputTokensPerS, r.SLO = n, fixture.Concurrency(unit.Count(n)), output, slo
	r.Spec.SLO.Limits = []experiment.Limit{{Key: "ttft_p99", Metric: "ttft", Stat: "p99", Value: 500, Unit: "ms"}}
	return r
}

func judged(metric, v string) record.Verdict {
	return record.Verdict{Metric: metric, Verdict: v, Limit: 500, Unit: "ms", Value: new(600.), Why: "12 of 300 over the limit"}
}

// decide makes the decision of a run from its rows.
func decide(rows []record.Row, missing ...string) Decision {
	series := series.FromRows(rows)
	return NewDecision(&record.Manifest{Hypothesis: "it is fast", Facts: map[string]string{"driver": "580"}}, series, Diagnose(series), missing)
}

func TestDecisionStops(t *testing.T) {
	rows := []record.Row{offered(1, 150, judged("ttft_p99", "PASS")), offered(8, 900, judged("ttft_p99", "PASS"), judged("usd_per_million_output_tokens", "PASS")),
		offered(16, 1000, judged("ttft_p99", "FAIL"))}
	d := decide(rows)
	if d.Operating == nil || d.Operating.Point != 1 || d.Next != nil || d.Advice != "every stage passes: stop, and keep this baseline" {
		t.Errorf("%+v", d)
	}
	var verdicts []string
	for _, s := range d.Stages {
		verdicts = append(verdicts, s.Stage+" "+string(s.Verdict))
	}
	if want := []string{"validity PASS", "ttft PASS", "tpot ", "throughput ", "cost PASS"}; !slices.Equal(verdicts, want) {
		t.Errorf("%q, want %q", verdicts, want)
	}
	if len(d.Rejected) != 2 || d.Rejected[0].Why != "meets the SLO, with less output than the operating point" || d.Rejected[1].Why != "misses ttft_p99" {
		t.Errorf("%+v", d.Rejected)
	}
	if d := decide(rows, "lost-r1"); !strings.Contains(d.Advice, "--resume") || !slices.Contains(d.NotMeasured, "lost-r1: planned, no result") {
		t.Errorf("%+v", d)
	}
}

// The decision ends at the first stage that fails, and asks for one change.
func TestDecisionNext(t *testing.T) {
	fails := judged("ttft_p99", "FAIL")
	changed := func(n int, change func(*record.Row), slo ...record.Verdict) record.Row {
		r := offered(n, 900, slo...)
		change(&r)
		return r
	}
	for _, c := range []struct {
		name            string
		rows            []record.Row
		stage, variable string
		values          string // joined
	}{
		{"invalid", []record.Row{changed(8, func(r *record.Row) {
			r.Findings = []record.Finding{{Code: "client_cpu", Severity: record.Caution, Text: "stolen"}, {Code: "short", Severity: record.Invalid, Text: "answers ended early", Hint: "set stop"}}
		}, fails)}, "validity", "repeat the row", ""},
		{"undecided because of a caution", []record.Row{changed(8, func(r *record.Row) {
			r.Findings = []record.Finding{{Code: "client_cpu", Severity: record.Caution, Text: "CPU steal 9 %", Hint: "dedicated cores"}}
		}, record.Verdict{Metric: "ttft_p99", Verdict: "UNDECIDED", Need: 700, Why: "client_cpu: CPU steal 9 %"})}, "ttft", "repeat the row", ""},
		{"undecided", []record.Row{offered(8, 900, record.Verdict{Metric: "ttft_p99", Verdict: "UNDECIDED", Need: 700})}, "ttft", "requests", "1000"},
		{"queueing", []record.Row{changed(64, func(r *record.Row) {
			r.Summary.TTFT, r.Server.Metrics.Waiting = flat(9000, 9900), level(56)
		}, fails)}, "ttft", "max_num_seqs", "8 16 32"},
		{"pressure", []record.Row{changed(8, func(r *record.Row) { r.Server.Metrics.Preemptions, r.Server.Metrics.KVUsage = new(90.), level(1) }, fails)}, "ttft", "gpu_memory_utilization", "0.85 0.9 0.95"},
		{"short answers", []record.Row{changed(8, func(r *record.Row) { r.Summary.E2E = flat(120, 150); r.Roofline.GPUs = 2 }, fails)}, "ttft", "tensor_parallel_size", "2 4"},
		{"memory-bound", []record.Row{offered(8, 900, judged("ttft_p99", "PASS"), judged("tpot_p95", "FAIL"))}, "tpot", "concurrency", "2 4"},
		{"beside prompts", []record.Row{changed(8, func(r *record.Row) { r.Summary.TPOT = flat(13, 14) }, judged("tpot_p95", "FAIL"))}, "tpot", "max_num_batched_tokens", "512 2048 8192"},
		{"slow, unwatched", []record.Row{changed(8, func(r *record.Row) { r.Summary.TPOT, r.GPU = flat(30, 31), nil }, judged("tpot_p95", "FAIL"))}, "tpot", "telemetry", ""},
		{"idle memory", []record.Row{changed(8, func(r *record.Row) { r.Summary.TPOT = flat(30, 31); r.GPU.Devices[0].DRAMActive = level(0.2) }, judged("tpot_p95", "FAIL"))}, "tpot", "attention_backend", `"FLASH_ATTN" "FLASHINFER"`},
		{"too little", []record.Row{offered(4, 500, judged("min_output_tokens_per_s", "FAIL")), offered(8, 900, judged("min_output_tokens_per_s", "FAIL"))}, "throughput", "concurrency", "16 32"},
		{"too dear, and more is too slow", []record.Row{offered(4, 500, judged("ttft_p99", "PASS"), judged("usd_per_million_output_tokens", "FAIL")),
			changed(8, func(r *record.Row) { r.Server.Metrics.Preemptions, r.Server.Metrics.KVUsage = new(90.), level(1) }, fails)}, "cost", "gpu_memory_utilization", "0.85 0.9 0.95"},
	} {
		d := decide(c.rows)
		last := d.Stages[len(d.Stages)-1]
		advice := c.variable
		if c.name == "invalid" {
			advice = "r, concurrency 8 is invalid: answers ended early. Fix that before tuning."
		}
		if d.Next == nil || last.Stage != c.stage || d.Next.Variable != c.variable || strings.Join(d.Next.Values, " ") != c.values || d.Operating != nil || !strings.Contains(d.Advice, advice) {
			t.Errorf("%s: at %s: %+v, %+v", c.name, last.Stage, d.Next, d.Advice)
			continue
		}
		if len(d.Next.Values) > 0 && !strings.Contains(d.Next.TOML, c.variable+" = ") {
			t.Errorf("%s: %s", c.name, d.Next.TOML)
		}
	}
}

// A series without a passing point ends the evaluation, though another series has the operating point.
func TestDecisionHoldsEverySeries(t *testing.T) {
	good, bad := offered(8, 900, judged("ttft_p99", "PASS")), offered(8, 300, judged("ttft_p99", "FAIL"))
	bad.Spec.Name = "rag"
	d := decide([]record.Row{good, bad})
	if d.Operating == nil || d.Operating.Name != "r, concurrency 8" || d.Next == nil || !strings.HasPrefix(d.Stages[len(d.Stages)-1].Name, "rag") {
		t.Errorf("%+v", d)
	}
}

func TestDecisionWithoutSLO(t *testing.T) {
	d := decide([]record.Row{func() record.Row { r := healthy(); r.Spec.Expect = "fast"; return r }()})
	if d.Operating != nil || d.Next != nil || !strings.Contains(d.Advice, "no SLO is specified") && len(d.SLO) == 0 {
		t.Errorf("%+v", d)
	}
	if len(d.Expected) != 2 || d.Expected[0].Happened != "points by bottleneck: HBM-bandwidth-bound decode 1" || d.Expected[1].Expected != "fast" || d.Expected[1].Bottlenecks[0] != string(BandwidthBoundDecode) {
		t.Errorf("%+v", d.Expected)
	}
	if d := decide(nil); d.Advice != "no row has a result" {
		t.Errorf("%+v", d)
	}
}

func TestOperatingPoint(t *testing.T) {
	r := offered(8, 900, judged("ttft_p99", "PASS"))
	r.Spec.Variant = "max_num_seqs=64"
	r.Cost = &record.Cost{USDPerMillion: 1.5}
	series := series.FromRows([]record.Row{r})
	m := &record.Manifest{Servers: []record.ServerStart{{Variant: "max_num_seqs=64", Command: []string{"vllm", "serve", "--max-num-seqs", "64"}, ReadyS: 20}}, Facts: map[string]string{"server_flags": "x"}}
	o := NewDecision(m, series, Diagnose(series), nil).Operating
	if o == nil || o.Cost == nil || o.Cost.USDPerMillion != 1.5 || o.NoCost != "" {
		t.Fatalf("%+v", o)
	}
	if !slices.Contains(o.Flags, Fact{"server", "vllm serve --max-num-seqs 64"}) || !slices.Contains(o.Flags, Fact{"load", "concurrency 8"}) {
		t.Errorf("%+v", o.Flags)
	}
	if !slices.ContainsFunc(o.Figures, func(s Fact) bool { return s.Name == "ttft p50" && strings.HasPrefix(s.Value, "40.0 ms") }) {
		t.Errorf("%+v", o.Figures)
	}
	caution, note := record.Finding{Code: "client_cpu", Severity: record.Caution}, record.Finding{Code: "closed_loop", Severity: record.Note}
	series[0].Points[0].Rows[0].Findings = []record.Finding{caution, caution, note} // the note states the same as closed_loop_latency
	o = NewDecision(m, series, Diagnose(series), nil).Operating
	if got := []int{len(o.Findings), len(record.Codes(o.Findings, record.Caution)), len(record.Codes(o.Findings, record.Note))}; !slices.Equal(got, []int{2, 1, 1}) {
		t.Errorf("%+v", o.Findings)
	}
}

func TestUnmeasured(t *testing.T) {
	r := healthy()
	r.GPU, r.Server.Metrics = nil, &telemetry.ServerUsage{Missing: "no answer"}
	d := NewDecision(&record.Manifest{Target: record.TargetInfo{Simulated: true}, Unspecified: []string{"driver"}}, series.FromRows([]record.Row{r}), nil, nil)
	for _, want := range []string{"GPU metrics: not collected", "server metrics: no answer", "a real server: the target is simulated", "not specified in [target]: driver"} {
		if !slices.Contains(d.NotMeasured, want) {
			t.Errorf("%q lacks %q", d.NotMeasured, want)
		}
	}
}

func TestWorstAtAStage(t *testing.T) {
	p := series.Point{Rows: []*record.Row{{SLO: []record.Verdict{judged("ttft_p99", "PASS"), judged("tpot_p95", "PASS")}}, {SLO: []record.Verdict{judged("ttft_p50", "UNDECIDED"), judged("ttft_p99", "FAIL")}}}}
	if v, l := verdictAt(&p, "ttft"); v != stats.Fail || l.Metric != "ttft_p99" {
		t.Errorf("%s %+v", v, l)
	}
	if v, _ := verdictAt(&p, "tpot"); v != stats.Pass {
		t.Error(v)
	}
	if v, l := verdictAt(&p, "cost"); v != "" || l != nil {
		t.Errorf("%s %+v", v, l)
	}
}
