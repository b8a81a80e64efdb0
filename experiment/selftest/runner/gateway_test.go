package runner

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bench/experiment/openai"
	"bench/experiment/selftest"
	"bench/experiment/selftest/gateway"
	"bench/experiment/server"
)

func TestGatewayLadder(t *testing.T) {
	for l, rounds := range map[*Ladder]int{new(GatewayLadder()): 9, new(QuickGatewayLadder()): gateway.MinRounds} {
		l.Check(func(flag, problem, _ string) { t.Errorf("%s: %s", flag, problem) })
		if l.GatewaySteps()[0].Kind != selftest.Rate {
			t.Error("the rate, which decides, is not first")
		}
		if d := l.ExpectedGateways(rounds, 4).Minutes(); d > 10 {
			t.Errorf("%.1f minutes", d)
		}
	}
	l := GatewayLadder()
	l.Streams = []int{5}
	if steps := l.GatewaySteps(); len(steps) != 2 || steps[1].Name() != "spread 5" {
		t.Errorf("%+v", steps)
	}
}

func TestOrder(t *testing.T) {
	if a, b := order(3, 0), order(3, 1); !slices.Equal(a, []int{0, 1, 2}) || !slices.Equal(b, []int{2, 1, 0}) {
		t.Error(a, b)
	}
}

func TestRoundOf(t *testing.T) {
	failed := clientRecord{id: "f", window: true, ready: 0, sent: milli, first: openai.Never, outcome: openai.Status, err: "HTTP 502"}
	early := answered("e", 1*milli, 2*milli)
	early.window = false
	o := &clientLog{
		cores:   coreUsage{elapsed: 2 * second, client: 500 * milli, server: 800 * milli, gateway: 300 * micro, machine: 1500 * milli},
		samples: []clientRecord{answered("a", 1*milli, 51*milli, 61*milli), answered("b", 2*milli, 54*milli, 64*milli), failed, early},
	}
	truth := map[string]*serverRecord{"a": noted(1_100_000, 50_900_000), "b": noted(2_100_000, 52_500_000)}
	got := roundOf(o, truth)
	want := gateway.Round{
		Requests: 2, Failed: 1, FirstFailure: "status: HTTP 502", Problem: "status: HTTP 502",
		TTFT:    &selftest.Delay{N: 2, P50Us: 51_000, P99Us: 51_980, MaxUs: 52_000},
		Transit: &selftest.Delay{N: 2, P50Us: 900, P99Us: 1586, MaxUs: 1600}, // 50 − 49.8, 52 − 50.4
		E2E:     &selftest.Delay{N: 2, P50Us: 61_000, P99Us: 61_980, MaxUs: 62_000},
		Gap:     delay(2, 10_000), Lag: &selftest.Delay{N: 3, P50Us: 0, P99Us: 980, MaxUs: 1000},
		CPUUsPerRequest: new(75.0), ClientCores: new(0.25), ServerCores: new(0.4), GatewayCores: new(0.00015), OtherCores: new(0.09985),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	delete(truth, "b") // the gateway dropped its id
	if got := roundOf(o, truth); got.Transit != nil || got.TTFT == nil {
		t.Errorf("%+v", got)
	}
	if got := roundOf(&clientLog{}, nil); got.Problem != "no request was sent" {
		t.Errorf("%+v", got)
	}
}

// A gateway that does not start is left out; the others are used.
func TestGatewayThatDoesNotStart(t *testing.T) {
	skipped := ""
	c := GatewayConfig{
		Skipped: func(name string, err error) { skipped = name + ": " + err.Error() },
		Gateways: []Gateway{
			{Name: "broken", Start: func(string) (server.Config, error) { return server.Config{}, errors.New("no port") }},
			{Name: "mine", URL: "http://127.0.0.1:1"},
		},
	}
	var names []string
	err := c.start(context.Background(), server.Running{}, c.Gateways, []path{{name: "direct"}}, func(_ context.Context, paths []path) error {
		for _, p := range paths {
			names = append(names, p.name+p.problem)
		}
		return errors.New("done")
	})
	if err == nil || err.Error() != "done" || strings.Join(names, " ") != "direct brokendid not start mine" || skipped != "broken: no port" {
		t.Errorf("%v %q %q", err, names, skipped)
	}
}
