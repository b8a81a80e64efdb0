// Package experiment is the [[row]] table of a matrix, and the tables beside it that decide how a row is judged:
// [target], [slo], [gate] and a search. Its main type is Spec, one point of a row, which package sweep decodes and
// checks. It sends nothing, reads no results and judges nothing.
package experiment

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"bench/experiment/target"
	"bench/experiment/unit"
	"bench/experiment/workload"
)

// Spec is one point of a row: everything that decides what is sent, when, and how it is judged. Its JSON is
// the input of the point's hash.
type Spec struct {
	Name   string `toml:"name" json:"name"`
	Point  []Axis `toml:"-" json:"point,omitempty"` // the value of each axis, in the order of the row's keys
	Repeat int    `toml:"-" json:"repeat"`          // counts from 1
	// Added counts the repeats that a budget added to the point, each longer than those before it; 0 = the matrix has
	// this repeat.
	Added  int    `toml:"-" json:"added,omitempty" compare:"size"`
	Expect string `toml:"expect" json:"expect,omitempty" compare:"none"`
	// Kind is load (also if empty), or cold_start: from an idle server to the first token, one request at a
	// time.
	Kind string `toml:"kind" json:"kind,omitempty"`

	// the server's knobs, or its endpoint; empty: the run has one server
	Variant string `toml:"-" json:"variant,omitempty"`

	workload.Workload
	workload.Load

	Stream *bool `toml:"stream" json:"stream"` // nil = true
	// Connections is "reuse" (also if empty, except for cold starts): connections are opened before the row
	// and stay open; or "new": each request opens one, and its latency contains the connection set-up.
	Connections string `toml:"connections" json:"connections,omitempty"`

	Stop string `toml:"stop" json:"stop"` // forced (default): ignore_eos; natural: natural EOS
	API  string `toml:"api" json:"api"`   // empty = the target's
	// MLPerf's SingleStream, Server or Offline; empty = none
	Scenario string `toml:"scenario" json:"scenario,omitempty"`
	Isolate  bool   `toml:"isolate" json:"isolate,omitempty"` // also run each class alone, at its share of the rate
	Alone    string `toml:"-" json:"alone,omitempty"`         // the class that runs alone at this point
	// Until is decided: the row ends when its SLO is decided; stopped: when it is interrupted (bench tile);
	// empty = at the end of its duration or requests.
	Until string `toml:"until" json:"until,omitempty"`
	// Run is all: every load of a series runs; until_fail (also if empty): loads above a certain FAIL are skipped.
	Run string `toml:"run" json:"-"`
	// the search whose probe this point is; absent = none
	Search  *Search `toml:"-" json:"search,omitempty" compare:"size"`
	Repeats int     `toml:"repeats" json:"-"` // 0 = 1
	SLO     SLO     `toml:"slo" json:"slo"`
}

const RunAll = "all"

// Files are the files that points name, each read once.
type Files = workload.Files

// Axis is one value of a key that has a list of values in the row.
type Axis struct {
	Key   string `json:"key"`
	Value string `json:"value"` // as in file names
}

func (s *Spec) Streams() bool { return s.Stream == nil || *s.Stream }

// mostRequests bounds the records of a row, which stay in memory until the row is summarized.
const mostRequests = 5_000_000

func (s *Spec) Check(bad func(key, problem, hint string)) {
	for _, x := range []struct{ key, value, one, other, hint string }{
		{"stop", s.Stop, "forced", "natural", `write "forced" or "natural"`},
		{"connections", s.Connections, "reuse", "new", `write "reuse" or "new"`},
		{"run", s.Run, RunAll, "until_fail", `write run = "all" (every load of a list) or "until_fail" (the default)`},
	} {
		if x.value != "" && x.value != x.one && x.value != x.other {
			bad(x.key, "unknown "+x.key+" "+strconv.Quote(x.value), x.hint)
		}
	}
	if problem, hint := target.APIProblem(s.API); problem != "" {
		bad("api", problem, hint)
	}
	if s.Repeats < 0 {
		bad("repeats", "repeats is negative", "write repeats = 3")
	}
	if n := s.ExpectedRequests(); n > mostRequests && s.Requests == 0 {
		bad("rate", fmt.Sprintf("%s requests in one window exceed the limit of %s", unit.Brief(n, 3),
			unit.Count(mostRequests)), "make duration shorter, or write requests = 100000")
	}
	s.checkImages(bad)
	s.Workload.Check(bad)
	s.sizedLoad().Check(s.Open(), s.Rate.IsInf(), bad)
	s.checkCold(bad)
	s.checkClasses(bad)
	s.checkAnswers(bad)
	s.checkSLO(bad)
	s.checkUntil(bad)
	s.checkIsolate(bad)
	s.checkTraceEnd(bad)
	if s.Search != nil {
		s.Search.Check(s, func(key, problem, hint string) { bad(s.Search.Axis+"."+key, problem, hint) })
	}
}

func (s *Spec) checkSLO(bad func(key, problem, hint string)) {
	check := func(prefix string, c SLO) {
		for _, l := range c.All() {
			if !s.Streams() && l.NeedsStream() {
				bad("stream", "without streaming "+prefix+l.Key+" can't be measured",
					"set stream = true, or limit e2e instead ([slo] applies to every row)")
			}
		}
	}
	check("slo.", s.SLO)
	s.CheckFigures(func(key, problem, hint string) { bad("slo."+key, problem, hint) })
	for i, class := range s.Mix {
		if class.SLO == nil {
			continue
		}
		at := fmt.Sprintf("mix[%d].slo.", i)
		var c SLO
		c.DecodeTOML(class.SLO, func(key, problem, hint string) { bad(at+key, problem, hint) })
		check(at, c)
		if c.Confidence != 0 {
			bad(at+"confidence", "a class has the confidence of its row",
				"write confidence in [slo] or [row.slo]; without mlperf, write its limits")
		}
	}
}

func (s *Spec) CheckFigures(bad func(key, problem, hint string)) {
	for _, l := range s.SLO.Limits {
		switch {
		case s.IsColdStart() && !l.OfRequests():
			bad(l.Key, "a cold start has no throughput to limit", "limit ttft or e2e")
		case l.Metric == "min_goodput_requests_per_s" && len(s.Mix) == 0 && len(s.SLO.PerRequest()) == 0:
			bad(l.Key, l.Key+" needs a limit for each request", `write [slo.each] and below it ttft = "1s"`)
		}
	}
}

func (s *Spec) ExpectedRequests() float64 {
	start := time.Duration(s.Warmup.Time)
	return s.Arriving(start, start+time.Duration(s.Duration)) * s.RequestsPerArrival()
}

func (s *Spec) HasConstantRate() bool {
	return s.Timed() && !s.IsConversation() && !s.IsColdStart() && s.Arrival.IsSteady()
}

func (s *Spec) Label() string {
	parts := []string{s.Name}
	for _, a := range s.Point {
		parts = append(parts, a.Key+"="+a.Value)
	}
	return strings.Join(parts, " ")
}

// ExpectedDuration is the shortest time of warm-up and window; known is false for a number of requests in a closed
// loop.
func (s *Spec) ExpectedDuration() (d time.Duration, known bool) {
	rate := float64(s.Rate)
	if s.HasConversations() {
		rate = 0 // a turn arrives after the previous answer
	}
	d, known = s.EffectiveLoad().Expected(rate)
	if _, span, ends := s.AtMost(); ends {
		d = min(d, span)
	}
	return d, known
}

// planSeed is the seed of the point's plan: each repeat has its own lengths and arrivals.
func (s *Spec) planSeed() uint64 { return s.Seed ^ uint64(s.Repeat)*0x9e3779b97f4a7c15 }

func (s *Spec) Plan(salt string) *workload.Plan {
	return workload.NewPlan(s.Workload, s.planSeed(), salt).For(s.EffectiveLoad())
}

// LoadAxis separates the axis of the load from the others. If rate and concurrency both vary, the rate is the
// load, and each cap is a series.
func LoadAxis(s *Spec) (axis string, others []Axis) {
	axis = "concurrency"
	if s.Varies("rate") || (s.Open() && !s.Varies("concurrency")) {
		axis = "rate"
	}
	return axis, slices.DeleteFunc(slices.Clone(s.Point), func(a Axis) bool { return a.Key == axis })
}

func (s *Spec) Varies(key string) bool {
	return slices.ContainsFunc(s.Point, func(a Axis) bool { return a.Key == key })
}

func (s *Spec) Share(worker, of int) workload.Share {
	return workload.Share{Worker: worker, Of: of, RowConcurrency: s.EffectiveLoad().Concurrency, Seed: s.planSeed()}
}

// CannotShare is why several workers can't send the point together, and a hint; both empty: they can.
func (s *Spec) CannotShare() (problem, hint string) {
	switch {
	case s.Tile != nil:
		return "workload = \"tiling\" sends its blocks in one order, which several workers do not keep", "run this row without --workers"
	case s.IsColdStart():
		return `kind = "cold_start" sends one request at a time to an idle server`, "run this row without --workers"
	case s.Warmup.Requests > 0 && s.Duration > 0 && (s.Closed() || s.HasConversations()):
		return "the warm-up counts requests, so that each worker would end it at another moment", `write warmup as a time: warmup = "10s"`
	}
	return "", ""
}

// MinConnections is the number of connections that the point certainly has open at the same time.
func (s *Spec) MinConnections() int {
	switch {
	case s.Closed():
		return s.Concurrency
	case !s.Rate.IsInf():
		return s.ConnectionsToOpen()
	case s.Concurrency > 0:
		return min(s.Concurrency, s.Requests)
	}
	return s.Requests
}

// ConnectionsToOpen is the number of connections to open before the first request: one for each request that
// can be in flight under a concurrency or all at once, else as the rate suggests. 0 for a point whose requests
// open their own.
func (s *Spec) ConnectionsToOpen() int {
	all := math.MaxInt
	if s.Concurrency > 0 {
		all = s.Concurrency
	}
	switch {
	case s.ConnectsPerRequest():
		return 0
	case s.Closed():
		return all
	case s.Rate.IsInf():
		return min(all, s.Warmup.Requests+s.Requests)
	}
	return min(all, connectionsOfRate(float64(s.Rate), all < math.MaxInt))
}

// connectionsOfRate is the number for an open loop: the arrivals of two seconds, but at most 1,024, or a quarter
// second's if more; under a cap at least 256.
func connectionsOfRate(rate float64, capped bool) int {
	const many, slow = 1024, 256
	ahead := min(math.Ceil(2*rate)+8, many)
	if capped {
		ahead = max(ahead, slow)
	}
	return int(max(ahead, math.Ceil(rate/4)))
}

type Route struct {
	Endpoint string // of the class; empty = the target's, with all of its replicas
	Model    string // of the class; empty = the target's, or the one of the class's endpoint
	API      string
}

func (s *Spec) RouteOf(c *workload.Class, t Target) Route {
	return Route{Endpoint: c.Endpoint, Model: c.Model, API: cmp.Or(c.API, s.APIFor(t))}
}

func Routes(specs []Spec, t Target) (out []Route) {
	for i := range specs {
		for _, c := range specs[i].Classes() {
			if r := specs[i].RouteOf(&c, t); !slices.Contains(out, r) {
				out = append(out, r)
			}
		}
	}
	return out
}

// APIs lists the APIs of the target that a set of points uses; at least one.
func APIs(specs []Spec, t Target) []string {
	var out []string
	for _, r := range Routes(specs, t) {
		if r.Endpoint == "" && !slices.Contains(out, r.API) {
			out = append(out, r.API)
		}
	}
	if len(out) == 0 && len(specs) > 0 {
		out = append(out, specs[0].APIFor(t))
	}
	return out
}
