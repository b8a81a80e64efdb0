package revisions

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bench/experiment/bisect"
	"bench/experiment/record"
	"bench/experiment/stats"
)

// planned is a bisection of n revisions whose server has an ITL by revision.
func planned(t *testing.T, names string, itl func(revision string) float64) *Bisection {
	list, err := FromList(names)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(4, 7))
	b := &Bisection{Dir: t.TempDir(), Limit: time.Minute, Event: func(string) {}}
	b.Result = Result{Schema: Schema, Matrix: "m", Confidence: 0.95, StartedAt: time.Now(), Revisions: list,
		Asked: "itl_p50"}
	b.Measure = func(_ context.Context, revision string) (*Measured, error) {
		x := itl(revision)
		if x == 0 {
			return nil, errors.New("the server exited early\nmore")
		}
		row := &record.Row{}
		row.Summary.ITL = &stats.Summary{N: 100, P50: x * math.Exp(0.01*rng.NormFloat64())}
		return &Measured{Dir: "m/" + revision, Rows: []*record.Row{row}}, nil
	}
	return b
}

func letters(n int) string {
	return strings.Join(strings.Split("abcdefghijklmnopqrstuvwxyz"[:n], ""), ",")
}

func TestFindsAndGoesOn(t *testing.T) {
	slower := func(revision string) float64 {
		switch {
		case revision == "c" || revision == "m": // do not start
			return 0
		case revision >= "k":
			return 12
		}
		return 10
	}
	b := planned(t, letters(20), slower)
	measure, n := b.Measure, 0
	ctx, cancel := context.WithCancel(t.Context())
	b.Measure = func(ctx context.Context, revision string) (*Measured, error) {
		if n++; n == 6 {
			cancel()
			return nil, ctx.Err()
		}
		return measure(ctx, revision)
	}
	if err := b.Run(ctx); !errors.Is(err, context.Canceled) || b.State != StateInterrupted || len(b.Runs) != 5 {
		t.Fatalf("%v, %s, %d runs", err, b.State, len(b.Runs))
	}
	again := planned(t, letters(20), slower)
	if err := again.Continue(b.Dir); err != nil || len(again.Runs) != 5 {
		t.Fatalf("%v, %d runs", err, len(again.Runs))
	}
	if err := again.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := again.Text(&text, 200); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"first bad k (", "ITL p50 +2", "0 builds"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in:\n%s", want, &text)
		}
	}
	x := again.Answer.Changes[0]
	if x.LastGood != "j" || x.GoodRun != filepath.Join(b.Dir, "m", "j") || x.Interval.Lo > 0.2 || x.Interval.Hi < 0.2 {
		t.Errorf("%+v", x)
	}
	other, row := planned(t, letters(19), slower), planned(t, letters(20), slower)
	row.Row = "other"
	for _, b := range []*Bisection{other, row} {
		if err := b.Continue(again.Dir); err == nil || len(b.Runs) > 0 {
			t.Error("a bisection of other revisions, or of another row, was continued")
		}
	}
}

// TestOnceMore: what fails once is tried again, and its time counts; what was measured is not passed over.
func TestOnceMore(t *testing.T) {
	slower := func(revision string) float64 { return map[bool]float64{true: 12, false: 10}[revision >= "e"] }
	b := planned(t, letters(8), slower)
	measure, failed := b.Measure, map[string]bool{}
	b.Measure = func(ctx context.Context, revision string) (*Measured, error) {
		if !failed[revision] {
			failed[revision] = true
			time.Sleep(time.Millisecond)
			return nil, errors.New("the port is busy")
		}
		return measure(ctx, revision)
	}
	if err := b.Run(t.Context()); err != nil || b.Answer.Changes[0].FirstBad[0] != "e" {
		t.Fatalf("%v: %+v", err, b.Answer)
	}
	for _, r := range b.Revisions {
		if r.State == PassedOver || failed[r.Name] && r.FailedS == 0 {
			t.Errorf("%+v", r)
		}
	}
	if b.SpentS < 1e-3*float64(len(failed)) {
		t.Errorf("%v s are spent", b.SpentS)
	}
	b.Measure = func(context.Context, string) (*Measured, error) { return nil, errors.New("the port is busy") }
	i := b.Runs[len(b.Runs)-1].Revision
	if err := b.step(t.Context(), i); err == nil || b.Revisions[i].State == PassedOver {
		t.Errorf("%v: %+v", err, b.Revisions[i])
	}
}

func TestLimitOfRuns(t *testing.T) {
	r := &Result{State: bisect.Unsettled, Confidence: 0.95, Metric: "itl_p50", Revisions: make([]Revision, 8),
		Answer: &Answer{Candidates: []string{"c", "d"}}}
	var text strings.Builder
	if err := r.Text(&text, 200); err != nil || !strings.HasPrefix(text.String(),
		"open, since the limit of 104 runs is reached: the first bad one is one of 2 revisions") {
		t.Errorf("%v:\n%s", err, &text)
	}
}

func TestNoDifference(t *testing.T) { synctest.Test(t, testNoDifference) }

func testNoDifference(t *testing.T) {
	b := planned(t, letters(9), func(string) float64 { return 10 })
	measure := b.Measure
	b.Measure = func(ctx context.Context, revision string) (*Measured, error) {
		time.Sleep(time.Minute)
		return measure(ctx, revision)
	}
	if err := b.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	want := regexp.MustCompile(`^open, whether ITL p50 differs: that nothing changed has a probability of [0-9]+ %; ` +
		`a change of [0-3]\.[0-9] % would have been seen \(4 of 5 times\); 0 builds, [0-9]+ runs\nITL p50: good `)
	if err := b.Text(&text, 200); err != nil || !want.MatchString(text.String()) || len(b.Answer.Changes) > 0 {
		t.Errorf("%v:\n%s", err, &text)
	}
	b.State, b.Answer = bisect.Unchanged, nil
	b.Answer = b.answer()
	text.Reset()
	if err := b.Text(&text, 200); err != nil || !strings.HasPrefix(text.String(), "no difference: ITL p50: good ") {
		t.Errorf("%v:\n%s", err, &text)
	}
}

func TestFromGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	repo := t.TempDir()
	script := `git init -q -b main . && git config user.email a@b && git config user.name a
for i in 1 2 3 4; do git commit -q --allow-empty -m "step $i"; git tag v$i; done
git checkout -q -b side v2 && git commit -q --allow-empty -m side
git checkout -q main && git merge -q --no-edit side && git tag main # git warns that it is ambiguous`
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir, cmd.Env = repo, append(os.Environ(), "HOME="+repo)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	list, err := FromGit(t.Context(), repo, "v1", "main")
	var subjects []string
	for _, r := range list {
		subjects = append(subjects, r.Subject)
	}
	if got := strings.Join(subjects, ", "); err != nil || got != "step 1, step 2, step 3, step 4, Merge branch 'side'" {
		t.Errorf("%v: %s", err, got)
	}
	if len(list[0].short()) != 9 {
		t.Errorf("%q is short", list[0].short())
	}
	for _, pair := range [][2]string{{"v4", "v1"}, {"side", "v4"}, {"none", "main"}, {"main", "main"}} {
		if _, err := FromGit(t.Context(), repo, pair[0], pair[1]); err == nil {
			t.Errorf("%v are a range", pair)
		}
	}
}

func TestFromList(t *testing.T) {
	for _, tt := range []struct{ list, want string }{
		{"a, b,c,d", "a b c d"},
		{"a,", "error: --revs: no revision is behind the first\nhint: list revisions from good to bad"},
		{"a,b,a", "error: revision a is listed twice"},
	} {
		var names []string
		list, err := FromList(tt.list)
		for _, r := range list {
			names = append(names, r.Name)
		}
		got := strings.Join(names, " ")
		if err != nil {
			got = "error: " + err.Error()
		}
		if got != tt.want {
			t.Errorf("%q: %q, want %q", tt.list, got, tt.want)
		}
	}
}
