package referee

import (
	"bytes"
	"net"
	"slices"
	"testing"
	"testing/synctest"

	fixture "bench/internal/fixturetest"
)

var (
	poisson  = Load{Requests: 60, Rate: 20, Arrival: "poisson"}
	constant = Load{Requests: 60, Rate: 20, Arrival: "constant"}
	closed   = Load{Requests: 60, Concurrency: concurrency}
)

// judged is the card of a toy in virtual time.
func judged(t *testing.T, defect string, load Load, only ...string) (card *Card) {
	synctest.Test(t, func(t *testing.T) {
		y := &toy{t: t, defect: defect, load: load}
		command := []string{"toy", "{url}", "{requests}", "{concurrency}"}
		if load.Rate > 0 {
			command[3] = "{rate}"
		}
		var err error
		card, err = Run(t.Context(), Config{Command: command, Requests: load.Requests, Rate: load.Rate,
			Arrival: load.Arrival, Only: only, Out: t.TempDir(), Drive: y.drive,
			Listen: func() (net.Listener, error) {
				y.pipes = fixture.NewPipes()
				return y.pipes, nil
			}})
		if err != nil {
			t.Fatal(err)
		}
	})
	return card
}

func (c *Card) text(t *testing.T) string {
	var b bytes.Buffer
	if err := c.Text(&b, 160); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestFaultless: a client without a defect has every figure right, in an open and in a closed loop.
func TestFaultless(t *testing.T) {
	for _, load := range []Load{poisson, constant, closed} {
		card := judged(t, "", load)
		if n := card.Count(Right); n < 25 || card.Count(Wrong)+card.Count(Unclear)+card.Count(NotShown) > 0 {
			t.Errorf("%d lines are right\n%s", n, card.text(t))
		}
	}
}

// TestDefects: each defect is found by the question that is for it.
func TestDefects(t *testing.T) {
	for _, c := range []struct {
		defect          string
		load            Load
		round, question string
	}{
		{"late sends", constant, "plain", "sent late p99"},
		{"too fast", constant, "plain", "arrival rate"},
		{"one seed", poisson, "plain", "gaps independent (lag 1)"},
		{"constant called poisson", poisson, "plain", "spread of gaps (CV)"},
		{"fewer streams", closed, "plain", "concurrency kept"},
		{"clock from the headers", poisson, "plain", "TTFT p50"},
		{"parses before the stamp", poisson, "plain", "TTFT p50"},
		{"outliers left out", poisson, "plain", "TTFT p99"},
		{"reads four at once", poisson, "plain", "ITL p50"},
		{"TTFT in the TPOT", poisson, "plain", "TPOT p50"},
		{"E2E with the close", poisson, "plain", "E2E p50"},
		{"warm-up counted", poisson, "plain", "requests in the result"},
		{"own tokenizer", poisson, "plain", "prompt tokens"},
		{"first event is the first token", poisson, "role", "TTFT p50"},
		{"events are tokens", poisson, "bundle", "output tokens"},
		{"TPOT of events", poisson, "bundle", "TPOT p50"},
		{"fails at an empty event", poisson, "empty", "answers accepted"},
		{"empty events are tokens", poisson, "empty", "output tokens"},
		{"empty events are tokens", poisson, "empty", "ITL p50"},
		{"usage only", poisson, "no-usage", "output tokens"},
		{"error inside is a success", poisson, "failures", "failures counted"},
		{"a cut stream is a success", poisson, "failures", "failures counted"},
		{"HTML is a success", poisson, "failures", "failures counted"},
		{"failures dropped", poisson, "failures", "requests in the result"},
		{"closed called open", constant, "stall", "sent during the stall"},
		{"coordinated omission", constant, "stall", "TTFT mean"},
		{"cycled prompts", poisson, "cache", "prompt tokens found in the cache"},
		{"fixed seed", poisson, "cache", "prompts of earlier runs"},
	} {
		t.Run(c.defect+" "+c.question, func(t *testing.T) {
			only := []string{c.round}
			if c.round == "cache" {
				only = append(only, "role")
			}
			card := judged(t, c.defect, c.load, only...)
			for _, r := range card.Rounds {
				found := slices.IndexFunc(r.Lines, func(l Line) bool { return l.Question == c.question })
				if r.Name == c.round && (found < 0 || r.Lines[found].Verdict != Wrong) {
					t.Errorf("not found\n%s", card.text(t))
				}
			}
		})
	}
}
