package page

import (
	"math"
	"slices"
	"strconv"

	"bench/experiment/metric"
	"bench/experiment/record"
	"bench/experiment/telemetry"
)

// panel is one part of a row's timeline: lines over the same bins. Its name is in panelNames.
type panel struct {
	unit       string
	start, bin float64 // s from the row's start; width of a bin
	lines      []binned
}

type binned struct {
	name   string
	values []float64
	nth    int // of the panel's lines, those without a value included
}

// clock divides a row into bins, in µs from its start.
type clock struct {
	start, end int64
	n          int
}

func (c clock) width() float64 { return float64(c.end-c.start) / float64(c.n) }

// at is the bin of a time; ok is false outside the row.
func (c clock) at(us int64) (int, bool) {
	if us < c.start || us >= c.end {
		return 0, false
	}
	return min(int(float64(us-c.start)/c.width()), c.n-1), true
}

func clockOf(records []*record.Record, bins int) (clock, bool) {
	c := clock{start: math.MaxInt64, end: math.MinInt64, n: bins}
	for _, r := range records {
		if us, ok := r.Arrival.Get(); ok {
			c.start, c.end = min(c.start, us), max(c.end, us+1)
		}
		if us, ok := r.End.Get(); ok {
			c.end = max(c.end, us+1)
		}
	}
	return c, c.end > c.start
}

func panelsOf(row *record.Row, records []*record.Record, samples []*record.Sample, bins int) []panel {
	c, ok := clockOf(records, bins)
	if !ok {
		return nil
	}
	panels := []panel{
		{lines: []binned{{name: "concurrency", values: c.inFlight(records)},
			{name: "running", values: c.gauge(samples, running)},
			{name: "waiting", values: c.gauge(samples, waiting)}}},
		{unit: "ms", lines: c.latencies(row, records)},
		{unit: "ms", lines: c.tokenTimes(row, records)},
		{lines: []binned{{name: "scheduled", values: c.perSecond(records,
			func(r *record.Record) record.Micros { return r.Arrival })},
			{name: "sent", values: c.perSecond(records, func(r *record.Record) record.Micros { return r.Sent })}}},
		{unit: "share", lines: []binned{{name: "KV cache in use", values: c.gauge(samples, kvUsage)}}},
		{lines: []binned{{name: "GPU power", values: c.gauge(samples, power)}}},
	}
	for i := range panels {
		p := &panels[i]
		p.start, p.bin = short(float64(c.start)/1e6), c.width()/1e6
		for j := range p.lines {
			p.lines[j].nth = j
		}
		p.lines = slices.DeleteFunc(p.lines, func(l binned) bool { return !slices.ContainsFunc(l.values, collected) })
	}
	return panels
}

func collected(x float64) bool { return !math.IsNaN(x) }

func (c clock) inFlight(records []*record.Record) []float64 {
	out := make([]float64, c.n)
	for _, r := range records {
		from, sent := r.Sent.Get()
		to, ended := r.End.Get()
		if !sent || !ended || to <= from {
			continue
		}
		a, b := float64(from-c.start)/c.width(), float64(to-c.start)/c.width()
		for i := max(0, int(a)); i < c.n && float64(i) < b; i++ {
			out[i] += math.Min(b, float64(i+1)) - math.Max(a, float64(i))
		}
	}
	return out
}

// latencies are median and maximum TTFT (E2E without streaming), and with reasoning the median TTFO.
func (c clock) latencies(row *record.Row, records []*record.Record) []binned {
	latency := "ttft"
	if !row.Spec.Streams() {
		latency = "e2e"
	}
	median, most := c.byArrival(row, records, latency)
	name := metric.Words(latency)
	out := []binned{{name: name + " median", values: median}, {name: name + " maximum", values: most}}
	if row.Summary.Reasoning != nil {
		answers, _ := c.byArrival(row, records, "ttfo")
		out = append(out, binned{name: "TTFO median", values: answers})
	}
	return out
}

// tokenTimes are the median TPOT by arrival, and the longest ITL that ended in the bin: a stall.
func (c clock) tokenTimes(row *record.Row, records []*record.Record) []binned {
	median, _ := c.byArrival(row, records, "tpot")
	longest := c.blank()
	for _, r := range records {
		us, _ := r.First.Get()
		for gap := range r.Gaps.All() {
			us += gap
			if i, inside := c.at(us); inside && !(longest[i] >= float64(gap)/record.UsPerMs) {
				longest[i] = float64(gap) / record.UsPerMs
			}
		}
	}
	return []binned{{name: "TPOT median", values: median}, {name: "ITL maximum", values: longest}}
}

func (c clock) byArrival(row *record.Row, records []*record.Record, metric string) (median, most []float64) {
	by := make([][]float64, c.n)
	for _, r := range records {
		us, _ := r.Arrival.Get()
		i, inside := c.at(us)
		if ms, ok := r.Latency(metric, row.Spec.Streams()); ok && inside && r.OK() {
			by[i] = append(by[i], ms)
		}
	}
	median, most = c.blank(), c.blank()
	for i, values := range by {
		if len(values) > 0 {
			slices.Sort(values)
			median[i], most[i] = values[len(values)/2], values[len(values)-1]
		}
	}
	return median, most
}

func (c clock) perSecond(records []*record.Record, of func(*record.Record) record.Micros) []float64 {
	out := make([]float64, c.n)
	for _, r := range records {
		us, ok := of(r).Get()
		if i, inside := c.at(us); ok && inside {
			out[i] += 1e6 / c.width()
		}
	}
	return out
}

func (c clock) blank() []float64 {
	out := make([]float64, c.n)
	for i := range out {
		out[i] = math.NaN()
	}
	return out
}

// gauge is the mean in each bin. A bin without a sample repeats the last one for up to two sampling intervals (planned,
// or the median distance of samples).
func (c clock) gauge(samples []*record.Sample, of func(*record.Sample) *float64) []float64 {
	out, counts := c.blank(), make([]float64, c.n)
	var times []int64            // of the samples, in order
	planned := map[int64]int64{} // intervals by the time of the sample
	for _, s := range samples {
		x := of(s)
		i, inside := c.at(s.TUs)
		if x == nil || !inside {
			continue
		}
		if counts[i]++; counts[i] == 1 {
			out[i] = 0
		}
		out[i] += (*x - out[i]) / counts[i]
		times = append(times, s.TUs)
		planned[s.TUs] = s.Next
	}
	slices.Sort(times)
	usual := medianStep(times)
	next := 0 // the first sample after the bin
	for i := range out {
		begin := float64(c.start) + float64(i)*c.width()
		for next < len(times) && float64(times[next]) < begin+c.width() {
			next++
		}
		if counts[i] > 0 || next == 0 || next == len(times) {
			continue
		}
		last := times[next-1]
		if begin-float64(last) < 2*max(usual, float64(planned[last])) {
			out[i] = out[i-1]
		}
	}
	return out
}

func medianStep(times []int64) float64 {
	var steps []int64
	for i := 1; i < len(times); i++ {
		steps = append(steps, times[i]-times[i-1])
	}
	if len(steps) == 0 {
		return 0
	}
	slices.Sort(steps)
	return float64(steps[len(steps)/2])
}

func fromServer(of func(*telemetry.ServerReading) *float64) func(*record.Sample) *float64 {
	return func(s *record.Sample) *float64 {
		if s.Server == nil {
			return nil
		}
		return of(s.Server)
	}
}

var (
	running = fromServer(func(r *telemetry.ServerReading) *float64 { return r.Running })
	waiting = fromServer(func(r *telemetry.ServerReading) *float64 { return r.Waiting })
	kvUsage = fromServer(func(r *telemetry.ServerReading) *float64 { return r.KVUsage })
)

func power(s *record.Sample) *float64 {
	var sum *float64
	for _, g := range s.GPUs {
		if g.PowerW != nil {
			if sum == nil {
				sum = new(float64)
			}
			*sum += *g.PowerW
		}
	}
	return sum
}

// short rounds to four significant digits, one more than is shown, to keep the page small.
func short(x float64) float64 {
	y, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 4, 64), 64)
	if err != nil {
		return x
	}
	return y
}
