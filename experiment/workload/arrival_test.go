package workload

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/BurntSushi/toml"
	"pgregory.net/rapid"
)

var (
	linear      = Arrival{Process: "ramp", From: 0, To: 20, Over: 60}
	exponential = Arrival{Process: "ramp", From: 0.5, To: 40, Over: 60, Shape: "exponential"}
	stairs      = Arrival{Process: "step", Steps: []Step{{2, 10}, {0, 5}, {8, 10}}}
	onOff       = Arrival{Process: "step", Steps: []Step{{20, 2}, {0, 8}}, Repeat: true}
	day         = Arrival{Process: "sinusoid", Amplitude: 1, Period: 60}
	volleys     = Arrival{Process: "bursts", Size: 20}
)

// arriving is a workload of one process; ramps and steps have their own rate.
func arriving(a Arrival, rate Rate) Workload {
	if own := a.Rate(); own > 0 {
		rate = own
	}
	return Workload{Input: Fixed(1), Output: Fixed(1), Arrival: a, Rate: rate}
}

func times(w Workload, seed uint64, n int) []time.Duration {
	var out []time.Duration
	for at := range NewPlan(w, seed, "").Arrivals {
		if len(out) == n {
			break
		}
		out = append(out, at)
	}
	return out
}

// With constant gaps the arrivals of a process are the times at which its cumulative rate is a whole
// number: the expected ones are worked out by hand.
func TestArrivalsByHand(t *testing.T) {
	even := func(a Arrival) Arrival { a.Gaps = "constant"; return a }
	tests := []struct {
		name string
		w    Workload
		at   map[int]float64 // seconds
	}{
		{"linear ramp", arriving(even(linear), 0), map[int]float64{0: 0, 6: 6, 150: 30, 600: 60, 620: 61, 800: 70}}, // t²/6, then 20/s
		{"flat ramp", arriving(even(Arrival{Process: "ramp", From: 4, To: 4, Over: 10}), 0), map[int]float64{1: 0.25, 400: 100}},
		{"falling ramp", arriving(even(Arrival{Process: "ramp", From: 10, To: 2, Over: 20}), 0), map[int]float64{80: 10, 120: 20, 130: 25}}, // 10t − t²/5
		// 1 → e² over 2 s: e^t − 1 arrivals.
		{"exponential ramp", arriving(even(Arrival{Process: "ramp", From: 1, To: math.Exp(2), Over: 2, Shape: "exponential"}), 0),
			map[int]float64{1: math.Log(2), 6: math.Log(7), 10: 2 + (11-math.Exp(2))/math.Exp(2)}},
		{"steps", arriving(even(stairs), 0), map[int]float64{0: 0, 19: 9.5, 20: 15, 28: 16, 100: 25, 180: 35}}, // the pause is over at 15
		{"on and off", arriving(even(onOff), 0), map[int]float64{0: 0, 39: 1.95, 40: 10, 80: 20, 100: 21}},
		// A whole period holds 60 × 4 arrivals; half of them come up to its middle.
		{"sinusoid", arriving(even(day), 4), map[int]float64{0: 0, 120: 30, 240: 60, 360: 90, 24000: 6000}},
		{"no swing", arriving(even(Arrival{Process: "sinusoid", Period: 60}), 4), map[int]float64{1: 0.25, 1000: 250}},
		{"bursts", arriving(volleys, 10), map[int]float64{0: 0, 19: 0, 20: 2, 39: 2, 40: 4}},
		{"bursts every 5 s", arriving(Arrival{Process: "bursts", Size: 3, Every: 5}, 0), map[int]float64{2: 0, 3: 5, 5: 5, 6: 10}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := times(tt.w, 1, 30000)
			for i, want := range tt.at {
				if math.Abs(got[i].Seconds()-want) > 2e-9*max(1, want/60) {
					t.Errorf("arrival %d at %v, want %v", i, got[i].Seconds(), want)
				}
			}
		})
	}
}

func drawArrival(t *rapid.T) (Arrival, Rate) {
	rate := func(name string) float64 { return rapid.Float64Range(0.01, 1000).Draw(t, name) }
	span := func(name string) Seconds { return Seconds(rapid.Float64Range(0.001, 1000).Draw(t, name)) }
	a := Arrival{Process: rapid.SampledFrom([]string{"poisson", "ramp", "step", "sinusoid", "bursts"}).Draw(t, "process")}
	switch a.Process {
	case "ramp":
		a.From, a.To, a.Over = rate("from"), rate("to"), span("over")
		a.Shape = rapid.SampledFrom([]string{"", "exponential"}).Draw(t, "shape")
	case "step":
		for range rapid.IntRange(0, 4).Draw(t, "steps") {
			a.Steps = append(a.Steps, Step{Rate: rate("rate") * float64(rapid.IntRange(0, 1).Draw(t, "on")), For: span("for")})
		}
		a.Steps = append(a.Steps, Step{Rate: rate("last"), For: span("for")})
		a.Repeat = rapid.Bool().Draw(t, "repeat")
	case "sinusoid":
		a.Amplitude, a.Period = rapid.Float64Range(0, 1).Draw(t, "amplitude"), span("period")
	case "bursts":
		a.Size = rapid.IntRange(1, 50).Draw(t, "size")
	}
	return a, Rate(rate("the row's rate"))
}

func TestInverseOfCumulative(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, rate := drawArrival(t)
		n := rapid.Float64Range(0, 1e5).Draw(t, "n")
		at := a.inverse(float64(rate), n)
		back := a.cumulative(float64(rate), at)
		if math.Abs(back-n) > 1e-9*max(n, 1)+1e-6*float64(a.Amplitude) { // at its lowest a full swing has no rate to measure by
			t.Fatalf("%+v: %v arrivals at %v s, where it has %v", a, n, at, back)
		}
		if more := a.inverse(float64(rate), n+rapid.Float64Range(0, 10).Draw(t, "more")); more < at-1e-9*at-1e-12 {
			t.Fatalf("%+v: later arrivals come earlier: %v, %v", a, at, more)
		}
	})
}

// What is due in a pause that begins a cycle comes behind it, whatever rounding has left.
func TestArrivalsBehindAPause(t *testing.T) {
	for _, steps := range [][]Step{{{0, 2}, {3.5, 0.4}}, {{0, 9}, {0.2, 8.5}}} {
		at := times(arriving(Arrival{Process: "step", Steps: steps, Repeat: true, Gaps: "constant"}, 0), 1, 20_000)
		for i := 1; i < len(at); i++ {
			if at[i] == at[i-1] {
				t.Fatalf("%v: arrivals %d and %d are both at %v", steps, i-1, i, at[i])
			}
		}
	}
}

func TestArrivalsNeverGoBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, rate := drawArrival(t)
		last := time.Duration(0)
		for _, at := range times(arriving(a, rate), rapid.Uint64().Draw(t, "seed"), 300) {
			if at < last {
				t.Fatalf("%+v: %v after %v", a, at, last)
			}
			last = at
		}
	})
}

func TestMeanRates(t *testing.T) {
	for _, tt := range []struct {
		a    Arrival
		want Rate
	}{
		{linear, 10}, {Arrival{Process: "ramp", From: 1, To: math.E, Over: 7, Shape: "exponential"}, Rate(math.E - 1)},
		{stairs, 4}, {onOff, 4}, {Arrival{Process: "bursts", Size: 20, Every: 5}, 4}, {day, 0}, {volleys, 0}, {Arrival{}, 0}, {Arrival{Process: "ramp"}, 0},
	} {
		if got := tt.a.Rate(); math.Abs(float64(got-tt.want)) > 1e-12 {
			t.Errorf("%v: %v, want %v", &tt.a, got, tt.want)
		}
	}
}

func TestArrivingInAWindow(t *testing.T) {
	for _, tt := range []struct {
		w        Workload
		from, to time.Duration
		want     float64
	}{
		{Workload{Rate: 4}, 0, 30 * time.Second, 120}, {Workload{}, 0, time.Minute, 0}, {Workload{Rate: Rate(math.Inf(1))}, 0, time.Minute, 0},
		{arriving(linear, 0), 30 * time.Second, 60 * time.Second, 450}, {arriving(linear, 0), time.Minute, 2 * time.Minute, 1200},
		{arriving(stairs, 0), 5 * time.Second, 16 * time.Second, 18}, {arriving(onOff, 0), 9 * time.Second, 31 * time.Second, 100},
		{arriving(day, 4), 0, 30 * time.Second, 120}, {arriving(volleys, 10), 0, 10 * time.Second, 100},
	} {
		if got := tt.w.Arriving(tt.from, tt.to); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%v: %v, want %v", &tt.w.Arrival, got, tt.want)
		}
	}
}

func decodeArrival(text string) (Arrival, reported, error) {
	var doc map[string]any
	if _, err := toml.Decode(text, &doc); err != nil {
		return Arrival{}, nil, err
	}
	var a Arrival
	var got reported
	a.DecodeTOML(doc["v"], got.bad)
	return a, got, nil
}

func TestArrivalDecodeTOML(t *testing.T) {
	for text, want := range map[string]Arrival{
		`"poisson"`: {Process: "poisson"},
		`{ process = "ramp", from = 0, to = 20, over = "1m" }`:                                               linear,
		`{ process = "ramp", from = 0.5, to = 40.0, over = "60s", shape = "exponential" }`:                   exponential,
		`{ process = "sinusoid", amplitude = 1, period = "60s" }`:                                            day,
		`{ process = "bursts", size = 20 }`:                                                                  volleys,
		`{ process = "bursts", size = 20, every = "5s", gaps = "poisson" }`:                                  {Process: "bursts", Size: 20, Every: 5, Gaps: "poisson"},
		`{ process = "gamma" }`:                                                                              {Process: "gamma"},
		`{ process = "step", steps = [{ rate = 20, for = "2s" }, { rate = 0, for = "8s" }], repeat = true }`: onOff,
	} {
		a, got, err := decodeArrival("v = " + text)
		if err != nil || len(got) > 0 || !reflect.DeepEqual(a, want) {
			t.Errorf("%s: %+v %q %v", text, a, got, err)
		}
		var back Arrival
		if b, err := json.Marshal(a); err != nil || json.Unmarshal(b, &back) != nil || !reflect.DeepEqual(back, a) {
			t.Errorf("%+v became %s became %+v", a, b, back)
		}
	}
	for text, want := range map[string][]string{
		`4`:                                      {": arrival must be the name of a process or a table, not 4"},
		`{ process = "pareto" }`:                 {`process: unknown process "pareto"`},
		`{ from = 1 }`:                           {`process: unknown process ""`},
		`{ process = "ramp", from = 1, to = 2 }`: {": the process ramp needs over"},
		`{ process = "ramp", from = 1, to = 2, over = 60 }`:                          {"over: a duration must be a string"},
		`{ process = "ramp", from = 1, to = 2, over = "0s" }`:                        {"over: over must be above 0"},
		`{ process = "ramp", from = -1, to = 0, over = "1s" }`:                       {"from: from must be a number between 0 and", "to: to must be a number between 0.0001 and"},
		`{ process = "ramp", from = nan, to = "2", over = "1s" }`:                    {"from: from must be a number", "to: to must be a number"},
		`{ process = "ramp", from = 1, to = 2, over = "1s", shape = "cubic" }`:       {`shape: unknown shape "cubic"`},
		`{ process = "ramp", from = 0, to = 2, over = "1s", shape = "exponential" }`: {"from: an exponential ramp cannot start at 0"},
		`{ process = "ramp", from = 1, to = 2, over = "1s", size = 3 }`:              {`size: the process ramp has no key "size"`},
		`{ process = "sinusoid", amplitude = 1.5, period = "0s", gaps = "even" }`:    {`gaps: unknown gaps "even"`, "amplitude: amplitude must be a number between 0 and 1"},
		`{ process = "sinusoid", amplitude = 1, period = "0s" }`:                     {"period: period must be above 0"},
		`{ process = "bursts", size = 1.5 }`:                                         {"size: size must be an integer, not 1.5"},
		`{ process = "bursts", size = 0 }`:                                           {"size: size must be a number between 1"},
		`{ process = "poisson", rescaled = 3 }`:                                      {`rescaled: the process poisson has no key "rescaled"`},
		`{ process = "step", steps = [] }`:                                           {"steps: steps must be a list of 1 to 1000 tables"},
		`{ process = "step", steps = [1, 2] }`:                                       {"steps: steps must be a list"},
		`{ process = "step", steps = [{ rate = 1 }, { rate = -1, for = "1s" }, { rate = 1, for = "0s" }, { rate = 1, for = "1s", x = 2 }], repeat = 1 }`: {
			"repeat: repeat must be true or false, not 1", "steps[0]: a step needs for", "steps[1].rate: rate must be a number", "steps[2].for: for must be above 0", `steps[3].x: a step has no key "x"`},
		`{ process = "step", steps = [{ rate = 1, for = "1s" }, { rate = 0, for = "1s" }] }`: {"steps: nothing arrives after the last step"},
		`{ process = "step", steps = [{ rate = 0, for = "1s" }], repeat = true }`:            {"steps: nothing arrives"},
	} {
		_, got, err := decodeArrival("v = " + text)
		if err != nil {
			t.Fatal(err)
		}
		got.want(t, want...)
	}
}

// Whatever is decoded and checked without a complaint makes a schedule.
func FuzzArrivalDecodeTOML(f *testing.F) {
	for _, s := range []string{
		`"gamma"`, `{process="ramp",from=1,to=2,over="1s"}`, `{process="step",steps=[{rate=1e-300,for="1ns"}],repeat=true}`,
		`{process="sinusoid",amplitude=1,period="1ns"}`, `{process="bursts",size=1048576,every="1ns"}`, `{process="poisson"}`, `[[]]`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, got, err := decodeArrival("v = " + s)
		if err != nil || len(got) > 0 {
			return
		}
		w := arriving(a, 3)
		if w.Check(got.bad); len(got) > 0 {
			return
		}
		last := time.Duration(0)
		for _, at := range times(w, 1, 200) {
			if at < last {
				t.Fatalf("%+v: %v after %v", a, at, last)
			}
			last = at
		}
		var back Arrival
		if b, err := json.Marshal(a); err != nil || json.Unmarshal(b, &back) != nil || !reflect.DeepEqual(back, a) {
			t.Fatalf("%+v is stored as %s, %v", a, b, err)
		}
	})
}

func TestArrivalString(t *testing.T) {
	for want, a := range map[string]Arrival{
		"": {}, "gamma": {Process: "gamma"}, "linear ramp from 0 to 20/s over 1m0s": linear, "exponential ramp from 0.5 to 40/s over 1m0s": exponential,
		"steps of 2, 0, 8/s": stairs, "sinusoid ±100 % every 1m0s": day, "bursts of 20": volleys,
	} {
		if got := a.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
