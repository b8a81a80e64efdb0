package compare

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"bench/experiment/stats"
)

// SchemaHistory is of a History as JSON.
const SchemaHistory = "bench/trends/v1"

// History is many runs, grouped by what makes them one history, and each figure's way through them.
type History struct {
	Schema string   `json:"schema"`
	Groups []Group  `json:"groups"`
	Unread []Unread `json:"unread,omitempty"`
}

// Unread is a run that could not be read.
type Unread struct {
	Dir   string `json:"dir"` // below the history's own
	Error string `json:"error"`
}

// Group is the runs of one matrix against one model on one hardware.
type Group struct {
	GroupKey
	Nights []Night `json:"-"` // in the order of their start
	Trends []Trend `json:"trends"`
}

// Trend is one figure of one point, night by night.
type Trend struct {
	Point   string       `json:"point"`
	Metric  string       `json:"metric"`
	Unit    string       `json:"unit"`
	Nights  []TrendNight `json:"nights"`
	Changes []Change     `json:"changes"`
	Alarm   *Alarm       `json:"alarm"` // of the last night; null: it is as expected, or not watched
	// Unwatched is why no alarm can be raised for the last night; empty: it is watched.
	Unwatched string `json:"unwatched,omitempty"`
}

// TrendNight is the value of a night.
type TrendNight struct {
	Run   string    `json:"run"`
	At    time.Time `json:"at"`
	Valid bool      `json:"valid"` // one that is not is shown, and not judged by
	Value

	night int // in the group
}

// Change is a night from which on a figure is another one.
type Change struct {
	At       int       `json:"at"` // index in Nights
	Date     time.Time `json:"date"`
	Run      string    `json:"run"`
	Before   float64   `json:"before"` // mean since the change before
	After    float64   `json:"after"`
	Size     float64   `json:"size"` // share of before; of error_rate, the difference
	Worse    bool      `json:"worse"`
	P        float64   `json:"p"`
	Suspects []Suspect `json:"suspects"` // what else changed in the nights around
}

// Suspect is a fact that changed about when a figure did.
type Suspect struct {
	Fact
	Was  string    `json:"was"`
	Date time.Time `json:"date"`
}

// Alarm says that the last night, or the last two together, lie where the nights before would seldom have put them. A change that
// is one becomes a change-point in the nights to come.
type Alarm struct {
	Nights   int            `json:"nights"` // 1 or 2
	X        float64        `json:"x"`      // their mean
	Expected stats.Interval `json:"expected"`
	Size     float64        `json:"size"` // against the mean of the nights before, as in Change
	Worse    bool           `json:"worse"`
	Date     time.Time      `json:"date"`
}

// How a history is watched. With these an alarm in a quiet series comes less than once in a thousand nights, and a step of five
// standard deviations raises one within two nights (in 293 of 300 simulated histories) and is a change-point within five (in all).
const (
	alarmRisk   = 2e-4 // of a night's false alarm, over all figures of a group together
	baseline    = 60   // nights that an alarm is measured against, at most
	leastNights = 8    // and at least
	leastSpread = 1e-3 // between nights: who has seen only equal nights has not seen much
	mostNights  = 500  // that change-points are looked for in, from the last one back
)

var changes = stats.ChangeTest{Least: 4, Level: 1e-3, Permutations: 1999}

// NewHistory puts nights in order and judges them.
func NewHistory(nights []Night) *History {
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
		h.Groups[i].follow()
	}
	return h
}

// follow gathers the trends of a group, and judges them.
func (g *Group) follow() {
	slices.SortStableFunc(g.Nights, func(a, b Night) int { return a.StartedAt.Compare(b.StartedAt) })
	at := map[string]int{}
	workloads := map[string][]string{}
	for i, n := range g.Nights {
		for _, p := range n.Points {
			if !slices.Contains(workloads[p.Name], p.Sent) {
				workloads[p.Name] = append(workloads[p.Name], p.Sent)
			}
			for _, metric := range trended {
				v, ok := p.Figures[metric]
				if !ok {
					continue
				}
				key := p.Name + "\x00" + p.Sent + "\x00" + metric
				k, known := at[key]
				if !known {
					k = len(g.Trends)
					at[key] = k
					g.Trends = append(g.Trends, Trend{Point: g.label(p, workloads), Metric: metric, Unit: newFigure(metric).unit})
				}
				g.Trends[k].Nights = append(g.Trends[k].Nights, TrendNight{n.Run, n.StartedAt, p.Valid, v, i})
			}
		}
	}
	live := 0
	for i := range g.Trends {
		if g.current(&g.Trends[i]) {
			live++
		}
	}
	each(indices(len(g.Trends)), func(i int) { g.judge(&g.Trends[i], live) })
}

// label tells a point from one of the same name that had another workload before it.
func (g *Group) label(p NightPoint, workloads map[string][]string) string {
	if i := slices.Index(workloads[p.Name], p.Sent); i > 0 {
		return fmt.Sprintf("%s (workload %d)", p.Name, i+1)
	}
	return p.Name
}

func indices(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// current says that the trend has the group's last night: another one is over, and raises no alarm.
func (g *Group) current(t *Trend) bool {
	return t.Nights[len(t.Nights)-1].night == len(g.Nights)-1
}

// judge finds the changes and the alarm of a trend; live is how many trends share the risk of a false alarm.
func (g *Group) judge(t *Trend, live int) {
	f := newFigure(t.Metric)
	t.Changes = []Change{}
	var valid []int // nights to judge by
	var values []float64
	for i, n := range t.Nights {
		if n.Valid {
			valid, values = append(valid, i), append(values, f.scale(n.X))
		}
	}
	skipped := max(0, len(values)-mostNights)
	found := stats.ChangePoints(values[skipped:], changes, t.random())
	start := 0
	for i, c := range found {
		at, end := c.At+skipped, len(values)
		if i+1 < len(found) {
			end = found[i+1].At + skipped
		}
		before, _ := stats.MeanSpread(values[start:at])
		after, _ := stats.MeanSpread(values[at:end])
		n := t.Nights[valid[at]]
		size := f.change(after - before)
		t.Changes = append(t.Changes, Change{At: valid[at], Date: n.At, Run: n.Run, Before: f.unscale(before), After: f.unscale(after),
			Size: size, Worse: worse(t.Metric, size) > 0, P: c.P, Suspects: g.suspects(n.night)})
		start = at
	}
	if t.Unwatched = g.unwatched(t, valid, len(values)-start); t.Unwatched != "" {
		return
	}
	if a, ok := watch(values[start:], alarmRisk/float64(live)); ok {
		a.Size = f.change(a.Size)
		a.Worse, a.Date = worse(t.Metric, a.Size) > 0, t.Nights[len(t.Nights)-1].At
		a.X, a.Expected = f.unscale(a.X), stats.Interval{Lo: f.unscale(a.Expected.Lo), Hi: f.unscale(a.Expected.Hi)}
		t.Alarm = &a
	}
}

// Over is why a trend that has ended is not watched.
const Over = "the last night has no such point"

// unwatched is why the last night is not held against those before it; valid are the nights to judge by, since of them come after
// the last change.
func (g *Group) unwatched(t *Trend, valid []int, since int) string {
	counted := fmt.Sprintf("%d of %d nights are valid", len(valid), len(t.Nights))
	switch {
	case !g.current(t):
		return Over
	case len(valid) == 0 || valid[len(valid)-1] != len(t.Nights)-1:
		return "the last night is not valid; " + counted
	case since <= leastNights:
		return fmt.Sprintf("an alarm needs %d valid nights before the last one and since the last change, and there are %d; %s", leastNights, since-1, counted)
	}
	return ""
}

// watch asks whether the last value, or the mean of the last two, lies outside of what the values before predict. Half of the risk
// goes to either question. Two together find what is smaller, one alone what is larger at once.
func watch(values []float64, risk float64) (Alarm, bool) {
	for _, nights := range []int{1, 2} {
		n := len(values) - nights
		if n < leastNights {
			return Alarm{}, false
		}
		before := values[max(0, n-baseline):n]
		iv := stats.PredictionInterval(before, nights, 1-risk/2, leastSpread)
		last, _ := stats.MeanSpread(values[n:])
		if last < iv.Lo || last > iv.Hi {
			return Alarm{Nights: nights, X: last, Expected: iv, Size: last - (iv.Lo+iv.Hi)/2}, true
		}
	}
	return Alarm{}, false
}

// random is a source for permutations, the same for the same trend: a page made twice is the same page.
func (t *Trend) random() *rand.Rand {
	h := fnv.New64a()
	fmt.Fprint(h, t.Point, t.Metric)
	return rand.New(rand.NewPCG(h.Sum64(), math.Float64bits(t.Nights[len(t.Nights)-1].X)))
}

// suspects are the facts that changed about a night: with it first, then in the night before and the one after, as a change-point
// can lie one off.
func (g *Group) suspects(night int) []Suspect {
	out := []Suspect{}
	for _, i := range []int{night, night - 1, night + 1} {
		if i < 1 || i >= len(g.Nights) {
			continue
		}
		was, is := said(g.Nights[i-1]), said(g.Nights[i])
		for _, what := range union(g.Nights[i-1].order(), g.Nights[i].order()) {
			if was[what] != is[what] {
				out = append(out, Suspect{Fact{what, or(is[what], notStated)}, or(was[what], notStated), g.Nights[i].StartedAt})
			}
		}
	}
	return out
}

func said(n Night) map[string]string {
	out := map[string]string{}
	for _, f := range n.Facts {
		out[f.What] = f.Value
	}
	return out
}

func (n Night) order() (out []string) {
	for _, f := range n.Facts {
		out = append(out, f.What)
	}
	return out
}
