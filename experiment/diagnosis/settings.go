package diagnosis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/series"
	"bench/experiment/stats"
	"bench/experiment/unit"
)

// Settings compares the settings of a server under one workload (its knobs, or several endpoints), or the values of
// another axis of a row, which are other questions: none of them is the best.
type Settings struct {
	Name  string `json:"name"`  // of the row, with the values of the axes that all settings share
	First string `json:"first"` // the setting that the others are compared with: the first of the matrix
	Best  string `json:"best"`  // empty: none is better than all others, see text
	// settings of a server; false: values of an axis of the row, none of which is the best
	OfServer bool      `json:"of_server"`
	Basis    string    `json:"basis"`    // what the intervals rest on: repeats, or one run each
	Text     string    `json:"text"`     // the answer in one sentence
	Settings []Setting `json:"settings"` // in the order of the matrix

	best *Setting // nil: none
}

type Setting struct {
	Workload int    `json:"workload"` // index in the answer's workloads
	Name     string `json:"name"`     // "parallel=8"
	// index in the series' points: the operating point; without an SLO the highest common load
	Point int    `json:"point"`
	Load  string `json:"load"`
	// it meets the SLO, but this setting does so with more throughput, or with less latency at equal throughput
	BeatenBy string   `json:"beaten_by,omitempty"`
	Changes  []Change `json:"changes"` // from the first setting to this one; empty: it is the first
	Text     string   `json:"text"`    // "parallel=8: 86.6 tok/s, +37 % [31, 44]; TTFT p50 ÷ 3.3 [3, 3.6]"

	w *Workload
	s *series.Series
}

func (x *Setting) point() *series.Point { return &x.s.Points[x.Point] }

const mostSettings = 32

// compareSettings also takes the status of the operating point from settings that are beaten.
func (a *Answer) compareSettings(m *record.Manifest, all []series.Series) {
	if m.Tune != nil { // the race compares them
		return
	}
	var order []string
	groups := map[string]*Settings{}
	for i := range a.Workloads {
		s := &all[a.Workloads[i].Series]
		shared, own, ofServer := settingOf(s)
		if own == "" || s.Points[0].Rows[0].Observed {
			continue
		}
		key := fmt.Sprintf("%q %q %v", shared, s.Axis, ofServer)
		if groups[key] == nil {
			groups[key] = &Settings{Name: shared, OfServer: ofServer}
			order = append(order, key)
		}
		groups[key].Settings = append(groups[key].Settings,
			Setting{Workload: i, Name: own, Changes: []Change{}, w: &a.Workloads[i], s: s})
	}
	for _, key := range order {
		if g := groups[key]; len(g.Settings) > 1 && len(g.Settings) <= mostSettings && g.compare(m) {
			a.Settings = append(a.Settings, *g)
			isFirst := func(x Setting) bool { return x.Workload == *a.First }
			if g.best != nil && slices.ContainsFunc(g.Settings, isFirst) { // to be read in place of one that it beats
				a.First = &g.best.Workload
			}
		}
	}
}

// settingOf separates the axes of the server from those of the workload. A row without a choice of servers has one axis
// beside its load as its setting.
func settingOf(s *series.Series) (shared, setting string, ofServer bool) {
	variant := s.Points[0].Rows[0].Spec.Variant
	var own, others []experiment.Axis
	for _, x := range s.OtherAxes {
		if strings.Contains(" "+variant+" ", " "+x.Key+"="+x.Value+" ") {
			own = append(own, x)
		} else {
			others = append(others, x)
		}
	}
	ofServer = len(own) > 0
	if !ofServer && len(others) == 1 {
		own, others = others, nil
	}
	return (&experiment.Spec{Name: s.Name,
		Point: others}).Label(), strings.TrimSpace((&experiment.Spec{Point: own}).Label()), ofServer
}

// compare is false if no two settings have comparable points.
func (g *Settings) compare(m *record.Manifest) bool {
	slo := slices.ContainsFunc(g.Settings, func(x Setting) bool { return x.w.Verdict != "" })
	if !slo && !g.highestCommonLoad() {
		return false
	}
	var valid []*Setting
	for i := range g.Settings {
		x := &g.Settings[i]
		if slo {
			x.Point = x.w.Quoted
		}
		if x.Load = x.point().Load; x.point().Valid {
			valid = append(valid, x)
		}
	}
	if len(valid) < 2 {
		return false
	}
	g.First = g.Settings[0].Name
	first := &g.Settings[0]
	for _, x := range valid {
		if x != first && first.point().Valid {
			x.Changes = changesOf(m, first, x)
		}
	}
	g.Basis = basisOf(m, valid, g.OfServer)
	if g.OfServer {
		candidates := valid
		if slo {
			candidates = slices.DeleteFunc(slices.Clone(valid),
				func(x *Setting) bool { return x.w.Verdict != stats.Pass })
		}
		g.choose(m, candidates, slo)
	}
	g.say(slo)
	return true
}

// highestCommonLoad is false without a load at which two settings were measured.
func (g *Settings) highestCommonLoad() bool {
	first := g.Settings[0].s
	for j := range slices.Backward(first.Points) {
		common := 0
		for i := range g.Settings {
			x := &g.Settings[i]
			x.Point = slices.IndexFunc(x.s.Points, func(p series.Point) bool {
				return requested(x.s, &p) == requested(first, &first.Points[j]) && p.Valid
			})
			if x.Point >= 0 {
				common++
			}
		}
		if common == len(g.Settings) {
			return true
		}
	}
	return false
}

// choose finds the setting that no other one beats and that beats each other one; with an SLO by throughput at the
// operating points first.
func (g *Settings) choose(m *record.Manifest, candidates []*Setting, slo bool) {
	if len(candidates) == 0 {
		return
	}
	best := slices.MaxFunc(candidates, func(x, y *Setting) int {
		return cmp.Compare(x.point().OutputTokensPerS.Median, y.point().OutputTokensPerS.Median)
	})
	if !slo || len(candidates) > 1 {
		better := func(x, y *Setting) bool { return beats(changesOf(m, y, x), slo) }
		for _, x := range candidates {
			if better(x, best) {
				best = x
			}
		}
		tie := false
		for _, x := range candidates {
			switch {
			case x == best:
			case !better(best, x):
				tie = true
			case slo:
				x.BeatenBy = best.Name
			}
		}
		if tie {
			return
		}
	}
	g.best, g.Best = best, best.Name
	for _, x := range candidates {
		if x.BeatenBy != "" {
			x.w.unship() // it meets the SLO, but another setting is to be shipped
			x.w.Text += "; " + x.BeatenBy + " is better"
		}
	}
}

// beats: better in throughput, with an SLO whatever the latencies that are within it; else better in something and
// worse in nothing.
func beats(changes []Change, slo bool) bool {
	if i := slices.IndexFunc(changes, func(c Change) bool { return c.isThroughput() }); slo && i >= 0 &&
		changes[i].Result != Inconclusive {
		return changes[i].Result == Better
	}
	leans := slices.ContainsFunc(changes, func(c Change) bool { return c.leans() })
	return has(changes, Better) && !has(changes, Worse) && !leans
}

func (w *Workload) unship() {
	for j := range w.Points {
		if w.Points[j].Status == Ship {
			w.Points[j].Status = Meets
		}
	}
	if w.Lead == LeadShip {
		w.Lead = LeadMet
	}
}

func (g *Settings) say(slo bool) {
	for i := range g.Settings {
		x := &g.Settings[i]
		x.Text = x.say(slo, g.OfServer && x.Name != g.Best)
	}
	trade := slices.ContainsFunc(g.Settings, func(x Setting) bool { return isTrade(x.Changes) })
	decided := slices.ContainsFunc(g.Settings,
		func(x Setting) bool { return has(x.Changes, Better) || has(x.Changes, Worse) })
	switch {
	case g.Best != "" && g.Best == g.First:
		g.Text = "best: " + g.Best + ", the first"
	case g.Best != "":
		g.Text = "best: " + g.best.Text
	case !g.OfServer:
		g.Text = "compared with " + g.First
	case slo && !slices.ContainsFunc(g.Settings, func(x Setting) bool { return x.w.Verdict == stats.Pass }):
		g.Text = "no setting is known to meet the SLO"
	case trade:
		g.Text = "a trade: no setting is better in all"
	case !decided && slices.ContainsFunc(g.Settings, func(x Setting) bool {
		return slices.ContainsFunc(x.Changes, func(c Change) bool { return c.tooWide() })
	}):
		g.Text = "undecided: too few requests"
	case slo && slices.ContainsFunc(g.Settings, func(x Setting) bool {
		return x.Name != g.First && len(x.Changes) == 0 && x.w.Verdict == stats.Pass
	}):
		g.Text = "higher loads show which setting carries more"
	case !decided:
		g.Text = "no difference beyond the noise"
	default:
		g.Text = "no setting is known to be better than all others"
	}
	if g.OfServer && g.Best != g.First && g.Best != "" {
		g.Text += ", compared with " + g.First
	}
	g.Text += " (" + g.Basis + ")"
}

func has(changes []Change, r Result) bool {
	return slices.ContainsFunc(changes, func(c Change) bool { return c.Result == r })
}

func isTrade(changes []Change) bool { return has(changes, Better) && has(changes, Worse) }

func (x *Setting) say(slo, tradesOff bool) string {
	p := x.point()
	at := ""
	if slo || len(x.s.Points) > 1 {
		at = " at " + x.Load
	}
	parts := []string{fmt.Sprintf("%s%s: %s tok/s", x.Name, at, unit.Digits(p.OutputTokensPerS.Median))}
	if !p.Valid {
		parts[0] = x.Name + ": invalid"
	}
	for _, c := range x.Changes {
		if c.isThroughput() {
			parts[0] += ", " + c.Text()
			continue
		}
		parts = append(parts, c.Name()+" "+c.Text())
	}
	text := strings.Join(parts, "; ")
	switch {
	case slo && x.w.Verdict == stats.Fail:
		text += ": misses the SLO"
	case slo && x.w.Verdict == stats.Undecided:
		text += ": SLO undecided"
	case tradesOff && x.BeatenBy == "" && isTrade(x.Changes):
		text += ": a trade"
	}
	return text
}
