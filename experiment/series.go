package experiment

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"bench/experiment/stats"
)

// Series is the rows of one name that differ only in their load (rate or concurrency): a curve.
// It is what a run says, as data, before any renderer.
type Series struct {
	Name   string `json:"name"`             // the row's
	Others []Axis `json:"axes,omitempty"`   // the values of the axes that are not the load
	Axis   string `json:"axis"`             // rate, concurrency
	Closed bool   `json:"closed_loop"`      // latencies count from the slot, not from a schedule
	Prompt string `json:"prompt_form"`      // forms are never compared in silence
	Cost   string `json:"frontier_latency"` // what the frontier trades for output tokens/s, at p99: ttft; e2e without streaming

	Points   []SeriesPoint `json:"points"` // by ascending load
	Headline *int          `json:"headline"`
	Frontier []int         `json:"frontier"` // points that no other beats in both, by ascending latency

	ContractKnee  Knee   `json:"contract_knee"`  // the highest load that meets the contract
	GeometricKnee Knee   `json:"geometric_knee"` // after it more load buys little more throughput
	Saturation    Knee   `json:"saturation"`     // the first load that the server does not keep up with
	Sentence      string `json:"sentence"`
}

// Knee is one of the points of a series, or the reason why there is none.
type Knee struct {
	Point *int   `json:"point"` // index in Points; null = none
	Why   string `json:"why"`
}

// SeriesPoint is one load of a series, its repeats together. Figures are medians over the repeats.
type SeriesPoint struct {
	Rows []*Row `json:"-"`    // the repeats, in order; the caller's
	Load string `json:"load"` // "concurrency 8", "rate 2/s", "rate inf"

	OutputTokensPerS       Repeats  `json:"output_tokens_per_s"`
	OutputTokensPerSPerGPU *Repeats `json:"output_tokens_per_s_per_gpu"` // null: the number of GPUs is not stated
	RequestsPerS           Repeats  `json:"requests_per_s"`
	OfferedPerS            Repeats  `json:"offered_requests_per_s"` // arrivals of the window over its length

	TTFT Percentiles `json:"ttft_ms,omitempty"`
	TPOT Percentiles `json:"tpot_ms,omitempty"`
	E2E  Percentiles `json:"e2e_ms,omitempty"`

	Valid    bool          `json:"valid"`    // no check of any repeat failed
	Contract stats.Verdict `json:"contract"` // the worst of the repeats; empty: no contract
	Need     int           `json:"need"`     // more requests for a decision; 0 = not a matter of count

	load float64
}

// Repeats is one figure of a point: its value in each repeat that has it, and their median.
type Repeats struct {
	Values []float64 `json:"values"`
	Median float64   `json:"median"`
}

// Percentile is one percentile of one latency at a point, in ms.
type Percentile struct {
	Name string `json:"name"` // p50 … p999
	Repeats
	CI95  stats.Interval `json:"ci95"` // the hull of the repeats' own intervals
	N     int            `json:"n"`    // requests in the repeat that has the fewest
	Grade stats.Grade    `json:"grade"`
}

// Percentiles of one latency, in the order of PercentileNames; empty: not measured.
type Percentiles []Percentile

// PercentileNames are the percentiles that are shown.
var PercentileNames = []string{"p50", "p90", "p95", "p99", "p999"}

// Get finds a percentile by its name.
func (ps Percentiles) Get(name string) (Percentile, bool) {
	i := slices.IndexFunc(ps, func(p Percentile) bool { return p.Name == name })
	if i < 0 {
		return Percentile{}, false
	}
	return ps[i], true
}

// Latency is the percentiles of ttft, tpot or e2e.
func (p *SeriesPoint) Latency(metric string) Percentiles {
	switch metric {
	case "ttft":
		return p.TTFT
	case "tpot":
		return p.TPOT
	case "e2e":
		return p.E2E
	}
	return nil
}

// Offered is the load as a number: slots, or requests/s; ok is false for "inf".
func (p *SeriesPoint) Offered() (load float64, ok bool) { return p.load, !math.IsInf(p.load, 0) }

// Label is the series as people read it: its name and the axes that are not the load.
func (s *Series) Label() string {
	return (&Spec{Name: s.Name, Point: s.Others}).Pretty()
}

// SeriesOf sorts rows into series, in the order of their first row. The points keep pointers into rows.
func SeriesOf(rows []Row) []Series {
	groups := map[string][]*Row{}
	var order []string
	for i := range rows {
		key := seriesKey(&rows[i])
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], &rows[i])
	}
	series := make([]Series, len(order))
	for i, key := range order {
		series[i] = newSeries(groups[key])
	}
	labels := map[string]int{}
	for i := range series {
		labels[series[i].Label()]++
	}
	for i := range series {
		if labels[series[i].Label()] > 1 { // they differ in the form of their prompts
			series[i].Others = append(series[i].Others, Axis{"prompt_form", series[i].Prompt})
		}
	}
	return series
}

func seriesKey(r *Row) string {
	axis, others := loadAxis(&r.Spec)
	return fmt.Sprintf("%q %q %q %q", r.Spec.Name, axis, others, r.PromptForm)
}

// loadAxis tells the axis of the load from the others. A rate that varies is the load even where
// the cap varies too: each cap is a series then.
func loadAxis(s *Spec) (axis string, others []Axis) {
	varies := func(key string) bool {
		return slices.ContainsFunc(s.Point, func(a Axis) bool { return a.Key == key })
	}
	axis = "concurrency"
	if varies("rate") || (s.Rate > 0 && !varies("concurrency")) {
		axis = "rate"
	}
	return axis, slices.DeleteFunc(slices.Clone(s.Point), func(a Axis) bool { return a.Key == axis })
}

func newSeries(rows []*Row) Series {
	spec := &rows[0].Spec
	s := Series{Name: spec.Name, Closed: spec.Rate == 0, Prompt: rows[0].PromptForm, Cost: "e2e"}
	s.Axis, s.Others = loadAxis(spec)
	if spec.Streams() {
		s.Cost = "ttft"
	}
	byLoad := map[float64][]*Row{}
	for _, r := range rows {
		byLoad[s.load(r)] = append(byLoad[s.load(r)], r)
	}
	for _, repeats := range byLoad {
		s.Points = append(s.Points, s.point(repeats))
	}
	slices.SortFunc(s.Points, func(a, b SeriesPoint) int { return cmp.Compare(a.load, b.load) })
	s.Frontier = s.frontier()
	s.ContractKnee, s.GeometricKnee, s.Saturation = s.contractKnee(), s.geometricKnee(), s.saturation()
	s.Headline = s.headline()
	s.Sentence = s.sentence()
	return s
}

func (s *Series) load(r *Row) float64 {
	if s.Axis == "rate" {
		return float64(r.Spec.Rate)
	}
	return float64(r.Spec.Concurrency)
}

func (s *Series) point(rows []*Row) SeriesPoint {
	slices.SortFunc(rows, func(a, b *Row) int { return cmp.Compare(a.Spec.Repeat, b.Spec.Repeat) })
	p := SeriesPoint{Rows: rows, load: s.load(rows[0]), Valid: true}
	p.Load = s.Axis + " " + strconv.FormatFloat(p.load, 'g', -1, 64)
	switch {
	case math.IsInf(p.load, 1):
		p.Load = s.Axis + " inf"
	case s.Axis == "rate":
		p.Load += "/s"
	}
	var output, perGPU, requests, offered []float64
	var ttft, tpot, e2e []*stats.Summary
	for _, r := range rows {
		t := r.Summary.Throughput
		output, requests = append(output, t.OutputTokensPerS), append(requests, t.RequestsPerS)
		if t.OutputTokensPerSPerGPU != nil {
			perGPU = append(perGPU, *t.OutputTokensPerSPerGPU)
		}
		ttft, tpot, e2e = append(ttft, r.Summary.TTFT), append(tpot, r.Summary.TPOT), append(e2e, r.Summary.E2E)
		if d := r.Summary.DurationS; d > 0 {
			offered = append(offered, float64(r.Summary.Requests.Planned)/d)
		}
		p.Valid = p.Valid && r.Validity.Valid()
	}
	p.OutputTokensPerS, p.RequestsPerS, p.OfferedPerS = repeats(output), repeats(requests), repeats(offered)
	if len(perGPU) > 0 {
		g := repeats(perGPU)
		p.OutputTokensPerSPerGPU = &g
	}
	p.TTFT, p.TPOT, p.E2E = PercentilesOf(ttft...), PercentilesOf(tpot...), PercentilesOf(e2e...)
	p.Contract, p.Need = ContractOf(rows...)
	return p
}

// ContractOf is the contract's outcome over rows: FAIL if any limit of any row failed, else
// UNDECIDED if any is, else PASS; empty without a contract. need is the largest number of further
// requests that an undecided limit asks for.
func ContractOf(rows ...*Row) (v stats.Verdict, need int) {
	for _, r := range rows {
		for _, c := range r.Contract {
			need = max(need, c.Need)
			switch {
			case c.Verdict == string(stats.Fail) || v == stats.Fail:
				v = stats.Fail
			case c.Verdict != string(stats.Pass) || v == stats.Undecided: // an unknown word is no PASS
				v = stats.Undecided
			default:
				v = stats.Pass
			}
		}
	}
	if v != stats.Undecided {
		need = 0
	}
	return v, need
}

func repeats(values []float64) Repeats {
	sorted := slices.Sorted(slices.Values(values))
	if len(sorted) == 0 {
		return Repeats{}
	}
	return Repeats{Values: values, Median: stats.Quantile(sorted, 0.5)}
}

// PercentilesOf takes each percentile's value from each repeat's sample; a nil one has none. The
// requests are not thrown together: that would hide what differs between repeats, which is most of
// what there is to know.
func PercentilesOf(samples ...*stats.Summary) Percentiles {
	samples = slices.DeleteFunc(slices.Clone(samples), func(s *stats.Summary) bool { return s == nil })
	if len(samples) == 0 {
		return nil
	}
	ps := make(Percentiles, len(PercentileNames))
	for i, name := range PercentileNames {
		p := Percentile{Name: name, N: math.MaxInt, CI95: stats.Interval{Lo: math.Inf(1), Hi: math.Inf(-1)}}
		var values []float64
		for _, s := range samples {
			x, _ := s.Get(name)
			values = append(values, x)
			ci, ok := s.CI95[name]
			if !ok {
				ci = stats.Interval{Lo: math.Inf(-1), Hi: math.Inf(1)}
			}
			p.N = min(p.N, s.N)
			p.CI95.Lo, p.CI95.Hi = min(p.CI95.Lo, ci.Lo), max(p.CI95.Hi, ci.Hi)
		}
		share, _ := Limit{Stat: name}.P()
		p.Repeats, p.Grade = repeats(values), stats.GradeOf(p.N, share)
		ps[i] = p
	}
	return ps
}

func (s *Series) frontier() []int {
	points := make([]stats.Point, len(s.Points))
	for i := range s.Points {
		p := &s.Points[i]
		points[i] = stats.Point{Cost: math.NaN(), Gain: p.OutputTokensPerS.Median}
		if l, ok := p.Latency(s.Cost).Get("p99"); ok {
			points[i].Cost = l.Median
		}
	}
	return stats.Frontier(points)
}

func (s *Series) contractKnee() Knee {
	undecided, need, stated, below := "", 0, false, false
	for i := len(s.Points) - 1; i >= 0; i-- {
		p := &s.Points[i]
		stated = stated || p.Contract != ""
		switch {
		case p.Contract == stats.Pass && p.Valid:
			why := "the highest load that meets the contract"
			if len(s.Points) == 1 {
				why = "the only load meets the contract; a series of loads would show how far it goes"
			} else if i == len(s.Points)-1 {
				why = "the highest load of the series still meets the contract: the knee is here or above; go on to higher load"
			}
			for j := range i {
				below = below || s.Points[j].Contract == stats.Fail
			}
			if below {
				why += "; but a lower load fails it, so look at the repeats"
			}
			return Knee{&i, why}
		case p.Contract == stats.Undecided:
			undecided, need = p.Load, p.Need
		}
	}
	switch {
	case !stated:
		return Knee{Why: "no contract is stated"}
	case undecided != "" && need > 0:
		return Knee{Why: fmt.Sprintf("no point passes yet: undecided at %s, need %s more requests", undecided, Count(need))}
	case undecided != "":
		return Knee{Why: "no point passes: undecided at " + undecided}
	}
	return Knee{Why: "no valid point passes; go on to lower load"}
}

func (s *Series) geometricKnee() Knee {
	var load, gain []float64
	for i := range s.Points {
		if x, ok := s.Points[i].Offered(); ok { // inf comes last, so that the indexes stay
			load, gain = append(load, x), append(gain, s.Points[i].OutputTokensPerS.Median)
		}
	}
	if len(load) < 4 {
		return Knee{Why: "no knee: a curve needs four loads or more"}
	}
	i, ok := stats.Knee(load, gain, 1)
	if !ok {
		return Knee{Why: "no knee: the curve has not bent; go on to higher load"}
	}
	return Knee{&i, "more load buys little more throughput (Kneedle)"}
}

// keepsUp is the share of the offered requests/s that a server which keeps up answers; worthASlot
// is the share of the first slots' throughput that a further slot must bring.
const (
	keepsUp    = 0.95
	worthASlot = 0.1
)

func (s *Series) saturation() Knee {
	if s.Closed {
		return s.closedSaturation()
	}
	var offered, achieved []float64
	for i := range s.Points {
		p := &s.Points[i]
		got := p.RequestsPerS.Median
		// Chance alone moves the count of a window by its root: a shortfall within two of them says nothing.
		if n := float64(p.Rows[0].Summary.Requests.Planned); n > 0 && 1-got/p.OfferedPerS.Median < 2/math.Sqrt(n) {
			got = math.NaN()
		}
		if _, ok := p.Offered(); !ok {
			got = math.NaN()
		}
		offered, achieved = append(offered, p.OfferedPerS.Median), append(achieved, got)
	}
	i, ok := stats.Saturation(offered, achieved, keepsUp)
	if _, rated := s.Points[0].Offered(); !rated {
		return Knee{Why: "no saturation: all at once is no rate to keep up with"}
	}
	if !ok {
		return Knee{Why: "no saturation: the server keeps up with every rate, within chance; go on to higher load"}
	}
	return Knee{&i, fmt.Sprintf("%.3g of %.3g offered requests/s achieved", achieved[i], offered[i])}
}

func (s *Series) closedSaturation() Knee {
	for i := 1; i < len(s.Points); i++ {
		a, b := &s.Points[i-1], &s.Points[i]
		first := s.Points[0].OutputTokensPerS.Median / s.Points[0].load
		more := (b.OutputTokensPerS.Median - a.OutputTokensPerS.Median) / (b.load - a.load)
		if first > 0 && more < worthASlot*first {
			return Knee{&i, fmt.Sprintf("a slot beyond %s brings %.3g output tok/s, the first ones %.3g", a.Load, more, first)}
		}
	}
	if len(s.Points) < 2 {
		return Knee{Why: "no saturation: one load is no series"}
	}
	return Knee{Why: "no saturation: further slots still bring throughput; go on to higher load"}
}

// headline is the point to quote: the contract's knee, else the valid point of the highest
// throughput, else of all.
func (s *Series) headline() *int {
	if s.ContractKnee.Point != nil {
		return s.ContractKnee.Point
	}
	var best *int
	for i := range s.Points {
		p := &s.Points[i]
		if best == nil || (p.Valid && !s.Points[*best].Valid) ||
			(p.Valid == s.Points[*best].Valid && p.OutputTokensPerS.Median > s.Points[*best].OutputTokensPerS.Median) {
			best = &i
		}
	}
	return best
}

func (s *Series) sentence() string {
	p := &s.Points[*s.Headline]
	text := fmt.Sprintf("%s at %s", Format(p.OutputTokensPerS.Median, "output tok/s"), p.Load)
	if l, ok := p.Latency(s.Cost).Get("p99"); ok {
		text += fmt.Sprintf(", %s p99 %s", s.Cost, l)
	} else {
		text += ", no request completed"
	}
	return text
}

// Mark is how a percentile may be quoted: as it is, as about ("~") where the sample is thin, as the
// lower end of its interval ("≥") where the sample gives no upper one; ok is false where there is
// not even that.
func (p Percentile) Mark() (mark string, ms float64, ok bool) {
	switch {
	case p.Grade == stats.Sound:
		return "", p.Median, true
	case p.Grade == stats.Thin:
		return "~", p.Median, true
	}
	return "≥", p.CI95.Lo, !math.IsInf(p.CI95.Lo, 0)
}

// String is the percentile with what its sample can carry: "820 ms (n=1,200)", "~820 ms (n=400:
// thin)", "≥610 ms (n=64: no bound)".
func (p Percentile) String() string {
	mark, ms, ok := p.Mark()
	switch {
	case !ok:
		return fmt.Sprintf("unknown (n=%s: no bound)", Count(p.N))
	case p.Grade == stats.Sound:
		return fmt.Sprintf("%s (n=%s)", Format(ms, "ms"), Count(p.N))
	}
	return fmt.Sprintf("%s%s (n=%s: %s)", mark, Format(ms, "ms"), Count(p.N), strings.ReplaceAll(string(p.Grade), "_", " "))
}

// Format writes a figure to three significant digits with its unit; milliseconds take the unit of
// time that fits, a share becomes a percentage.
func Format(x float64, unit string) string {
	switch abs := math.Abs(x); {
	case unit == "ms" && abs >= 1000:
		x, unit = x/1000, "s"
	case unit == "ms" && abs > 0 && abs < 1:
		x, unit = x*1000, "µs"
	case unit == "share":
		x, unit = x*100, "%"
	case unit == "usd":
		unit = "USD"
	}
	return strings.TrimSpace(Digits(x) + " " + unit)
}

// Digits writes three significant digits, without an exponent where a reader can do without one.
func Digits(x float64) string {
	abs := math.Abs(x)
	switch {
	case math.IsInf(x, 0) || math.IsNaN(x) || abs >= 1e15 || (abs > 0 && abs < 1e-4):
		return strconv.FormatFloat(x, 'g', 3, 64)
	case abs >= 999.5:
		scale := math.Pow(10, math.Floor(math.Log10(abs))-2)
		return Count(int(math.Round(x/scale) * scale))
	case abs == 0:
		return "0"
	}
	decimals := max(0, 2-int(math.Floor(math.Log10(abs))))
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'f', decimals, 64), 64)
	if int(math.Floor(math.Log10(math.Abs(rounded)))) > int(math.Floor(math.Log10(abs))) {
		decimals-- // 9.999 became 10.00
	}
	return strconv.FormatFloat(x, 'f', max(0, decimals), 64)
}

// Count writes a whole number with its thousands apart: 12,300.
func Count(n int) string {
	text := strconv.Itoa(n)
	start := len(text) - 3
	for i := start; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
