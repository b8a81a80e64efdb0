package workload

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/BurntSushi/toml"
	"pgregory.net/rapid"
)

func TestSpanDecodeTOML(t *testing.T) {
	const form, notOne = "must be a string with a unit", "is not a duration"
	tests := []struct {
		v    any
		want Span
		bad  string
	}{
		{"10s", Span(10 * time.Second), ""}, {"500ms", Span(500 * time.Millisecond), ""}, {"1h2m", Span(62 * time.Minute), ""}, {"0s", 0, ""}, {"0", 0, ""},
		{"10", 0, notOne}, {"", 0, notOne}, {"-1s", 0, notOne}, {"10 s", 0, notOne}, {"9999999999h", 0, notOne},
		{int64(10), 0, form}, {1.5, 0, form}, {true, 0, form}, {map[string]any{"s": int64(1)}, 0, form}, {[]any{"1s"}, 0, form}, {nil, 0, form},
	}
	for _, tt := range tests {
		var s Span
		var got reported
		s.DecodeTOML(tt.v, got.bad)
		if s != tt.want {
			t.Errorf("%v: %v, want %v", tt.v, time.Duration(s), time.Duration(tt.want))
		}
		if tt.bad == "" {
			got.want(t)
		} else {
			got.want(t, tt.bad)
		}
	}
}

func TestExtentDecodeTOML(t *testing.T) {
	// An earlier value, such as a default, is replaced.
	for v, want := range map[any]Extent{"10s": {Time: Span(10 * time.Second)}, int64(50): {Requests: 50}, int64(0): {}, "0s": {}} {
		for _, e := range []Extent{{}, {Time: Span(time.Second)}, {Requests: 3}} {
			var got reported
			if e.DecodeTOML(v, got.bad); e != want || len(got) > 0 {
				t.Errorf("%v: %+v, want %+v; %q", v, e, want, got)
			}
		}
	}
	for v, want := range map[any]string{int64(-1): "not a number of requests", int64(1 << 40): "not a number of requests", 1.5: "a duration or a number", "soon": "not a duration", nil: "a duration or a number"} {
		var e Extent
		var got reported
		e.DecodeTOML(v, got.bad)
		got.want(t, want)
	}
}

// What is decoded without a complaint is a span that JSON preserves.
func FuzzExtentDecodeTOML(f *testing.F) {
	for _, s := range []string{`"10s"`, `50`, `"-1s"`, `1e9`, `{s=1}`, `""`, `"1h1ns"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var doc map[string]any
		if _, err := toml.Decode("v = "+s, &doc); err != nil {
			return
		}
		var e, back Extent
		var got reported
		if e.DecodeTOML(doc["v"], got.bad); len(got) > 0 {
			return
		}
		if e.Time < 0 || e.Requests < 0 {
			t.Fatalf("%+v", e)
		}
		b, err := json.Marshal(e)
		if err != nil || json.Unmarshal(b, &back) != nil {
			t.Fatalf("%+v is stored as %s, %v", e, b, err)
		}
		if d := e.Time - back.Time; e.Time < Span(1000*time.Hour) && d != 0 || e.Requests != back.Requests {
			t.Fatalf("%+v came back as %+v", e, back)
		}
	})
}

func TestSpanJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Span(rapid.Int64Range(0, int64(240*time.Hour)).Draw(t, "ns"))
		b, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var back Span
		if err := json.Unmarshal(b, &back); err != nil || back != s {
			t.Fatalf("%d → %s → %d, %v", s, b, back, err)
		}
	})
	var s Span
	if err := json.Unmarshal([]byte(`"10s"`), &s); err == nil || !strings.Contains(err.Error(), "number of seconds") {
		t.Errorf("error %v", err)
	}
}

func TestCheckPhases(t *testing.T) {
	closed := Load{Concurrency: 8, Duration: Span(time.Second)}
	with := func(change func(*Load)) Load { l := closed; change(&l); return l }
	tests := []struct {
		name      string
		load      Load
		open, all bool
		want      []string
	}{
		{"closed", closed, false, false, nil},
		{"open", Load{Requests: 10}, true, false, nil},
		{"capped", closed, true, false, nil},
		{"all at once", Load{Requests: 10}, true, true, nil},
		{"all at once, capped and warmed up", Load{Concurrency: 2, Requests: 10, Warmup: Extent{Requests: 4}}, true, true, []string{"warmup: with rate"}},
		{"nothing", Load{}, false, false, []string{": neither rate nor concurrency", ": neither duration nor requests"}},
		{"negative", with(func(l *Load) { l.Concurrency, l.Requests = -1, -1 }), false, false, []string{"concurrency: concurrency -1 is not", "requests: requests is negative"}},
		{"idle", with(func(l *Load) { l.Concurrency, l.Idle = 1, Span(time.Second) }), false, false, nil},
		{"no machine has that", with(func(l *Load) { l.Concurrency = 1 << 62 }), false, false, []string{"concurrency: "}},
		{"all at once by time", closed, true, true, []string{"rate: "}},
		{"all at once after a warm-up", Load{Requests: 10, Warmup: Extent{Requests: 4}}, true, true, []string{"warmup: "}},
		{"all at once after a time", Load{Concurrency: 2, Requests: 10, Warmup: Extent{Time: Span(time.Second)}}, true, true, []string{"warmup: "}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got reported
			tt.load.Check(tt.open, tt.all, got.bad)
			got.want(t, tt.want...)
		})
	}
}

func TestExpected(t *testing.T) {
	ten, four := Span(10*time.Second), Span(4*time.Second)
	tests := []struct {
		load  Load
		rate  float64
		want  time.Duration
		known bool
	}{
		{Load{Duration: ten}, 0, 10 * time.Second, true},
		{Load{Duration: ten, Warmup: Extent{Time: four}}, 5, 14 * time.Second, true},
		{Load{Requests: 20, Warmup: Extent{Requests: 10}}, 5, 6 * time.Second, true},
		{Load{Requests: 20, Duration: ten}, 5, 4 * time.Second, true},
		{Load{Requests: 90, Duration: ten}, 5, 10 * time.Second, true},
		{Load{Requests: 20, Warmup: Extent{Time: four}}, 0, 4 * time.Second, false},
		{Load{Duration: ten, Warmup: Extent{Requests: 5}}, 0, 10 * time.Second, false},
		{Load{Requests: 20}, math.Inf(1), 0, false},
	}
	for _, tt := range tests {
		if d, known := tt.load.Expected(tt.rate); d != tt.want || known != tt.known {
			t.Errorf("%+v at %v: %v %v, want %v %v", tt.load, tt.rate, d, known, tt.want, tt.known)
		}
	}
	if (Load{}).GraceTime() != 2*time.Minute || (Load{Grace: four}).GraceTime() != 4*time.Second {
		t.Error("grace")
	}
}
