package experiment

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"bench/experiment/stats"
	"bench/experiment/unit"
	"bench/experiment/workload"
)

// Search finds a rate or a concurrency: rate = { search = "slo", min = 1, max = 64 } in a row. Every
// probe is a point of its own, at the probed load, and decided from its row alone.
type Search struct {
	Axis string `toml:"-" json:"axis"` // rate, concurrency
	Goal string `toml:"search" json:"search"`

	Min float64 `toml:"min" json:"min"` // the least of Bounds if the row states none
	Max float64 `toml:"max" json:"max"` // the largest of Bounds if the row states none
	// the row does not state both ends: the first load suits the server
	Open bool `toml:"-" json:"open,omitempty"`
	// largest distance of the two ends of the answer
	Tolerance Share         `toml:"tolerance" json:"tolerance"`
	Budget    workload.Span `toml:"budget" json:"budget_s,omitempty"` // total time of the probes; 0 = DefaultBudget
	// no probe comes near to filling the server: the answer is extrapolated
	Gentle bool `toml:"gentle" json:"gentle,omitempty"`
	// requests that the server of a gentle search runs at once at most; 0 = not known yet
	Slots   int           `toml:"-" json:"slots,omitempty"`
	Probes  int           `toml:"-" json:"probes,omitempty"`           // maximum number; 0 = DefaultProbes
	Longest workload.Span `toml:"-" json:"longest_window_s,omitempty"` // of a probe: the row's duration; 0 = any
	// the row's warm-up; later probes warm up as long as the server needs
	First workload.Span `toml:"-" json:"first_warmup_s,omitempty"`
	// what a range without an end began with; nil = nothing yet, or both ends are stated
	Scout *Scout `toml:"-" json:"scout,omitempty"`
}

// Scout is what a few seconds in a closed loop, before the first probe, show of a server: with short responses and
// without a verdict. It says where to look, and is no part of the answer.
type Scout struct {
	Load   float64 `json:"load"`              // of the first probe
	TookS  float64 `json:"took_s"`            // of the search's budget
	TTFTMs float64 `json:"ttft_ms,omitempty"` // median of one request at a time; 0 = not streamed
	TPOTMs float64 `json:"tpot_ms,omitempty"`
	// Misses is the limit that every request misses, though it is alone in the server; empty = none.
	Misses string `json:"misses,omitempty"`
}

// Misses is Scout's; empty = none, or nothing was scouted.
func (k *Search) Misses() string {
	if k.Scout == nil {
		return ""
	}
	return k.Scout.Misses
}

// Bounds are the ends of a range that states none.
func (k *Search) Bounds() (least, most float64) {
	if k.Axis == "concurrency" {
		return 1, 1<<16 - 1
	}
	return 1e-4, 1e6
}

func (k *Search) RangeText() string {
	u := "/s"
	if k.Axis == "concurrency" {
		u = " requests in flight"
	}
	least, most := k.Bounds()
	switch {
	case k.Open && k.Min == least && k.Max == most:
		return "any " + k.Axis
	case k.Open && k.Max == most:
		return "from " + unit.Brief(k.Min, 6) + u
	case k.Open:
		return "up to " + unit.Brief(k.Max, 6) + u
	}
	return unit.Brief(k.Min, 6) + " to " + unit.Brief(k.Max, 6) + u
}

const (
	DefaultProbes                  = 40
	DefaultTolerance Share         = 0.05
	DefaultBudget    workload.Span = workload.Span(20 * time.Minute)
)

type Probe struct {
	Load           float64
	Warmup, Window workload.Span // 0 = the row's
}

// Share is a part of a whole: "5%" or 0.05 in a matrix.
type Share float64

func (s *Share) DecodeTOML(v any, bad func(key, problem, hint string)) {
	x, ok := workload.Number(v)
	if text, isText := v.(string); isText {
		var err error
		digits, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
		x, err = strconv.ParseFloat(strings.TrimSpace(digits), 64)
		ok = err == nil && percent
		x /= 100
	}
	if !ok || math.IsNaN(x) {
		bad("", fmt.Sprintf("%s is not a share", workload.Found(v)), `write "5%" or 0.05`)
		return
	}
	*s = Share(x)
}

func (s Share) String() string { return strconv.FormatFloat(100*float64(s), 'g', 4, 64) + " %" }

const (
	GoalSLO        = "slo"
	GoalSaturation = "saturation"
)

const (
	leastTolerance, mostTolerance Share = 0.01, 1

	mostProbes = 1000
)

func (k *Search) Check(s *Spec, bad func(key, problem, hint string)) {
	k.checkFor(s, bad)
	k.checkRange(bad)
	if k.Tolerance < leastTolerance || k.Tolerance > mostTolerance {
		bad("tolerance", fmt.Sprintf("a tolerance of %s is not between %s and %s", k.Tolerance, leastTolerance,
			mostTolerance), `write tolerance = "5%"`)
	}
	if k.Probes < 0 || k.Probes > mostProbes {
		bad("probes", fmt.Sprintf("%d is not a number of probes from 1 to %d", k.Probes, mostProbes),
			fmt.Sprintf("write probes = %d", DefaultProbes))
	}
}

func (k *Search) checkFor(s *Spec, bad func(key, problem, hint string)) {
	switch k.Goal {
	case GoalSLO:
		if len(s.SLO.Limits) == 0 && !slices.ContainsFunc(s.Mix,
			func(c workload.Class) bool { return len(c.SLO) > 0 }) {
			bad("search", "the row has no SLO to meet",
				`write [slo] and below it ttft_p95 = "1s"; or search = "saturation"`)
		} else if len(s.Mix) == 0 && !slices.ContainsFunc(s.SLO.Limits,
			func(l Limit) bool { return !l.EasierByLoad() }) {
			bad("search", "more load helps to meet every limit of the row", `write [slo] and below it ttft_p95 = "1s"`)
		}
	case GoalSaturation:
		if k.Axis != "rate" {
			bad("search", "every server sustains a closed loop: its users wait for it",
				`write rate = { search = "saturation", … }`)
		}
	case "":
		bad("search", "the search has no target", `write search = "slo" or "saturation"`)
	default:
		bad("search", "unknown search "+strconv.Quote(k.Goal), `write "slo" or "saturation"`)
	}
	if s.Isolate {
		bad("search", "isolate needs a rate that is known before the row",
			"leave out isolate; run it at the rate that the search finds")
	}
	if k.Gentle {
		k.checkGentle(bad)
	}
	if s.IsColdStart() {
		bad("search", "a cold start has no load to search for", `write kind = "load", or leave the search out`)
	}
}

func (k *Search) checkGentle(bad func(key, problem, hint string)) {
	least, _ := k.Bounds()
	switch {
	case k.Goal != GoalSLO || k.Axis != "rate":
		bad("gentle", "only a search for the rate that meets the SLO can be gentle",
			`write rate = { search = "slo", gentle = true, min = 0.5 }`)
	case k.Tolerance != DefaultTolerance:
		bad("tolerance", "a gentle search ends where a higher probe would not be gentle", "remove tolerance")
	case k.Min == least:
		bad("gentle", "a gentle search begins at min, which is not specified",
			"write min = 0.5: a rate that surely is harmless")
	}
}

func (k *Search) checkRange(bad func(key, problem, hint string)) {
	example := fmt.Sprintf("write %s = { search = %q, min = 1, max = 64 }", k.Axis, GoalSLO)
	least, most := k.Bounds()
	inRange := true
	for _, end := range []struct {
		key   string
		value float64
	}{{"min", k.Min}, {"max", k.Max}} {
		switch x := end.value; {
		case !(x >= least && x <= most):
			inRange = false
			bad(end.key, fmt.Sprintf("%s is %v, not between %v and %.0f", end.key, x, least, most), example)
		case k.Axis == "concurrency" && x != math.Round(x):
			bad(end.key, fmt.Sprintf("%s is %v, not a whole number of requests", end.key, x), example)
		}
	}
	if inRange && k.Max <= k.Min {
		bad("max", fmt.Sprintf("max %v is not above min %v", k.Max, k.Min), example)
	}
}

func (s *Spec) ProbeAt(at Probe, repeat int) Spec {
	p := *s
	p.Repeat = repeat
	if repeat > 1 {
		p.Repeats = repeat // the number known so far
	}
	value := strconv.FormatFloat(at.Load, 'g', -1, 64)
	axis := slices.IndexFunc(s.Point, func(a Axis) bool { return a.Key == s.Search.Axis })
	p.Point = slices.Clone(s.Point)
	p.Point[axis].Value = value
	if s.Search.Axis == "rate" {
		p.Rate = workload.Rate(at.Load)
	} else {
		p.Concurrency = int(at.Load)
	}
	if at.Window > 0 {
		p.Duration, p.Warmup.Time = at.Window, at.Warmup
	}
	return p
}

func (k *Search) ProbeOf(s *Spec) Probe {
	return Probe{Load: k.LoadOf(s), Warmup: s.Warmup.Time, Window: s.Duration}
}

func (k *Search) Algorithm() stats.Search {
	return stats.Search{Min: k.Min, Max: k.Max, Tolerance: float64(k.Tolerance), Whole: k.Axis == "concurrency"}
}

func (k *Search) Pace() stats.Pace {
	const shortest = 10 // s
	longest := time.Duration(k.Longest).Seconds()
	least := float64(shortest)
	if longest > 0 {
		least = min(least, longest)
	}
	stays := 45.0 // the judge asks an open queue for 35 (stats.InOrder)
	if k.Axis == "concurrency" {
		stays = 15
	}
	return stats.Pace{Start: k.start(), Verdict: stays, Budget: time.Duration(k.MaxTime()).Seconds() - k.scouted(),
		Warmup: time.Duration(k.First).Seconds(), Least: least, Most: longest}
}

func (k *Search) scouted() float64 {
	if k.Scout == nil {
		return 0
	}
	return k.Scout.TookS
}

// start is the load of the first probe; 0 = in the middle of the range.
func (k *Search) start() float64 {
	switch {
	case k.Scout != nil:
		return k.Scout.Load
	case k.Gentle:
		return k.Min
	case k.Open && k.Axis == "concurrency":
		return 8
	case k.Open:
		return 1
	}
	return 0
}

func (k *Search) MaxTime() workload.Span { return cmp.Or(k.Budget, DefaultBudget) }

func (k *Search) MaxProbes() int { return cmp.Or(k.Probes, DefaultProbes) }

func (k *Search) LoadOf(s *Spec) float64 {
	if k.Axis == "rate" {
		return float64(s.Rate)
	}
	return float64(s.Concurrency)
}

func (k *Search) String() string {
	what := k.Goal
	if what == GoalSLO {
		what = "SLO"
	}
	if k.Gentle {
		return what + ", gently, " + k.RangeText()
	}
	return fmt.Sprintf("%s, %s within %s", what, k.RangeText(), k.Tolerance)
}
