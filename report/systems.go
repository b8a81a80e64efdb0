package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"bench/experiment/diagnosis"
	"bench/experiment/series"
	"bench/experiment/text"
	"bench/experiment/unit"
	"bench/report/compare"
)

// Systems are runs side by side, as the systems that they measured: how much load of one workload each carries within
// the SLO, and what it costs. A comparison tests whether figures at one load differ; this asks which system to buy.
type Systems struct {
	Text     string   `json:"text"`     // which is better, in one sentence
	Setup    string   `json:"setup"`    // on one line: model, lengths, SLO, prices, PREDICTED or SIMULATED
	Workload string   `json:"workload"` // that all runs have
	Systems  []System `json:"systems"`  // in the order of the runs
	Notes    []string `json:"notes"`    // what keeps them from being compared
	Cautions []string `json:"cautions"` // what an estimate rests on that is doubtful
	Decided  bool     `json:"decided"`  // a system is better in load, load per GPU or price

	best string // carries most
}

// System is what a run answers of the workload. Figures are at its load; their intervals are those of the load, scaled.
type System struct {
	Run    string `json:"run"`
	Name   string `json:"name"`   // by what differs: "1 × h200"
	Answer string `json:"answer"` // SHIP, NOT YET, …
	GPUs   int    `json:"gpus"`   // 0 = not specified

	USDPerGPUHour *float64 `json:"usd_per_gpu_hour"` // null: not specified

	Load          *Range `json:"load"` // the highest that meets the SLO; null: none is known
	PerGPU        *Range `json:"output_tokens_per_s_per_gpu"`
	USDPerMillion *Range `json:"usd_per_million_output_tokens"`
	Users         *Range `json:"users_once_a_minute"`                  // who send a request each minute
	UsersPerGPU   *Range `json:"users_once_a_minute_per_gpu"`          // null: the number of GPUs is not specified
	UsersPerKW    *Range `json:"users_once_a_minute_per_kw,omitempty"` // absent: the GPUs' power was not collected

	axis   string
	pass   string   // "predicted PASS"; empty: measured PASS
	missed *float64 // lowest load above the measured PASS that misses the SLO; nil: none
}

// Range is a figure with its 95 % interval. Without one the load is the highest that was measured and passed.
type Range struct {
	Best float64  `json:"best"`
	Low  *float64 `json:"low"` // null: no interval
	High *float64 `json:"high"`
}

// NewSystems is nil unless each of several runs has the workload to read first in one of them, with an SLO.
func NewSystems(runs []*Run, outcomes []*Analysis) *Systems {
	if len(runs) < 2 {
		return nil
	}
	var workloads []*series.Series // of the answers, then of the first run: all runs have to have one
	for _, o := range outcomes {
		if w, s := o.First(); w != nil {
			workloads = append(workloads, s)
		}
	}
	for i := range outcomes[0].Series {
		workloads = append(workloads, &outcomes[0].Series[i])
	}
	var first, decided *Systems
	for _, s := range workloads {
		x := sideBySide(runs, outcomes, s)
		switch first = cmp.Or(first, x); {
		case x == nil || !x.Decided:
		case x == first:
			return x
		case decided != nil && decided.best != x.best: // the workloads contradict each other
			return first
		default:
			decided = cmp.Or(decided, x)
		}
	}
	return cmp.Or(decided, first)
}

// sideBySide compares one workload; nil: a run lacks it, or its SLO.
func sideBySide(runs []*Run, outcomes []*Analysis, s *series.Series) *Systems {
	x := &Systems{Workload: s.Label(), Notes: []string{}, Cautions: []string{}}
	var first *series.Series
	for i, name := range SystemNames(runs) {
		other, of := workloadLike(outcomes[i], s)
		if other == nil || other.Verdict == "" {
			return nil
		}
		x.Systems = append(x.Systems, newSystem(name, runs[i], other, of))
		if i == 0 {
			first = of
		}
		if e := other.Estimate; e != nil && e.TwinCaution != "" {
			x.Cautions = append(x.Cautions, name+": "+e.TwinCaution)
		}
		x.note(first, of, x.Systems[0].Name, name)
	}
	if x.Setup = x.setup(runs, first); len(outcomes[0].Series) > 1 {
		x.Setup = x.Workload + " · " + x.Setup
	}
	x.conclude(runs[0].Tag())
	return x
}

// setup has the model if all runs have the same: else it is in the names.
func (x *Systems) setup(runs []*Run, first *series.Series) string {
	var parts []string
	model := runs[0].Manifest.Target.Model
	if !slices.ContainsFunc(runs, func(r *Run) bool { return r.Manifest.Target.Model != model }) {
		parts = append(parts, model)
	}
	parts = append(parts, first.Points[0].Rows[0].Spec.ShapeText())
	parts = append(parts, diagnosis.LimitsOf([]series.Series{*first})...)
	var prices []string
	for _, s := range x.Systems {
		if s.USDPerGPUHour != nil {
			prices = append(prices, s.Name+" at "+unit.Digits(*s.USDPerGPUHour))
		}
	}
	if len(prices) > 0 {
		parts = append(parts, strings.Join(prices, ", ")+" USD per GPU-hour")
	}
	return joined(" · ", append(parts, runs[0].Tag())...)
}

// workload is the one of the same name and axis; nil: there is none.
func workloadLike(o *Analysis, like *series.Series) (*diagnosis.Workload, *series.Series) {
	for i := range o.Answer.Workloads {
		w := &o.Answer.Workloads[i]
		if s := &o.Series[w.Series]; s.Label() == like.Label() && s.Axis == like.Axis {
			return w, s
		}
	}
	return nil, nil
}

func newSystem(name string, run *Run, w *diagnosis.Workload, s *series.Series) System {
	x := System{Run: run.Manifest.Run, Name: name, Answer: w.Lead, GPUs: run.Manifest.Target.GPUs,
		USDPerGPUHour: run.Manifest.GPUHourUSD, axis: s.Axis, pass: w.PassWord()}
	var at diagnosis.Brings
	switch e := w.Estimate; {
	case e != nil && e.Best != nil:
		x.Load, at = &Range{*e.Best, e.Low, e.High}, e.Brings
	case w.Operating != nil:
		x.Load, at = &Range{Best: s.Points[w.Quoted].LoadValue}, w.Operating.Brings
		if w.Limit != nil {
			x.missed = &s.Points[w.Limit.Point].LoadValue
		}
	default:
		return x
	}
	x.PerGPU, x.Users = x.scaled(at.OutputTokensPerSPerGPU, false), x.scaled(at.UsersPerMinute, false)
	x.USDPerMillion = x.scaled(at.USDPerMillion, true)
	if u := at.UsersPerKW; u != nil {
		x.UsersPerKW = &Range{Best: *u}
	}
	if u := at.UsersPerMinute; u != nil && x.GPUs > 0 {
		x.UsersPerGPU = x.scaled(new(*u/float64(x.GPUs)), false)
	}
	return x
}

// scaled is a figure that grows with the load, or falls. Throughput follows a rate, but not a concurrency.
func (x *System) scaled(figure *float64, falls bool) *Range {
	if figure == nil {
		return nil
	}
	r := &Range{Best: *figure}
	if l := x.Load; l.Low != nil && x.axis == "rate" && *l.Low > 0 {
		low, high := x.bounds(r, falls)
		r.Low, r.High = &low, &high
	}
	return r
}

// note adds how the workload or the SLO of a run differs from that of the first.
func (x *Systems) note(first, of *series.Series, base, name string) {
	a, b := &first.Points[0].Rows[0].Spec, &of.Points[0].Rows[0].Spec
	if was, is := strings.Join(limitsOf(a), " · "), strings.Join(limitsOf(b), " · "); was != is {
		x.Notes = append(x.Notes, fmt.Sprintf("the SLOs differ: %s %s, %s %s", base, was, name, is))
	}
	for _, d := range compare.WorkloadDifferences(a, b) {
		x.Notes = append(x.Notes,
			fmt.Sprintf("the workloads differ: %s: %s %s, %s %s", d.What, base, d.Base, name, d.New))
	}
}

// conclude compares the system that carries most with each other one.
func (x *Systems) conclude(tag string) {
	order := slices.Clone(x.Systems)
	load := func(s System) float64 { return cmp.Or(s.Load, &Range{Best: -1}).Best }
	slices.SortStableFunc(order, func(a, b System) int { return cmp.Compare(load(b), load(a)) })
	var names []string
	for _, s := range x.Systems {
		names = append(names, s.Name)
	}
	best := order[0]
	x.best = best.Name
	switch {
	case len(x.Notes) > 0:
		x.Text = "Not compared: " + strings.Join(x.Notes, "; ")
		return
	case best.Load == nil:
		x.Text = "No load is known to meet the SLO on " + strings.Join(names, " or ")
		return
	}
	var texts, open []string
	for _, other := range order[1:] {
		decided, undecided := best.against(&other)
		texts, open = append(texts, decided...), append(open, undecided...)
	}
	x.Decided = len(texts) > 0
	if len(open) > 0 {
		texts = append(texts, "not decided: "+strings.Join(open, "; "))
	}
	x.Text = strings.Join(texts, "; ")
	if !x.Decided {
		x.Text = "N" + strings.TrimPrefix(x.Text, "n")
	}
	if tag != "" {
		x.Text += " (" + strings.ToLower(tag) + ")"
	}
}

// against are the figures of two systems, one in a sentence: "1 × h100 costs 15 % less per token than 1 × h200
// (intervals apart)".
func (x *System) against(other *System) (decided, open []string) {
	if other.Load == nil {
		return nil, []string{fmt.Sprintf("%s carries %s within the SLO; no load is known to meet it on %s", x.Name,
			x.load().Full(), other.Name)}
	}
	if x.unlimited() && other.unlimited() {
		return nil, []string{fmt.Sprintf("no load of %s or %s is known to miss the SLO: higher ones show which carries "+
			"more", x.Name, other.Name)}
	}
	for _, f := range []struct {
		figure, base *Range
		sentence     string
		falls        bool // with the load, and less is better
	}{
		{x.Load, other.Load, "carries %s load within the SLO", false},
		{x.PerGPU, other.PerGPU, "carries %s load per GPU", false},
		{x.USDPerMillion, other.USDPerMillion, "costs %s per token", true},
	} {
		if f.figure == nil || f.base == nil || f.figure == x.PerGPU && x.GPUs == other.GPUs {
			continue
		}
		if text, ok := x.judge(other, f.figure, f.base, f.sentence, f.falls); ok {
			decided = append(decided, text)
		} else {
			open = append(open, text)
		}
	}
	return decided, open
}

func (x *System) judge(other *System, figure, base *Range, sentence string, falls bool) (text string, decided bool) {
	low, high := x.bounds(figure, falls)
	baseLow, baseHigh := other.bounds(base, falls)
	better, worse, ratio := x, other, figure.Best/base.Best
	if ratio < 1 != falls {
		better, worse, ratio = other, x, 1/ratio
		low, high, baseLow, baseHigh = baseLow, baseHigh, low, high
	}
	if decided = low >= baseHigh; falls {
		decided = high <= baseLow
	}
	why, intervals := "without an interval", x.Load.Low != nil && other.Load.Low != nil
	switch {
	case decided && intervals:
		why = "intervals apart"
	case decided:
		why = "measured loads apart"
	case intervals && (x.axis == "rate" || figure == x.Load):
		why = "intervals overlap"
	}
	size, than := fmt.Sprintf("%.0f %% more", 100*(ratio-1)), "than"
	switch {
	case math.Abs(ratio-1) < 0.005:
		size, than = "as much", "as"
	case falls:
		size = fmt.Sprintf("%.0f %% less", 100*(1-ratio))
	case ratio >= 2:
		size, than = unit.Brief(ratio, 2)+" × as much", "as"
	}
	if better.Load.Low == nil {
		size = "at least " + size
	}
	to := worse.Name
	if worse.Load.Low == nil { // no estimate
		to = "the " + cmp.Or(worse.pass, "measured PASS") + " of " + to
	}
	return fmt.Sprintf("%s "+sentence+" %s %s (%s)", better.Name, size, than, to, why), decided
}

// bounds are of a figure of the system: those of the load, scaled. Without an interval that is from the PASS to the
// next load that misses the SLO. At another concurrency throughput and price are not known.
func (x *System) bounds(figure *Range, falls bool) (low, high float64) {
	if x.axis != "rate" && figure != x.Load {
		return 0, math.Inf(1)
	}
	low, high = x.Load.Best, math.Inf(1)
	switch {
	case x.Load.Low != nil:
		low, high = *x.Load.Low, *x.Load.High
	case x.missed != nil:
		high = *x.missed
	}
	low, high = low/x.Load.Best, high/x.Load.Best
	if falls {
		low, high = 1/high, 1/low
	}
	return figure.Best * low, figure.Best * high
}

// unlimited reports whether nothing shows where the system's limit is.
func (x *System) unlimited() bool { return x.Load.Low == nil && x.missed == nil }

func (x *System) load() Cell { return x.Load.cell(x.axis, unit.Digits) }

// cell is "48.9/s [46.6, 51.3]"; of a load without an interval "≥ 45/s".
func (r *Range) cell(axis string, digits func(float64) string) Cell {
	if r == nil {
		return TextCell(Absent().Text)
	}
	c := TextCell(digits(r.Best) + map[string]string{"rate": "/s"}[axis])
	switch {
	case r.Low != nil:
		c.Within = "[" + digits(*r.Low) + ", " + digits(*r.High) + "]"
	case axis != "":
		c.Text = "≥ " + c.Text
	}
	return c
}

// Table has a column for each system: figures with their intervals are wide.
func (x *Systems) Table() Table {
	t := newTable("systems", "Side by side: "+x.Workload, "")
	t.Note = "At the highest load that meets the SLO, with 95 % intervals. Users send a request each minute."
	several := false
	for _, s := range x.Systems {
		t.Columns = append(t.Columns, Column{Head: s.Name, Num: true})
		several = several || s.GPUs > 1
	}
	row := func(name string, of func(s *System) Cell) {
		cells := []Cell{TextCell(name)}
		for i := range x.Systems {
			cells = append(cells, of(&x.Systems[i]))
		}
		t.Add(cells...)
	}
	row("answer", func(s *System) Cell { return TextCell(s.Answer) })
	row(map[bool]string{true: "load", false: "concurrency"}[x.Systems[0].axis == "rate"], (*System).load)
	if several {
		row("users", func(s *System) Cell { return s.Users.cell("", diagnosis.UsersText) })
	}
	row("users/GPU", func(s *System) Cell { return s.UsersPerGPU.cell("", diagnosis.UsersText) })
	if slices.ContainsFunc(x.Systems, func(s System) bool { return s.UsersPerKW != nil }) {
		row("users/kW", func(s *System) Cell { return s.UsersPerKW.cell("", diagnosis.UsersText) })
	}
	row("tok/s/GPU", func(s *System) Cell { return s.PerGPU.cell("", unit.Digits) })
	if slices.ContainsFunc(x.Systems, func(s System) bool { return s.USDPerGPUHour != nil }) {
		row("USD per GPU-hour", func(s *System) Cell { return TextCell(optional(s.USDPerGPUHour, unit.Digits).Text) })
	}
	row("USD/M output tokens", func(s *System) Cell { return s.USDPerMillion.cell("", unit.Digits) })
	return t
}

// SystemNames name runs by what differs between them: hardware, model, precision, engine, flags, else their times.
func SystemNames(runs []*Run) []string {
	parts := make([][]string, len(runs))
	for _, of := range []func(*Run) string{
		func(r *Run) string {
			if r.Manifest.Target.Hardware == "" {
				return ""
			}
			return hardwareText(&r.Manifest.Target)
		},
		func(r *Run) string { return r.Manifest.Target.Model },
		func(r *Run) string { return r.Manifest.Target.Precision },
		func(r *Run) string { return engine(r) },
		func(r *Run) string { // the words of its flags that not every run has
			words := func(r *Run) []string { return strings.Fields(r.ServerFlags()) }
			return strings.Join(slices.DeleteFunc(words(r), func(word string) bool {
				return !slices.ContainsFunc(runs, func(other *Run) bool { return !slices.Contains(words(other), word) })
			}), " ")
		},
		func(r *Run) string { return strings.ToLower(r.Tag()) },
	} {
		values := make([]string, len(runs))
		for i, r := range runs {
			values[i] = of(r)
		}
		if slices.ContainsFunc(values, func(v string) bool { return v != values[0] }) {
			for i, v := range values {
				if v != "" {
					parts[i] = append(parts[i], text.Ellipsis(v, widestFact))
				}
			}
		}
	}
	names := make([]string, len(runs))
	other := func(r *Run) bool { return r.Manifest.Matrix != runs[0].Manifest.Matrix }
	for i, r := range runs {
		names[i] = strings.Join(parts[i], " · ")
		same := func(other []string) bool { return slices.Equal(other, parts[i]) }
		if first := slices.IndexFunc(parts, same); names[i] == "" || first != i ||
			slices.ContainsFunc(parts[i+1:], same) {
			name := cmp.Or(r.Manifest.Run, fmt.Sprintf("run %d", i+1))
			if slices.ContainsFunc(runs, other) {
				name = strings.TrimSpace(r.Manifest.Matrix + " " + name)
			}
			names[i] = strings.TrimPrefix(names[i]+" · "+name, " · ")
		}
		if slices.Contains(names[:i], names[i]) {
			names[i] += fmt.Sprintf(" (%d)", i+1)
		}
	}
	return names
}

// RunsText writes several runs: side by side, if they have a workload in common; all of each with findings.
func RunsText(w io.Writer, runs []*Run, screen Screen, findings bool) error {
	p := newPrinter(screen)
	x := SystemsOf(runs)
	if x != nil {
		p.wrap("", x.Text)
		p.wrap("  ", x.Setup)
		p.wraps("  caution ", x.Cautions...)
		p.line("")
		p.table(x.Table())
		p.line("")
		for i, run := range runs {
			for _, line := range briefNotices(run) {
				p.wrap("  ", x.Systems[i].Name+": "+line)
			}
			if !findings {
				p.wrap("  "+text.Pad("more", 8), x.Systems[i].Name+": bench report "+text.ShellWords([]string{run.Dir})+
					" --format text")
			}
		}
	}
	if err := p.flush(w); err != nil || x != nil && !findings {
		return err
	}
	for i, run := range runs {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if err := map[bool]func(io.Writer, *Run, Screen) error{true: Text, false: Brief}[findings](w, run,
			screen); err != nil {
			return err
		}
	}
	return nil
}

// SystemsOf is NewSystems for runs that are not analyzed yet.
func SystemsOf(runs []*Run) *Systems {
	if len(runs) < 2 {
		return nil
	}
	var outcomes []*Analysis
	for _, r := range runs {
		outcomes = append(outcomes, new(r.Analyze()))
	}
	return NewSystems(runs, outcomes)
}
