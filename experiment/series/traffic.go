package series

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/twin"
)

// Traffic is what a fleet is to serve: requests at any rate, and their mean lengths.
type Traffic struct {
	Source         twin.Source
	Prompt, Output float64 // tokens, mean
	Cached         float64 // of the prompt
}

// TrafficOf is the traffic of an open row that can be planned: synthetic lengths, with no conversations.
func TrafficOf(s *experiment.Spec) (Traffic, error) {
	if why := untwinned(s); why != "" && !s.Closed() {
		return Traffic{}, errors.New("cannot be sized: it has " + why)
	}
	if w := s.Workload; fromFiles(&w) {
		return Traffic{}, errors.New("cannot be sized: no server has counted the tokens of its file: measure it, " +
			"then size the run")
	}
	open := *s
	open.Stop, open.Concurrency = "forced", 0
	if !open.Open() {
		open.Rate = 1
	}
	return newTraffic(sourceOf(&open, nil)), nil
}

func newTraffic(source twin.Source) Traffic {
	t := Traffic{Source: source}
	all := source(1, twin.Fine)
	n := float64(len(all))
	for i := range all {
		t.Prompt += float64(all[i].Prompt) / n
		t.Output += float64(all[i].Output) / n
		t.Cached += float64(all[i].Cached) / n
	}
	return t
}

// Traffic is that of the rows that the twin was fitted to.
func (t *Twin) Traffic() Traffic { return newTraffic(t.source) }

// Each yields the rows that the twin was fitted to, as it sees them.
func (t *Twin) Each(yield func(*record.Row, *twin.Trial) bool) {
	for i := range t.trials {
		if !yield(t.rows[i], &t.trials[i]) {
			return
		}
	}
}

// Model is the fitted model, and Limits are what it was asked for.
func (t *Twin) Model() twin.Model { return t.model }

func (t *Twin) Limits() []twin.Limit { return t.limits }

// Carries is the highest rate of one of a fleet's replicas, and Rejected or Outside if the rows do not bear it out.
// other is traffic that the rows did not have; nil = theirs.
func (t *Twin) Carries(fleet twin.Fleet, other *Traffic) (o twin.Operating, err error) {
	own := *t
	if other != nil {
		mine := t.Traffic()
		if own.changed, err = changed(&mine, other); err != nil {
			return o, err
		}
		own.source = other.Source
	}
	own.trials = t.asRates()
	least, most := own.around(&experiment.Search{Max: math.Inf(1)})
	return own.model.Operating(own.trials, twin.Question{Limits: own.limits, Min: least, Max: most, Source: own.source,
		Requests: twin.Fine, Changed: own.changed, Fleet: fleet}), nil
}

// Between are the rates that the measured figures alone bound: the highest within the limits, and the lowest that
// exceeds one; 0 and +Inf: none does.
func (t *Twin) Between() (within, beyond float64) {
	trials := t.asRates()
	limits := map[float64]map[int]bool{} // seen at a rate
	beyond = math.Inf(1)
	for i, residuals := range t.model.Residuals(trials, t.limits...) {
		for _, r := range residuals {
			if limits[r.Load] == nil {
				limits[r.Load] = map[int]bool{}
			}
			if limits[r.Load][i] = true; r.Measured > t.limits[i].Value {
				beyond = min(beyond, r.Load)
			}
		}
	}
	for rate, seen := range limits {
		if len(seen) == len(t.limits) && rate < beyond {
			within = max(within, rate)
		}
	}
	return within, beyond
}

// changed is the error of the step times for other lengths than the measured ones.
func changed(measured, other *Traffic) (float64, error) {
	const longer = 2
	in, out := math.Log(other.Prompt/measured.Prompt), math.Log(other.Output/measured.Output)
	if max(math.Abs(in), math.Abs(out)) > math.Log(longer) {
		return 0, fmt.Errorf("the traffic has %.0f prompt and %.0f output tokens on average, the measured rows %.0f "+
			"and %.0f: more than a factor of %d apart",
			other.Prompt, other.Output, measured.Prompt, measured.Output, longer)
	}
	return unknownLengths * math.Hypot(math.Hypot(in, out), other.Cached/other.Prompt-measured.Cached/measured.Prompt),
		nil
}

// asRates are the trials at the rates that they had: those of a closed loop are what it completed.
func (t *Twin) asRates() []twin.Trial {
	out := slices.Clone(t.trials)
	for i := range out {
		if x := &out[i]; x.Workers > 0 {
			x.Load = completedPerS(x.Requests)
		}
	}
	return out
}

func completedPerS(requests []twin.Request) float64 {
	first, last, n := math.Inf(1), 0.0, 0.0
	for _, r := range requests {
		if r.Window && !r.Failed {
			first, last, n = min(first, r.Last), max(last, r.Last), n+1
		}
	}
	if n < 2 || last <= first {
		return 1e-9
	}
	return (n - 1) / (last - first)
}

// Recorded is a twin of a server whose traffic was recorded, and what the recording shows of its predictions.
type Recorded struct {
	*Twin
	Rate     float64   // requests/s, mean
	Rates    []float64 // of its hours; nil = it is shorter than two
	Backtest Backtest
}

// Backtest is the rest of a recording predicted from its first half.
type Backtest struct {
	Fitted  int             `json:"fitted_windows"`
	Tested  int             `json:"tested_windows"`
	Points  []BacktestPoint `json:"points"`
	Error   float64         `json:"median_error"` // of a figure, as a share
	Covered float64         `json:"covered"`      // share of the figures within their interval of 95 %
	// least and most rate of a window
	Least float64 `json:"least_rate"`
	Most  float64 `json:"most_rate"`
}

// BacktestPoint is one figure of a window that the twin was not fitted to.
type BacktestPoint struct {
	Metric   string  `json:"metric"`
	Load     float64 `json:"rate"`
	Measured float64 `json:"measured_ms"`
	Ms       float64 `json:"predicted_ms"`
	Low      float64 `json:"low_ms"`
	High     float64 `json:"high_ms"`
}

const (
	recordedWindows = 24   // at most, of all of a recording
	recordedLeast   = 100  // requests of a window
	recordedMost    = 1500 // of a longer one only the first
)

// TwinOfRecording fits a twin to recorded requests of one server, in order of arrival.
func TwinOfRecording(row *record.Row, records []*record.Record) (*Recorded, error) {
	records = slices.DeleteFunc(slices.Clone(records), func(x *record.Record) bool { return x.Arrival.IsZero() })
	windows := windowsOf(row, records)
	if len(windows) < 4 {
		return nil, fmt.Errorf("the recording has %d requests: a twin and its backtest take %d", len(records),
			4*recordedLeast)
	}
	r := &Recorded{}
	half := len(windows) / 2
	first, err := twinOfTrials(windows[:half], &row.Spec)
	if err != nil {
		return nil, err
	}
	if r.Backtest, err = backtest(first, windows, half); err != nil {
		return nil, err
	}
	if r.Twin, err = twinOfTrials(windows, &row.Spec); err != nil {
		return nil, err
	}
	r.source = recordedSource(windows)
	r.Rate = float64(len(records)) / max(1, secondsBetween(records[0], records[len(records)-1]))
	r.Rates = hourly(records)
	return r, nil
}

func secondsBetween(a, b *record.Record) float64 { return float64(b.Arrival.Us()-a.Arrival.Us()) / 1e6 }

func twinOfTrials(trials []twin.Trial, spec *experiment.Spec) (*Twin, error) {
	t := &Twin{trials: trials}
	if err := t.Limit(spec); err != nil {
		return nil, err
	}
	var err error
	t.model, err = twin.Fit(trials, 0)
	return t, err
}

// windowsOf are parts of equal numbers of requests, each with the requests before it that fill the server.
func windowsOf(row *record.Row, records []*record.Record) (out []twin.Trial) {
	n := min(recordedWindows, len(records)/recordedLeast)
	for i := range n {
		from, to := i*len(records)/n, (i+1)*len(records)/n
		to = min(to, from+recordedMost)
		longest := int64(0) // of those before
		begin := from
		for ; begin > 0 && from-begin < recordedMost; begin-- {
			x := records[begin-1]
			longest = max(longest, x.Last.Us()-x.Arrival.Us())
			if x.Arrival.Us() < records[from].Arrival.Us()-2*longest {
				break
			}
		}
		t, _ := TrialOf(row, records[begin:to])
		for k := range t.Requests {
			t.Requests[k].Window = k >= from-begin
		}
		if took := secondsBetween(records[from], records[to-1]); took > 0 && len(t.Requests) == to-begin {
			t.Load, t.Workers = float64(to-from-1)/took, 0
			out = append(out, t)
		}
	}
	return out
}

func backtest(t *Twin, windows []twin.Trial, half int) (Backtest, error) {
	var limits []twin.Limit
	var names []string
	for _, metric := range []string{"ttft", "tpot", "e2e"} {
		for _, p := range []float64{0.5, 0.95} {
			limits = append(limits, twin.Limit{Metric: metric, P: p, Value: 1})
			names = append(names, fmt.Sprintf("%s_p%.0f", metric, 100*p))
		}
	}
	b := Backtest{Fitted: half, Tested: len(windows) - half, Least: math.Inf(1)}
	for _, w := range windows {
		b.Least, b.Most = min(b.Least, w.Load), max(b.Most, w.Load)
	}
	var misses []float64
	covered := 0.0
	for i, all := range t.model.Foresee(windows[:half], windows[half:], limits) {
		for _, f := range all {
			b.Points = append(b.Points, BacktestPoint{Metric: names[i], Load: f.Load, Measured: 1000 * f.Measured,
				Ms: 1000 * f.Value, Low: 1000 * f.Low, High: 1000 * f.High})
			misses = append(misses, math.Abs(f.Value/f.Measured-1))
			if f.Low <= f.Measured && f.Measured <= f.High {
				covered++
			}
		}
	}
	if len(misses) == 0 {
		return b, errors.New("no window of the recording's second half has enough requests for a backtest")
	}
	slices.Sort(misses)
	b.Error, b.Covered = misses[len(misses)/2], covered/float64(len(misses))
	return b, nil
}

// recordedSource repeats the arrivals and lengths of the windows, one after the other, of which the order of the lengths
// is new each time.
func recordedSource(windows []twin.Trial) twin.Source {
	const settling = 800
	var all []twin.Request
	span := 0.0
	for _, w := range windows {
		begin := math.NaN()
		for _, r := range w.Requests {
			if !r.Window {
				continue
			}
			if math.IsNaN(begin) {
				begin = r.Arrival - 1/w.Load - span
			}
			r.Arrival -= begin
			all = append(all, r)
		}
		span = all[len(all)-1].Arrival
	}
	rate := float64(len(all)) / span
	rng := rand.New(rand.NewPCG(uint64(len(all)), twin.Fine))
	var out []twin.Request
	for round := 0; len(out) < twin.Fine; round++ {
		order := rng.Perm(len(all))
		for i := range all {
			like := &all[order[i]]
			if round == 0 {
				like = &all[i]
			}
			out = append(out, twin.Request{Arrival: (all[i].Arrival + float64(round)*span) * rate,
				Prompt: like.Prompt, Cached: like.Cached, Output: max(1, like.Output), Steps: len(like.Events),
				Group: like.Group, Window: len(out) >= settling})
		}
	}
	return func(load float64, n int) []twin.Request {
		served := slices.Clone(out[:n])
		for i := range served {
			served[i].Arrival /= load
		}
		return served
	}
}

// hourly are the rates of a recording's hours; nil = it has fewer than two, or more than a month.
func hourly(records []*record.Record) []float64 {
	const hour, most = 3600, 31 * 24
	n := secondsBetween(records[0], records[len(records)-1]) / hour
	if !(n >= 2 && n <= most) {
		return nil
	}
	out := make([]float64, int(n))
	for _, x := range records {
		if i := int(secondsBetween(records[0], x) / hour); i >= 0 && i < len(out) {
			out[i] += 1.0 / hour
		}
	}
	return out
}
