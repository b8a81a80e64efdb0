package forecast

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/unit"
)

// Earlier is what finished runs of a matrix show about the durations of its points. The zero value is none.
type Earlier struct {
	Run string // the newest of them that has a point: the name of its directory

	paces paces
}

// Add takes the rows of an earlier run, the newest run first: of each shape the newest run counts.
func (e *Earlier) Add(run string, rows []*record.Row) {
	own := paces{}
	for _, r := range rows {
		own.add(r)
	}
	if e.paces == nil {
		e.paces = paces{}
	}
	for shape, p := range own {
		if e.paces[shape] == nil {
			e.paces[shape] = p
			if e.Run == "" {
				e.Run = run
			}
		}
	}
}

// Knows reports whether a row of the shape of a point has run.
func (e *Earlier) Knows(s *experiment.Spec) bool { return e.paces[shapeOf(s)] != nil }

// source is what a duration rests on.
type source int

const (
	fromMatrix  source = iota // its durations, and numbers of requests at a rate
	fromSpeed                 // the predicted speed of the server
	fromEarlier               // a row of an earlier run
	fromRun                   // a row of this run
	sources
)

// durations predicts how long points take, by the first source that knows: rows of this run, rows of an earlier
// one, the server's speed.
type durations struct {
	ran     paces
	earlier Earlier
	speed   Speed
	ratios  []float64 // measured time of a request over the predicted one, ascending: of the rows of this run
}

func newDurations(k Known) *durations {
	return &durations{ran: paces{}, earlier: k.Earlier, speed: k.Speed}
}

// learn takes a finished row.
func (d *durations) learn(r *record.Row) {
	d.ran.add(r)
	s := &r.Spec
	p, ok := paceOf(r)
	if !ok || d.speed.blind(s) || s.Rate > 0 || s.Concurrency == 0 || s.IsColdStart() || p.requests == 0 {
		return
	}
	rate, _ := d.speed.perS(s.Concurrency, meanTokens(s))
	ratio := rate / p.rate()
	at, _ := slices.BinarySearch(d.ratios, ratio)
	d.ratios = slices.Insert(d.ratios, at, ratio)
}

// corrected is the predicted speed, times the median error that the rows of this run show.
func (d *durations) corrected() *Speed {
	if len(d.ratios) == 0 {
		return &d.speed
	}
	v, ratio := d.speed, d.ratios[len(d.ratios)/2]
	v.RequestMs = func(batch, input, cached, output float64) float64 {
		return ratio * d.speed.RequestMs(batch, input, cached, output)
	}
	return &v
}

// of is the duration of a point; fromMatrix: none of the sources knows it.
func (d *durations) of(s *experiment.Spec) (time.Duration, source) {
	if took, ok := d.ran.of(s); ok {
		return took, fromRun
	}
	if took, ok := d.earlier.paces.of(s); ok {
		return took, fromEarlier
	}
	if took, ok := d.corrected().row(s); ok {
		return took, fromSpeed
	}
	return 0, fromMatrix
}

// rate is the number of requests per second of a closed loop, and 0 if it is not known.
func (d *durations) rate(s *experiment.Spec) float64 {
	if rate := d.ran.rate(s); rate > 0 {
		return rate
	}
	if rate := d.earlier.paces.rate(s); rate > 0 {
		return rate
	}
	if d.speed.blind(s) || s.Concurrency == 0 {
		return 0
	}
	rate, _ := d.corrected().perS(s.Concurrency, meanTokens(s))
	return rate
}

// planned is the number of requests in a row's window, or about that in a closed loop that time ends; 0 = the
// server's speed decides, and is not known.
func (d *durations) planned(s *experiment.Spec) (n int, about bool) {
	n = plannedRequests(s)
	if s.Rate > 0 || s.Concurrency == 0 || s.IsColdStart() || s.UntilInterrupted() {
		return n, n > 0 && s.Rate > 0 && s.ReplaysSessions()
	}
	rate := d.rate(s)
	if by := rate * window(s, rate); rate > 0 && (n == 0 || by < 0.99*float64(n)) {
		return max(1, int(by)), true
	}
	return n, false
}

// sourcesText is what so many rows' durations rest on: "the run 20261122T101500Z", or with several sources "the run
// 20261122T101500Z (10 rows) and the matrix alone (4)".
func (d *durations) sourcesText(rows [sources]int) string {
	names := [sources]string{fromRun: "this run", fromEarlier: "the run " + d.earlier.Run, fromSpeed: "the " + d.speed.Basis, fromMatrix: "the matrix alone"}
	var used []source
	for s := sources - 1; s >= 0; s-- {
		if rows[s] > 0 {
			used = append(used, s)
		}
	}
	if len(used) == 1 {
		return names[used[0]]
	}
	var parts []string
	for i, s := range used {
		n := unit.Count(rows[s])
		if i == 0 {
			n = unit.Plural(rows[s], "row")
		}
		parts = append(parts, fmt.Sprintf("%s (%s)", names[s], n))
	}
	if len(parts) == 0 {
		return ""
	}
	last := len(parts) - 1
	return strings.TrimPrefix(strings.Join(parts[:last], ", ")+" and "+parts[last], " and ")
}
