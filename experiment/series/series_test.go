package series

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/unit"
	"bench/experiment/workload"
	fixture "bench/internal/fixturetest"
)

// measured is a row of a series with what its curve is made from.
func measured(name string, axes []experiment.Axis, rate float64, concurrency, repeat int, output, p99 float64, verdict string) record.Row {
	duration := 100.0
	r := record.Row{ID: name, PromptForm: "token_ids", Spec: experiment.Spec{Name: name, Point: axes, Repeat: repeat,
		Workload: workload.Workload{Rate: workload.Rate(rate)}, Load: workload.Load{Concurrency: concurrency}}}
	values := make([]float64, 2000)
	for i := range values {
		values[i] = p99
	}
	r.Summary = record.Summary{DurationS: duration, TTFT: stats.Summarize(values), Throughput: record.Throughput{OutputTokensPerS: output, RequestsPerS: output / 100}}
	r.Summary.Requests.Planned = int(rate * duration)
	if rate == 0 || math.IsInf(rate, 1) {
		r.Summary.Requests.Planned = int(output)
	}
	if verdict != "" {
		r.SLO = []record.Verdict{{Verdict: stats.Verdict(verdict), Need: map[string]int{"UNDECIDED": 640}[verdict]}}
	}
	return r
}

func closedCurve() []record.Row {
	return []record.Row{
		measured("D", fixture.Concurrency("32"), 0, 32, 1, 1290, 3400, "FAIL"), // out of order
		measured("D", fixture.Concurrency("1"), 0, 1, 1, 130, 90, "PASS"),
		measured("D", fixture.Concurrency("2"), 0, 2, 1, 250, 100, "PASS"),
		measured("D", fixture.Concurrency("4"), 0, 4, 1, 480, 140, "PASS"),
		measured("D", fixture.Concurrency("8"), 0, 8, 1, 900, 260, "PASS"),
		measured("D", fixture.Concurrency("16"), 0, 16, 1, 1240, 540, "UNDECIDED"),
	}
}

func TestSeriesClosed(t *testing.T) {
	series := FromRows(closedCurve())
	if len(series) != 1 {
		t.Fatalf("%d series", len(series))
	}
	s := series[0]
	if s.Axis != "concurrency" || !s.Closed || s.Cost != "ttft" || len(s.Points) != 6 || s.Points[5].Load != "concurrency 32" {
		t.Errorf("%+v", s)
	}
	if want := []int{0, 1, 2, 3, 4, 5}; !slices.Equal(s.Frontier, want) {
		t.Errorf("frontier %v", s.Frontier)
	}
	for name, c := range map[string]struct {
		knee LoadLimit
		want int
	}{"slo": {s.MaxLoadWithinSLO, 3}, "geometric": {s.Knee, 4}, "saturation": {s.Saturation, 5}} {
		if c.knee.Point == nil || *c.knee.Point != c.want {
			t.Errorf("%s knee: %+v, want point %d", name, c.knee, c.want)
		}
	}
	if want := "900 output tok/s at concurrency 8, ttft p99 260 ms [260, 260] (n=2,000)"; s.Sentence != want {
		t.Errorf("%q, want %q", s.Sentence, want)
	}
	if _, err := json.Marshal(series); err != nil {
		t.Error(err)
	}
}

func TestSeriesWithoutKnees(t *testing.T) {
	rows := closedCurve()[1:4] // concurrency 1, 2, 4: still rising
	s := FromRows(rows)[0]
	for name, c := range map[string]struct {
		knee LoadLimit
		why  string
	}{
		"geometric":  {s.Knee, "four loads"},
		"saturation": {s.Saturation, "still gains throughput"},
	} {
		if c.knee.Point != nil || !strings.Contains(c.knee.Why, c.why) {
			t.Errorf("%s: %+v", name, c.knee)
		}
	}
	if k := s.MaxLoadWithinSLO; k.Point == nil || *k.Point != 2 || k.Why != "the highest load that meets the SLO" {
		t.Errorf("SLO: %+v", k)
	}
	for name, c := range map[string]struct{ verdict, why string }{
		"undecided": {"UNDECIDED", "no valid point meets the SLO"}, "failing": {"FAIL", "rate 1/s misses the SLO"}, "unstated": {"", "no SLO"},
	} {
		row := measured("x", nil, 1, 0, 1, 100, 50, c.verdict)
		for i := range row.SLO {
			row.SLO[i].Metric = "ttft_p99"
		}
		if k := FromRows([]record.Row{row})[0].MaxLoadWithinSLO; k.Point != nil || !strings.Contains(k.Why, c.why) {
			t.Errorf("%s: %+v", name, k)
		}
	}
	invalid := measured("x", nil, 1, 0, 1, 100, 50, "PASS")
	invalid.Findings = []record.Finding{{Code: "errors", Severity: record.Invalid}}
	if k := FromRows([]record.Row{invalid})[0].MaxLoadWithinSLO; k.Point != nil {
		t.Errorf("an invalid point is no knee: %+v", k)
	}
	invalid.Findings[0].Severity = record.Caution
	if k := FromRows([]record.Row{invalid})[0].MaxLoadWithinSLO; k.Point == nil {
		t.Errorf("a caution leaves the point in the answer: %+v", k)
	}
}

// A closed loop whose workers waited for the client counts at the mean number in flight.
func TestPointAtTheLoadThatItHad(t *testing.T) {
	var rows []record.Row
	for i, mean := range []float64{4, 6.4, 15} {
		asked := []int{4, 8, 16}[i]
		r := measured("D", fixture.Concurrency(fmt.Sprint(asked)), 0, asked, 1, 100*mean, 50, "PASS")
		r.Summary.Concurrency.Mean = mean
		if asked == 8 {
			r.Findings = []record.Finding{{Code: "concurrency", Severity: record.Caution,
				Effects: []record.Effect{{Metric: record.MetricConcurrency, Direction: record.Lowered, Bound: new(1.25), Unit: record.UnitFactor}}}}
		}
		rows = append(rows, r)
	}
	s := FromRows(rows)[0]
	var got []string
	for _, p := range s.Points {
		got = append(got, fmt.Sprintf("%s, %g", p.Load, p.LoadValue))
	}
	want := []string{"concurrency 4, 4", "concurrency 6.4 (requested 8), 6.4", "concurrency 16, 16"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if parts := s.Points[1].LoadParts; parts != [2]string{"concurrency 6.4", "(requested 8)"} {
		t.Errorf("%q", parts)
	}
}

// The highest load within the SLO is below the first that misses it by its load. What a low load misses by nature
// ends nothing.
func TestMaxLoadWithinSLO(t *testing.T) {
	const latency, cost, ok = "ttft_p95", "usd_per_million_output_tokens", ""
	for name, c := range map[string]struct {
		misses []string // by load
		want   int      // -1: none
	}{
		"all meet it":            {[]string{ok, ok, ok}, 2},
		"the highest misses":     {[]string{ok, ok, latency}, 1},
		"dear at low load":       {[]string{cost, ok, latency}, 1},
		"dear in between":        {[]string{ok, cost, ok}, 2},
		"the lowest misses":      {[]string{latency, ok, ok}, -1},
		"a gap":                  {[]string{ok, latency, ok}, 0},
		"a gap of errors":        {[]string{ok, ok, "error_rate", ok}, 1},
		"dear, then too slow":    {[]string{cost, latency}, -1},
		"every load is too slow": {[]string{latency, latency}, -1},
	} {
		var rows []record.Row
		for i, fails := range c.misses {
			r := measured("D", fixture.Concurrency(fmt.Sprint(1<<i)), 0, 1<<i, 1, 130, 90, "PASS")
			if fails != "" {
				r.SLO = []record.Verdict{{Metric: fails, Verdict: "FAIL"}}
			}
			rows = append(rows, r)
		}
		k := FromRows(rows)[0].MaxLoadWithinSLO
		if got := k.Point; c.want < 0 && got != nil || c.want >= 0 && (got == nil || *got != c.want) {
			t.Errorf("%s: %+v", name, k)
		}
	}
}

func TestKneeIsExplained(t *testing.T) {
	s := FromRows(closedCurve())[0]
	if k := s.Knee; k.Sensitivity < 1 || !strings.Contains(k.Why, "sensitivity") {
		t.Errorf("%+v", k)
	}
}

// The sentence has its limit beside it: of p99 where that is limited, else of the percentile that is.
func TestSentence(t *testing.T) {
	for _, c := range []struct{ limits, want string }{
		{`PASS ttft_p99`, "900 output tok/s (225 per GPU) at concurrency 8, ttft p99 820 ms [820, 820] (n=2,000) < 1 s"},
		{`FAIL ttft_p99`, "ttft p99 820 ms [820, 820] (n=2,000) > 1 s"},
		{`UNDECIDED ttft_p95`, "ttft p95 820 ms [820, 820] (n=2,000), undecided against 1 s"},
		{`PASS ttft_p99 ttft_p50`, "ttft p99 820 ms [820, 820] (n=2,000) < 1 s"},
		{`PASS e2e_p99`, "ttft p99 820 ms [820, 820] (n=2,000)"},
	} {
		row := measured("D", fixture.Concurrency("8"), 0, 8, 1, 900, 820, "")
		row.Summary.Throughput.OutputTokensPerSPerGPU = new(225.0)
		words := strings.Fields(c.limits)
		for _, key := range words[1:] {
			row.SLO = append(row.SLO, record.Verdict{Metric: key, Verdict: stats.Verdict(words[0]), Limit: 1000, Unit: "ms"})
		}
		if got := FromRows([]record.Row{row})[0].Sentence; !strings.HasSuffix(got, c.want) {
			t.Errorf("%s: %q, want %q", c.limits, got, c.want)
		}
	}
}

// An open loop whose queue grows is past its saturation, even where the count of its window does not show it
// yet.
func TestSaturationByTheQueue(t *testing.T) {
	rows := []record.Row{measured("F", nil, 2, 0, 1, 200, 90, ""), measured("F", []experiment.Axis{{Key: "rate", Value: "4"}}, 4, 0, 1, 400, 90, "")}
	rows[0].Spec.Point = []experiment.Axis{{Key: "rate", Value: "2"}}
	if k := FromRows(rows)[0].Saturation; k.Point != nil || !strings.Contains(k.Why, "keeps up with every rate") {
		t.Errorf("%+v", k)
	}
	rows[1].Steady = &record.Steadiness{Trends: map[string]stats.Trend{"in_flight": {Change: 0.5, P: 1e-5}}}
	if k := FromRows(rows)[0].Saturation; k.Point == nil || *k.Point != 1 || !strings.Contains(k.Why, "rose by 50 %") {
		t.Errorf("%+v", k)
	}
	rows[1].Steady.Trends["in_flight"] = stats.Trend{Change: 0.5, P: 0.01}
	if k := FromRows(rows)[0].Saturation; k.Point != nil {
		t.Errorf("a trend that can be chance: %+v", k)
	}
}

func TestFrontiers(t *testing.T) {
	rows := closedCurve()
	for i := range rows {
		n := float64(rows[i].Spec.Concurrency)
		rows[i].Summary.TPOT = stats.Summarize(slices.Repeat([]float64{10 + n}, 20))
	}
	rows[5].Summary.TPOT = stats.Summarize(slices.Repeat([]float64{60}, 20)) // concurrency 16: slower for the user than 32, and no more throughput
	s := FromRows(rows)[0]
	if len(s.Frontiers) != 2 || s.Frontiers[0].Cost != "ttft_p99" || s.Frontiers[1].Cost != "per_user_tokens_per_s" || s.Frontiers[1].Gain != "output_tokens_per_s" {
		t.Fatalf("%+v", s.Frontiers)
	}
	if want := []int{0, 1, 2, 3, 5}; !slices.Equal(s.Frontiers[1].Points, want) {
		t.Errorf("per user %v, want %v", s.Frontiers[1].Points, want)
	}
	if got := s.Points[0].PerUserTokensPerS.Median; math.Abs(got-1000.0/11) > 1e-9 {
		t.Errorf("%v tokens/s for a user at 11 ms a token", got)
	}
}

// ofN is a row whose TTFTs are 1 … n ms, scaled: with few of them p99 has no upper bound.
func ofN(load string, concurrency, n int, scale, output float64) record.Row {
	r := measured("D", fixture.Concurrency(load), 0, concurrency, 1, output, 1, "")
	values := make([]float64, n)
	for i := range values {
		values[i] = scale * float64(i+1)
	}
	r.Summary.TTFT = stats.Summarize(values)
	return r
}

// Points are ranked by their estimates: few requests must not look faster. Without enough of them, or when
// invalid, a point has no rank.
func TestFrontierRanksEstimates(t *testing.T) {
	rows := []record.Row{
		ofN("1", 1, 60, 1, 100),         // p99 59.4 ms, n too small: the lower end of its interval is 58 ms
		ofN("2", 2, 2000, 0.02965, 200), // p99 58.7 ms, sound
		ofN("4", 4, 500, 0.2, 300),      // p99 99.0 ms, thin
	}
	s := FromRows(rows)[0]
	few, _ := s.Points[0].TTFT.Get("p99")
	thin, _ := s.Points[2].TTFT.Get("p99")
	if few.Grade != stats.NoBound || thin.Grade != stats.Thin {
		t.Fatalf("grades %s, %s", few.Grade, thin.Grade)
	}
	if want := []int{1, 2}; !slices.Equal(s.Frontier, want) {
		t.Errorf("frontier %v, want %v", s.Frontier, want)
	}
	rows[1].Findings = []record.Finding{{Code: "errors", Severity: record.Invalid}}
	if s, want := FromRows(rows)[0], []int{2}; !slices.Equal(s.Frontier, want) {
		t.Errorf("frontier %v, want %v: the second point is invalid", s.Frontier, want)
	}
	if s := FromRows(rows[:1])[0]; len(s.Frontier) != 0 || len(s.Frontiers) != 0 {
		t.Errorf("frontier %v, %v of one point whose n is too small", s.Frontier, s.Frontiers)
	}
}

func TestSeriesOpenSaturation(t *testing.T) {
	rate := func(x string) []experiment.Axis { return []experiment.Axis{{Key: "rate", Value: x}} }
	rows := []record.Row{
		measured("F", rate("2"), 2, 0, 1, 198, 90, ""), measured("F", rate("4"), 4, 0, 1, 395, 90, ""),
		measured("F", rate("8"), 8, 0, 1, 510, 900, ""), measured("F", rate("inf"), math.Inf(1), 0, 1, 510, 90000, ""),
	}
	s := FromRows(rows)[0]
	if s.Axis != "rate" || s.Closed || s.Points[3].Load != "rate inf" || s.Points[0].Load != "rate 2/s" {
		t.Errorf("%+v", s)
	}
	if k := s.Saturation; k.Point == nil || *k.Point != 2 || k.Why != "5.1 of 8 offered requests/s achieved" {
		t.Errorf("%+v", k)
	}
	if _, err := json.Marshal(s); err != nil { // rate inf has no number in JSON
		t.Error(err)
	}
	// 36 of 40 requests: within what chance does to the count of a window.
	few := measured("F", rate("0.4"), 0.4, 0, 1, 36, 90, "")
	if k := FromRows([]record.Row{few})[0].Saturation; k.Point != nil {
		t.Errorf("chance taken for saturation: %+v", k)
	}
}

func TestSeriesGrouping(t *testing.T) {
	warm, cold := experiment.Axis{Key: "prefix.state", Value: "warm"}, experiment.Axis{Key: "prefix.state", Value: "cold"}
	rows := []record.Row{
		measured("E", []experiment.Axis{cold, {Key: "rate", Value: "2"}}, 2, 8, 1, 100, 50, ""), measured("E", []experiment.Axis{cold, {Key: "rate", Value: "4"}}, 4, 8, 1, 100, 50, ""),
		measured("E", []experiment.Axis{warm, {Key: "rate", Value: "2"}}, 2, 8, 1, 100, 50, ""),
		measured("C", []experiment.Axis{{Key: "rate", Value: "2"}, {Key: "concurrency", Value: "4"}}, 2, 4, 1, 100, 50, ""), // a cap of its own: a series of its own
		measured("C", []experiment.Axis{{Key: "rate", Value: "2"}, {Key: "concurrency", Value: "8"}}, 2, 8, 1, 100, 50, ""),
		measured("K", fixture.Concurrency("4"), 2, 4, 1, 100, 50, ""), measured("K", fixture.Concurrency("8"), 2, 8, 1, 100, 50, ""), // only the cap varies
		measured("P", nil, 2, 0, 1, 100, 50, ""), measured("P", nil, 2, 0, 2, 100, 50, ""),
	}
	rows[8].PromptForm = "text"
	var got []string
	for _, s := range FromRows(rows) {
		got = append(got, s.Label()+" by "+s.Axis)
	}
	want := []string{"E prefix.state=cold by rate", "E prefix.state=warm by rate", "C concurrency=4 by rate", "C concurrency=8 by rate",
		"K by concurrency", "P prompt_form=token_ids by rate", "P prompt_form=text by rate"}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
}

func TestSeriesRepeats(t *testing.T) {
	rows := []record.Row{measured("A", nil, 1, 0, 3, 140, 70, "PASS"), measured("A", nil, 1, 0, 1, 100, 50, "PASS"), measured("A", nil, 1, 0, 2, 120, 90, "UNDECIDED")}
	rows[2].Summary.TTFT.N = 12
	p := FromRows(rows)[0].Points[0]
	if !slices.Equal(p.OutputTokensPerS.Values, []float64{100, 120, 140}) || p.OutputTokensPerS.Median != 120 {
		t.Errorf("%+v", p.OutputTokensPerS)
	}
	x, ok := p.TTFT.Get("p99")
	if !ok || x.Median != 70 || x.N != 12 || x.Grade != stats.NoBound || x.CI95 != (stats.Interval{Lo: 50, Hi: 90}) {
		t.Errorf("%+v", x)
	}
	if p.SLO != stats.Undecided || p.Need != 640 {
		t.Errorf("%s, need %d", p.SLO, p.Need)
	}
}

func TestSeriesNothingMeasured(t *testing.T) {
	s := FromRows([]record.Row{{Spec: experiment.Spec{Name: "x"}}})[0]
	if s.Sentence != "0 output tok/s at load not reported, no request completed" || len(s.Frontier) != 0 {
		t.Errorf("%+v", s)
	}
	if FromRows(nil) == nil || len(FromRows(nil)) != 0 {
		t.Error("no rows are no series")
	}
}

func TestPercentileString(t *testing.T) {
	inf := math.Inf(1)
	for want, p := range map[string]record.Percentile{
		"820 ms (n=1,200)":           {Repeats: record.Repeats{Median: 820}, N: 1200, Grade: stats.Sound},
		"~1.53 s (n=400: thin)":      {Repeats: record.Repeats{Median: 1530}, N: 400, Grade: stats.Thin},
		"≥610 ms (n=64, 368 needed)": {Name: "p99", Repeats: record.Repeats{Median: 820}, N: 64, Grade: stats.NoBound, CI95: stats.Interval{Lo: 610, Hi: inf}},
		"unknown (n=3, 368 needed)":  {Name: "p99", Repeats: record.Repeats{Median: 820}, N: 3, Grade: stats.NoBound, CI95: stats.Interval{Lo: -inf, Hi: inf}},
	} {
		if got := p.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestFormat(t *testing.T) {
	for _, c := range []struct {
		x          float64
		unit, want string
	}{
		{1243, "output tok/s", "1,240 output tok/s"}, {820, "ms", "820 ms"}, {1530, "ms", "1.53 s"}, {0.456, "ms", "456 µs"}, {0, "ms", "0 ms"},
		{0.001, "share", "0.100 %"}, {2.5, "usd", "2.50 USD"}, {9.999, "", "10.0"}, {99.96, "", "100"}, {999.6, "", "1,000"}, {999.4, "", "999"},
		{123456, "", "123,000"}, {-1234, "", "-1,230"}, {0.0123, "", "0.0123"}, {1e-7, "", "1e-07"}, {1e20, "", "1e+20"}, {math.Inf(1), "", "+Inf"},
	} {
		if got := unit.Format(c.x, c.unit); got != c.want {
			t.Errorf("Format(%v, %q) = %q, want %q", c.x, c.unit, got, c.want)
		}
	}
}

func TestBrief(t *testing.T) {
	for want, got := range map[string]string{
		"5": unit.Brief(5, 3), "0.1": unit.Brief(0.1, 3), "0": unit.Brief(0, 3), "1,000": unit.Brief(1000, 3), "25,200": unit.Brief(25_249, 3), "-1,230": unit.Brief(-1234, 3),
		"10": unit.Brief(9.999, 3), "1,234.5": unit.Brief(1234.5, 6), "10,240": unit.Brief(10_240, 6), "1,235": unit.Brief(1234.6, 4), "120": unit.Brief(120, 4),
		"0.00025": unit.Brief(0.00025, 3), "1e-05": unit.Brief(1e-5, 3), "+Inf": unit.Brief(math.Inf(1), 3),
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		x, digits := rapid.Float64Range(1e-4, 1e14).Draw(t, "x"), rapid.IntRange(1, 6).Draw(t, "digits")
		got := unit.Brief(x, digits)
		back, err := strconv.ParseFloat(strings.ReplaceAll(got, ",", ""), 64)
		if err != nil || strings.Contains(got, "e") || math.Abs(back-x) > 0.5001*math.Pow(10, math.Floor(math.Log10(x))+1-float64(digits)) {
			t.Errorf("%v with %d digits is %s", x, digits, got)
		}
	})
}

func TestDigitsKeepsThree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Float64Range(1e-4, 1e14).Draw(t, "x")
		var back float64
		if err := json.Unmarshal([]byte(strings.ReplaceAll(unit.Digits(x), ",", "")), &back); err != nil {
			t.Fatalf("%q: %v", unit.Digits(x), err)
		}
		if math.Abs(back/x-1) > 0.0051 {
			t.Fatalf("%v became %s", x, unit.Digits(x))
		}
	})
}

// TestPointName: a point whose row has a series says its load, also where it is the first of a sweep that was
// cut off.
func TestPointName(t *testing.T) {
	for _, c := range []struct {
		rows []record.Row
		want string
	}{
		{closedCurve(), "D, concurrency 1"},
		{closedCurve()[1:2], "D, concurrency 1"},
		{[]record.Row{measured("A", nil, 4, 0, 1, 400, 90, "PASS")}, "A"},
		{[]record.Row{measured("A", []experiment.Axis{{Key: "input", Value: "128"}}, 4, 0, 1, 400, 90, "PASS")}, "A input=128"},
	} {
		s := FromRows(c.rows)[0]
		if got := s.PointName(&s.Points[0]); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// A bend and a lack of gain that can be noise are no knee and no saturation; the reason states it.
func TestLimitsWithinNoise(t *testing.T) {
	curve := func(output ...float64) *Series {
		var rows []record.Row
		for i, x := range output {
			load := 4 * (i + 1)
			rows = append(rows, measured("D", fixture.Concurrency(strconv.Itoa(load)), 0, load, 1, x, 100, ""))
		}
		return &FromRows(rows)[0]
	}
	for _, c := range []struct {
		name             string
		output           []float64
		knee, saturation string
	}{
		{"flat", []float64{100, 118, 90, 121, 95, 110, 104, 98},
			"no knee: throughput bends by no more than its noise; add loads or repeats", ""},
		{"rising with noise", []float64{40, 88, 115, 168, 190, 188, 300, 310, 352, 405, 398, 480},
			"no knee: throughput bends by no more than its noise; add loads or repeats",
			"saturation is undecided: above concurrency 40 each added request gains -1.75 ± 12.5 tok/s (10 each at first); add repeats or higher loads"},
		{"two loads, hardly different", []float64{100, 104}, "no knee: a curve needs at least four loads",
			"saturation is undecided: above concurrency 4 each added request gains 1 ± 2.94 tok/s (25 each at first); add repeats or higher loads"},
	} {
		s := curve(c.output...)
		if s.Knee.Point != nil || s.Knee.Why != c.knee {
			t.Errorf("%s: knee %v: %s", c.name, s.Knee.Point, s.Knee.Why)
		}
		if (s.Saturation.Point == nil) != (c.saturation != "") || c.saturation != "" && s.Saturation.Why != c.saturation {
			t.Errorf("%s: saturation %v: %s", c.name, s.Saturation.Point, s.Saturation.Why)
		}
	}
}
