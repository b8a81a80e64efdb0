package telemetry

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestClientInterval(t *testing.T) {
	for cost, want := range map[time.Duration]time.Duration{
		0: 250 * time.Millisecond, 500 * time.Microsecond: 250 * time.Millisecond, // 0.2 %
		time.Millisecond: 500 * time.Millisecond, time.Second: 5 * time.Second,
	} {
		if got := ClientInterval(cost); got != want {
			t.Errorf("after a sample of %s: %s, want %s", cost, got, want)
		}
	}
}

// sampled are the client's samples at intervals in ms from 0 on; each costs that many ms of CPU time.
func sampled(cost float64, intervals ...int64) (out []Sample) {
	at := int64(0)
	for _, ms := range intervals {
		at += ms * 1000
		out = append(out, Sample{Source: SourceClient, TUs: at, Span: ms * 1000, Cost: new(cost * 1000)})
	}
	return out
}

func TestPauses(t *testing.T) {
	const ms = 1000
	for _, tt := range []struct {
		name    string
		samples []Sample
		want    []Pause
		longest float64 // of the window from 1 s to 5 s, ms
	}{
		{"none", sampled(0.1, 250, 251, 250, 260, 290, 250), nil, 290},
		{"late samples of a busy machine", sampled(0.1, 250, 700, 250, 749, 250, 250), nil, 749},
		{"stopped for a second", sampled(0.1, 250, 250, 250, 250, 1200, 250), []Pause{{1000 * ms, 2200 * ms, 950 * ms}}, 1200},
		{"at the first sample", sampled(0.1, 1500, 250), []Pause{{0, 1500 * ms, 1250 * ms}}, 1500},
		{"before the window", sampled(0.1, 900, 250, 250, 250), nil, 250},
		{"behind the window", sampled(0.1, 250, 4750, 900), []Pause{{250 * ms, 5000 * ms, 4500 * ms}}, 4750},
		{"over the whole window", sampled(0.1, 250, 6000), []Pause{{250 * ms, 6250 * ms, 5750 * ms}}, 6000},
		{"samples that cost 2 ms are rarer", sampled(2, 250, 1000, 1000, 1400), nil, 1400},
		{"and late", sampled(2, 250, 1000, 1500), []Pause{{1250 * ms, 2750 * ms, 500 * ms}}, 1500},
		{"two", sampled(0.1, 1000, 800, 250, 900), []Pause{{1000 * ms, 1800 * ms, 550 * ms}, {2050 * ms, 2950 * ms, 650 * ms}}, 900},
	} {
		server := Sample{Source: SourceServer, TUs: 1, Span: 9e6} // not the client
		u := Summarize(append(tt.samples, server), 1000*ms, 5000*ms)
		if diff := cmp.Diff(tt.want, u.Pauses); diff != "" || *u.LongestGap != tt.longest {
			t.Errorf("%s: longest %g ms\n%s", tt.name, *u.LongestGap, diff)
		}
	}
	if got := (Pause{1000 * ms, 2200 * ms, 950 * ms}).Length(); got != 1.075 {
		t.Errorf("%g s: between 0.95 and 1.2 s", got)
	}
}
