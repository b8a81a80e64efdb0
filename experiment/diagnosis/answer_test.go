package diagnosis

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/stats"
	"bench/experiment/telemetry"
	"bench/experiment/unit"
	fixture "bench/internal/fixturetest"
)

// offered is a healthy row of a closed loop at concurrency n, with an SLO.
func offered(n int, output float64, slo ...record.Verdict) record.Row {
	r := healthy()
	r.ID = fmt.Sprintf("r,concurrency=%d-r1", n)
	r.Checks.Passed = []string{"lag"}
	r.Spec.Concurrency, r.Spec.Point, r.Summary.Throughput.OutputTokensPerS, r.SLO = n, fixture.Concurrency(unit.Count(n)), output, slo
	r.Spec.SLO.Limits = []experiment.Limit{{Key: "ttft_p99", Metric: "ttft", Stat: "p99", Value: 500, Unit: "ms"}}
	return r
}

// changed is an offered row at concurrency 8.
func changed(change func(*record.Row), slo ...record.Verdict) record.Row {
	r := offered(8, 900, slo...)
	change(&r)
	return r
}

// judged is the verdict on a limit of 500 ms; 600 ms were measured if it is missed, else 400.
func judged(metric string, v stats.Verdict) record.Verdict {
	value := 400.
	if v == stats.Fail {
		value = 600
	}
	return record.Verdict{Metric: metric, Verdict: v, Limit: 500, Unit: "ms", Value: &value, Why: "12 of 300 over the limit", Observed: 51}
}

func needs(metric string, n int) record.Verdict {
	v := judged(metric, stats.Undecided)
	v.Need = n
	return v
}

func answerOf(rows []record.Row, missing ...string) Answer {
	series := series.FromRows(rows)
	m := &record.Manifest{Hypothesis: "it is fast", Facts: map[string]string{"driver": "580"}}
	for _, id := range missing {
		name, _, _ := strings.Cut(id, ",")
		m.Plan = append(m.Plan, record.Planned{ID: id, Name: name})
	}
	return NewAnswer(m, series, Diagnose(series), missing)
}

// The answer of one workload: what to ship, why not more, what to run next.
func TestWorkload(t *testing.T) {
	const ttft = "ttft_p99"
	pass, fail := judged(ttft, stats.Pass), judged(ttft, stats.Fail)
	undecided := needs(ttft, 39)
	slow := undecided
	slow.Value = new(820.)
	breaks := func(r record.Row) record.Row {
		r.Findings = append(r.Findings, record.Finding{Code: "output_length", Severity: record.Invalid, Text: "answers ended early", Hint: "set stop"})
		return r
	}
	invalid := func(n int) record.Row { return breaks(offered(n, 900, pass)) }
	dear := record.Verdict{Metric: "usd_per_million_output_tokens", Unit: "usd", Limit: 1, Value: new(2.), Verdict: "FAIL"}
	for name, c := range map[string]struct {
		rows             []record.Row
		lead, text, next string
		verdict          stats.Verdict
		load             string
	}{
		"met up to the limit": {[]record.Row{offered(1, 150, pass), offered(8, 900, pass), offered(16, 1000, fail)},
			"SHIP", "SLO met up to concurrency 8; concurrency 16 misses TTFT p99 600 ms > 500 ms", "concurrency = [10, 12, 14]", stats.Pass, "concurrency 8"},
		"neighbours": {[]record.Row{offered(8, 900, pass), offered(9, 1000, fail)},
			"SHIP", "SLO met at concurrency 8; concurrency 9 misses TTFT p99 600 ms > 500 ms", "", stats.Pass, "concurrency 8"},
		"every load meets it": {[]record.Row{offered(4, 500, pass), offered(8, 900, pass)},
			"SHIP", "SLO met up to concurrency 8, the highest load measured", "concurrency = [12, 16, 24]", stats.Pass, "concurrency 8"},
		"one load": {[]record.Row{offered(8, 900, pass)},
			"SHIP", "SLO met at concurrency 8, the only load", "concurrency = [12, 16, 24]", stats.Pass, "concurrency 8"},
		"one user": {[]record.Row{offered(1, 900, pass)},
			"BASELINE", "a single user meets the SLO: what the healthy server does, not a load to ship", "", stats.Pass, "concurrency 1"},
		"one user is too many": {[]record.Row{offered(1, 900, fail)},
			"NO POINT MEETS THE SLO", "concurrency 1 misses TTFT p99 600 ms > 500 ms", "tensor_parallel_size", stats.Fail, "concurrency 1"},
		"the next is undecided": {[]record.Row{offered(8, 900, pass), offered(16, 1000, undecided), offered(32, 1100, fail)},
			"SHIP", "SLO met at concurrency 8; concurrency 16 is undecided: TTFT p99 on 51 requests; 39 more decide it; concurrency 32 misses TTFT p99", "requests = 339 at concurrency 16", stats.Pass, "concurrency 8"},
		"the next looks slow": {[]record.Row{offered(8, 900, pass), offered(16, 1000, slow)},
			"SHIP", "SLO met at concurrency 8; concurrency 16 is undecided: TTFT p99 820 ms > 500 ms on 51 requests; 39 more decide it", "concurrency = [10, 12, 14]", stats.Pass, "concurrency 8"},
		"the next is invalid": {[]record.Row{offered(8, 900, pass), invalid(16)},
			"SHIP", "SLO met at concurrency 8; concurrency 16 is invalid: output_length", "fix output_length, then repeat concurrency 16: set stop", stats.Pass, "concurrency 8"},
		"the next fails requests": {[]record.Row{offered(8, 900, pass), func() record.Row {
			r := offered(16, 100, record.Verdict{Metric: "error_rate", Unit: "share", Limit: 0.01, Value: new(0.4), Verdict: "FAIL"})
			r.Findings = []record.Finding{{Code: "errors", Severity: record.Invalid, Text: "40 % failed"}}
			return r
		}()}, "SHIP", "SLO met at concurrency 8; concurrency 16 misses error rate 40.0 % > 1 %", "concurrency = [10, 12, 14]", stats.Pass, "concurrency 8"},
		"a lower load misses it": {[]record.Row{offered(1, 100, fail), offered(8, 900, pass)},
			"NOT YET", "concurrency 8 meets the SLO, but concurrency 1 misses TTFT p99 600 ms > 500 ms", "loads disagree: repeat the row", stats.Undecided, "concurrency 8"},
		"a price below, a latency above": {[]record.Row{offered(8, 900, pass, dear), offered(32, 1000, fail)},
			"NO POINT MEETS THE SLO", "concurrency 8 misses cost 2.00 > 1 USD per million output tokens; concurrency 32 misses TTFT p99",
			"concurrency = [11, 16, 23]", stats.Fail, "concurrency 32"},
		"a price at each load": {[]record.Row{offered(8, 900, pass, dear), offered(32, 1000, fail, dear)},
			"NO POINT MEETS THE SLO", "concurrency 8 misses cost", "no load meets both limits", stats.Fail, "concurrency 32"},
		"too dear at all loads": {[]record.Row{offered(8, 900, pass, dear), offered(32, 1000, pass, dear)},
			"NO POINT MEETS THE SLO", "concurrency 32 misses cost 2.00 > 1", "tensor_parallel_size", stats.Fail, "concurrency 32"},
		"a gap below": {[]record.Row{offered(4, 100, pass), offered(8, 500, undecided), offered(16, 900, pass)},
			"SHIP", "SLO met at concurrency 16, the highest load measured; concurrency 8 below it is undecided", "requests = 339 at concurrency 8", stats.Pass, "concurrency 16"},
		"thin above a miss": {[]record.Row{offered(4, 100, fail), offered(8, 500, undecided)},
			"NO POINT MEETS THE SLO", "even concurrency 4 misses TTFT p99", "concurrency = [1, 2]", stats.Fail, "concurrency 4"},
		"looks fine": {[]record.Row{offered(8, 900, undecided), offered(16, 1000, slow)},
			"NOT YET", "concurrency 8 looks fine on 51 requests; about 39 more decide it", "requests = 339 at concurrency 8", stats.Undecided, "concurrency 8"},
		"looks slow": {[]record.Row{offered(8, 900, slow)},
			"NOT YET", "concurrency 8 is undecided: TTFT p99 820 ms > 500 ms on 51 requests; 39 more decide it", "requests = 339 at concurrency 8", stats.Undecided, "concurrency 8"},
		"open by a caution": {[]record.Row{changed(func(r *record.Row) {
			r.Findings = []record.Finding{{Code: "buffered", Severity: record.Caution, Hint: "another finding"}, {Code: "client_bound", Severity: record.Caution, Text: "CPU steal 9 %", Hint: "dedicated cores",
				Effects: []record.Effect{{Metric: "ttft", Direction: record.Inflated, Unit: record.UnitMs}}}}
		}, record.Verdict{Metric: ttft, Verdict: "UNDECIDED", Need: 700, OpenedBy: []string{"client_bound"}, Why: "PASS as measured, undecided because of client_bound: CPU steal 9 %"})},
			"NOT YET", "", "fix client_bound, then repeat concurrency 8: dedicated cores", stats.Undecided, "concurrency 8"},
		"an invalid one below a miss": {[]record.Row{invalid(8), offered(16, 1000, fail)}, "NOT YET",
			"concurrency 16 misses TTFT p99 600 ms > 500 ms (HBM-bandwidth-bound decode); concurrency 8 is invalid: output_length", "fix output_length, then repeat concurrency 8", stats.Undecided, "concurrency 16"},
		"invalid": {[]record.Row{invalid(8)}, "NOT YET", "concurrency 8 is invalid: output_length", "fix output_length, then repeat concurrency 8", stats.Undecided, "concurrency 8"},
		"none": {[]record.Row{offered(8, 900, fail), offered(16, 1000, fail)},
			"NO POINT MEETS THE SLO", "even concurrency 8 misses TTFT p99 600 ms > 500 ms", "concurrency = [1, 2, 4]", stats.Fail, "concurrency 8"},
		"no SLO": {[]record.Row{offered(8, 900), offered(16, 1000)}, "MEASURED", "no SLO is specified; highest output tok/s at concurrency 16", "add [slo]", "", "concurrency 16"},
		"no SLO, one invalid": {[]record.Row{offered(8, 900), breaks(offered(16, 1000))}, "MEASURED",
			"no SLO is specified; highest output tok/s at concurrency 8; concurrency 16 is invalid: output_length", "fix output_length, then repeat concurrency 16", "", "concurrency 8"},
		"no SLO, all invalid": {[]record.Row{breaks(offered(8, 900))}, "NOT YET", "concurrency 8 is invalid: output_length", "fix output_length, then repeat concurrency 8", stats.Undecided, "concurrency 8"},
	} {
		a := answerOf(c.rows)
		w := a.Workloads[0]
		next := ""
		if w.Next != nil {
			next = w.Next.Text
		}
		if w.Lead != c.lead || !strings.HasPrefix(w.Text, c.text) || !strings.HasPrefix(next, c.next) || (c.next == "") != (next == "") || w.Verdict != c.verdict || w.Load != c.load || a.Verdict != c.verdict {
			t.Errorf("%s: %s, %s, %s\n%q\n%q", name, w.Lead, w.Verdict, w.Load, w.Text, next)
		}
		if (w.Operating != nil) != (c.verdict == stats.Pass) {
			t.Errorf("%s: %+v", name, w.Operating)
		}
		if valid := a.Trust.Invalid < a.Trust.Rows; (len(w.Figures) > 1) != valid { // beside the load
			t.Errorf("%s: figures %v, valid %t", name, w.Figures, valid)
		}
	}
}

// What limits every point is the reason for what to change.
func TestChange(t *testing.T) {
	fails, slowDecode := judged("ttft_p99", stats.Fail), judged("tpot_p95", stats.Fail)
	const closed = 1 // no lower load to try
	at := func(change func(*record.Row), slo record.Verdict) record.Row {
		r := changed(change, slo)
		r.Spec.Concurrency, r.Spec.Point = closed, fixture.Concurrency("1")
		return r
	}
	for name, c := range map[string]struct {
		row  record.Row
		next string
	}{
		"queueing":       {at(func(r *record.Row) { r.Summary.TTFT, r.Server.Metrics.Waiting = flat(9000, 9900), level(56) }, fails), "max_num_seqs = [8, 16, 32]"},
		"pressure":       {at(func(r *record.Row) { r.Server.Metrics.Preemptions, r.Server.Metrics.KVUsage = new(90.), level(1) }, fails), "gpu_memory_utilization = [0.85, 0.9, 0.95]"},
		"prefill":        {at(func(r *record.Row) { r.Summary.E2E = flat(120, 150); r.Roofline.GPUs = 2 }, fails), "tensor_parallel_size = [2, 4]"},
		"beside prompts": {at(func(r *record.Row) { r.Summary.TPOT = flat(13, 14) }, slowDecode), "max_num_batched_tokens = [512, 2048, 8192]"},
		"idle memory":    {at(func(r *record.Row) { r.Summary.TPOT = flat(30, 31); r.GPU.Devices[0].DRAMActive = level(0.2) }, slowDecode), `attention_backend = ["FLASH_ATTN", "FLASHINFER"]`},
		"unwatched":      {at(func(r *record.Row) { r.Summary.TPOT, r.GPU = flat(30, 31), nil }, slowDecode), "the bottleneck is unknown: measure the same again with more telemetry"},
		"failing":        {at(func(r *record.Row) { dies(r) }, fails), "repeat concurrency 1: find in the server's log why it ended"},
		"stalled":        {at(func(r *record.Row) { stops(r, 60) }, fails), "repeat concurrency 1: look for a suspended process"},
		"no roofline": {at(func(r *record.Row) {
			r.Summary.TPOT, r.GPU, r.Server.Metrics, r.Roofline, r.NoRoofline = flat(30, 31), nil, nil, nil, "hardware is not specified in [target]"
		}, slowDecode), "name the hardware in [target]"},
	} {
		w := answerOf([]record.Row{c.row}).Workloads[0]
		if w.Lead != LeadNone || w.Next == nil || !strings.HasPrefix(w.Next.Text, c.next) {
			t.Errorf("%s: %s: %+v", name, w.Lead, w.Next)
			continue
		}
		if len(w.Next.Values) > 0 && !strings.Contains(w.Next.TOML, w.Next.Variable+" = [") {
			t.Errorf("%s: %s", name, w.Next.TOML)
		}
	}
	low := judged("min_output_tokens_per_s", stats.Fail)
	low.Value, low.Unit = new(400.), "tokens/s"
	w := answerOf([]record.Row{offered(4, 400, low)}).Workloads[0]
	if w.Next == nil || w.Next.Text != "concurrency = [8, 12, 16]" || !strings.Contains(w.Text, "output tok/s 400 < 500") {
		t.Errorf("%q %+v", w.Text, w.Next)
	}
}

// The run's verdict is that of its workloads; the one to read first has an operating point, and a range of loads.
func TestAnswerOfSeveralWorkloads(t *testing.T) {
	pass, fail := judged("ttft_p99", stats.Pass), judged("ttft_p99", stats.Fail)
	named := func(name string, r record.Row) record.Row { r.Spec.Name, r.ID = name, name+r.ID; return r }
	met := []record.Row{named("a", offered(2, 5000, pass)), named("b", offered(1, 100, pass)), named("b", offered(8, 900, pass))}
	a := answerOf(met)
	if a.Verdict != stats.Pass || *a.First != 1 || a.Text != "2 of 2 workloads have an operating point" || len(a.NotMet) != 0 {
		t.Errorf("%+v", a)
	}
	a = answerOf(append(met, named("c", offered(8, 300, fail)), named("d", offered(8, 300, needs("ttft_p99", 5)))))
	if a.Verdict != stats.Fail || *a.First != 1 || a.Text != "2 of 4 workloads have an operating point; no point meets the SLO in c; undecided: d" || len(a.NotMet) != 2 {
		t.Errorf("%q %+v", a.Text, a.NotMet)
	}
	a = answerOf(met, "b,concurrency=16-r1")
	if a.Verdict != stats.Undecided || a.Trust.Text != "3 rows valid; 1 planned row without a result" || len(a.NotMet) != 1 || a.NotMet[0].String() != "b,concurrency=16-r1: no result" {
		t.Errorf("%q %q %+v", a.Verdict, a.Trust.Text, a.NotMet)
	}
	if a := answerOf([]record.Row{offered(8, 300, fail)}, "r,concurrency=1-r1"); a.Verdict != stats.Undecided || a.Workloads[0].Lead != LeadNotYet {
		t.Errorf("a lower load has no result yet: %+v", a.Workloads[0])
	}
	if a := answerOf(met, "e,concurrency=1-r1"); a.Text != "2 of 3 workloads have an operating point; undecided: e (no result)" {
		t.Errorf("%q", a.Text)
	}
	traffic := named("t", offered(1, 200, pass))
	traffic.Spec.Concurrency, traffic.Spec.Rate, traffic.Spec.Point = 0, 2, nil
	if a := answerOf(append(met, named("one", offered(1, 9000, pass)), traffic)); a.Workloads[2].Lead != LeadBaseline || *a.First != 1 ||
		a.Text != "3 of 3 workloads have an operating point" {
		t.Errorf("a baseline ships nothing: %+v", a)
	}
	if a := answerOf([]record.Row{met[0], traffic, named("one", offered(1, 9000, pass))}); *a.First != 1 {
		t.Errorf("arrivals on a schedule come first: %+v", a)
	}
	if a := answerOf([]record.Row{named("one", offered(1, 9000, pass))}); a.Verdict != stats.Pass ||
		a.Text != "a single user meets the SLO; no load to ship was measured" {
		t.Errorf("a baseline alone: %+v", a)
	}
	cut := answerOf(met, "b,concurrency=16-r1").Workloads[1]
	if cut.Text != "SLO met up to concurrency 8; planned loads have no result" || cut.Next.Variable != "--resume" {
		t.Errorf("%q %+v", cut.Text, cut.Next)
	}
	if a := answerOf(nil); a.First != nil || a.Text != "no row has a result" || len(a.NotMet) != 1 {
		t.Errorf("%+v", a)
	}
}

func TestTrust(t *testing.T) {
	of := func(s record.Severity, code string) func(*record.Row) {
		return func(r *record.Row) { r.Findings = []record.Finding{{Code: code, Severity: s}} }
	}
	pass := judged("ttft_p99", stats.Pass)
	rows := []record.Row{offered(1, 1, pass), changed(of(record.Caution, "lag"), pass)}
	if x := answerOf(rows).Trust; x.Text != "2 rows valid; cautions in 1: lag" || x.Cautions != 1 {
		t.Errorf("%+v", x)
	}
	broken := offered(16, 1, pass)
	of(record.Invalid, "errors")(&broken)
	a := answerOf(append(rows, broken))
	if a.Trust.Text != "1 of 3 rows invalid, left out: errors; cautions in 1: lag" || !slices.Equal(a.Trust.Codes, []string{"errors", "lag"}) {
		t.Errorf("%+v", a.Trust)
	}
	if len(a.NotMet) != 1 || a.NotMet[0].Why != "invalid (errors)" {
		t.Errorf("%+v", a.NotMet)
	}
	unchecked := offered(1, 1, pass)
	unchecked.Checks.Passed = nil
	if a := answerOf([]record.Row{unchecked}); a.Trust.Text != "1 row unchecked: no check was possible" || len(a.NotMet) != 1 {
		t.Errorf("%+v", a.Trust)
	}
}

func TestOperatingPoint(t *testing.T) {
	r := offered(8, 900, judged("ttft_p99", stats.Pass), record.Verdict{Metric: "usd_per_million_output_tokens", Unit: "usd", Limit: 3, Value: new(1.5), Verdict: "PASS"})
	r.Spec.Variant = "max_num_seqs=64"
	r.Cost = &record.Cost{USDPerMillion: 1.5}
	r.Findings = []record.Finding{{Code: "client_bound", Severity: record.Caution}, {Code: "client_bound", Severity: record.Caution}, {Code: "closed_loop", Severity: record.Note}}
	series := series.FromRows([]record.Row{r})
	m := &record.Manifest{Servers: []record.ServerStart{{Variant: "max_num_seqs=64", Command: []string{"vllm", "serve", "--max-num-seqs", "64"}, ReadyS: 20}}, Facts: map[string]string{"server_flags": "x"}}
	w := NewAnswer(m, series, Diagnose(series), nil).Workloads[0]
	o := w.Operating
	if o == nil || o.Cost == nil || o.Cost.USDPerMillion != 1.5 || o.NoCost != "" || o.N != 300 || math.Abs(*o.PerUserTokensPerS-125) > 1e-9 || len(o.Cautions) != 1 {
		t.Fatalf("%+v", o)
	}
	if !slices.Contains(o.Settings, Fact{Name: "server", Value: "vllm serve --max-num-seqs 64"}) || !slices.Contains(o.Settings, Fact{Name: "load", Value: "concurrency 8"}) {
		t.Errorf("%+v", o.Settings)
	}
	if o.Closest == nil || o.Closest.Text != "TTFT p99 at 80 % of its limit" || math.Abs(o.Closest.Share-0.8) > 1e-9 {
		t.Errorf("%+v", o.Closest)
	}
	var names []string
	for _, f := range w.Figures {
		names = append(names, f.Name)
	}
	if want := []string{"output tok/s", "tok/s/user", "TTFT p99", "TPOT p95", "cost", "n"}; !slices.Equal(names, want) {
		t.Errorf("%q", names)
	}
}

func TestUnmeasured(t *testing.T) {
	r := healthy()
	r.GPU, r.Server.Metrics = nil, &telemetry.ServerUsage{Missing: "no answer"}
	a := NewAnswer(&record.Manifest{Target: record.TargetInfo{Simulated: true}, Unspecified: []string{"driver"}}, series.FromRows([]record.Row{r}), nil, nil)
	for _, want := range []string{"GPU metrics: not collected", "server metrics: no answer", "a real server: the target is simulated", "not specified in [target]: driver"} {
		if !slices.Contains(a.NotMeasured, want) {
			t.Errorf("%q lacks %q", a.NotMeasured, want)
		}
	}
}

// A search answers with its result: the load that it found, or what it needs.
func TestSearchedWorkload(t *testing.T) {
	search := &experiment.Search{Goal: experiment.GoalSLO, Axis: "concurrency", Min: 1, Max: 64}
	pass, fail := judged("ttft_p99", stats.Pass), judged("ttft_p99", stats.Fail)
	answer := func(found record.Found, rows ...record.Row) Answer {
		for i := range rows {
			rows[i].Spec.Search = search
		}
		found.Name, found.Search, found.Text = "r", *search, "r: as found"
		series := series.FromRows(rows)
		return NewAnswer(&record.Manifest{Searches: []record.Found{found}}, series, Diagnose(series), nil)
	}
	between := stats.Bracket{Low: new(8.), High: new(16.)}
	for state, c := range map[string]struct {
		a                Answer
		lead, text, next string
		notMet           int
	}{
		"found":                      {answer(record.Found{State: "found", Bracket: between, Passed: new(8.)}, offered(8, 900, pass), offered(16, 1000, fail)), LeadShip, "as found", "", 0},
		"budget":                     {answer(record.Found{State: "budget", Bracket: between, Passed: new(8.)}, offered(8, 900, pass), offered(16, 1000, fail)), LeadShip, "as found", "raise budget of the search for a closer answer", 0},
		"below":                      {answer(record.Found{State: "below", Bracket: stats.Bracket{High: new(1.)}}, offered(1, 100, fail)), LeadNone, "as found", "lower min of the search", 1},
		"none":                       {answer(record.Found{State: "none"}, offered(8, 900, needs("ttft_p99", 39))), LeadNotYet, "as found", "requests = 339 at concurrency 8", 1},
		"its end is undecided alone": {answer(record.Found{State: "found", Bracket: between, Passed: new(8.)}, offered(4, 500, pass), offered(8, 900, needs("ttft_p99", 39)), offered(16, 1000, fail)), LeadShip, "as found", "", 0},
	} {
		w := c.a.Workloads[0]
		next := ""
		if w.Next != nil {
			next = w.Next.Text
		}
		if w.Lead != c.lead || next != c.next || w.Text != c.text || len(c.a.NotMet) != c.notMet {
			t.Errorf("%s: %s, %q, %q, %v", state, w.Lead, w.Text, next, c.a.NotMet)
		}
	}
}

// A search for saturation answers by what the server keeps up with, whatever the SLO; a search for the SLO is read first.
func TestSearchedSaturation(t *testing.T) {
	search := &experiment.Search{Goal: experiment.GoalSaturation, Axis: "concurrency", Min: 1, Max: 64}
	rows := []record.Row{offered(8, 900, needs("ttft_p99", 39)), offered(16, 1000, judged("ttft_p99", stats.Fail))}
	for i := range rows {
		rows[i].Spec.Search = search
	}
	found := record.Found{Name: "r", Search: *search, State: "found", Text: "r: as found", Bracket: stats.Bracket{Low: new(8.), High: new(16.)}}
	all := series.FromRows(rows)
	a := NewAnswer(&record.Manifest{Searches: []record.Found{found}}, all, Diagnose(all), nil)
	if w := a.Workloads[0]; w.Lead != LeadMeasured || w.Text != "as found" || w.Verdict != "" || w.Operating != nil || w.Next != nil {
		t.Errorf("%+v", w)
	}
}
