package compare

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat"

	"bench/experiment/stats"
	"bench/report/parallel"
)

// SchemaHistory is the schema name in a History's JSON.
const SchemaHistory = "bench/trends/v1"

// History is the trends of many runs, grouped by what makes runs comparable.
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

// Group is the runs with one GroupKey.
type Group struct {
	GroupKey
	Nights []Night `json:"-"` // by start
	Trends []Trend `json:"trends"`
}

// Trend is one figure of one point, night by night.
type Trend struct {
	Point   string       `json:"point"`
	Metric  string       `json:"metric"`
	Unit    string       `json:"unit"`
	Nights  []TrendNight `json:"nights"`
	Changes []Change     `json:"changes"`
	Alarm   *Alarm       `json:"alarm"` // of the last night; null: as expected, or unwatched
	// Unwatched is why the last night can raise no alarm; empty: it can.
	Unwatched string `json:"unwatched,omitempty"`
}

// TrendNight is the value of a night.
type TrendNight struct {
	Run   string    `json:"run"`
	At    time.Time `json:"at"`
	Valid bool      `json:"valid"` // an invalid night is shown, and ignored by tests
	Value

	night int // index in Group.Nights
}

// Change is a change-point: the night from which on the level of a figure differs.
type Change struct {
	At       int       `json:"at"` // index in Nights
	Date     time.Time `json:"date"`
	Run      string    `json:"run"`
	Before   float64   `json:"before"` // mean since the previous change
	After    float64   `json:"after"`
	Size     float64   `json:"size"` // relative to Before; of error_rate, the difference
	Worse    bool      `json:"worse"`
	P        float64   `json:"p"`        // for nights with the autocorrelation of these, else exchangeable
	Suspects []Suspect `json:"suspects"` // what else changed in this night or a neighbour
}

// Suspect is a fact that changed at about the same night as a figure.
type Suspect struct {
	Fact
	Was  string    `json:"was"`
	Date time.Time `json:"date"`
}

// Alarm is an outlier: the last night, or each of the last two or three, lies beyond the limits that the
// previous nights give, on one side. If the level stays, a later night makes it a change-point.
type Alarm struct {
	Nights   int            `json:"nights"`   // 1, 2 or 3
	X        float64        `json:"x"`        // their mean
	Expected stats.Interval `json:"expected"` // the limits; wider for fewer nights
	Size     float64        `json:"size"`     // against the median of the previous nights, as in Change
	Worse    bool           `json:"worse"`
	Date     time.Time      `json:"date"`
}

// TestSimulationAlarms has what these values bring about.
const (
	alarmRisk   = 2e-4 // of a false alarm per night, over all figures of a group together
	mostInRow   = 3    // largest number of nights in an alarm
	baseline    = 60   // largest number of previous nights
	leastNights = 10   // smallest number of them
	leastSpread = 2e-3 // smallest distance of the furthest night: a few equal nights do not prove that there is none
	mostNights  = 500  // latest nights in which change-points are searched
)

var changes = stats.ChangeTest{Least: 4, Level: 1e-3, Permutations: 1999}

// NewHistory groups nights and finds the changes and alarms of their trends.
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
		h.Groups[i].findTrends()
	}
	return h
}

// findTrends collects the trends of a group and tests them.
func (g *Group) findTrends() {
	slices.SortStableFunc(g.Nights, func(a, b Night) int { return a.StartedAt.Compare(b.StartedAt) })
	at := map[string]int{}
	workloads := map[string][]string{}
	for i, n := range g.Nights {
		for _, p := range n.Points {
			if !slices.Contains(workloads[p.Name], p.Workload) {
				workloads[p.Name] = append(workloads[p.Name], p.Workload)
			}
			for _, metric := range trended {
				v, ok := p.Figures[metric]
				if !ok {
					continue
				}
				key := p.Name + "\x00" + p.Workload + "\x00" + metric
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
	parallel.Do(len(g.Trends), nil, func(i int) { g.judge(&g.Trends[i], live) })
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

// judge finds the changes and the alarm of a trend; live is the number of trends that share the risk of a
// false alarm.
func (g *Group) judge(t *Trend, live int) {
	f := newFigure(t.Metric)
	t.Changes = []Change{}
	var valid []int // indices of valid nights
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
		before, after := stat.Mean(values[start:at], nil), stat.Mean(values[at:end], nil)
		n := t.Nights[valid[at]]
		size := f.change(after - before)
		t.Changes = append(t.Changes, Change{At: valid[at], Date: n.At, Run: n.Run, Before: f.unscale(before), After: f.unscale(after),
			Size: size, Worse: worse(t.Metric, size) > 0, P: c.P, Suspects: g.suspects(n.night)})
		start = at
	}
	if t.Unwatched = g.unwatched(t, valid, len(values)-start); t.Unwatched != "" {
		return
	}
	if a, ok := outlier(values[start:], alarmRisk/float64(live)); ok {
		a.Size = f.change(a.Size)
		a.Worse, a.Date = worse(t.Metric, a.Size) > 0, t.Nights[len(t.Nights)-1].At
		a.X, a.Expected = f.unscale(a.X), stats.Interval{Lo: f.unscale(a.Expected.Lo), Hi: f.unscale(a.Expected.Hi)}
		t.Alarm = &a
	}
}

// TrendEnded is the Unwatched of a trend that has ended.
const TrendEnded = "the last night lacks the point"

// unwatched is the Unwatched of a trend; valid are the indices of its valid nights, since is how many come
// after the last change.
func (g *Group) unwatched(t *Trend, valid []int, since int) string {
	counted := fmt.Sprintf("%d of %d nights are valid", len(valid), len(t.Nights))
	switch {
	case !g.current(t):
		return TrendEnded
	case len(valid) == 0 || valid[len(valid)-1] != len(t.Nights)-1:
		return "the last night is invalid; " + counted
	case since <= leastNights:
		return fmt.Sprintf("an alarm needs %d valid nights between the last change and the last night, not %d; %s", leastNights, since-1, counted)
	}
	return ""
}

// outlier tests whether the last value, each of the last two or each of the last three lie beyond the
// limits of the values before, on one side. The tests share the risk. One night shows only an enormous
// step, since nights with heavy tails look like it; that several nights in a row are far out is rare
// whatever their tails.
func outlier(values []float64, risk float64) (Alarm, bool) {
	for nights := 1; nights <= mostInRow; nights++ {
		n := len(values) - nights
		if n < leastNights {
			return Alarm{}, false
		}
		limits := stats.OutlierLimits(values[max(0, n-baseline):n], nights, risk/mostInRow, leastSpread)
		if last := values[n:]; slices.Min(last) > limits.Hi || slices.Max(last) < limits.Lo {
			x := stat.Mean(last, nil)
			return Alarm{Nights: nights, X: x, Expected: limits, Size: x - (limits.Lo+limits.Hi)/2}, true
		}
	}
	return Alarm{}, false
}

// random is the source of permutations, the same for the same trend, so that the same history gives the same
// page.
func (t *Trend) random() *rand.Rand {
	h := fnv.New64a()
	fmt.Fprint(h, t.Point, t.Metric)
	return rand.New(rand.NewPCG(h.Sum64(), math.Float64bits(t.Nights[len(t.Nights)-1].X)))
}

// suspects are the facts that changed in a night, then those of the previous and of the next one, as a
// change-point can be off by one.
func (g *Group) suspects(night int) []Suspect {
	out := []Suspect{}
	for _, i := range []int{night, night - 1, night + 1} {
		if i < 1 || i >= len(g.Nights) {
			continue
		}
		was, is := g.Nights[i-1].facts(), g.Nights[i].facts()
		for _, what := range union(g.Nights[i-1].order(), g.Nights[i].order()) {
			before, after := cmp.Or(was[what], notSpecified), cmp.Or(is[what], notSpecified)
			if what == buildInfo {
				before, after = foldBuildInfo([]string{before}, []string{after})
			}
			if before != after {
				out = append(out, Suspect{Fact{what, after}, before, g.Nights[i].StartedAt})
			}
		}
	}
	return out
}

func (n Night) facts() map[string]string {
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
