package verdict

import (
	"cmp"
	"iter"
	"slices"

	"bench/experiment"
	"bench/experiment/check"
	"bench/experiment/record"
	"bench/experiment/stats"
	"bench/experiment/workload"
)

type Measured struct {
	*record.Row
	Records []*record.Record

	stored  *record.Row         // its figures stay; nil: they are derived
	effects []check.Effect      // of the findings
	seen    map[sight]*observed // nil: what is observed for one limit is not kept for others
}

// Conclude derives everything else in the row from the records. Reuse is not derived, since the plan of a stored row
// can't always be made again.
func (e *Measured) Conclude(t experiment.Target, b record.RooflineSource) {
	e.summarize(t)
	if e.stored == nil {
		e.derive(t, b)
	}
	e.Energy, _ = check.EnergyOver(e.Row, &e.Summary, t.GPUs)
	e.effects = check.Run(e.Row, e.Records, t.GPUs)
	e.SLO = e.judge(t)
	e.nameLimits()
	e.Cost, e.NoCost = costOf(e.Row, t)
}

func (e *Measured) summarize(t experiment.Target) {
	stored, mode := e.stored, record.ModeOf(&e.Spec)
	of := func(was record.Summary, records []*record.Record, slo experiment.SLO) record.Summary {
		if stored == nil {
			return record.Summarize(records, e.Window, mode, slo.PerRequest(), t.GPUs)
		}
		was.Goodput = record.GoodputOf(records, e.Window, mode.Streams, slo.PerRequest()).Within(was.Throughput)
		return was
	}
	was := cmp.Or(stored, &record.Row{})
	e.Summary = of(was.Summary, e.Records, e.Spec.SLO)
	for _, c := range e.Spec.Mix {
		if e.Classes == nil {
			e.Classes = map[string]record.Summary{}
		}
		own := filter(e.Records, func(r *record.Record) bool { return r.Class == c.Name })
		e.Classes[c.Name] = of(was.Classes[c.Name], own, e.Spec.ClassSLO(c))
	}
	by := func(name func(*record.Record) string, was map[string]record.Summary) map[string]record.Summary {
		return record.SummarizeBy(e.Records, name, func(name string, own []*record.Record) record.Summary {
			return of(was[name], own, e.Spec.SLO)
		})
	}
	e.Models = by(func(r *record.Record) string { return r.Model }, was.Models)
	if e.Observed && len(e.Models) == 1 { // every request of a recording names its model
		e.Models = nil
	}
	e.Replicas = by(e.replicaOf, was.Replicas)
	e.Categories = by(func(r *record.Record) string { return r.Category }, was.Categories)
	e.Summary.Goodput = e.classGoodput()
}

func (e *Measured) derive(t experiment.Target, b record.RooflineSource) {
	e.Service = record.ServiceOf(e.Records, e.Window, &e.Spec)
	e.Lengths = record.LengthsOf(e.Records)
	e.TTFTSplit = record.SplitTTFT(e.Records, e.Server.Metrics)
	e.Rotations = nil
	if e.Spec.Tile != nil {
		e.Rotations = record.CompareRotations(e.Records, e.Spec.Tile.Contexts)
	}
	e.Sessions = record.SessionsOf(e.Records, e.Spec.ReplaysSessions())
	e.Prompts = record.PromptsOf(e.Records, e.Server.BlockTokens())
	e.Speculation = record.SpeculationOf(&e.Summary, e.Server.Metrics)
	var seen record.Decoding
	if b.Missing() == "" {
		seen = record.ObserveDecoding(e.Records, e.Window).Speculated(e.Speculation)
	}
	engine := ""
	if m := e.Server.Metrics; m != nil {
		engine = m.Engine
	}
	e.Roofline, e.NoRoofline = b.Of(&e.Summary, seen, t, engine)
	e.Little = record.LittlesLaw(e.Records, e.Window)
	e.Selftest = e.Selftest.For(check.ClientLoad(&e.Summary))
	e.Failure = record.FirstFailure(e.Records)
}

func (e *Measured) replicaOf(r *record.Record) string {
	if r.Endpoint == nil || *r.Endpoint < 0 || *r.Endpoint >= len(e.Server.Replicas) {
		return ""
	}
	return e.Server.Replicas[*r.Endpoint].Endpoint
}

func (e *Measured) judge(t experiment.Target) []record.Verdict {
	window := e.judgedWindow()
	out := []record.Verdict{}
	for _, q := range questions(&e.Spec) {
		if q.class == "" && len(e.Records) > 0 && !slices.ContainsFunc(e.Records, q.about) {
			continue // every class has a limit of its own in place of this one
		}
		s := e.Summary
		if q.class != "" {
			s = e.Classes[q.class]
		}
		out = append(out, e.judgeLimit(q, window, &s, t))
	}
	return out
}

func (e *Measured) judgedWindow() []*record.Record {
	window := record.WindowByArrival(e.Records)
	if EndsEarly(&e.Spec) { // as SequentialTest
		slices.SortFunc(window, func(a, b *record.Record) int { return cmp.Compare(a.I, b.I) })
	}
	return window
}

func filter(records []*record.Record, keep func(*record.Record) bool) []*record.Record {
	return slices.DeleteFunc(slices.Clone(records), func(r *record.Record) bool { return !keep(r) })
}

type question struct {
	limit experiment.Limit
	class string // empty: the row, without classes that have their own limit for the key
	about func(*record.Record) bool
}

func questions(s *experiment.Spec) []question {
	var out []question
	for _, l := range s.SLO.Limits {
		out = append(out, question{l, "", func(r *record.Record) bool { return !s.ClassOverrides(r.Class, l.Key) }})
	}
	for _, c := range s.Mix {
		if len(c.SLO) == 0 {
			continue
		}
		for _, l := range s.ClassSLO(c).Limits {
			out = append(out, question{l, c.Name, func(r *record.Record) bool { return r.Class == c.Name }})
		}
	}
	return out
}

func (e *Measured) classGoodput() *record.Goodput {
	if !slices.ContainsFunc(e.Spec.Mix, func(c workload.Class) bool { return len(c.SLO) > 0 }) {
		return e.Summary.Goodput
	}
	var sum *record.Goodput
	good := 0.0 // requests
	for _, c := range e.Spec.Mix {
		g := e.Classes[c.Name].Goodput
		if g == nil {
			continue
		}
		if sum == nil {
			sum = &record.Goodput{}
		}
		of := e.Classes[c.Name].Requests
		good += g.Share * float64(of.Stayed())
		sum.RequestsPerS += g.RequestsPerS
		sum.OutputTokensPerS += g.OutputTokensPerS
		for _, l := range g.Limits {
			sum.Limits = append(sum.Limits, c.Name+": "+l)
		}
	}
	if n := e.Summary.Requests.Stayed(); sum != nil && n > 0 {
		sum.Share = good / float64(n)
	}
	return sum
}

// Longer reports whether a repeat is so much longer than another one that it decides what that left open. Requests
// alone do not show it: in a closed loop a slow server has fewer of them.
func Longer(r, other *record.Row) bool {
	if r.Spec.Added != other.Spec.Added {
		return r.Spec.Added > other.Spec.Added
	}
	times := 1.5
	if r.Spec.Search != nil { // it probes a load again for a verdict
		times = 1.2
	}
	return r.Summary.DurationS >= times*other.Summary.DurationS &&
		float64(r.Summary.Requests.Planned) >= times*float64(other.Summary.Requests.Planned) && r.Summary.DurationS > 0
}

// OfRows is the verdict over several rows: FAIL before UNDECIDED before PASS; empty without an SLO. A longer repeat
// decides what a repeat left UNDECIDED.
func OfRows(rows ...*record.Row) (v stats.Verdict, need int) {
	opened := false // by a finding, which more requests do not take away
	for c := range standing(rows) {
		need, opened = max(need, c.Need), opened || len(c.OpenedBy) > 0
		switch {
		case c.Verdict == stats.Fail || v == stats.Fail:
			v = stats.Fail
		case c.Verdict != stats.Pass || v == stats.Undecided: // an unknown word is no PASS
			v = stats.Undecided
		default:
			v = stats.Pass
		}
	}
	if v != stats.Undecided || opened {
		need = 0
	}
	return v, need
}

func standing(rows []*record.Row) iter.Seq[record.Verdict] {
	return func(yield func(record.Verdict) bool) {
		for _, r := range rows {
			for _, c := range r.SLO {
				answered := c.Verdict == stats.Undecided && slices.ContainsFunc(rows, func(o *record.Row) bool {
					return Longer(o, r) && slices.ContainsFunc(o.SLO, func(x record.Verdict) bool {
						return x.Metric == c.Metric && x.Class == c.Class
					})
				})
				if !answered && !yield(c) {
					return
				}
			}
		}
	}
}

// Again concludes a stored row again from its records; what these do not show is the stored row's.
func Again(stored *record.Row, records []*record.Record, t experiment.Target, b record.RooflineSource) *record.Row {
	row := *stored
	e := Measured{Row: &row, Records: records}
	if e.Reuse == nil { // the rules for counters have changed
		e.Reuse = check.CompareReuse(e.Row, e.Records)
	}
	return e.again(stored, t, b)
}

// UnderLimits concludes a stored row again under other limits, those of its spec now: figures but goodput stay.
func UnderLimits(stored *record.Row, records []*record.Record, t experiment.Target) *record.Row {
	row := *stored
	e := Measured{Row: &row, Records: records, stored: stored}
	return e.again(stored, t, record.RooflineSource{})
}

// Unjudged leaves every limit of a row UNDECIDED: its requests, by which they would be judged, are not there.
func Unjudged(r *record.Row, why string) {
	r.SLO = []record.Verdict{}
	for _, q := range questions(&r.Spec) {
		r.SLO = append(r.SLO, record.Verdict{Metric: q.limit.Key, Class: q.class, Limit: q.limit.Value,
			Unit: q.limit.Unit, Verdict: stats.Undecided, Why: why})
	}
}

func (e *Measured) again(stored *record.Row, t experiment.Target, b record.RooflineSource) *record.Row {
	e.Classes = nil // Conclude fills the map
	e.Conclude(t, b)
	if !stored.Observed {
		return e.Row
	}
	again := slices.Clone(e.Findings)
	for _, f := range stored.Findings { // what the recorder of live traffic found, which no request shows
		if !check.IsCode(f.Code) && !slices.ContainsFunc(again,
			func(x record.Finding) bool { return x.Code == f.Code }) {
			e.Findings = append(e.Findings, f)
		}
	}
	record.SortFindings(e.Findings)
	return e.Row
}

// NoPrice is the reason of a row without a price. It holds for every row of a run.
const NoPrice = "price not specified: write gpus and gpu_hour_usd in [target]"

func costOf(r *record.Row, t experiment.Target) (*record.Cost, string) {
	verdict, _ := OfRows(r)
	usd, ok := costPerMillion(&r.Summary, t)
	switch {
	case !t.Priced():
		return nil, NoPrice
	case verdict == stats.Fail: // what is open a twin or a longer repeat can decide
		return nil, "the SLO is not met: FAIL"
	case !ok:
		return nil, "no output token in the window"
	}
	c := &record.Cost{HourUSD: hourUSD(t), USDPerMillion: usd}
	if c.HourUSD > 0 {
		c.TokensPerUSD = 3600 * r.Summary.Throughput.OutputTokensPerS / c.HourUSD
	}
	return c, ""
}

// hourUSD is the price of all GPUs for an hour; t must be priced.
func hourUSD(t experiment.Target) float64 { return *t.GPUHourUSD * float64(t.GPUs) }

func costPerMillion(s *record.Summary, t experiment.Target) (usd float64, ok bool) {
	if !t.Priced() || s.Throughput.OutputTokensPerS <= 0 {
		return 0, false
	}
	return hourUSD(t) / 3600 / s.Throughput.OutputTokensPerS * 1e6, true
}
