package sweep

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"bench/experiment"
	"bench/experiment/endpoint"
	"bench/experiment/mock"
	"bench/experiment/record"
	"bench/experiment/verdict"
)

// open has two points of 60 requests: a verdict on an error rate of 5 % takes 90.
const open = `name = "open"
budget = "10m"
[slo]
error_rate = 0.05
[defaults]
input = 16
output = 4
[[row]]
name = "a"
concurrency = [1, 2]
requests = 60
`

const openDone = "a,concurrency=1-r1 done, a,concurrency=2-r1 done, a,concurrency=1-r2 done, a,concurrency=2-r2 done"

// sorted are the states of a plan without the order, in which the shortest repeat is first.
func sorted(m record.Manifest) string {
	all := strings.Split(states(m), ", ")
	slices.SortFunc(all, func(a, b string) int {
		return strings.Compare(a[strings.Index(a, "-r"):]+a, b[strings.Index(b, "-r"):]+b)
	})
	return strings.Join(all, ", ")
}

// A budget adds a repeat that is long enough to each undecided point, and the point is decided by it.
func TestBudget(t *testing.T) {
	base, _ := startMock(t, mock.Config{})
	result := complete(t, base, open, Options{Out: t.TempDir()})
	m := manifestOf(t, result.Dir)
	b := m.Budget
	if sorted(m) != openDone || b == nil || b.TotalS != 600 || b.SpentS <= 0 || b.Added != 2 || len(b.Open)+len(b.NotRun) != 0 {
		t.Fatalf("%s: %+v", sorted(m), b)
	}
	d := directory{path: result.Dir}
	short, _ := d.row("a,concurrency=1-r1")
	long, _ := d.row("a,concurrency=1-r2")
	if long.Spec.Added != 1 || long.Spec.Requests != 90 { // (60 + 12) × 1.25
		t.Errorf("repeat %d has %d requests", long.Spec.Added, long.Spec.Requests)
	}
	alone, need := verdict.OfRows(short)
	if both, _ := verdict.OfRows(short, long); alone != "UNDECIDED" || need != 12 || both != "PASS" {
		t.Errorf("%s needs %d, with its longer repeat %s", alone, need, both)
	}
}

// A resumed run goes on with its budget, and keeps the repeats that it added.
func TestBudgetResume(t *testing.T) {
	base, _ := startMock(t, mock.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	event := func(e Event) {
		if e.Begun != nil && e.Begun.ID == "a,concurrency=2-r2" {
			cancel() // at once: a busy machine could end the short row before it is looked at
		}
	}
	result, err := sweepTo(t, ctx, base, open, Options{Out: t.TempDir(), Event: event})
	if !endpoint.Interrupted(err) {
		t.Fatal(err)
	}
	first := manifestOf(t, result.Dir)
	if len(first.Budget.Open) == 0 || first.Budget.Open[0].Need != 12 {
		t.Errorf("open after the interruption: %+v", first.Budget.Open)
	}
	complete(t, base, open, Options{Resume: result.Dir})
	second := manifestOf(t, result.Dir)
	if sorted(second) != openDone || second.Budget.Added != 2 || second.Budget.SpentS < first.Budget.SpentS {
		t.Errorf("%s: %+v", sorted(second), second.Budget)
	}
	var events []string
	complete(t, base, open, Options{Resume: result.Dir, Event: log(&events)})
	if begun := slices.ContainsFunc(events, func(e string) bool { return strings.HasPrefix(e, "begun") }); begun || len(events) != 5 {
		t.Errorf("a run that has ended runs again: %v", events)
	}
	_, err = sweepTo(t, t.Context(), base, strings.Replace(open, "10m", "1ms", 1), Options{Resume: result.Dir})
	if err == nil || !strings.Contains(err.Error(), "the budget of 1ms is spent") {
		t.Errorf("resumed beyond its budget: %v", err)
	}
}

// Rows that do not fit in the rest of the budget are left out and named; those that fit run.
func TestBudgetThatIsTooShort(t *testing.T) {
	base, _ := startMock(t, mock.Config{})
	takes := func(s *experiment.Spec) time.Duration { return time.Duration(s.Concurrency-1) * time.Hour }
	result := complete(t, base, open, Options{Out: t.TempDir(), Takes: takes})
	b := manifestOf(t, result.Dir).Budget
	if len(b.NotRun) != 1 || b.NotRun[0] != (record.NotStarted{ID: "a,concurrency=2-r1", NeedS: 3600}) || b.Added != 1 {
		t.Errorf("%+v", b)
	}
	once := func(s *experiment.Spec) time.Duration { return time.Duration(s.Added) * time.Hour } // a forecast that is wrong
	if b := manifestOf(t, complete(t, base, open, Options{Out: t.TempDir(), Takes: once}).Dir).Budget; b.Added != 2 {
		t.Errorf("%+v", b)
	}
	none := func(*experiment.Spec) time.Duration { return time.Hour }
	if _, err := sweepTo(t, t.Context(), base, open, Options{Out: t.TempDir(), Takes: none}); err == nil || !strings.Contains(err.Error(), "no row fits in the budget of 10m0s") {
		t.Errorf("no row fits: %v", err)
	}
}
