package sweep

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"bench/experiment"
	"bench/experiment/record"
	"bench/experiment/series"
)

// A run with a budget runs every row of the matrix that fits, in its order. Then it adds repeats of points whose SLO
// is undecided, one after the other: each long enough for a verdict at the share of requests over the limit so far
// (series.OpenPoints). It ends when every point is decided, or none of the open ones fits in the rest.

// budget is the time that the run may take in all attempts; 0 = unlimited.
func (r *run) budget() time.Duration { return time.Duration(r.m.Budget) }

func (r *run) spent() time.Duration {
	return r.spentBefore + seconds(r.watch.spent.TotalS) + time.Since(r.watch.since)
}

func spentBy(attempts []record.Attempt) (sum time.Duration) {
	for _, a := range attempts {
		if a.Time != nil {
			sum += seconds(a.Time.TotalS)
		}
	}
	return sum
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func (r *run) takes(s *experiment.Spec) time.Duration {
	if r.Takes != nil {
		return r.Takes(s)
	}
	d, _ := s.ExpectedDuration()
	return d
}

func (r *run) fits(takes time.Duration) bool {
	return r.m.Budget == 0 || r.spent()+takes <= r.budget()
}

// addRepeat plans the next longer repeat of an undecided point; false: none is left that fits.
func (r *run) addRepeat() bool {
	if r.m.Budget == 0 && (r.Predicted == nil || r.racing != nil) {
		return false
	}
	for _, o := range r.openPoints() {
		if o.Longer == nil || r.m.Budget == 0 && !r.withinPrediction(o.Longer) ||
			!r.fits(o.LongerTime+r.startTime(o.Longer.Variant)) {
			continue
		}
		s, ok := r.added(o.Longer)
		if !ok {
			continue
		}
		for r.specs[ID(&s)] != nil { // a repeat of the matrix that did not fit has the number
			s.Repeat++
		}
		s.Repeats = s.Repeat
		p := record.Planned{ID: ID(&s), Name: s.Name, SpecHash: r.hash(&s), State: "planned"}
		r.specs[p.ID] = &s
		r.todo, r.manifest.Plan = append(r.todo, p), append(r.manifest.Plan, p)
		return true
	}
	return false
}

// withinPrediction bounds what a prediction without a budget takes until it decides: its repeats cost no server.
func (r *run) withinPrediction(longer *experiment.Spec) bool {
	const times, most = 16, 100_000 // of the row's own window; requests
	for i := range r.m.Points {
		if s := &r.m.Points[i]; s.Label() == longer.Label() && s.Variant == longer.Variant {
			requests := max(float64(longer.Requests), float64(longer.Rate)*time.Duration(longer.Duration).Seconds())
			return longer.Duration <= times*s.Duration && longer.Requests <= times*s.Requests && requests <= most
		}
	}
	return false
}

// added is the point of the matrix with the phases of a longer repeat of it; false: the point is not to be run.
func (r *run) added(longer *experiment.Spec) (experiment.Spec, bool) {
	for i := range r.m.Points {
		s := r.m.Points[i]
		if s.Label() != longer.Label() || s.Variant != longer.Variant {
			continue
		}
		picked, err := Match(&s, r.Only)
		s.Repeat, s.Added, s.Requests, s.Duration = longer.Repeat, longer.Added, longer.Requests, longer.Duration
		return s, picked && err == nil
	}
	return experiment.Spec{}, false
}

// planAdded plans the repeats that an earlier attempt added to a point, whose first repeat is s.
func (r *run) planAdded(s *experiment.Spec, picked bool, ids []string) {
	if s.Search != nil || s.Repeat > 1 {
		return
	}
	stem := strings.TrimSuffix(ID(s), "1")
	for _, id := range ids {
		if !strings.HasPrefix(id, stem) || r.specs[id] != nil {
			continue
		}
		row, ok := r.dir.row(id)
		if !ok || row.Spec.Added == 0 {
			continue
		}
		again := addedAs(s, row)
		if ID(&again) == id && r.reusable(row, r.hash(&again)) {
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

// startTime is how long a start of a variant's server took; 0 = it runs, or bench does not start it.
func (r *run) startTime(variant string) time.Duration {
	if r.serving == nil || r.serving.Variant == variant {
		return 0
	}
	for _, s := range slices.Backward(r.servers) {
		if s.Variant == variant {
			return seconds(s.ReadyS)
		}
	}
	return 0
}

// openPoints are the undecided points of the finished rows, without those beyond a load that misses the SLO.
func (r *run) openPoints() []series.OpenPoint {
	var rows []record.Row
	seen := map[string]bool{} // a skipped row that is planned again is there twice
	for _, p := range r.todo {
		if row, ok := r.kept(p); ok && !seen[p.ID] {
			seen[p.ID], rows = true, append(rows, *row)
		}
	}
	return slices.DeleteFunc(series.OpenPoints(rows), func(o series.OpenPoint) bool { return r.beyond(o.Spec) != "" })
}

// budgetState is what the manifest says of the budget; nil: there is none. open: with what the run leaves open.
func (r *run) budgetState(open bool) *record.Budget {
	if r.m.Budget == 0 {
		return nil
	}
	b := &record.Budget{TotalS: r.budget().Seconds(), SpentS: r.spent().Seconds(), Open: []record.OpenPoint{},
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
func (r *run) nothingFits() error {
	done := func(p record.Planned) bool { return p.State != "planned" }
	if r.m.Budget == 0 || slices.ContainsFunc(r.manifest.Plan, done) {
		return nil
	}
	return fmt.Errorf("no row fits in the budget of %s\nhint: bench sweep --dry-run lists their durations; write a longer budget", r.budget())
}

// budgetSpent is the error of a run to resume whose budget is spent; nil: it is not.
func (r *run) budgetSpent() error {
	if r.m.Budget == 0 || r.spentBefore < r.budget() {
		return nil
	}
	return &ResumeError{fmt.Sprintf("the budget of %s is spent: the run took %s\n"+
		"hint: resume with a longer one, such as --set budget=%s", r.budget(), r.spentBefore.Round(time.Second),
		2*max(r.budget(), r.spentBefore.Round(time.Minute)))}
}
