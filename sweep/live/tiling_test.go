package live

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"bench/experiment"
	"bench/experiment/endpoint"
	"bench/experiment/record"
	"bench/experiment/telemetry"
	"bench/experiment/text"
	"bench/experiment/workload"
	"bench/sweep"
)

// tick returns a live view at the start of its row.
func tick(w io.Writer) (*Tiling, *endpoint.Progress) { return tickUntil(w, nil) }

func tickUntil(w io.Writer, told <-chan struct{}) (*Tiling, *endpoint.Progress) {
	l := &Tiling{View: &View{W: w, Every: 5 * time.Second, Interrupted: told}}
	p := &endpoint.Progress{}
	l.Event(sweep.Event{Begun: &sweep.RowEvent{Progress: p, Spec: &experiment.Spec{Load: workload.Load{Warmup: workload.Extent{Requests: 61}}}}})
	return l, p
}

// ended is a request with a TTFT of 2 s, and two gaps of 0.5 s.
func ended(outcome string) *record.Record {
	return &record.Record{Phase: record.PhaseWindow, Outcome: outcome, Error: "HTTP 500", PromptRequested: 990, PromptTokens: new(1000), CachedTokens: new(900),
		Arrival: record.At(1e6), First: record.At(3e6), Last: record.At(4e6), Gaps: record.Pack(500_000, 500_000)}
}

// One line an interval, under a heading, and the whole run at the end; an interval without a finished request
// has a line too.
func TestTilingLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w bytes.Buffer
		l, p := tick(&w)
		p.Sent.Store(3)
		p.Counter.Prompt.Add(2000)
		p.Counter.Output.Add(6)
		p.Each(ended("ok"))
		p.Each(ended("status"))
		cut := ended("unfinished")
		cut.Phase = record.PhaseCooldown
		p.Each(cut)
		cut.Phase = record.PhaseWarmup
		p.Each(cut)
		p.Done.Store(2)
		time.Sleep(10*time.Second + time.Millisecond)
		l.Stop()
		want := `warm-up, not counted: 61 requests
                            cache
            TTFT     TTFT     hit    prompt   output      in
   time     mean      p50    rate     tok/s    tok/s  flight    done  errors
   0:05   2.00 s   2.00 s  90.0 %       400     1.20       1       2       1
   0:10        –        –       –         0        0       1       2       1
no request finished for 10 s
`
		if got := w.String(); !strings.HasPrefix(got, want) {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	})
}

// Lines of the window count its requests; those of the warm-up count the warm-up's, and the last line counts all.
func TestTilingCountsByPhase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, p := tick(io.Discard)
		for _, phase := range []string{record.PhaseWarmup, record.PhaseWarmup, record.PhaseWindow} {
			for _, outcome := range []string{"ok", "status"} {
				r := ended(outcome)
				r.Phase = phase
				p.Each(r)
			}
		}
		l.Stop()
		for phase, want := range map[string][2]int{record.PhaseWarmup: {6, 3}, record.PhaseWindow: {2, 1}, record.PhaseCooldown: {2, 1}} {
			line := l.interval(endpoint.Snapshot{Phase: phase}, Moment{now: time.Now()}, tierCount{})
			if got := [2]int{line.ended, line.failures}; got != want {
				t.Errorf("%s: %v, want %v", phase, got, want)
			}
		}
		if l.all.done != 6 || l.all.failed != 3 {
			t.Errorf("in all: %+v", l.all)
		}
	})
}

// The heading comes again after a screen of lines.
func TestTilingRepeatsItsHeading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w bytes.Buffer
		l, _ := tick(&w)
		time.Sleep(41*5*time.Second + time.Millisecond)
		l.Stop()
		if n := strings.Count(w.String(), "   time "); n != 3 {
			t.Errorf("%d headings over 42 lines:\n%s", n, &w)
		}
	})
}

// columnsOf is the lowest line of the heading at a width.
func columnsOf(width int, tiers [5]bool) string {
	h := heading(shownColumns(width, tiers))
	return strings.Join(strings.Fields(h[2]), " ")
}

// Lines fit the terminal: a wider one has more columns, and the tiers that the server reports.
func TestTilingFitsTheWidth(t *testing.T) {
	external := [5]bool{0: true, 4: true}
	for _, tt := range []struct {
		width int
		tiers [5]bool
		want  string
	}{
		{79, [5]bool{}, "time mean p50 rate tok/s tok/s flight done errors"},
		{79, external, "time mean p50 rate tok/s tok/s flight done errors"},
		{119, [5]bool{}, "time mean p50 max mean rate tok/s tok/s req/s flight done errors"},
		{119, external, "time mean p50 max mean rate GPU external tok/s tok/s flight done errors"},
		{199, external, "time mean p50 max mean rate GPU external tok/s tok/s req/s flight done errors"},
	} {
		if got := columnsOf(tt.width, tt.tiers); got != tt.want {
			t.Errorf("%d columns: %s, want %s", tt.width, got, tt.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(79, 250).Draw(t, "width")
		var tiers [5]bool
		for i := range tiers {
			tiers[i] = rapid.Bool().Draw(t, "tier")
		}
		line := lineOf(shownColumns(width, tiers), func(c tilingColumn) string { return strings.Repeat("9", c.width) })
		if n := text.Width(line); n > width {
			t.Errorf("%d columns in %d: %s", n, width, line)
		}
	})
}

// The hit rate of a tier is its cached tokens over the prompt tokens looked up since the line before.
func TestTierRates(t *testing.T) {
	at := func(queries, gpu, external float64) tierCount {
		return tiersOf(endpoint.Snapshot{Server: &telemetry.ServerReading{PrefixQueries: &queries, Tiers: telemetry.TierHits{GPU: &gpu, External: &external}}})
	}
	got := at(3000, 110, 1000).rates(at(1000, 100, 0))
	if want := [5]string{"0.5 %", "–", "–", "–", "50.0 %"}; got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := at(1000, 100, 0).rates(at(1000, 100, 0)); got != [5]string{"–", "–", "–", "–", "–"} {
		t.Errorf("without a request: %v", got)
	}
	if c := at(1000, 100, 0); c.known != [5]bool{} {
		t.Errorf("one tier has hits: %v", c.known)
	}
	if c := tiersOf(endpoint.Snapshot{}); !c.zero() {
		t.Errorf("without a reading: %+v", c)
	}
}

func TestClockText(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "0:00", 65 * time.Second: "1:05", 3605 * time.Second: "1:00:05", 59*time.Second + 960*time.Millisecond: "1:00"} {
		if got := clockText(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}

// An interrupt is shown at once, with the effect of a second one.
func TestTilingSaysThatItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w bytes.Buffer
		told := make(chan struct{})
		l, _ := tickUntil(&w, told)
		time.Sleep(time.Second)
		synctest.Wait()
		if w.Len() > 0 {
			t.Errorf("before: %s", &w)
		}
		close(told)
		synctest.Wait()
		if !strings.Contains(w.String(), "\n   0:01 ") || !strings.Contains(w.String(), "draining, up to 0s; a second Ctrl-C exits at once, without results\n") {
			t.Errorf("it said %q", &w)
		}
		l.Stop()
	})
}
