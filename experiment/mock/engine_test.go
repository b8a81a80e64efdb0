package mock

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// bench is an engine with its ledger, driven by hand.
type bench struct {
	*Server
	now time.Duration
}

func newBench(t interface{ Fatal(...any) }, c Config) *bench {
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return &bench{Server: s}
}

func (b *bench) add(prompt []int32, want int, at time.Duration) *seq {
	q := newSeq(b.cfg.Seed, b.vocab, prompt, at)
	q.want, q.finish = want, "length"
	if bad := b.submit(q); bad != nil {
		panic(bad)
	}
	return q
}

// until advances the engine, deadline by deadline, to a time.
func (b *bench) until(end time.Duration) {
	for {
		next, pending := b.engine.advance(b.now)
		if !pending || next > end {
			b.now = end
			return
		}
		b.now = next
	}
}

// settle advances the engine until nothing is left to do.
func (b *bench) settle() {
	for next, pending := b.engine.advance(b.now); pending; next, pending = b.engine.advance(b.now) {
		b.now = next
	}
}

// fresh is a prompt that shares no block with another number's.
func fresh(number, n int) []int32 {
	r := rand.New(rand.NewPCG(uint64(number), 7))
	ids := make([]int32, n)
	for i := range ids {
		ids[i] = r.Int32N(32000)
	}
	return ids
}

const (
	base    = 2 * time.Millisecond
	perSeq  = 100 * time.Microsecond
	perCtx  = 10 * time.Nanosecond
	perFill = 10 * time.Microsecond
)

func stepped() Config {
	return Config{StepBase: base, StepPerSeq: perSeq, StepPerContextToken: perCtx, StepPerPrefillToken: perFill}
}

// One request alone: its prompt in chunks of the budget, then one step a token, each with the context that it
// has then.
func TestSimulatedAlone(t *testing.T) {
	c := stepped()
	c.MaxNumBatchedTokens = 100
	b := newBench(t, c)
	q := b.add(fresh(1, 250), 3, 5*time.Millisecond)
	b.now = 5 * time.Millisecond
	b.settle()
	first := 5*time.Millisecond + 3*base + 250*perFill
	second := first + base + perSeq + 250*perCtx
	third := second + base + perSeq + 251*perCtx
	if want := []time.Duration{first, second, third}; !slices.Equal(q.emitted, want) {
		t.Errorf("tokens due at %v, want %v", q.emitted, want)
	}
}

// A prompt that comes while others decode makes their steps longer, and gets what is left of the budget.
func TestSimulatedInterference(t *testing.T) {
	c := stepped()
	c.MaxNumBatchedTokens = 64
	b := newBench(t, c)
	one := b.add(fresh(1, 16), 5, 0)
	b.until(time.Millisecond)
	two := b.add(fresh(2, 100), 1, time.Millisecond)
	b.settle()
	s1 := base + 16*perFill                           // one's prompt; two is not here yet
	s2 := s1 + base + perSeq + 16*perCtx + 63*perFill // one decodes, two has the other 63 tokens
	s3 := s2 + base + perSeq + 17*perCtx + 37*perFill
	s4 := s3 + base + perSeq + 18*perCtx
	if got := one.emitted[:4]; !slices.Equal(got, []time.Duration{s1, s2, s3, s4}) {
		t.Errorf("first request: %v, want %v", got, []time.Duration{s1, s2, s3, s4})
	}
	if !slices.Equal(two.emitted, []time.Duration{s3}) {
		t.Errorf("second request: %v, want %v", two.emitted, s3)
	}
}

// Whatever comes and goes: slots, budget, order and step times hold, and everybody who stays gets all tokens.
func TestSimulatedInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := stepped()
		c.MaxNumSeqs = rapid.IntRange(1, 6).Draw(t, "seqs")
		c.MaxNumBatchedTokens = rapid.IntRange(c.MaxNumSeqs, 80).Draw(t, "budget")
		c.MaxModelLen, c.KVBlocks = 160, rapid.IntRange(10, 40).Draw(t, "blocks")
		b := newBench(t, c)
		e := b.sim
		var all []*seq
		var at time.Duration
		for i := range rapid.IntRange(1, 20).Draw(t, "requests") {
			at += time.Duration(rapid.IntRange(0, 9000).Draw(t, "gap")) * time.Microsecond
			b.until(at)
			all = append(all, b.add(fresh(i%3, rapid.IntRange(1, 100).Draw(t, "prompt")), rapid.IntRange(1, 60).Draw(t, "output"), at))
			if rapid.IntRange(0, 9).Draw(t, "leaves") == 0 {
				b.drop(all[rapid.IntRange(0, i).Draw(t, "who")], new(Record))
			}
		}
		b.now, _ = e.advance(b.now) // the step that is running began at some time before
		for next, pending := e.advance(b.now); pending; next, pending = e.advance(b.now) {
			checkStep(t, e, next-b.now)
			b.now = next
		}
		checkEnd(t, b, all)
	})
}

// checkStep recomputes the step in progress from the shares of its sequences.
func checkStep(t *rapid.T, e *simulated, took time.Duration) {
	tokens, want := 0, base
	for _, q := range e.running {
		tokens += q.scheduled
		if q.decoding() {
			want += perSeq + time.Duration(q.computed)*perCtx
		} else {
			want += time.Duration(q.scheduled) * perFill
		}
	}
	if len(e.running) > e.cfg.MaxNumSeqs || tokens > e.cfg.MaxNumBatchedTokens {
		t.Fatalf("a step of %d sequences and %d tokens", len(e.running), tokens)
	}
	checkHeld(t, e)
	if took != want {
		t.Fatalf("a step of %v, want %v", took, want)
	}
}

func checkEnd(t *rapid.T, b *bench, all []*seq) {
	var last time.Duration
	for i, q := range all {
		if q.gone {
			continue
		}
		if q.out != q.want || len(q.emitted) != q.want || !slices.IsSorted(q.emitted) {
			t.Fatalf("request %d has %d tokens of %d", i, q.out, q.want)
		}
		if b.sim.offload == nil && q.admitted < last || q.admitted < q.arrival {
			t.Fatalf("request %d was admitted at %v, after one at %v; it came at %v", i, q.admitted, last, q.arrival)
		}
		last = q.admitted
	}
	if used := b.sim.pool.Used(); used != 0 || b.counters.running != 0 || b.counters.waiting != 0 {
		t.Fatalf("at the end %d blocks, %d running, %d waiting", used, b.counters.running, b.counters.waiting)
	}
}

// Output rises with concurrency by the step formula, and no further than the slots.
func TestSimulatedSaturation(t *testing.T) {
	c := stepped()
	c.StepPerContextToken, c.MaxNumSeqs = 0, 8
	for _, n := range []int{1, 2, 4, 8, 16} {
		b := newBench(t, c)
		for i := range n {
			b.add(fresh(i, 1), 401, 0)
		}
		b.settle()
		active := min(n, 8)
		rounds := time.Duration(n / active)
		step := base + time.Duration(active)*perSeq
		// All prompts of a round are one step, without decodes.
		want := rounds * (base + time.Duration(active)*perFill + 400*step)
		got := b.sim.end
		if got != want {
			t.Errorf("%d requests took %v, want %v", n, got, want)
		}
	}
}

func TestDefaultProfile(t *testing.T) {
	itl := func(n int) time.Duration {
		b := newBench(t, Config{})
		var q *seq
		for i := range n {
			q = b.add(fresh(i, 1), 3, 0)
		}
		b.settle()
		return q.emitted[2] - q.emitted[1]
	}
	if one := itl(1); one < 2400*time.Microsecond || one > 2600*time.Microsecond {
		t.Errorf("ITL alone %v", one)
	}
	if r := float64(itl(16)) / float64(itl(1)); r < 1.8 || r > 2.2 {
		t.Errorf("a step of 16 takes %.2f times that of one", r)
	}
	b := newBench(t, Config{})
	q := b.add(fresh(1, 2048), 1, 0)
	b.settle()
	if ttft := q.emitted[0]; ttft < 28*time.Millisecond || ttft > 34*time.Millisecond {
		t.Errorf("2048 tokens took %v", ttft)
	}
}

func TestLeavingFreesSlotAtNextStep(t *testing.T) {
	c := stepped()
	c.MaxNumSeqs = 1
	b := newBench(t, c)
	one, two := b.add(fresh(1, 16), 1000, 0), b.add(fresh(2, 16), 1, 0)
	b.until(50 * time.Millisecond)
	end := b.sim.end
	b.drop(one, new(Record))
	b.settle()
	if two.admitted != end {
		t.Errorf("admitted at %v, want the end of the step, %v", two.admitted, end)
	}
	if b.counters.finished["abort"] != 1 || b.counters.finished["length"] != 1 {
		t.Errorf("finished: %v", b.counters.finished)
	}
}

// Requests of fixed times do not touch each other, but for the slots: with two, they go two by two.
func TestFixedTimes(t *testing.T) {
	ms := time.Millisecond
	for _, slots := range []int{0, 2} {
		t.Run(fmt.Sprint(slots), func(t *testing.T) {
			b := newBench(t, Config{TTFT: 50 * ms, ITL: 10 * ms, MaxNumSeqs: slots})
			var all []*seq
			for i := range 4 {
				all = append(all, b.add(fresh(i, 4), 3, time.Duration(i)*ms))
			}
			b.now = 4 * ms
			b.settle()
			for i, q := range all {
				at := time.Duration(i) * ms
				if slots == 2 && i >= 2 {
					at = all[i-2].emitted[2]
				}
				if want := []time.Duration{at + 50*ms, at + 60*ms, at + 70*ms}; !slices.Equal(q.emitted, want) || q.admitted != at {
					t.Errorf("request %d: admitted %v, due %v, want %v", i, q.admitted, q.emitted, want)
				}
			}
		})
	}
}

func TestFixedLeaving(t *testing.T) {
	ms := time.Millisecond
	b := newBench(t, Config{TTFT: 50 * ms, ITL: 10 * ms, MaxNumSeqs: 1})
	one, two, three := b.add(fresh(1, 4), 100, 0), b.add(fresh(2, 4), 1, 0), b.add(fresh(3, 4), 1, 0)
	b.until(75 * ms)
	b.engine.drop(two, b.now)
	b.engine.drop(one, b.now)
	b.settle()
	if len(one.emitted) != 3 || len(two.emitted) != 0 || !slices.Equal(three.emitted, []time.Duration{125 * ms}) {
		t.Errorf("due: %v, %v, %v", one.emitted, two.emitted, three.emitted)
	}
	if b.counters.running != 0 || b.counters.waiting != 0 {
		t.Errorf("%d running, %d waiting at the end", b.counters.running, b.counters.waiting)
	}
}

// The cost of a token in the engine alone, where nobody waits for it: 1,000 sequences that decode in one
// batch.
func BenchmarkEngineToken(b *testing.B) {
	const seqs = 1000
	s, err := New(Config{MaxNumSeqs: seqs, KVBlocks: 1 << 20, MaxModelLen: 1 << 20, Queue: seqs})
	if err != nil {
		b.Fatal(err)
	}
	for i := range seqs {
		q := newSeq(0, s.vocab, fresh(i, 16), 0)
		q.want, q.finish = 1<<20-16, "length"
		if bad := s.submit(q); bad != nil {
			b.Fatal(bad)
		}
	}
	now := time.Duration(0)
	for i := 0; i < b.N; i += seqs {
		now, _ = s.engine.advance(now)
		for _, q := range s.counters.ready {
			q.emitted = q.emitted[:0]
		}
		s.counters.ready = s.counters.ready[:0]
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "tokens/s")
}
