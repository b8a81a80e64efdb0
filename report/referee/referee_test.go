package referee

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bench/experiment/mock"
	"bench/experiment/record"
	"bench/experiment/stats"
	fixture "bench/internal/fixturetest"
)

var (
	poisson  = Load{Requests: 70, Rate: 20, Arrival: "poisson"}
	constant = Load{Requests: 70, Rate: 20, Arrival: "constant"}
	closed   = Load{Requests: 70, Concurrency: concurrency}
)

// judged is the card of a toy in virtual time.
func judged(t *testing.T, defect string, load Load, only ...string) (card *Card) {
	synctest.Test(t, func(t *testing.T) {
		y := &toy{t: t, defect: defect, load: load}
		command := []string{"toy", "{url}", "{requests}", "{concurrency}", "{arrival}"}
		if load.Rate > 0 {
			command[3] = "{rate}"
		}
		switch defect {
		case "fails at the end":
			y.ends = errors.New("the load generator: exit status 1")
		case "never constant":
			command[4] = load.Arrival
		}
		var err error
		card, err = Run(t.Context(), Config{Command: command, Requests: load.Requests, Rate: load.Rate,
			Arrival: load.Arrival, Only: only, Out: t.TempDir(), Drive: y.drive,
			listen: func() (net.Listener, error) {
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
		{"nine workers", poisson, "stall", "sent during the stall"},
		{"fails at the end", poisson, "role", "end of the command"},
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

func (c *Card) line(question string) (found Line) {
	for _, r := range c.Rounds {
		for _, l := range r.Lines {
			if l.Question == question {
				found = l
			}
		}
	}
	return found
}

// TestFewArrivals: random arrivals that cannot show a pool of workers are not judged.
func TestFewArrivals(t *testing.T) {
	card := judged(t, "never constant", poisson, "stall")
	if l := card.line("sent during the stall"); l.Verdict != NotShown || l.Why != "too few requests" {
		t.Errorf("%+v\n%s", l, card.text(t))
	}
}

// TestFailedByFailures: a command may say by its status that requests failed.
func TestFailedByFailures(t *testing.T) {
	card := judged(t, "fails at the end", poisson, "failures")
	if l := card.line("end of the command"); l.Verdict != Right || l.Why != "the load generator: exit status 1" {
		t.Errorf("%+v\n%s", l, card.text(t))
	}
}

// TestChance: a right tool of few requests has its rate called wrong as seldom as stated.
func TestChance(t *testing.T) {
	rng, wrong := rand.New(rand.NewPCG(1, 2)), 0
	for range 20_000 {
		sum := 0.0
		for range 19 {
			sum += rng.ExpFloat64() / 20
		}
		if got := 19 / sum; max(got-20, 20-got) > rateTolerance(20, got, 19) {
			wrong++
		}
	}
	if wrong > 6 {
		t.Errorf("%d of 20,000 are wrong", wrong)
	}
}

// TestLateMachine: the delay that half of the ticks have excuses a median, that of the worst a p99 alone; and where the
// server was late to stamp the end of a write, it came between its start and its end.
func TestLateMachine(t *testing.T) {
	const at = int64(1e9)
	answered := mock.Truth{Records: []*mock.Record{{ArrivalNS: at, OutputTokens: 1,
		WritingNS: []int64{at + 50e6}, WrittenNS: []int64{at + 65e6}}}}
	for _, c := range []struct {
		ttft     float64
		p50, p99 Verdict
	}{{50, Right, Right}, {58, Right, Right}, {65, Right, Right}, {72, Wrong, Unclear}, {44, Wrong, Wrong}} {
		j := judge{truth: readTruth(answered, 0, time.Time{}), host: delay{0.1, 10}, tool: &record.Summary{
			TTFT: &stats.Summary{P50: c.ttft, P99: c.ttft}}}
		j.ttft("p50", "p99")
		if j.lines[0].Verdict != c.p50 || j.lines[1].Verdict != c.p99 {
			t.Errorf("%v ms: %+v", c.ttft, j.lines)
		}
	}
}

// TestFindNothing: the end of a walk is no error of its own.
func TestFindNothing(t *testing.T) {
	run, err := find(filepath.Join(t.TempDir(), "absent"))
	if run != nil || err == nil || strings.Contains(err.Error(), "skip") {
		t.Errorf("%v, %v", run, err)
	}
}

// TestFindIrregular: what is no regular file is said, not read.
func TestFindIrregular(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink(dir, filepath.Join(dir, "a.json")); err != nil {
		t.Skip(err)
	}
	if _, err := find(dir); err == nil || !strings.Contains(err.Error(), "a.json is not a regular file") {
		t.Error(err)
	}
}

// TestNotANumber: a figure that is stated as none is wrong.
func TestNotANumber(t *testing.T) {
	j := judge{}
	if l := j.add(Line{}, 50, math.Inf(1), 0); l.Verdict != Wrong || l.Got != nil || l.Why != "not a number" {
		t.Errorf("%+v", l)
	}
}

// TestCompletions: the API has no role event, of which it could be asked.
func TestCompletions(t *testing.T) {
	j := judge{truth: truth{{api: "completions"}}}
	if j.role(); j.lines[0].Verdict != NotAsked || j.lines[0].Why != "completions has no role event" {
		t.Errorf("%+v", j.lines)
	}
}

// TestReasons: a count says itself and what was planted; a prompt of other requests needs no other tokenizer.
func TestReasons(t *testing.T) {
	card := judged(t, "a cut stream is a success", poisson, "failures")
	if l := card.line("failures counted"); !strings.HasPrefix(l.Why, "16 of 22 counted; planted: 13 errors inside") {
		t.Errorf("%+v", l)
	}
	if l := judged(t, "own tokenizer", poisson, "plain").line("prompt tokens"); !strings.Contains(l.Why, "tokenizer") {
		t.Errorf("%+v", l)
	}
	for failure, want := range map[string]string{
		"reading x: not a result\nhint: one that bench reads":                "reading x: not a result",
		"exit status 1: ValueError: no\nlast output:\nTrace\nValueError: no": "exit status 1: ValueError: no",
		"exit status 4; last output:\nbroken":                                "exit status 4; last output: … broken",
	} {
		if got := ends(errors.New(failure)); got != want {
			t.Errorf("%q", got)
		}
	}
}
