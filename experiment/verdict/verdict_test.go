package verdict

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"bench/experiment"
	"bench/experiment/metric"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/workload"
	fixture "bench/internal/fixturetest"
	"bench/internal/loadgentest"
)

var second = record.Window{EndUs: 1_000_000}

// judgeAll judges an SLO for the requests of the window, of one class if class is not empty.
func judgeAll(c experiment.SLO, class string, records []*record.Record, s *record.Summary, stream bool, t experiment.Target) []record.Verdict {
	about := func(r *record.Record) bool { return class == "" || r.Class == class }
	window := record.WindowByArrival(records)
	e := Measured{Row: &record.Row{Window: second}, Records: records}
	e.Spec.Rate, e.Spec.Stream = 100, &stream
	var out []record.Verdict
	for _, l := range c.Limits {
		out = append(out, e.judgeLimit(question{limit: l, class: class, about: about}, window, s, t))
	}
	return out
}

// judge summarises and judges, as a row does.
func judge(t *testing.T, slo string, records []*record.Record, target experiment.Target) []record.Verdict {
	t.Helper()
	c := fixture.SLO(t, slo)
	s := record.Summarize(records, second, record.Mode{Streams: true}, c.PerRequest(), target.GPUs)
	return judgeAll(c, "", records, &s, true, target)
}

// requests are n answers of two tokens, ttft and gap given in µs.
func requests(n int, ttft, gap int64) []*record.Record {
	out := make([]*record.Record, n)
	for i := range out {
		out[i] = fixture.OKRequest(1000, 1000+ttft, 1000+ttft+gap)
	}
	return out
}

// thoughts are requests of reasoning from 1 ms after the arrival on, whose answer begins after ttfo µs.
func thoughts(n int, ttfo int64) []*record.Record {
	out := make([]*record.Record, n)
	for i := range out {
		out[i] = fixture.OKRequest(1000, 2000, 1000+ttfo, 10_000)
		out[i].FirstAnswer, out[i].ReasoningTokens = record.At(1000+ttfo), new(1)
	}
	return out
}

// unanswered are requests of reasoning alone, for 9 ms.
func unanswered(n int) []*record.Record {
	out := thoughts(n, 3000)
	for _, r := range out {
		r.FirstAnswer, r.ReasoningTokens = record.Micros{}, new(3)
	}
	return out
}

func failures(n int) []*record.Record {
	out := make([]*record.Record, n)
	for i := range out {
		out[i] = failedRequest(1000, "timeout")
	}
	return out
}

func TestVerdicts(t *testing.T) {
	usd := 3.6
	var priced experiment.Target
	priced.GPUs, priced.GPUHourUSD = 2, &usd
	one := func(n int) []*record.Record { // requests of a single token: they have neither tpot nor gaps
		out := make([]*record.Record, n)
		for i := range out {
			out[i] = fixture.OKRequest(1000, 2000)
		}
		return out
	}
	untimed := func(n int) []*record.Record { // complete, and no event has text
		out := one(n)
		for _, r := range out {
			r.First, r.Last = record.Micros{}, record.Micros{}
		}
		return out
	}
	cancelled := append(requests(500, 1000, 1000), failedRequest(0, "cancelled"))
	mixed := func(n int, slow int) []*record.Record {
		out := append(requests(n-slow, 1000, 1000), requests(slow, 9000, 9000)...)
		for i, r := range out {
			r.I = i * 389 % n // the slow ones are no neighbours
		}
		return out
	}
	spaced := func(records []*record.Record) []*record.Record { // a tenth of a second apart
		for i, r := range records {
			by := int64(i) * 100_000
			r.Arrival, r.Ready, r.Sent, r.First, r.Last, r.End = r.Arrival.Add(by), r.Ready.Add(by), r.Sent.Add(by), r.First.Add(by), r.Last.Add(by), r.End.Add(by)
		}
		return records
	}
	shuffled := func(records []*record.Record) []*record.Record {
		for i, j := range rand.New(rand.NewPCG(3, 4)).Perm(len(records)) {
			records[i].I = j
		}
		return records
	}
	for _, c := range []struct {
		slo     string
		records []*record.Record
		want    string
		why     string // a part of it
	}{
		// Percentiles: the figures are those of loadgentest.Decide, which has tests of its own.
		{`ttft_p95 = "1ms"`, requests(90, 1000, 1000), "PASS 1 of 90", "0 of 90 over the limit, 5 % allowed"},
		{`ttft_p95 = "1ms"`, requests(89, 1000, 1000), "UNDECIDED 1 of 89", "needs 1 more requests"},
		// What a dry run says of a limit that is far, or on token times.
		{`ttft_p95 = "10ms"`, requests(72, 1000, 1000), "PASS 1 of 72", "0 of 72 over"},
		{`ttft_p95 = "10ms"`, requests(71, 1000, 1000), "UNDECIDED 1 of 71", "needs"},
		{`tpot_p95 = "1ms"`, requests(72, 1000, 1000), "PASS 1 of 72", "0 of 72 over"},
		{`tpot_p95 = "1ms"`, requests(71, 1000, 1000), "UNDECIDED 1 of 71", "needs"},
		{`ttft_p95 = "1ms"`, requests(90, 1001, 1000), "FAIL 1.001 of 90", "90 of 90 over"},
		{`ttft_p50 = "5ms"`, shuffled(append(requests(300, 1000, 1000), failures(15)...)), "PASS 1 of 315", "(15 of them failed)"},
		{`ttft_p95 = "5ms"`, shuffled(append(requests(50, 1000, 1000), failures(50)...)), "FAIL - of 100", "50 of 100 over"},
		{`ttft_p95 = "5ms"`, append(requests(50, 1000, 1000), failures(50)...), "FAIL - of 100", "50 of 100 failed, nearly all of the last quarter"},
		{`ttft_p95 = "1ms"`, spaced(append(requests(150, 1000, 1000), requests(60, 3001, 1000)...)), "FAIL 3.001 of 210", "overload: latency rises"},
		// A slow phase before the end can be a phase, and its requests are worth few.
		{`ttft_p95 = "1ms"`, spaced(slices.Concat(requests(100, 1000, 1000), requests(60, 2999, 1000), requests(50, 1000, 1000))), "UNDECIDED 2.999 of 210", "60 of 210 over"},
		{`ttft_p50 = "5ms"`, failures(30), "FAIL - of 30", "30 of them failed"},
		{`ttft_p50 = "5ms"`, failures(40), "FAIL - of 40", "40 of 40 over"},
		{`e2e_p99 = "5ms"`, mixed(1000, 50), "FAIL 18 of 1000", "50 of 1000 over"},
		{`tpot_p50 = "1ms"`, one(50), "UNDECIDED - of 50", "no request has this metric"},
		{`tpot_p50 = "1ms"`, append(one(50), failures(10)...), "FAIL - of 10", "10 of 10 over"},
		{`ttft_p95 = "1ms"`, append(untimed(50), failures(10)...), "UNDECIDED - of 60", "no request has this metric"},
		{`ttft_p95 = "1ms"`, nil, "UNDECIDED - of 0", "no request in the window"},
		{`ttft_p50 = "1ms"`, cancelled, "UNDECIDED - of 501", "interrupted"},

		// Without reasoning, ttfo is ttft; an answer that never begins ranks as infinite.
		{`ttfo_p95 = "1ms"`, requests(90, 1000, 1000), "PASS 1 of 90", "0 of 90 over"},
		{`ttfo_p95 = "3ms"`, thoughts(90, 3000), "PASS 3 of 90", "0 of 90 over"},
		{`ttft_p95 = "1ms"`, thoughts(90, 3000), "PASS 1 of 90", "0 of 90 over"},
		{`ttfo_p95 = "2ms"`, thoughts(90, 3000), "FAIL 3 of 90", "90 of 90 over"},
		{`ttfo_p50 = "5ms"`, shuffled(append(thoughts(300, 3000), unanswered(15)...)), "PASS 3 of 315", "(15 of them without an answer)"},
		{`ttfo_p50 = "5ms"`, shuffled(slices.Concat(thoughts(300, 3000), unanswered(5), failures(10))), "PASS 3 of 315", "(15 of them failed or without an answer)"},
		{`ttfo_p95 = "5ms"`, append(thoughts(50, 3000), unanswered(50)...), "FAIL - of 100", "50 of 100 without an answer, nearly all of the last quarter"},
		{`ttfo_mean = "5ms"`, append(thoughts(50, 3000), unanswered(1)...), "FAIL - of 51", "1 requests without an answer"},
		{`e2e_p95 = "9ms"`, unanswered(90), "PASS 9 of 90", "0 of 90 over"},
		{"min_goodput_requests_per_s = 4\n[each]\nttfo = \"3ms\"", thoughts(4, 3000), "PASS 4 of 4", ""},
		{"min_goodput_requests_per_s = 4\n[each]\nttfo = \"3ms\"", append(thoughts(3, 3000), unanswered(1)...), "FAIL 3 of 4", ""},

		{`ttft_mean = "1ms"`, requests(30, 1000, 1000), "PASS 1 of 30", "mean 1 ms [1, 1] (95 %, n=30)"},
		{`ttft_mean = "1ms"`, requests(29, 1000, 1000), "UNDECIDED 1 of 29", "needs 29 more"},
		{`ttft_mean = "1ms"`, requests(30, 1001, 1000), "FAIL 1.001 of 30", "mean"},
		{`ttft_mean = "4ms"`, shuffled(mixed(60, 20)), "UNDECIDED 3.667 of 60", "(95 %, n=60)"},
		{`ttft_mean = "60s"`, append(requests(99, 1, 1), failures(1)...), "FAIL - of 100", "1 requests failed"},
		{`tpot_mean = "1ms"`, one(50), "UNDECIDED - of 50", "no request has this metric"},
		{`tpot_mean = "1ms"`, failures(2), "FAIL - of 2", "2 requests failed"},

		{`itl_p95 = "1ms"`, requests(90, 9, 1000), "PASS 1 of 90", "0 % of the gaps over"},
		{`itl_p95 = "1ms"`, requests(90, 9, 1001), "FAIL 1.001 of 90", "100 % of the gaps over"},
		{`itl_p95 = "1ms"`, one(90), "UNDECIDED - of 90", "no request has this metric"},
		{`itl_p95 = "1ms"`, failures(20), "FAIL - of 20", "20 of them failed"},
		{`itl_p50 = "1ms"`, shuffled(append(requests(40, 9, 1000), failures(60)...)), "UNDECIDED - of 100", "60 % of the gaps over"},
		{`itl_p50 = "1ms"`, shuffled(append(requests(90, 9, 1000), failures(10)...)), "PASS 1 of 100", "10 % of the gaps over"},

		{`error_rate = 0`, requests(1, 9, 9), "PASS 0 of 1", "no request failed"},
		{`error_rate = 0`, append(requests(999, 9, 9), failures(1)...), "FAIL 0.001 of 1000", "1 requests failed"},
		{`error_rate = 1`, failures(3), "PASS 1 of 3", "every request may fail"},
		{`error_rate = 0.1`, requests(36, 9, 9), "PASS 0 of 36", "0 of 36 failed"},
		{`error_rate = 0.1`, requests(35, 9, 9), "UNDECIDED 0 of 35", "needs 1 more"},
		{`error_rate = 0.1`, failures(3), "FAIL 1 of 3", "3 of 3 failed"},

		{`min_requests_per_s = 4`, requests(4, 9, 9), "PASS 4 of 4", "4 over a window of 1 s"},
		{`min_requests_per_s = 4`, requests(3, 9, 9), "FAIL 3 of 3", ""},
		{`min_prompt_tokens_per_s = 40`, requests(4, 9, 9), "PASS 40 of 4", ""},
		{`min_output_tokens_per_s = 8`, requests(4, 9, 9), "PASS 8 of 4", ""},
		{`min_output_tokens_per_s = 1`, failures(4), "FAIL 0 of 4", ""},
		{`min_output_tokens_per_s_per_gpu = 4`, requests(4, 9, 9), "PASS 4 of 4", ""},
		{"min_goodput_requests_per_s = 4\n[each]\nttft = \"9µs\"", requests(4, 9, 9), "PASS 4 of 4", ""},
		{"min_goodput_requests_per_s = 4\n[each]\nttft = \"8µs\"", requests(4, 9, 9), "FAIL 0 of 4", ""},
		{`min_goodput_requests_per_s = 4`, requests(4, 9, 9), "UNDECIDED - of 4", "write [slo.each]"},
		// Two GPUs at 3.6 USD an hour are 0.002 USD a second, for 8 tokens: 250 USD a million.
		{`usd_per_million_output_tokens = 250`, requests(4, 9, 9), "PASS 250 of 4", ""},
		{`usd_per_million_output_tokens = 249`, requests(4, 9, 9), "FAIL 250 of 4", ""},
		{`usd_per_million_output_tokens = 249`, failures(4), "FAIL - of 4", "no output token"},
	} {
		v := judge(t, c.slo, c.records, priced)
		if len(v) != 1 || fixture.Verdict(v[0]) != c.want || !strings.Contains(v[0].Why, c.why) || v[0].Why == "" {
			t.Errorf("%s\ngot  %s: %s\nwant %s: %s", c.slo, fixture.Verdict(v[0]), v[0].Why, c.want, c.why)
		}
		if v[0].Need > 0 && v[0].Verdict != stats.Undecided {
			t.Errorf("%s: %s, and yet %d more are needed", c.slo, v[0].Verdict, v[0].Need)
		}
	}
}

func TestVerdictsWithoutGPUsOrPrice(t *testing.T) {
	for slo, hint := range map[string]string{
		`min_output_tokens_per_s_per_gpu = 4`: "write gpus = 1",
		`usd_per_million_output_tokens = 1`:   "write gpus and gpu_hour_usd",
	} {
		for _, records := range [][]*record.Record{requests(4, 9, 9), failures(4)} {
			v := judge(t, slo, records, experiment.Target{})
			if v[0].Verdict != "UNDECIDED" || v[0].Value != nil || !strings.Contains(v[0].Why, hint) {
				t.Errorf("%s: %s: %s", slo, fixture.Verdict(v[0]), v[0].Why)
			}
		}
	}
}

// TestPercentileVerdictIsDecides holds the verdict against loadgentest.Decide, which takes requests for independent.
func TestPercentileVerdictIsDecides(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		within, over, failed := rapid.IntRange(0, 300).Draw(rt, "within"), rapid.IntRange(0, 40).Draw(rt, "over"), rapid.IntRange(0, 40).Draw(rt, "failed")
		if within+over+failed == 0 {
			return
		}
		records := append(append(requests(within, 5000, 1), requests(over, 5001, 1)...), failures(failed)...)
		for i, j := range rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "order"), 1)).Perm(len(records)) {
			records[i].I = j
		}
		stat := rapid.SampledFrom([]string{"p50", "p90", "p99"}).Draw(rt, "stat")
		v := judge(t, "ttft_"+stat+` = "5ms"`, records, experiment.Target{})[0]
		p, _ := metric.Stat(stat).P()
		// Dependence, which chance shows too, and the floor of the window only leave more undecided.
		risk := map[string]float64{"PASS": 0.01, "FAIL": 0.025}[string(v.Verdict)] // an upper end takes less of the risk
		want := loadgentest.Decide(within+over+failed, over+failed, p, 1-risk)
		if string(v.Verdict) != want && v.Verdict != stats.Undecided && !strings.Contains(v.Why, "last quarter") {
			rt.Fatalf("%s; Decide says %s", v.Verdict, want)
		}
		if v.Value == nil && failed == 0 {
			rt.Fatal("no value, though nothing failed")
		}
		if v.Value != nil && v.Verdict == "PASS" && *v.Value > 5 {
			rt.Fatalf("PASS at %v ms", *v.Value)
		}
	})
}

func TestGapsDecideByRequest(t *testing.T) {
	// Ten requests of a hundred gaps: a thousand gaps would decide, ten requests don't.
	var records []*record.Record
	for range 10 {
		r := fixture.OKRequest(0, 0)
		for range 100 {
			r.Gaps = r.Gaps.Append(1000)
		}
		r.Last, r.OutputTokens = record.At(100_000), 101
		records = append(records, r)
	}
	v := judge(t, `itl_p95 = "2ms"`, records, experiment.Target{})[0]
	if v.Verdict != "UNDECIDED" || v.Need == 0 || v.Observed != 10 {
		t.Errorf("%s, need %d", fixture.Verdict(v), v.Need)
	}
}

func TestMeanNeedIsEnough(t *testing.T) {
	// Half the interval falls as the root: from 1 to the distance of 0.5 takes four times as many.
	around := func(mean float64) stats.Interval { return stats.Interval{Lo: mean - 1, Hi: mean + 1} }
	if need := meanNeed(60, 3.5, 4, around(3.5)); need != 180 {
		t.Errorf("below the limit: %d more", need)
	}
	if need := meanNeed(60, 4.5, 4, around(4.5)); need != 180 {
		t.Errorf("above the limit: %d more", need)
	}
	if need := meanNeed(60, 4, 4, around(4)); need != 0 {
		t.Errorf("%d more for a mean at the limit", need)
	}
}

func TestJudgeOneClass(t *testing.T) {
	records := append(requests(90, 1000, 1), requests(90, 8000, 1)...)
	for i, r := range records {
		r.Class = []string{"chat", "rag"}[i/90]
		r.I = i * 7 % 180 // the classes alternate irregularly
	}
	s := record.Summarize(records, second, record.Mode{Streams: true}, nil, 0)
	for class, want := range map[string]string{"chat": "PASS 1 of 90", "rag": "FAIL 8 of 90", "": "FAIL 8 of 180", "none": "UNDECIDED - of 0"} {
		v := judgeAll(fixture.SLO(t, `ttft_p95 = "1ms"`), class, records, &s, true, experiment.Target{})
		if fixture.Verdict(v[0]) != want || v[0].Class != class || v[0].Unit != "ms" || v[0].Limit != 1 || v[0].Metric != "ttft_p95" {
			t.Errorf("class %q: %s, want %s (%+v)", class, fixture.Verdict(v[0]), want, v[0])
		}
	}
	warm := requests(90, 1, 1)
	for _, r := range warm {
		r.Phase = record.PhaseCooldown
	}
	if v := judgeAll(fixture.SLO(t, `ttft_p95 = "1ms"`), "", append(warm, failures(1)...), &s, true, experiment.Target{}); v[0].Observed != 1 {
		t.Errorf("requests outside the window are judged: %s", fixture.Verdict(v[0]))
	}
}

func TestSLOOf(t *testing.T) {
	for in, want := range map[string]string{"": "", "PASS": "PASS", "PASS UNDECIDED PASS": "UNDECIDED", "UNDECIDED FAIL": "FAIL", "FAIL PASS": "FAIL", "UNDECIDED PASS": "UNDECIDED"} {
		var v []record.Verdict
		for _, s := range strings.Fields(in) {
			v = append(v, record.Verdict{Verdict: stats.Verdict(s)})
		}
		if got, _ := OfRows(&record.Row{SLO: v}); string(got) != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func TestCostPerMillion(t *testing.T) {
	usd := 2.0
	s := &record.Summary{Throughput: record.Throughput{OutputTokensPerS: 1000}}
	target := experiment.Target{GPUs: 4, GPUHourUSD: &usd}
	// 8 USD an hour over 3.6 million tokens an hour.
	if got, ok := costPerMillion(s, target); !ok || math.Abs(got-8/3.6) > 1e-12 {
		t.Errorf("%v, %t", got, ok)
	}
	for _, target := range []experiment.Target{{GPUs: 4}, {GPUHourUSD: &usd}} {
		if _, ok := costPerMillion(s, target); ok {
			t.Errorf("a price from %+v", target)
		}
	}
	if _, ok := costPerMillion(&record.Summary{}, target); ok {
		t.Error("a price of nothing")
	}
}

// Where nothing failed, a verdict's value is the figure of the summary, whatever the metric.
func TestVerdictsValueIsTheSummarys(t *testing.T) {
	var records []*record.Record
	for _, r := range readJSONLines(t, "../record/testdata/records.jsonl") {
		if r.OK() {
			records = append(records, r)
		}
	}
	w := record.Window{StartUs: 1_000_000, EndUs: 11_000_000}
	s := record.Summarize(records, w, record.Mode{Streams: true}, nil, 0)
	for _, latency := range metric.Latencies {
		for _, stat := range []string{"p50", "p90", "p95", "p99", "p999", "mean"} {
			if latency+"_"+stat == "itl_mean" { // not a limit: see slo_test.go
				continue
			}
			v := judgeAll(fixture.SLO(t, latency+"_"+stat+` = "100ms"`), "", records, &s, true, experiment.Target{})[0]
			of := s.Latency(latency)
			if latency == "ttfo" { // there is no reasoning
				of = s.TTFT
			}
			want, ok := of.Get(stat)
			if !ok || v.Value == nil || *v.Value != want && !(stat == "mean" && math.Abs(*v.Value-want) < 1e-12*want) {
				t.Errorf("%s_%s: %s, the summary says %v", latency, stat, fixture.Verdict(v), want)
			}
		}
	}
	unstreamed := judgeAll(fixture.SLO(t, `tpot_p95 = "100ms"`), "", records, &s, false, experiment.Target{})[0]
	if unstreamed.Verdict != "UNDECIDED" || unstreamed.Value != nil {
		t.Errorf("tpot of an unstreamed row: %s", fixture.Verdict(unstreamed))
	}
}

// TestBufferedAnswersDecideNothing: behind a proxy that buffers, tpot is 0 and means nothing but that it is at most the
// time since the request was sent.
func TestBufferedAnswersDecideNothing(t *testing.T) {
	records := requests(120, 40_000, 1000)
	for _, r := range records {
		r.Gaps, r.Last, r.OutputTokens = record.Pack(0, 0, 0, 0), r.First, 5
	}
	verdict := func(limit string, records []*record.Record) record.Verdict {
		e := &Measured{Row: &record.Row{Window: second}, Records: records}
		e.Spec.SLO = fixture.SLO(t, limit)
		e.Conclude(experiment.Target{}, record.RooflineSource{})
		return e.SLO[0]
	}
	if v := verdict(`tpot_p95 = "11ms"`, records); v.Verdict != "PASS" { // 40 ms for four gaps
		t.Errorf("a limit above: %s: %s", fixture.Verdict(v), v.Why)
	}
	for _, limit := range []string{`tpot_p95 = "5ms"`, `itl_p95 = "5ms"`} {
		if v := verdict(limit, records); v.Verdict != "UNDECIDED" || !strings.Contains(v.Why, "buffered: ") {
			t.Errorf("%s: %s: %s", limit, fixture.Verdict(v), v.Why)
		}
		// A third of the requests failed, whatever the others say.
		broken := append(slices.Clone(records[:80]), failures(40)...)
		for i, j := range rand.New(rand.NewPCG(3, 4)).Perm(len(broken)) {
			broken[i].I = j
		}
		if v := verdict(limit, broken); v.Verdict != "FAIL" {
			t.Errorf("%s, a third failed: %s: %s", limit, fixture.Verdict(v), v.Why)
		}
	}
}

// TestClassesOverrideTheRow: a class with a limit of its own is not held to the row's.
func TestClassesOverrideTheRow(t *testing.T) {
	var records []*record.Record
	for i, class := range []string{"chat", "rag"} {
		for _, r := range requests(100, 0, 1000) {
			r.Class = class
			r.First = r.First.Add(int64(i) * 1_000_000) // rag is a second late
			r.Last = r.Last.Add(int64(i) * 1_000_000)
			records = append(records, r)
		}
	}
	left := fixture.OKRequest(1000, 2000, 3000) // counts for no limit
	left.Class, left.Outcome = "rag", "left"
	records = append(records, left)
	for i, j := range rand.New(rand.NewPCG(3, 4)).Perm(len(records)) {
		records[i].I = j
	}
	mix := func(rag map[string]any) *Measured {
		e := &Measured{Row: &record.Row{Window: record.Window{StartUs: -1, EndUs: 100_000_000}}, Records: records}
		e.Spec.SLO = fixture.SLO(t, `ttft_p95 = "500ms"`)
		e.Spec.Mix = []workload.Class{{Name: "chat", Weight: 1}, {Name: "rag", Weight: 1, SLO: rag}}
		e.Conclude(experiment.Target{}, record.RooflineSource{})
		return e
	}
	if e := mix(nil); e.SLO[0].Verdict != "FAIL" || e.Summary.Goodput.Share != 0.5 {
		t.Errorf("without: %+v, %+v", e.SLO, e.Summary.Goodput)
	}
	e := mix(map[string]any{"ttft_p95": "5s"})
	if e.SLO[0].Verdict != "PASS" || e.SLO[0].Observed != 100 || len(e.SLO) != 2 || e.SLO[1].Verdict != "PASS" {
		t.Errorf("with: %+v", e.SLO)
	}
	if g := e.Summary.Goodput; g.Share < 0.999 || g.Share > 1.001 || len(g.Limits) != 2 {
		t.Errorf("with: %+v", g)
	}
}

// The lean of a mean is what a normal distribution of the interval's reach gives: half at the limit, the confidence's
// share at an end.
func TestMeanWithin(t *testing.T) {
	iv := stats.Interval{Lo: 90, Hi: 120}
	for _, x := range []struct{ mean, limit, want float64 }{
		{100, 100, 0.5}, {100, 120, 0.975}, {100, 90, 0.025}, {100, 110, 0.8365},
	} {
		if got := meanWithin(x.mean, x.limit, iv, 0.95); math.Abs(got-x.want) > 1e-3 {
			t.Errorf("mean %v, limit %v: %v, want %v", x.mean, x.limit, got, x.want)
		}
	}
}

func TestLongerRepeatDecides(t *testing.T) {
	row := func(verdict stats.Verdict, requests int) *record.Row {
		r := &record.Row{SLO: []record.Verdict{{Metric: "ttft_p95", Verdict: verdict}}}
		r.Summary.DurationS, r.Summary.Requests.Planned = float64(requests), requests
		return r
	}
	throttled := row("UNDECIDED", 90)
	throttled.Summary.Requests.Planned = 45 // in as long a window
	for _, c := range []struct {
		rows []*record.Row
		want stats.Verdict
	}{
		{[]*record.Row{row("UNDECIDED", 26), row("PASS", 90)}, "PASS"},
		{[]*record.Row{row("FAIL", 90), row("UNDECIDED", 26)}, "FAIL"},
		{[]*record.Row{row("UNDECIDED", 60), row("PASS", 70)}, "UNDECIDED"}, // as long, by chance
		{[]*record.Row{row("PASS", 26), row("UNDECIDED", 90)}, "UNDECIDED"},
		{[]*record.Row{row("FAIL", 26), row("PASS", 90)}, "FAIL"},
		{[]*record.Row{throttled, row("PASS", 90)}, "UNDECIDED"},
	} {
		if got, _ := OfRows(c.rows...); got != c.want {
			t.Errorf("%+v %+v: %s", c.rows[0].SLO, c.rows[1].SLO, got)
		}
	}
}
