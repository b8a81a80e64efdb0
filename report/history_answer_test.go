package report

import (
	"strings"
	"testing"
	"time"

	"bench/experiment/stats"
	"bench/report/compare"
)

// The gate of the last night leads, an alarm comes second, and that nothing is watched yet is a note.
func TestGateLeadsHistory(t *testing.T) {
	night := func(day int, x float64, gate *compare.NightGate) compare.Night {
		return compare.Night{Run: "n", StartedAt: time.Date(2026, 11, day, 2, 0, 0, 0, time.UTC), Gate: gate,
			Points: []compare.NightPoint{{Name: "chat concurrency=4", Figures: map[string]compare.Value{
				"tpot_p50": {X: x, Repeats: 3, CI95: stats.Interval{Lo: 0.99 * x, Hi: 1.01 * x}}}}}}
	}
	const line = "FAIL: TPOT p50 +8.0 % [+6.1, +9.9] since 14 Nov, chat at concurrency 4; vLLM 0.20.1 → 0.21.0"
	fail := &compare.NightGate{Verdict: stats.Fail, Line: line}
	var watched []compare.Night
	for day := range 24 {
		watched = append(watched, night(day+1, 10+0.01*float64(day%3), nil))
	}
	for want, nights := range map[string][]compare.Night{
		line + "||not watched yet: an alarm needs 10 valid nights before the last one, not 1": {
			night(1, 10, nil), night(2, 10.8, fail)},
		"UNDECIDED, passes: TPOT p50 +2.0 % [-3.0, +7.0], likely worse (p = 0.90)||no alarm": append(watched[:24:24],
			night(25, 10, &compare.NightGate{Verdict: stats.Undecided,
				Line: "UNDECIDED, passes: TPOT p50 +2.0 % [-3.0, +7.0], likely worse (p = 0.90); 9 runs a side decide"})),
		line + "|1 alarm: TPOT p50 +49.9 %": append(watched[:24:24], night(25, 15, fail)),
		"1 alarm: TPOT p50 +49.9 %":         append(watched[:24:24], night(25, 15, nil)),
	} {
		h := compare.NewHistory(nights)
		a := AnswerGroup(&h.Groups[0])
		if got := a.Lead + "|" + a.Alarm + "|" + strings.Join(a.Notes, "|"); !strings.HasPrefix(got, want) {
			t.Errorf("%s\nwant %s", got, want)
		}
		if HistoryTitle(h) != a.Lead || (a.Kind == Failed) == strings.HasPrefix(want, "UNDECIDED") {
			t.Errorf("%q: %q", a.Kind, HistoryTitle(h))
		}
	}
	if got := HistoryTitle(&compare.History{}); got != "History" {
		t.Error(got)
	}
}
