package sweep

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/series"
	"bench/sweep/matrix"
)

// A run with a budget runs every row of the matrix that fits, in its order. Then it adds repeats of points whose SLO
// is undecided, one after the other: each long enough for a verdict at the share of requests over the limit so far
// (series.OpenPoints). It ends when every point is decided, or none of the open ones fits in the rest.

func spentBy(attempts []record.Attempt) (sum time.Duration) {
	for _, a := range attempts {
		if a.Time != nil {
			sum += seconds(a.Time.TotalS)
		}
	}
	return sum
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// addRepeat plans the next longer repeat of an undecided point; false: none is left that fits.
func (r *run) addRepeat() bool {
	if r.watch.budget == 0 && (r.Predicted == nil || r.racing != nil) {
		return false
	}
	for _, o := range r.openPoints() {
		longer := o.Longer
		if longer == nil || !r.watch.fits(o.LongerTime+startTime(r.servers, r.serving, longer.Variant)) {
			continue
		}
		at := slices.IndexFunc(r.m.Points, func(s experiment.Spec) bool {
			return s.Label() == longer.Label() && s.Variant == longer.Variant
		})
		if at < 0 {
			continue
		}
		s := r.m.Points[at]
		picked, err := matrix.Match(&s, r.Only)
		if !picked || err != nil || r.watch.budget == 0 && !withinPrediction(&s, longer) {
			continue
		}
		s.Repeat, s.Added, s.Requests, s.Duration = longer.Repeat, longer.Added, longer.Requests, longer.Duration
		for r.specs[matrix.ID(&s)] != nil { // a repeat of the matrix that did not fit has the number
			s.Repeat++
		}
		s.Repeats = s.Repeat
		p := r.dir.planned(&s)
		r.specs[p.ID] = &s
		r.todo, r.manifest.Plan = append(r.todo, p), append(r.manifest.Plan, p)
		return true
	}
	return false
}

// withinPrediction bounds what a prediction without a budget takes until it decides: its repeats cost no server.
func withinPrediction(s, longer *experiment.Spec) bool {
	const times, most = 16, 100_000 // of the row's own window; requests
	requests := max(float64(longer.Requests), float64(longer.Rate)*time.Duration(longer.Duration).Seconds())
	return longer.Duration <= times*s.Duration && longer.Requests <= times*s.Requests && requests <= most
}

// planAdded plans the repeats that an earlier attempt added to a point, whose first repeat is s.
func (r *resumption) planAdded(s *experiment.Spec, picked bool, ids []string) {
	if s.Search != nil || s.Repeat > 1 {
		return
	}
	stem := strings.TrimSuffix(matrix.ID(s), "1")
	for _, id := range ids {
		if !strings.HasPrefix(id, stem) || r.specs[id] != nil {
			continue
		}
		row, ok := r.dir.row(id)
		if !ok || row.Spec.Added == 0 {
			continue
		}
		again := addedAs(s, row)
		if matrix.ID(&again) == id && r.dir.reusable(row, r.dir.hash(&again)) {
			r.specs[id] = &again
			r.planPoint(&again, picked, nil)
		}
	}
}

func addedAs(s *experiment.Spec, row *record.Row) experiment.Spec {
	again := *s
	again.Repeat, again.Repeats, again.Added = row.Spec.Repeat, row.Spec.Repeat, row.Spec.Added
	again.Requests, again.Duration = row.Spec.Requests, row.Spec.Duration
	return again
}

// openPoints are the undecided points of the finished rows, without those beyond a load that misses the SLO.
func (r *run) openPoints() []series.OpenPoint {
	var rows []record.Row
	seen := map[string]bool{} // a skipped row that is planned again is there twice
	for _, p := range r.todo {
		if row, ok := r.dir.kept(p); ok && !seen[p.ID] {
			seen[p.ID], rows = true, append(rows, *row)
		}
	}
	beyond := func(o series.OpenPoint) bool { return r.ran.beyond(o.Spec) != "" }
	return slices.DeleteFunc(series.OpenPoints(rows), beyond)
}

// budgetState is what the manifest says of the budget; nil: there is none. open: with what the run leaves open.
func (r *run) budgetState(open bool) *record.Budget {
	if r.watch.budget == 0 {
		return nil
	}
	b := &record.Budget{TotalS: r.watch.budget.Seconds(), SpentS: r.watch.taken().Seconds(), Open: []record.OpenPoint{},
		NotRun: []record.NotStarted{}}
	for _, p := range r.todo {
		if s := r.specs[p.ID]; s.Added > 0 {
			b.Added++
		}
	}
	if !open {
		return b
	}
	for _, o := range r.openPoints() {
		b.Open = append(b.Open, record.OpenPoint{Name: o.Spec.Label(), Why: o.Why, Need: o.Need,
			NeedS: o.Time.Seconds()})
	}
	for _, p := range r.manifest.Plan {
		if s := r.specs[p.ID]; p.State == "planned" && s != nil && s.Added == 0 {
			b.NotRun = append(b.NotRun, record.NotStarted{ID: p.ID, NeedS: r.takes(s).Seconds()})
		}
	}
	return b
}

// nothingFits is the error of a run without a row, as each takes longer than the budget; nil: there is a row.
func nothingFits(budget time.Duration, plan []record.Planned) error {
	done := func(p record.Planned) bool { return p.State != "planned" }
	if budget == 0 || slices.ContainsFunc(plan, done) {
		return nil
	}
	return fmt.Errorf("no row fits in the budget of %s\n"+
		"hint: bench sweep --dry-run lists their durations; write a longer budget", budget)
}
