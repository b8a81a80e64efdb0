package shadow

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"bench/experiment/record"
	"bench/live/recording"
	"bench/report/compare"
)

// liveTraffic is a world in which requests of conversations reach two servers whose speed wanders.
type liveTraffic struct {
	name     string
	pairs    int
	turns    func(r *rand.Rand) int
	noise    float64 // sd of the logarithm of a request's own TTFT
	pareto   bool    // its noise has a heavy tail in place of that
	queue    float64 // sd of the logarithm of a server's speed, which wanders
	wander   float64 // share of the recording after which it has forgotten itself
	session  float64 // sd of the logarithm of what a server does to one conversation alone
	drift    float64 // both servers become so much slower
	stall    float64 // share of the time in which both servers are ten times slower
	ownStall float64 // probability that a server stalls, for a thirtieth of the time
	errors   float64 // of requests
	effect   struct{ ttft, tpot, errors float64 }
}

func geometricTurns(r *rand.Rand) int { return 1 + int(r.ExpFloat64()*3) }

// paretoTurns have an infinite variance.
func paretoTurns(r *rand.Rand) int { return min(400, int(math.Pow(1-r.Float64(), -1/1.3))) }

// hugeTurns: one conversation in a hundred has a tenth of all turns, as of agents.
func hugeTurns(r *rand.Rand) int {
	if r.Float64() < 0.01 {
		return 150
	}
	return 1
}

// wandering is a speed in n steps: an autoregressive process.
func wandering(n int, sd, memory float64, r *rand.Rand) []float64 {
	out := make([]float64, n)
	rho := math.Exp(-1 / (memory * float64(n)))
	x := r.NormFloat64() * sd
	for i := range out {
		out[i] = x
		x = rho*x + math.Sqrt(1-rho*rho)*sd*r.NormFloat64()
	}
	return out
}

// draw is a recording of the world, in order of ends.
func (w liveTraffic) draw(r *rand.Rand) []*recording.Exchange {
	const secondsPerPair = 0.5
	n := w.pairs
	seconds := float64(n) * secondsPerPair
	var speed [2][]float64
	for side := range speed {
		speed[side] = wandering(n, w.queue, w.wander, r)
		if r.Float64() < w.ownStall {
			from := r.IntN(n)
			for i := from; i < min(n, from+n/30); i++ {
				speed[side][i] += 1
			}
		}
	}
	var out []*recording.Exchange
	for session := 1; len(out) < n; session++ {
		at, prompt := r.Float64()*seconds, 200*math.Exp(r.NormFloat64())
		own := [2]float64{w.session * r.NormFloat64(), w.session * r.NormFloat64()}
		turns := w.turns(r)
		for turn := 1; turn <= turns && len(out) < n && at < seconds; turn++ {
			x := &recording.Exchange{Session: session, Turn: turn, Shadow: &record.Record{}}
			tokens := 2 + int(100*math.Exp(0.7*r.NormFloat64()))
			for side, q := range []*record.Record{&x.Request, x.Shadow} {
				slow := speed[side][int(at/seconds*float64(n))] + own[side] + w.drift*at/seconds
				if at/seconds > 0.4 && at/seconds < 0.4+w.stall {
					slow += math.Log(10)
				}
				w.answer(q, side, at, prompt, tokens, slow, r)
			}
			out = append(out, x)
			prompt += float64(tokens) + 50
			at = float64(max(x.Request.End.Us(), x.Shadow.End.Us()))/1e6 + 5*r.ExpFloat64()
		}
	}
	slices.SortFunc(out, func(a, b *recording.Exchange) int {
		return int(max(a.Request.End.Us(), a.Shadow.End.Us()) - max(b.Request.End.Us(), b.Shadow.End.Us()))
	})
	return out
}

func (w liveTraffic) answer(q *record.Record, side int, at, prompt float64, tokens int, slow float64, r *rand.Rand) {
	factor := func(effect float64) float64 { return 1 + float64(side)*effect }
	noise := math.Exp(w.noise * r.NormFloat64())
	if w.pareto {
		noise = math.Pow(1-r.Float64(), -1/2.1)
	}
	sent := int64(at * 1e6)
	ttft := (20 + 0.1*prompt) * math.Exp(slow) * noise * factor(w.effect.ttft)
	tpot := 20 * math.Exp(slow/3+0.1*r.NormFloat64()) * factor(w.effect.tpot)
	q.Arrival, q.Ready, q.Sent = record.At(sent), record.At(sent), record.At(sent)
	q.Outcome, q.OutputTokens = "ok", tokens
	first := sent + int64(1000*ttft)
	q.FirstEvent, q.First = record.At(first), record.At(first)
	q.Last = record.At(first + int64(1000*tpot*float64(tokens-1)))
	q.End = q.Last
	if r.Float64() < w.errors+float64(side)*w.effect.errors {
		*q = record.Record{Arrival: q.Arrival, Ready: q.Ready, Sent: q.Sent, End: record.At(sent + 50_000), Outcome: "http", Status: 500}
	}
}

func (w liveTraffic) header() recording.Header {
	return recording.Header{Recorded: recording.Recorded{Shadow: &recording.Shadow{Share: 1}}}
}

// ordinary traffic: what the cases change.
var ordinary = liveTraffic{name: "ordinary", pairs: 2000, turns: geometricTurns, noise: 0.4, queue: 0.2, wander: 0.02, session: 0.05, errors: 0.005}

func shadowWorlds() []liveTraffic {
	vary := func(name string, change func(*liveTraffic)) liveTraffic {
		w := ordinary
		w.name = name
		change(&w)
		return w
	}
	return []liveTraffic{
		ordinary,
		vary("few pairs", func(w *liveTraffic) { w.pairs = 100 }),
		vary("single turns", func(w *liveTraffic) { w.turns = func(*rand.Rand) int { return 1 } }),
		vary("sessions of heavy-tailed length", func(w *liveTraffic) { w.turns, w.session = paretoTurns, 0.2 }),
		vary("huge sessions", func(w *liveTraffic) { w.turns, w.session = hugeTurns, 0.2 }),
		vary("TTFT with a heavy tail", func(w *liveTraffic) { w.pareto = true }),
		vary("slow wandering", func(w *liveTraffic) { w.queue, w.wander = 0.3, 0.05 }),
		vary("drift", func(w *liveTraffic) { w.drift = 1 }),
		vary("a stall of both", func(w *liveTraffic) { w.stall = 0.03 }),
		vary("a stall of one", func(w *liveTraffic) { w.ownStall = 0.5 }),
		vary("quiet", func(w *liveTraffic) { w.queue, w.noise, w.session, w.errors = 0.02, 0.1, 0.02, 0 }),
		vary("heavy tails of both", func(w *liveTraffic) { w.pareto, w.turns = true, paretoTurns }),
		vary("errors in 5 %", func(w *liveTraffic) { w.errors = 0.05 }),
	}
}

func shadowRuns() int {
	if os.Getenv("BENCH_LONG") != "" {
		return 2000
	}
	return 10
}

func seedOf(name string, i int) *rand.Rand {
	return rand.New(rand.NewPCG(uint64(len(name))*7919+uint64(name[0]), uint64(i)))
}

func falseAlarm(c *Comparison) string {
	for i := range c.Figures {
		switch c.Figures[i].Verdict {
		case compare.Worse, compare.Better, compare.Changed:
			return c.Figures[i].Name
		}
	}
	return ""
}

// The family of all figures has a false alarm in at most 5 % of A/A comparisons; intervals cover no change in 95 %.
func TestSimulationShadowAA(t *testing.T) {
	runs := shadowRuns()
	for _, w := range shadowWorlds() {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			alarms := 0
			inside, tested := map[string]int{}, map[string]int{}
			by := map[string]int{}
			for i := range runs {
				c := shadowed(w.header(), w.draw(seedOf(w.name, i)), recording.Counts{})
				if name := falseAlarm(c); name != "" {
					alarms++
					by[name]++
				}
				for _, f := range c.Figures {
					if f.Change != nil && !f.scale.Neutral() {
						tested[f.Name+f.Turns]++
						if f.CI95.Lo <= 0 && f.CI95.Hi >= 0 {
							inside[f.Name+f.Turns]++
						}
					}
				}
			}
			text := ""
			for _, name := range slices.Sorted(maps.Keys(tested)) {
				text += " " + name + " " + strconv.FormatFloat(100*float64(inside[name])/float64(tested[name]), 'f', 1, 64)
			}
			t.Logf("%s: %d false alarms of %d %v; coverage in percent:%s", w.name, alarms, runs, by, text)
			if float64(alarms) > atMostOf(runs, 0.05) {
				t.Errorf("%d false alarms in %d", alarms, runs)
			}
		})
	}
}

// atMostOf is 3 standard deviations above the expected number of events.
func atMostOf(n int, p float64) float64 { return float64(n)*p + 3*math.Sqrt(float64(n)*p*(1-p)) }

// A planted change of TPOT by 5 % is found with this power, and its interval covers it.
func TestSimulationShadowPower(t *testing.T) {
	runs := shadowRuns() / 2
	for _, x := range []struct {
		pairs int
		queue float64 // sd of the logarithm of a server's speed; TPOT has a third of it
		least float64 // share of the comparisons that find it
	}{
		{500, 0.05, 0.6}, {2000, 0.05, 0.95}, {2000, 0.2, 0.05}, {8000, 0.1, 0.5},
	} {
		t.Run(fmt.Sprintf("%d pairs, queue %g", x.pairs, x.queue), func(t *testing.T) {
			t.Parallel()
			w := ordinary
			w.pairs, w.queue, w.session, w.effect.tpot = x.pairs, x.queue, 0.02, 0.05
			found, wrong, covered := 0, 0, 0
			for i := range runs {
				f := shadowed(w.header(), w.draw(seedOf(w.name, i)), recording.Counts{}).find("tpot_mean", "")
				switch f.Verdict {
				case compare.Worse:
					found++
				case compare.Better:
					wrong++
				}
				if f.CI95.Lo <= 0.05 && f.CI95.Hi >= 0.05 {
					covered++
				}
			}
			t.Logf("power %d of %d, coverage %d, better %d", found, runs, covered, wrong)
			if float64(found) < x.least*float64(runs) || wrong > 0 {
				t.Errorf("found in %d of %d, better in %d", found, runs, wrong)
			}
			if float64(runs-covered) > atMostOf(runs, 0.05) {
				t.Errorf("the interval covers the change in %d of %d", covered, runs)
			}
		})
	}
}
