package size

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/twin"
)

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

// Recorded fits a twin to recorded requests of one server, and predicts the second half of them by the first.
func (s *Server) Recorded(row *record.Row, records []*record.Record) error {
	records = slices.DeleteFunc(slices.Clone(records), func(x *record.Record) bool { return x.Arrival.IsZero() })
	windows := windowsOf(row, records)
	if len(windows) < 4 {
		return fmt.Errorf("no twin: the recording has %d requests: a twin and its backtest take %d", len(records),
			4*recordedLeast)
	}
	half := len(windows) / 2
	first, err := series.TwinOfTrials(windows[:half], &row.Spec, nil)
	if err == nil {
		s.tested, err = backtest(first, windows, half)
	}
	if err == nil {
		s.twin, err = series.TwinOfTrials(windows, &row.Spec, recordedSource(windows))
	}
	if err != nil {
		return fmt.Errorf("no twin: %w", err)
	}
	s.spec, s.Limits, s.Traffic = row.Spec, s.twin.Limits(), s.twin.Traffic()
	s.Rate = float64(len(records)) / max(1, secondsBetween(records[0], records[len(records)-1]))
	s.Hours = hourly(records)
	return nil
}

func secondsBetween(a, b *record.Record) float64 { return float64(b.Arrival.Us()-a.Arrival.Us()) / 1e6 }

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
		t, _ := series.TrialOf(row, records[begin:to])
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

func backtest(t *series.Twin, windows []twin.Trial, half int) (*Backtest, error) {
	limits, names := series.PercentileLimits("p50", "p95")
	b := &Backtest{Fitted: half, Tested: len(windows) - half, Least: math.Inf(1)}
	for _, w := range windows {
		b.Least, b.Most = min(b.Least, w.Load), max(b.Most, w.Load)
	}
	var misses []float64
	covered, model := 0.0, t.Model()
	for i, all := range model.Foresee(windows[:half], windows[half:], limits) {
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

// recordedSource repeats the arrivals and lengths of the windows, one after the other, of which the order of the
// lengths is new each time.
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
