package selftest

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// made is a step with its load and its p99: of the first token, the gaps and the lag.
func made(kind string, size float64, l Load, first, gap, lag float64) Measured {
	m := Measured{
		Step: Step{Kind: kind, Size: size, Tokens: 100}, Load: l, Tries: 1, Requests: 200,
		First: &Error{N: 200, P99Us: first}, Gap: &Error{N: 20_000, P99Us: gap}, Lag: &Delay{N: 200, P99Us: lag},
	}
	m.Assess()
	return m
}

func TestAssess(t *testing.T) {
	for _, c := range []struct {
		name     string
		change   func(*Measured)
		accurate bool
		onTime   bool
		why      string
		problem  bool
	}{
		{"good", func(*Measured) {}, true, true, "", false},
		{"first token", func(m *Measured) { m.First.P99Us = 1000 }, false, true, "first token p99 1.00 ms", false},
		{"gap", func(m *Measured) { m.Gap.P99Us = 2345.6 }, false, true, "gap p99 2.35 ms", false},
		{"one token", func(m *Measured) { m.Gap = nil }, true, true, "", false},
		{"late", func(m *Measured) { m.Lag.P99Us = 1000 }, true, false, "", false},
		{"never sent", func(m *Measured) { m.Lag = nil }, true, false, "", false},
		{"one in a hundred failed", func(m *Measured) { m.Requests, m.Failed = 198, 2 }, true, true, "", false},
		{"more", func(m *Measured) { m.Requests, m.Failed, m.FirstFailure = 197, 3, "status: 503" }, false, true, "3 of 200 requests failed: status: 503", false},
		{"missing", func(m *Measured) { m.Requests, m.Missing = 197, 3 }, false, true, "the server's records lack 3 of 200 requests", false},
		{"all failed", func(m *Measured) {
			m.Requests, m.Failed, m.First, m.Gap, m.FirstFailure = 0, 5, nil, nil, "connect: refused"
		},
			false, true, "all 5 requests failed: connect: refused", true},
		{"none joined", func(m *Measured) { m.Requests, m.Missing, m.First, m.Gap = 0, 5, nil, nil }, false, true, "no request could be matched with the server's records", true},
	} {
		m := made(Burst, 10, Load{}, 999, 999, 999)
		m.Accurate, m.OnTime = false, false
		c.change(&m)
		m.Assess()
		if m.Accurate != c.accurate || m.OnTime != c.onTime || m.Why != c.why || (m.Problem != "") != c.problem {
			t.Errorf("%s: accurate %t, on time %t, why %q, problem %q", c.name, m.Accurate, m.OnTime, m.Why, m.Problem)
		}
	}
}

const good, bad = 50, 5000

// ladder is a machine that is good for 1,000 streams in bursts, 500 out of step, and 1,000 requests/s.
func ladder() []Measured {
	return []Measured{
		made(Burst, 10, Load{10, 960, 9.6}, good, good, good),
		made(Burst, 500, Load{500, 48_000, 480}, good, good, bad),
		made(Burst, 1000, Load{1000, 96_000, 960}, good, bad, bad),
		made(Spread, 500, Load{501, 47_000, 475}, good, good, good),
		made(Spread, 1000, Load{1001, 94_000, 950}, good, good, good),
		made(Rate, 100, Load{12, 200, 101}, good, good, good),
		made(Rate, 1000, Load{90, 2000, 1010}, good, good, good),
		made(Rate, 5000, Load{400, 9900, 4990}, bad, good, bad),
	}
}

func TestCalibrate(t *testing.T) {
	problem := Measured{Step: Step{Kind: Burst, Size: 100}, Problem: "no files left", Why: "no files left"}
	for _, c := range []struct {
		name  string
		steps []Measured
		want  Calibration
	}{
		{"nothing", nil, Calibration{}},
		{"a ladder", ladder(), Calibration{Load: Load{501, 48_000, 1010}, FirstInaccurate: "burst 1000", FirstInaccurateRate: "rate 5000",
			OnTimePerS: 1010, OnTimeTogether: 10, LatePerS: "rate 5000", LateTogether: "burst 500"}},
		{"all of it", ladder()[:2], Calibration{Load: Load{500, 48_000, 480}, OnTimeTogether: 10, LateTogether: "burst 500"}},
		{"bad from the first", []Measured{made(Burst, 1, Load{1, 96, 1}, bad, good, bad), made(Burst, 10, Load{10, 960, 9.6}, good, good, good)},
			Calibration{FirstInaccurate: "burst 1", LateTogether: "burst 1"}},
		{"a step that failed", []Measured{made(Burst, 10, Load{10, 960, 9.6}, good, good, good), problem, made(Burst, 1000, Load{1000, 96_000, 960}, good, good, good)},
			Calibration{Load: Load{10, 960, 9.6}, FirstInaccurate: "burst 100", OnTimeTogether: 1000}},
		{"in any order", []Measured{ladder()[2], ladder()[0], ladder()[1]}, Calibration{Load: Load{500, 48_000, 480}, FirstInaccurate: "burst 1000",
			OnTimeTogether: 10, LateTogether: "burst 500"}},
	} {
		if diff := cmp.Diff(c.want, Calibrate(c.steps)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func TestCovers(t *testing.T) {
	r := &Result{Steps: ladder()}
	r.Calibration = Calibrate(r.Steps) // 501 streams, 48,000 events/s, 1,010 requests/s
	for _, c := range []struct {
		load Load
		want bool
	}{
		{Load{1, 100, 1}, true},
		{Load{500, 48_000, 480}, true},   // that very step
		{Load{501, 47_900, 1}, true},     // none had both, but requests cost nearly nothing
		{Load{502, 100, 1}, false},       // more streams
		{Load{1, 48_001, 1}, false},      // more events
		{Load{1, 100, 1011}, false},      // more requests
		{Load{400, 24_000, 500}, true},   // half of each
		{Load{400, 40_000, 1000}, false}, // nearly all of each, which was never tried together
	} {
		if got := r.Covers(c.load); got != c.want {
			t.Errorf("%v: %t", c.load, got)
		}
	}
	if (&Result{}).Covers(Load{}) {
		t.Error("a result without a step covers a load")
	}
}

// A load below a covered load is covered.
func TestCoversIsMonotone(t *testing.T) {
	r := &Result{Steps: ladder()}
	r.Calibration = Calibrate(r.Steps)
	rapid.Check(t, func(t *rapid.T) {
		l := Load{rapid.IntRange(0, 600).Draw(t, "streams"), rapid.Float64Range(0, 60_000).Draw(t, "events"), rapid.Float64Range(0, 1200).Draw(t, "requests")}
		share := func(name string) float64 { return rapid.Float64Range(0, 1).Draw(t, name) }
		less := Load{int(float64(l.Streams) * share("a")), l.EventsPerS * share("b"), l.RequestsPerS * share("c")}
		if r.Covers(l) && !r.Covers(less) {
			t.Errorf("%v, but not %v", l, less)
		}
	})
}

func TestNearest(t *testing.T) {
	r := &Result{Steps: append(ladder(), Measured{Step: Step{Kind: Spread, Size: 3000}, Load: Load{3000, 290_000, 2900}, Problem: "it failed"})}
	r.Calibration = Calibrate(r.Steps) // 501 streams, 48,000 events/s, 1,010 requests/s
	for _, c := range []struct {
		name string
		load Load
		want string
	}{
		{"above all", Load{3000, 290_000, 2900}, "burst 1000"},
		{"above in streams, which cost nothing", Load{900, 100, 1}, "burst 1000"},
		{"just above", Load{502, 100, 1}, "spread 500"},
		{"above in requests", Load{300, 7000, 4000}, "rate 5000"},
		{"above in none", Load{8, 800, 8}, "burst 10"},
		{"above in none, between two", Load{495, 46_500, 470}, "spread 500"},
	} {
		if got := r.Nearest(c.load); got == nil || got.Name() != c.want {
			t.Errorf("%s: %+v, want %s", c.name, got, c.want)
		}
	}
	if got := (&Result{}).Nearest(Load{1, 1, 1}); got != nil {
		t.Errorf("nothing was measured: %+v", got)
	}
}

func TestBetter(t *testing.T) {
	worse, bad, fine, failed := made(Burst, 1, Load{}, 3000, 10, 0), made(Burst, 1, Load{}, 2000, 10, 0), made(Burst, 1, Load{}, 10, 10, 0), Measured{Problem: "x"}
	for i, c := range []struct{ a, b, want Measured }{
		{worse, bad, bad}, {bad, worse, bad}, {worse, fine, fine}, {bad, failed, bad}, {failed, bad, bad}, {failed, failed, failed},
	} {
		c.want.Tries = 2
		if diff := cmp.Diff(c.want, Better(c.a, c.b)); diff != "" {
			t.Errorf("%d: %s", i, diff)
		}
	}
}

func TestSavedAndRead(t *testing.T) {
	r := &Result{Schema: Schema, StartedAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Machine: Machine{CPU: "c", Cores: 2}, LimitUs: LimitUs, Steps: ladder()}
	r.Calibration = Calibrate(r.Steps)
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Read(text)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r, got); diff != "" {
		t.Error(diff)
	}
	for name, text := range map[string]string{"no JSON": "{", "another schema": `{"schema":"bench/selftest/v2"}`} {
		if _, err := Read([]byte(text)); err == nil || !strings.HasPrefix(err.Error(), "reading the self-test: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The part of a result for a load gives the same answers for it, and has two steps at most.
func TestFor(t *testing.T) {
	r := &Result{Steps: ladder(), LimitUs: LimitUs}
	r.Calibration = Calibrate(r.Steps)
	rapid.Check(t, func(t *rapid.T) {
		l := Load{rapid.IntRange(0, 2000).Draw(t, "streams"), rapid.Float64Range(0, 120_000).Draw(t, "events"), rapid.Float64Range(0, 6000).Draw(t, "requests")}
		part := r.For(l)
		if part.Covers(l) != r.Covers(l) || len(part.Steps) > 2 || !cmp.Equal(part.Nearest(l), r.Nearest(l)) || !cmp.Equal(part.For(l), part) {
			t.Errorf("%v: %+v", l, part.Steps)
		}
	})
	if part := (*Result)(nil).For(Load{1, 1, 1}); part != nil {
		t.Errorf("of no self-test: %+v", part)
	}
	if len(r.Steps) != len(ladder()) {
		t.Error("the result was changed")
	}
}
