package matrix

import (
	"fmt"
	"strings"

	"bench/experiment"
	"bench/experiment/metric"
	"bench/experiment/tune"
)

func (r *reader) checkTune(points []experiment.Spec) {
	m := r.m
	if m.Tune == nil {
		return
	}
	one := "write one row with one value of each key: the settings of the server are what varies"
	switch {
	case !m.Server.Runs():
		r.bad("tune", "there is no [server] whose knobs could be tuned", "write [server] and [server.knobs]")
		return
	case len(m.Variants) == 0: // for a mistake that is reported
		return
	case len(points) == 0 || len(points) > len(m.Variants):
		r.bad("tune", "a race needs one row with one point", one)
		return
	case points[0].Search != nil && points[0].Search.Gentle:
		r.bad("tune", "a race compares measured loads, and the row's search is gentle", "remove gentle")
	case m.Order != "" && m.Order != OrderListed:
		r.bad("order", "the race decides the order", "remove order, and write the order of the knobs in [tune]")
	case m.Budget != 0:
		r.bad("budget", "the race has a budget of its own", "write budget in [tune]")
	}
	search := points[0].Search != nil && points[0].Search.Goal == experiment.GoalSLO
	unknown := m.Tune.Goal != "" && m.Tune.Goal != tune.MaxLoad && !isFigure(m.Tune.Goal)
	m.Tune.Check(m.KnobSizes(), search && !unknown, r.under("tune"))
	if g := m.Tune.Goal; unknown {
		r.bad("tune.goal", fmt.Sprintf("unknown goal %q", g),
			`write "max_load", or a figure: "ttft_p95", "output_tokens_per_s", "usd_per_million_output_tokens"`)
	}
}

func isFigure(key string) bool {
	name, stat := metric.Cut(key)
	m := metric.ByName(name)
	return m.Words != "" && (m.Of == metric.Window) == (stat == "") && !strings.HasPrefix(key, "min_")
}

func (m *Matrix) KnobSizes() (sizes []int) {
	for _, s := range m.Variants[0].Settings {
		sizes = append(sizes, len(m.Server.Knobs.Values[s.Knob]))
	}
	return sizes
}

// RaceTrials are how many settings a race starts, with the confirmation.
func (m *Matrix) RaceTrials() (least, most int) {
	least, most = (&tune.Space{Knobs: m.KnobSizes(), Order: m.Tune.Order}).Trials()
	return least + 2, most + 4
}
