package shadow

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bench/experiment/record"
	"bench/live/recording"
	"bench/report/compare"
)

// shadowed compares the requests of a whole recording, in order of their ends; nil: it has no candidate.
func shadowed(h recording.Header, exchanges []*recording.Exchange, c recording.Counts) *Comparison {
	s := Pairs{Header: h}
	for _, x := range exchanges {
		s.Add(x)
	}
	return s.Compare(c)
}

func (c *Comparison) find(name, turns string) *Figure {
	for i := range c.Figures {
		if f := &c.Figures[i]; f.Name == name && (turns == "" || f.Turns == turns) {
			return f
		}
	}
	return nil
}

func (c *Comparison) left(reason string) int {
	i := slices.IndexFunc(c.LeftOut, func(x LeftOut) bool { return x.Reason == reason })
	if i < 0 {
		return 0
	}
	return c.LeftOut[i].Copies
}

// A slower candidate is found by each figure that it changes, and by no other.
func TestShadowFindsASlowerCandidate(t *testing.T) {
	w := ordinary
	w.effect.tpot = 0.2
	c := shadowed(w.header(), w.draw(rand.New(rand.NewPCG(1, 1))), recording.Counts{})
	for name, want := range map[string]compare.Verdict{"tpot_mean": compare.Worse, "tpot_p50": compare.Worse, "error_rate": compare.NoChange} {
		if f := c.find(name, ""); f == nil || f.Verdict != want {
			t.Errorf("%s: %+v, want %s", name, f, want)
		}
	}
	if f := c.find("tpot_mean", ""); f.CI95.Lo > 0.2 || f.CI95.Hi < 0.2 {
		t.Errorf("interval %v does not cover 0.2", f.CI95)
	}
	if f := c.find("ttft_mean", laterTurns); f.Verdict != "" || f.Change == nil || f.Why != laterTurnsWhy {
		t.Errorf("later turns: %+v: a change without a verdict", f)
	}
	if f := c.find("ttft_mean", firstTurns); f.Verdict != compare.Inconclusive || f.NeedPairs <= f.Pairs {
		t.Errorf("TTFT: %+v", f)
	}
	if _, err := json.Marshal(c); err != nil {
		t.Error(err)
	}
}

// Every pair that is left out is counted by its reason.
func TestShadowLeftOut(t *testing.T) {
	w := ordinary
	w.pairs, w.errors = 200, 0
	all := w.draw(rand.New(rand.NewPCG(2, 1)))
	slices.SortFunc(all, func(a, b *recording.Exchange) int { return int(a.Shadow.Sent.Us() - b.Shadow.Sent.Us()) })
	h := w.header()
	h.Recorded.Shadow.WarmupS = float64(all[10].Shadow.Sent.Us()-all[0].Shadow.Sent.Us()) / 1e6
	for i, x := range all[20:] {
		switch i {
		case 0, 1:
			x.Request.Outcome = "left"
		case 2:
			x.Shadow.Outcome = "left"
		case 3, 4, 5, 6:
			x.Shadow.Sent = x.Request.Sent.Add(1_000_001)
		case 7:
			x.Shadow.Outcome = "http"
		case 8, 9:
			x.BlockedUs = 1e9
		case 10:
			x.Shadow = nil
		}
	}
	c := shadowed(h, all, recording.Counts{})
	for reason, want := range map[string]int{Warmup: 10, Left: 3, Late: 4, Failed: 1, Blocked: 2} {
		if got := c.left(reason); got != want {
			t.Errorf("%s: %d, want %d", reason, got, want)
		}
	}
	if c.Pairs != 200-1-10-3-4 || c.find("error_rate", "").Pairs != c.Pairs {
		t.Errorf("%d pairs", c.Pairs)
	}
	if f := c.find("tpot_mean", ""); f.Pairs != c.Pairs-3 {
		t.Errorf("%d pairs of %d have a TPOT", f.Pairs, c.Pairs)
	}
}

// Counts that only one side reports are no pair of TPOT.
func TestShadowEstimatedOnOneSide(t *testing.T) {
	w := ordinary
	w.pairs = 100
	all := w.draw(rand.New(rand.NewPCG(3, 1)))
	for _, x := range all {
		x.Shadow.Estimated = true
	}
	c := shadowed(w.header(), all, recording.Counts{})
	if f := c.find("tpot_mean", ""); f.Verdict != compare.Inconclusive || f.Pairs != 0 || f.Why == "" {
		t.Errorf("%+v", f)
	}
}

// A recording without a candidate has no comparison; one whose copies never ended has an empty one.
func TestShadowEmpty(t *testing.T) {
	if c := shadowed(recording.Header{}, nil, recording.Counts{}); c != nil {
		t.Errorf("%+v", c)
	}
	c := shadowed(ordinary.header(), []*recording.Exchange{{}}, recording.Counts{})
	if c == nil || c.Pairs != 0 || c.Decided || len(c.Figures) != 3 {
		t.Errorf("%+v", c)
	}
	if _, err := json.Marshal(c); err != nil {
		t.Error(err)
	}
}

// Every answer of B fails: no latency, an error rate that is worse.
func TestShadowAllFail(t *testing.T) {
	w := ordinary
	w.pairs, w.effect.errors = 200, 1
	c := shadowed(w.header(), w.draw(rand.New(rand.NewPCG(4, 1))), recording.Counts{})
	if f := c.find("error_rate", ""); f.Verdict != compare.Worse {
		t.Errorf("%+v", f)
	}
	if !strings.Contains(textsOf(c.Findings), "the latencies are of requests that both completed") {
		t.Errorf("findings %s", textsOf(c.Findings))
	}
}

func textsOf(findings []record.Finding) string {
	var texts []string
	for _, f := range findings {
		texts = append(texts, f.Text)
	}
	return strings.Join(texts, "; ")
}

// Cautions state what B's load, its cache and dropped copies do to the figures.
func TestShadowCautions(t *testing.T) {
	w := ordinary
	w.pairs = 100
	all := w.draw(rand.New(rand.NewPCG(5, 1)))
	prompt, hit, none := 1000, 800, 0
	for i, x := range all {
		x.Request.PromptTokens, x.Request.CachedTokens = &prompt, &hit
		x.Shadow.PromptTokens, x.Shadow.CachedTokens = &prompt, &none
		if i%2 == 0 {
			x.Shadow = nil
		}
	}
	c := shadowed(w.header(), all, recording.Counts{Shadow: &recording.Copies{Sent: 60, Dropped: 60, Cut: 7, Unread: 3}})
	for _, left := range []LeftOut{{Reason: Cut, Copies: 7}, {Reason: Unread, Copies: 3}} {
		if !slices.Contains(c.LeftOut, left) {
			t.Errorf("%+v is missing in %+v", left, c.LeftOut)
		}
	}
	for _, part := range []string{"requests in flight", "prefix-cache hit rate", "were dropped", "were cut", "tools are called"} {
		if !strings.Contains(textsOf(c.Findings), part) {
			t.Errorf("%s is missing in %s", part, textsOf(c.Findings))
		}
	}
}
