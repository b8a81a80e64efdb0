package compare

import (
	"fmt"
	"slices"
	"time"

	"bench/experiment/stats"
)

type Trend struct {
	Point   string       `json:"point"`
	Metric  string       `json:"metric"`
	Unit    string       `json:"unit"`
	Nights  []TrendNight `json:"nights"`
	Changes []Change     `json:"changes"`
	Drift   *Drift       `json:"drift,omitempty"` // in place of changes, where a line explains the nights better
	Alarm   *Alarm       `json:"alarm"`           // of the last night; null: as expected, or unwatched
	// Unwatched is why the last night can raise no alarm; empty: it can.
	Unwatched string `json:"unwatched,omitempty"`
}

type TrendNight struct {
	Run   string    `json:"run"`
	At    time.Time `json:"at"`
	Valid bool      `json:"valid"` // an invalid figure is shown, and ignored by tests
	Value

	night int // index in Group.Nights
}

type Change struct {
	At     int       `json:"at"` // index in Nights
	Date   time.Time `json:"date"`
	Run    string    `json:"run"`
	Before float64   `json:"before"` // median since the previous change
	After  float64   `json:"after"`  // median until the next one
	Size   float64   `json:"size"`   // relative to Before; of a share, the difference
	Worse  bool      `json:"worse"`
	// of a change here against none, for nights that can resemble the previous ones
	LogRatio float64   `json:"log_likelihood_ratio"`
	Suspects []Suspect `json:"suspects"` // what else changed in this night or a neighbour

	excess float64 // of LogRatio over its limit
	since  int     // number of valid nights from it to the next change
}

// Drift is a level that moves a little every night.
type Drift struct {
	Since    time.Time `json:"since"`
	Run      string    `json:"run"`       // of that night
	PerNight float64   `json:"per_night"` // as Size
	Before   float64   `json:"before"`    // of the fitted line, at its first night
	After    float64   `json:"after"`     // at the last night
	Size     float64   `json:"size"`      // from Before to After, as of a Change
	Worse    bool      `json:"worse"`
}

const mostTested = 500

// test: live trends share the risk of a false alarm.
func (g *Group) test(t *Trend, live int) quietNights {
	w := watch{figure: newFigure(t.Metric), trend: t, live: live,
		risk: min(alarmRisk, alarmRiskAll/float64(max(1, live)))}
	for i, n := range t.Nights {
		if n.Valid {
			w.valid, w.values = append(w.valid, i), append(w.values, w.figure.scale(n.X))
		}
	}
	start := g.findChanges(&w)
	why := g.unwatched(t, w.valid, len(w.values)-start)
	if a := w.alarm(len(w.values)); a != nil && g.current(t) && (why == "" || a.Expected == nil) {
		t.Alarm = a
	} else {
		t.Unwatched = why
	}
	return w.quiet(len(g.Nights))
}

// findChanges sets the changes of a trend, and returns the index of the first value after the last one.
func (g *Group) findChanges(w *watch) (start int) {
	f, t, valid, values := w.figure, w.trend, w.valid, w.values
	t.Changes = []Change{}
	skipped := max(0, len(values)-mostTested)
	found := stats.ChangePoints(values[skipped:])
	if line, ok := stats.Drift(values[skipped:], found); ok {
		n := t.Nights[valid[skipped]]
		rise := line.Slope * float64(len(values)-skipped-1)
		t.Drift = &Drift{Since: n.At, Run: n.Run, PerNight: f.Change(line.Slope), Before: f.unscale(line.Start),
			After: f.unscale(line.Start + rise), Size: f.Change(rise), Worse: WorseBy(t.Metric, line.Slope) > 0}
		return 0
	}
	for i, c := range found {
		at, end := c.At+skipped, len(values)
		if i+1 < len(found) {
			end = found[i+1].At + skipped
		}
		before, after := stats.Median(values[start:at]), stats.Median(values[at:end])
		n := t.Nights[valid[at]]
		size := f.Change(after - before)
		t.Changes = append(t.Changes, Change{At: valid[at], Date: n.At, Run: n.Run, Before: f.unscale(before),
			After: f.unscale(after), Size: size, Worse: WorseBy(t.Metric, size) > 0, LogRatio: c.LogRatio,
			Suspects: g.suspects(n.night), excess: c.LogRatio - c.Limit, since: end - at})
		start = at
	}
	return start
}

const TrendEnded = "the last night lacks the point"

// unwatched gets the indices of the valid nights, and how many come after the last change.
func (g *Group) unwatched(t *Trend, valid []int, since int) string {
	counted := ""
	if len(valid) < len(t.Nights) {
		counted = fmt.Sprintf("; %d of %d nights are valid", len(valid), len(t.Nights))
	}
	switch {
	case !g.current(t):
		return TrendEnded
	case len(valid) == 0 || valid[len(valid)-1] != len(t.Nights)-1:
		return "the last night is invalid" + counted
	case since <= leastNights && len(t.Changes) > 0:
		return fmt.Sprintf("an alarm needs %d valid nights between the last change and the last night, not %d%s",
			leastNights, since-1, counted)
	case since <= leastNights:
		return fmt.Sprintf("an alarm needs %d valid nights before the last one, not %d%s", leastNights,
			max(0, since-1), counted)
	}
	return ""
}

type Suspect struct {
	Fact
	Was  string    `json:"was"`
	Date time.Time `json:"date"`
}

// suspects are of the night, then of the previous and the next one: a change-point can be off by one.
func (g *Group) suspects(night int) []Suspect {
	out := []Suspect{}
	for _, i := range []int{night, night - 1, night + 1} {
		if i < 1 || i >= len(g.Nights) {
			continue
		}
		was, is := g.Nights[i-1].Facts, g.Nights[i].Facts
		for k, f := range slices.Concat(was, is) {
			before, after := valueOf(was, f.What), valueOf(is, f.What)
			if f.What == buildInfo {
				before, after = foldBuildInfo([]string{before}, []string{after})
			}
			if inBoth := k >= len(was) && valueOf(was, f.What) != notSpecified; before != after && !inBoth {
				out = append(out, Suspect{Fact{What: f.What, Value: after}, before, g.Nights[i].StartedAt})
			}
		}
	}
	return out
}

func valueOf(facts []Fact, what string) string {
	i := slices.IndexFunc(facts, func(f Fact) bool { return f.What == what })
	if i < 0 {
		return notSpecified
	}
	return facts[i].Value
}
