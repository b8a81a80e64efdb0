package check

import (
	"strings"
	"testing"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/workload"
	fixture "bench/internal/fixturetest"
)

func TestNotes(t *testing.T) {
	limited := fixture.SLO(t, "ttft_p99 = \"1s\"\ntpot_p99 = \"1s\"\ne2e_p99 = \"9s\"")
	tokens := fixture.SLO(t, `tpot_p99 = "1s"`)
	for _, c := range []struct {
		name string
		spec experiment.Spec
		code string
		text string
	}{
		{"closed loop, users' latency limited", experiment.Spec{SLO: limited}, "closed_loop", "e2e_p99, ttft_p99 count from a free worker"},
		{"closed loop, another limit", experiment.Spec{SLO: tokens}, "", ""},
		{"open loop", experiment.Spec{SLO: limited, Workload: workload.Workload{Rate: 2}}, "", ""},
	} {
		notes := notes(&evidence{Row: &record.Row{Spec: c.spec}})
		switch {
		case c.code == "" && len(notes) > 0:
			t.Errorf("%s: %+v", c.name, notes)
		case c.code != "" && (len(notes) != 1 || notes[0].Code != c.code || notes[0].Severity != record.Note || !strings.Contains(notes[0].Text, c.text) || notes[0].Hint == ""):
			t.Errorf("%s: %+v", c.name, notes)
		}
	}
}

func TestPooledClasses(t *testing.T) {
	e := &evidence{Row: &record.Row{}}
	e.Spec.Mix = []workload.Class{{Name: "rag"}}
	if f := checkHeterogeneous(e); f.outcome != good || f.severity != "" {
		t.Errorf("%+v", f)
	}
	e.Spec.Mix = append(e.Spec.Mix, workload.Class{Name: "chat"})
	if f := checkHeterogeneous(e); f.severity != record.Note || !strings.Contains(f.problem, "2 classes (chat, rag)") {
		t.Errorf("%+v", f)
	}
}

func TestGatewayNote(t *testing.T) {
	e := &evidence{Row: &record.Row{}}
	e.Server.Gateway = &record.Gateway{Name: "LiteLLM", Version: "1.106.2"}
	if n := notes(e); len(n) != 1 || n[0].Code != "gateway" || n[0].Severity != record.Note || !strings.HasSuffix(n[0].Text, "LiteLLM 1.106.2 answers in the server's place: latencies contain it") {
		t.Errorf("%+v", n)
	}
	e.Server.Gateway.Overhead, e.Summary.TTFT = stats.Summarize([]float64{18, 18.09, 19}), stats.Summarize([]float64{74.5})
	if n := notes(e); !strings.HasSuffix(n[0].Text, "; it reports 18.1 ms of its own at p50, beside ttft p50 74.5 ms") {
		t.Errorf("%+v", n)
	}
}

// A row that all users left measured no latency and no failure: it is not valid without a word.
func TestAllUsersLeft(t *testing.T) {
	for _, c := range []struct {
		q        record.Requests
		severity record.Severity
		text     string
	}{
		{record.Requests{Planned: 100, Left: 100}, record.Caution, "all 100 users left (90 before the first token): no answer was completed"},
		{record.Requests{Planned: 100, Left: 99, Completed: 1}, record.Note, "99 of 100 users left"},
		{record.Requests{Warmup: 2}, record.Note, "0 of 0 users left"},
	} {
		e := &evidence{Row: &record.Row{Left: &record.Leavers{BeforeFirst: 90}}}
		e.Summary.Requests = c.q
		if n := notes(e); len(n) != 1 || n[0].Code != "users_left" || n[0].Severity != c.severity || !strings.HasPrefix(n[0].Text, c.text) {
			t.Errorf("%+v", n)
		}
	}
}
