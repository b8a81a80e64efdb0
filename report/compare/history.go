package compare

import (
	"fmt"
	"slices"

	"bench/report/parallel"
)

const SchemaHistory = "bench/trends/v2"

type History struct {
	Schema string   `json:"schema"`
	Groups []Group  `json:"groups"`
	Unread []Unread `json:"unread,omitempty"`
}

type Unread struct {
	Dir   string `json:"dir"` // below the history's own
	Error string `json:"error"`
}

type Group struct {
	GroupKey
	Nights []Night `json:"-"` // by start
	Trends []Trend `json:"trends"`
	// Quiet is the number of nights since the last alarm for the worse, or since alarms were first possible;
	// at most 100.
	Quiet int `json:"quiet_nights"`
	// Gates are the verdicts of the nights' gates; none: no run has a gate.json.
	Gates []GateNight `json:"gates,omitempty"`
	// UnreadGates are the nights whose gate.json is unreadable.
	UnreadGates []Unread `json:"unread_gates,omitempty"`
}

type GateNight struct {
	Run string `json:"run"`
	NightGate
}

func (g *Group) Live() (n int) {
	for i := range g.Trends {
		if g.current(&g.Trends[i]) {
			n++
		}
	}
	return n
}

func NewHistory(nights []Night) *History { return historyOf(nights, trended) }

func historyOf(nights []Night, figures []string) *History {
	h := &History{Schema: SchemaHistory, Groups: []Group{}}
	at := map[GroupKey]int{}
	for _, n := range nights {
		if n.Error != "" {
			h.Unread = append(h.Unread, Unread{n.Dir, n.Error})
			continue
		}
		i, known := at[n.Group]
		if !known {
			i = len(h.Groups)
			at[n.Group] = i
			h.Groups = append(h.Groups, Group{GroupKey: n.Group, Trends: []Trend{}})
		}
		h.Groups[i].Nights = append(h.Groups[i].Nights, n)
	}
	for i := range h.Groups {
		h.Groups[i].findTrends(figures)
	}
	return h
}

func (g *Group) findTrends(figures []string) {
	slices.SortStableFunc(g.Nights, func(a, b Night) int { return a.StartedAt.Compare(b.StartedAt) })
	at := map[string]int{}
	workloads := map[string][]string{}
	for i, n := range g.Nights {
		if n.Gate != nil {
			g.Gates = append(g.Gates, GateNight{n.Run, *n.Gate})
		}
		if n.GateError != "" {
			g.UnreadGates = append(g.UnreadGates, Unread{n.Dir, n.GateError})
		}
		for _, p := range n.Points {
			if !slices.Contains(workloads[p.Name], p.Workload) {
				workloads[p.Name] = append(workloads[p.Name], p.Workload)
			}
			for _, metric := range figures {
				v, ok := p.Figures[metric]
				if !ok {
					continue
				}
				key := p.Name + "\x00" + p.Workload + "\x00" + metric
				k, known := at[key]
				if !known {
					k = len(g.Trends)
					at[key] = k
					g.Trends = append(g.Trends, Trend{Point: g.label(p, workloads), Metric: metric,
						Unit: newFigure(metric).Unit})
				}
				g.Trends[k].Nights = append(g.Trends[k].Nights,
					TrendNight{n.Run, n.StartedAt, len(v.Invalid) == 0, v, i})
			}
		}
	}
	live, quiet := g.Live(), make([]quietNights, len(g.Trends))
	parallel.Do(len(g.Trends), nil, func(i int) { quiet[i] = g.test(&g.Trends[i], live) })
	watched, alarm := len(g.Nights), max(-1, len(g.Nights)-mostQuiet-1)
	for _, q := range quiet {
		watched, alarm = min(watched, q.watched), max(alarm, q.alarm)
	}
	g.Quiet = len(g.Nights) - max(watched, alarm+1)
}

// label is the point's name, numbered if an earlier point of that name had another workload.
func (g *Group) label(p NightPoint, workloads map[string][]string) string {
	if i := slices.Index(workloads[p.Name], p.Workload); i > 0 {
		return fmt.Sprintf("%s (workload %d)", p.Name, i+1)
	}
	return p.Name
}

// current reports whether the trend has the group's last night. One that has ended raises no alarm.
func (g *Group) current(t *Trend) bool {
	return t.Nights[len(t.Nights)-1].night == len(g.Nights)-1
}
