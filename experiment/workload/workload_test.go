package workload

import (
	"math"
	"testing"
)

func TestCheck(t *testing.T) {
	plain := Workload{Input: Fixed(256), Output: Fixed(128)}
	with := func(change func(*Workload)) Workload { w := plain; change(&w); return w }
	pre := func(p Prefix) Workload { return with(func(w *Workload) { w.Prefix = &p }) }
	class := func(name string, weight float64) Class {
		return Class{Name: name, Weight: weight, Input: Fixed(10), Output: Fixed(10)}
	}
	drawn := pre(Prefix{Tokens: 100})
	drawn.Input = Length{Dist: "lognormal", P50: 300, P95: 2000}
	tests := []struct {
		name string
		w    Workload
		want []string
	}{
		{"plain", plain, nil},
		{"mix", mixed, nil},
		{"prefix", prefixed(Warm), nil},
		{"gamma", with(func(w *Workload) { w.Rate, w.Arrival.Process, w.Burstiness = 1, "gamma", 0.5 }), nil},
		{"nothing", Workload{}, []string{"input: the input length is missing", "output: the output length is missing"}},
		{"trace of nothing", with(func(w *Workload) { w.Rate, w.Arrival.Process = 1, "trace" }), []string{`arrival: arrival = "trace" requires a trace`}},
		{"unknown arrivals", with(func(w *Workload) { w.Rate, w.Arrival.Process = 1, "pareto" }), []string{`arrival: unknown arrival "pareto"`}},
		{"arrivals of a closed loop", with(func(w *Workload) { w.Arrival.Process = "poisson" }), []string{"arrival: arrival is set, but rate is missing"}},
		{"burstiness of Poisson", with(func(w *Workload) { w.Rate, w.Burstiness = 1, 0.5 }), []string{"burstiness: burstiness requires gamma"}},
		{"negative burstiness", with(func(w *Workload) { w.Rate, w.Arrival.Process, w.Burstiness = 1, "gamma", -1 }), []string{"burstiness: burstiness -1 is not between 0.001 and 1000000"}},
		{"no burstiness", with(func(w *Workload) { w.Rate, w.Arrival.Process, w.Burstiness = 1, "gamma", math.NaN() }), []string{"burstiness: burstiness NaN"}},
		{"empty prefix", pre(Prefix{}), []string{"prefix.tokens: a prefix needs at least one token"}},
		{"prefix of everything", pre(Prefix{Tokens: 256}), []string{"prefix.tokens: the prefix of 256 tokens is not shorter than the shortest input of 256"}},
		{"prefix of a drawn input", drawn, []string{"write min = 101 in input"}},
		{"prefix in no groups", pre(Prefix{Tokens: 1, Groups: -1}), []string{"prefix.groups: the number of groups is negative"}},
		{"unknown state", pre(Prefix{Tokens: 1, State: "hot"}), []string{`prefix.state: unknown prefix state "hot"`}},
		{"conversations", talking, nil},
		{"empty conversations", with(func(w *Workload) { w.Session = &Session{} }), []string{"session.turns: the number of turns is missing", "session.user: the length of the later turns is missing"}},
		{"endless conversations", with(func(w *Workload) { w.Session = &Session{Turns: Turns{Fixed(10_001)}, User: Fixed(1)} }), []string{"session.turns: a conversation can have 10001"}},
		{"a class of its own kind", Workload{Mix: []Class{{Name: "a", Weight: 1, Input: Fixed(1), Output: Fixed(1), Stop: "never", Session: &Session{User: Fixed(1)}}}},
			[]string{"mix[0].session.turns: the number of turns is missing", `mix[0].stop: unknown stop "never"`}},
		{"ramp", arriving(linear, 0), nil},
		{"ramp without keys", with(func(w *Workload) { w.Rate, w.Arrival.Process = 1, "ramp" }), []string{"arrival: the process ramp needs from and to and over"}},
		{"two rates", with(func(w *Workload) { w.Rate, w.Arrival = 4, linear }), []string{"rate: the process ramp sets its own rate (10/s on average"}},
		{"no rate", with(func(w *Workload) {
			w.Arrival = Arrival{Process: "step", Steps: []Step{{1e-9, 1}, {1e-9, 1}}}
			w.Rate = w.Arrival.Rate()
		}), []string{"arrival: the mean rate 1e-09 is not"}},
		{"a sinusoid of all at once", with(func(w *Workload) { w.Rate, w.Arrival = Rate(math.Inf(1)), day }), []string{`rate: rate = "inf"`}},
		{"gamma on a ramp", with(func(w *Workload) { w.Arrival, w.Rate, w.Burstiness = linear, 10, 0.5; w.Arrival.Gaps = "gamma" }), nil},
		{"mix and lengths", with(func(w *Workload) { w.Mix = []Class{class("a", 1)} }), []string{"mix: with a mix, lengths and conversations belong"}},
		{"bad classes", Workload{Mix: []Class{class("", 1), class("a", 0), class("a", math.Inf(1)), class("b", math.NaN()), {Name: "c", Weight: 1}}}, []string{
			"mix[0].name: a class has no name", "mix[1].weight: weight must be above 0", `mix[2].name: two classes are named "a"`, "mix[2].weight: weight must be above 0",
			"mix[3].weight: weight must be above 0", "mix[4].input: the input length is missing", "mix[4].output: the output length is missing",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got reported
			tt.w.Check(got.bad)
			got.want(t, tt.want...)
		})
	}
}

func TestPrefixesOfARow(t *testing.T) {
	for state, shared := range map[string]string{Cold: Cold, Shared: Shared, Warm: Warm, "": Shared} {
		for _, s := range []string{Cold, Shared, Warm} {
			if got := prefixed(state).HasPrefix(s); got != (s == shared) {
				t.Errorf("%q has a %s prefix: %v", state, s, got)
			}
		}
	}
	if (Workload{}).HasPrefix(Shared) || !mixed.HasPrefix(Warm) || mixed.HasPrefix(Cold) {
		t.Error("no prefix, or those of a mix")
	}
	for _, tt := range []struct {
		w     Workload
		class string
		want  int
	}{{prefixed(Warm), "", 48}, {prefixed(Shared), "", 0}, {mixed, "chat", 32}, {mixed, "rag", 0}, {mixed, "", 0}, {Workload{}, "", 0}} {
		if got := tt.w.WarmTokens(tt.class, BlockTokens); got != tt.want {
			t.Errorf("warm tokens of %q: %d, want %d", tt.class, got, tt.want)
		}
	}
}

func TestLongest(t *testing.T) {
	for want, w := range map[int]Workload{
		384:        {Input: Fixed(256), Output: Fixed(128)},
		6000 + 280: mixed, // rag: the uniform's max, the normal's mean and two deviations
		900 + 50:   {Input: Length{Dist: "lognormal", P50: 300, P95: 900}, Output: Length{Dist: "normal", Mean: 5, Std: 1, Min: 50}},
		// At most six turns: 90, and five times 200 answered and 1,000 asked, and the last answer.
		90 + 5*(200+1000) + 200: talking,
		700 + 3:                 {Input: Length{Dist: "lognormal", P50: 300, P95: 900, Max: 700}, Output: Fixed(3)},
	} {
		if got := w.Longest(); got != want {
			t.Errorf("%d, want %d", got, want)
		}
	}
}
