package series

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"sync"

	"bench/experiment"
	"bench/experiment/metric"
	"bench/experiment/record"
	"bench/experiment/twin"
)

type Requests func(*record.Row) ([]*record.Record, error)

// Twin is the model of the server behind the rows of one workload, fitted to their requests.
type Twin struct {
	model  twin.Model
	trials []twin.Trial
	rows   []*record.Row // of each trial
	limits []twin.Limit
	keys   []string // of each limit
	source twin.Source
	// arrivals are those of source, or of an open loop in place of a closed one
	arrivals twin.Source
	search   *experiment.Search // that it was asked for
	answer   twin.Operating

	slots int // requests that the server reports to run at most; 0 = not known

	fleet   twin.Fleet // that is asked for its latencies; zero = the server alone
	changed float64    // error of the step times for other requests than the rows', as a share

	disturbed []record.Disturbed // rows that it leaves out
	known     []record.TwinPoint // of its curve, from before
	full      float64            // lowest load whose row preempts, and is left out, too; 0 = none
}

func (s *Series) Rows() (rows []*record.Row) {
	for i := range s.Points {
		rows = append(rows, s.Points[i].Rows...)
	}
	return rows
}

// FitTwin fits a model to rows that differ in their load alone. The error says why these rows have none. slots is
// record.Manifest.Slots. known is what this program fitted to them under other limits; nil: nothing.
func FitTwin(rows []*record.Row, slots int, read Requests, known *record.Twin) (*Twin, error) {
	if len(rows) > 0 {
		if err := Twinned(&rows[0].Spec); err != nil {
			return nil, err
		}
	}
	return FitServer(rows, slots, read, known)
}

// FitServer is FitTwin for rows of any SLO, also of none: the twin cannot be asked for its operating point then.
func FitServer(rows []*record.Row, slots int, read Requests, known *record.Twin) (*Twin, error) {
	if len(rows) == 0 {
		return nil, errors.New("no row has requests")
	}
	// a search has them in the order of its probes
	rows = slices.SortedStableFunc(slices.Values(rows), func(a, b *record.Row) int {
		x, y := &a.Spec, &b.Spec
		return cmp.Or(cmp.Compare(x.Rate, y.Rate), cmp.Compare(x.Concurrency, y.Concurrency),
			cmp.Compare(x.Repeat, y.Repeat))
	})
	spec := &rows[0].Spec
	if why := untwinned(spec); why != "" {
		return nil, errors.New("not modeled: " + why)
	}
	t := &Twin{slots: slots}
	if spec.Variant != "" { // the slots are those of one of its servers
		t.slots = 0
	}
	t.limits, t.keys, _ = LatencyLimits(spec)
	room, invalid := int64(mostRecords), ""
	for _, r := range rows {
		size := r.RecordBytes()
		if why := disturbed(r); size > room || why != "" || untwinned(&r.Spec) != "" {
			invalid = cmp.Or(invalid, why)
			continue
		}
		if preempts(r) {
			if load := loadOf(&r.Spec); t.full == 0 || load < t.full {
				t.full = load
			}
			invalid = cmp.Or(invalid, preempted)
			continue
		}
		room -= size
		records, err := read(r)
		if err != nil {
			return nil, err
		}
		if trial, ok := TrialOf(r, records); ok {
			t.trials, t.rows = append(t.trials, trial), append(t.rows, r)
		}
	}
	if len(t.trials) == 0 {
		return nil, errors.New(cmp.Or(invalid, "no row has requests"))
	}
	if !t.recall(known) {
		var err error
		if t.model, err = twin.Fit(t.trials, t.slots); err != nil {
			return nil, err
		}
		t.leaveOutDisturbed()
	}
	t.source = sourceOf(spec, t.trials)
	if t.arrivals = t.source; spec.Closed() {
		open := sync.OnceValue(func() twin.Source { return sourceOf(opened(spec), t.trials) }) // few ask for it
		t.arrivals = func(load float64, n int) []twin.Request { return open()(load, n) }
	}
	return t, nil
}

// recall takes the model of a twin that this program fitted, and leaves out the same rows. It reports whether that was
// to these requests: the model has its residuals then.
func (t *Twin) recall(known *record.Twin) bool {
	if known == nil || len(known.Residuals) == 0 {
		return false
	}
	was := Twin{model: known.Model}
	for i, r := range t.rows {
		if !slices.ContainsFunc(known.Disturbed, func(d record.Disturbed) bool { return d.Row == r.ID }) {
			was.trials, was.rows = append(was.trials, t.trials[i]), append(was.rows, r)
		}
	}
	for _, r := range known.Residuals {
		if name, stat := metric.Cut(r.Metric); !slices.Contains(was.keys, r.Metric) {
			p, _ := stat.P()
			was.limits, was.keys = append(was.limits, twin.Limit{Metric: name, P: p}), append(was.keys, r.Metric)
		}
	}
	if !slices.Equal(was.residuals(), known.Residuals) {
		return false
	}
	t.model, t.trials, t.rows, t.disturbed, t.known = was.model, was.trials, was.rows, known.Disturbed, known.Curve
	return true
}

const preempted = "requests are preempted, as the KV cache is full"

// preempts reports whether a server computed requests again for want of KV cache, which no twin does.
func preempts(r *record.Row) bool {
	const share, fewest = 0.02, 3 // of the completed requests; fewer are chance
	m := r.Server.Metrics
	return m != nil && m.Preemptions != nil &&
		*m.Preemptions >= max(fewest, share*float64(r.Summary.Requests.Completed))
}

// Twinned is why rows have no twin, whatever they show; nil: they can have one.
func Twinned(s *experiment.Spec) error {
	if why := untwinned(s); why != "" {
		return errors.New("not modeled: " + why)
	}
	_, _, err := LatencyLimits(s)
	return err
}

// mostRecords bounds the memory for the requests of rows: others are left out.
const mostRecords = 512 << 20 // bytes

// leaveOutDisturbed leaves out rows that were far slower than the others' twin makes them, though one at a higher load
// was not: that is no property of the server at that load.
func (t *Twin) leaveOutDisturbed() {
	const fewest, far, deviations = 3, math.Ln2, 6
	for most := len(t.trials) / 4; len(t.trials) > fewest && len(t.disturbed) < max(1, most); {
		worst, slowest := -1, record.Disturbed{}
		least, own := far, t.model
		for i := range t.trials {
			above := func(x twin.Trial) bool { return x.Load > t.trials[i].Load }
			if t.slower(&t.model, i).log < far/2 || !slices.ContainsFunc(t.trials, above) {
				continue
			}
			m, err := twin.Fit(slices.Delete(slices.Clone(t.trials), i, i+1), t.slots)
			if err != nil {
				continue
			}
			rest := 0.0
			for j := range t.trials {
				if j != i && !t.trials[j].Cut {
					rest = max(rest, t.slower(&m, j).log)
				}
			}
			x := t.slower(&m, i)
			if limit := max(least, 3*rest, deviations*x.err); x.log > limit {
				least, worst, own, slowest = x.log, i, m, x.Disturbed
			}
		}
		if worst < 0 {
			return
		}
		t.disturbed = append(t.disturbed, slowest)
		t.trials, t.rows = slices.Delete(t.trials, worst, worst+1), slices.Delete(t.rows, worst, worst+1)
		t.model = own
	}
}

type slowness struct {
	record.Disturbed
	log, err float64
}

// slower is by how much the median of a trial is above that of its twin: of TTFT or TPOT, the larger.
func (t *Twin) slower(m *twin.Model, i int) (worst slowness) {
	medians, _ := PercentileLimits("p50")
	for j, all := range m.Residuals(t.trials[i:i+1], medians[:2]...) {
		for _, r := range all {
			if r.Log > worst.log {
				worst = slowness{record.Disturbed{Row: t.rows[i].ID, Metric: medians[j].Metric, Ms: 1000 * r.Measured,
					TwinMs: 1000 * r.Twin}, r.Log, r.Error}
			}
		}
	}
	return worst
}

func (t *Twin) Limit(s *experiment.Spec) (err error) {
	t.limits, t.keys, err = LatencyLimits(s)
	return err
}

// LatencyLimits are the limits of latencies, with their keys. The twin knows no failures, so an error rate is no limit
// of its own; and no class apart from others.
func LatencyLimits(s *experiment.Spec) (limits []twin.Limit, keys []string, err error) {
	for _, c := range s.Mix {
		if len(c.SLO) > 0 {
			return nil, nil, errors.New("not modeled: classes with limits of their own")
		}
	}
	for _, l := range s.SLO.Limits {
		if l.EasierByLoad() {
			continue
		}
		p := 0.0
		if l.Stat != "mean" {
			p, _ = l.P()
		}
		switch l.Metric {
		case "ttft", "tpot", "e2e":
			limits = append(limits, twin.Limit{Metric: l.Metric, P: p, Value: l.Value / 1000})
			keys = append(keys, l.Key)
		case "error_rate":
		default:
			return nil, nil, errors.New("not modeled: " + l.Key)
		}
	}
	if len(limits) == 0 {
		return nil, nil, errors.New("no latency is limited")
	}
	return limits, keys, nil
}
