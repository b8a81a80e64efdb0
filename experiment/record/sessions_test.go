package record

import (
	"math"
	"slices"
	"testing"

	"bench/experiment/metric"
	"bench/experiment/stats"
)

// request is a record of a session, its times in ms.
func request(session, turn, agent, from, to, tokens int, outcome string) *Record {
	return &Record{
		I: 10*session + turn, Session: &session, Turn: &turn, Agent: agent, Phase: PhaseWindow, Outcome: outcome, OutputTokens: tokens,
		Arrival: At(int64(from) * 1e3), Sent: At(int64(from) * 1e3), First: At(int64(from)*1e3 + 1), Last: At(int64(to) * 1e3), End: At(int64(to) * 1e3),
	}
}

func TestSessionsOf(t *testing.T) {
	records := []*Record{
		// 0: a request, two subagents side by side, a join: 1 s + 1 s of tools + 2 s + 1 s.
		request(0, 0, 0, 0, 1000, 10, "ok"), request(0, 1, 1, 2000, 4000, 40, "ok"),
		request(0, 2, 2, 2000, 3000, 10, "ok"), request(0, 3, 0, 4000, 5000, 10, "ok"),
		request(1, 0, 0, 500, 600, 1, "ok"), request(1, 1, 0, 700, 800, 1, "status"), // failed
		request(2, 0, 0, 4900, 5100, 2, "ok"), request(2, 1, 0, 5200, 9000, 0, "unfinished"), // cut
		request(3, 0, 0, 100, 200, 1, "ok"), // began at a sampled point
		request(4, 0, 0, 200, 300, 0, "left"),
	}
	for i, turns := range map[int]int{0: 4, 4: 3, 6: 2, 9: 2} {
		records[i].Turns = turns
	}
	s := SessionsOf(records, true)
	if s.Started != 4 || s.Completed != 1 || s.Failed != 1 || s.Left != 1 || s.Cut != 1 || s.Partial != 1 || s.InFlight != 2 {
		t.Errorf("%+v", s)
	}
	near := func(what string, got, want float64) {
		if math.Abs(got-want) > 1e-9 {
			t.Errorf("%s %v, want %v", what, got, want)
		}
	}
	near("session time", s.Time.P50, 5)
	if times := SessionTimes(records); len(times) != 1 || times[0] != 5 {
		t.Errorf("session times %v", times)
	}
	near("time per turn", s.TurnTime.P50, 2.5) // two requests of the main agent
	near("tool time", *s.ToolShare, 0.2)
	near("in parallel", *s.Parallel, 5.0/4)
	// ms per token of the completed requests: 100, 50, 100, 100, 100, 100, 100.
	near("interactivity", s.Interactivity.TokensPerS, 10)
	if SessionsOf([]*Record{request(0, 0, 0, 0, 1, 1, "ok")}, false) != nil {
		t.Error("a trace that is not replayed has sessions")
	}
}

// A session that is sent as another ends is not beside it, also if it arrived first and waited.
func TestSessionsInFlight(t *testing.T) {
	for what, c := range map[string]struct {
		second int // ms, its send
		want   int
	}{"one after the other": {1000, 1}, "side by side": {999, 2}} {
		records := []*Record{request(0, 0, 0, 1, 1000, 1, "ok"), request(1, 0, 0, c.second, 2000, 1, "ok")}
		records[1].Arrival = At(0)
		if s := SessionsOf(records, true); s.InFlight != c.want {
			t.Errorf("%s: %d in flight, want %d", what, s.InFlight, c.want)
		}
	}
}

// Percentiles that the sessions without a time would move are lower bounds.
func TestPercentilesOfCutSessions(t *testing.T) {
	times := make([]float64, 990)
	for i := range times {
		times[i] = float64(i)
	}
	for _, c := range []struct {
		started int
		bounds  []string
	}{{990, nil}, {1000, []string{"p99", "p999"}}, {1090, []string{"p90", "p95", "p99", "p999"}}, {1200, metric.Percentiles}} {
		x := &Sessions{Started: c.started, Completed: 990, Cut: c.started - 990, Time: stats.Summarize(times)}
		for _, p := range x.Percentiles(x.Time) {
			mark, value, _ := p.Mark()
			if want := slices.Contains(c.bounds, p.Name); want != (mark == "≥" && value == p.CI95.Lo) && p.Name != "p999" {
				t.Errorf("%d of %d completed: %s is %s%g", x.Completed, x.Started, p.Name, mark, value)
			}
		}
	}
	if p := (&Sessions{}).Percentiles(nil); p != nil {
		t.Errorf("%v", p)
	}
}
