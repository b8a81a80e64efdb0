package compare

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bench/experiment/record"
	"bench/experiment/stats"
)

// night is a run of one point whose TTFT has this mean.
func night(i int, ttft float64, version string) Night {
	return Night{Dir: fmt.Sprint(i), Run: fmt.Sprint(i), StartedAt: time.Date(2026, 1, 1, 2, 0, 0, 0, time.UTC).AddDate(0, 0, i),
		Group: GroupKey{Matrix: "m", Model: "llama", Hardware: "h100-sxm"}, Facts: []Fact{{What: "server version", Value: version}, {What: "fact: driver", Value: "580"}},
		Points: []NightPoint{{Name: "A", Workload: "1",
			Figures: map[string]Value{"ttft_p99": {X: ttft, Repeats: 3}}}}}
}

// nights have a standard deviation of 2 %; from `step` on they are five of them slower.
func nights(n, step int, r *rand.Rand) []Night {
	var out []Night
	for i := range n {
		x, version := 100*(1+0.02*r.NormFloat64()), "0.11"
		if step > 0 && i >= step {
			x, version = x*1.1, "0.12"
		}
		out = append(out, night(i, x, version))
	}
	return out
}

// A step of five between-night standard deviations raises an alarm or is a change-point within three
// nights, and is a change-point within five, at its place, with what else changed.
func TestStepIsSeen(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 1))
	trials := 20
	if long() {
		trials = 300
	}
	const step = 70
	alarmed, confirmed := 0, 0
	for range trials {
		all := nights(100, step, r)
		seen := func(upTo int) *Trend { return &NewHistory(all[:upTo]).Groups[0].Trends[0] }
		if third := seen(step + 3); seen(step+1).Alarm != nil || seen(step+2).Alarm != nil || third.Alarm != nil || len(third.Changes) > 0 {
			alarmed++
		}
		trend := seen(step + 5)
		if n := len(trend.Changes); n > 0 && trend.Changes[n-1].At >= step-1 && trend.Changes[n-1].At <= step+1 {
			confirmed++
			if c := trend.Changes[n-1]; !c.Worse || len(c.Suspects) != 1 || c.Suspects[0].What != "server version" || c.Suspects[0].Was != "0.11" {
				t.Errorf("the change is %+v, want a worse one with the server's version", c)
			}
		}
	}
	t.Logf("alarm or change-point within three nights in %d, change-point within five in %d, of %d trials", alarmed, confirmed, trials)
	if alarmed < trials*85/100 || confirmed < trials-trials/50 {
		t.Error("want an alarm or a change-point in 17 of 20, a change-point in 49 of 50")
	}
}

// A thousand quiet nights, looked at night by night, raise one false alarm at most, and no change-point is in
// them at their end.
func TestQuietNights(t *testing.T) {
	seeds := []uint64{1}
	if long() {
		seeds = []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20}
	}
	for _, seed := range seeds {
		r := rand.New(rand.NewPCG(13, seed))
		var values []float64
		for range 1000 {
			values = append(values, 0.02*r.NormFloat64())
		}
		alarms, looks := 0, 0
		for n := 1; n <= len(values); n++ {
			if _, ok := outlier(values[:n], alarmRisk); ok {
				alarms++
			}
			if long() && seed < 4 && len(stats.ChangePoints(values[max(0, n-mostNights):n])) > 0 {
				looks++
			}
		}
		found := stats.ChangePoints(values[len(values)-mostNights:])
		t.Logf("seed %d: %d alarms, %d change-points; %d of a thousand looks show one", seed, alarms, len(found), looks)
		if alarms > 1 || len(found) > 0 {
			t.Errorf("seed %d: %d alarms, %d change-points in a thousand quiet nights", seed, alarms, len(found))
		}
	}
}

// Invalid nights are shown and ignored by tests; another model is another group.
func TestHistoryGroups(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 30))
	all := nights(30, 0, r)
	all[29].Points[0].Figures["ttft_p99"] = Value{X: 900, Invalid: []string{"errors"}}
	other := night(31, 50, "0.11")
	other.Group.Model = "qwen"
	broken := Night{Dir: "x", Error: "not whole"}
	h := NewHistory(append(all, other, broken))
	if len(h.Groups) != 2 || len(h.Unread) != 1 {
		t.Fatalf("%d groups, %d unread", len(h.Groups), len(h.Unread))
	}
	if tr := h.Groups[0].Trends[0]; tr.Alarm != nil || len(tr.Changes) > 0 || len(tr.Nights) != 30 {
		t.Errorf("an invalid night counts: %+v", tr.Alarm)
	} else if tr.Unwatched != "the last night is invalid; 29 of 30 nights are valid" {
		t.Errorf("not watched for %q", tr.Unwatched)
	}
	if tr := h.Groups[1].Trends[0]; !strings.HasPrefix(tr.Unwatched,
		"an alarm needs 10 valid nights before the last one, not 0") {
		t.Errorf("a single night is not watched for %q", tr.Unwatched)
	}
	all[29].Points[0].Figures["ttft_p99"] = Value{X: 900}
	if tr := NewHistory(all).Groups[0].Trends[0]; tr.Alarm == nil || !tr.Alarm.Worse || tr.Unwatched != "" {
		t.Error("a valid night nine times as slow raises no alarm")
	}
}

// Suspects of the night itself come first: a terminal shows only the first.
func TestSuspectOfTheNightComesFirst(t *testing.T) {
	all := nights(40, 20, rand.New(rand.NewPCG(13, 50)))
	for i := range all {
		all[i].Facts = []Fact{{What: "server version", Value: fmt.Sprint(i)}}
	}
	changes := NewHistory(all).Groups[0].Trends[0].Changes
	if len(changes) == 0 || len(changes[0].Suspects) != 3 || changes[0].Suspects[0].Value != fmt.Sprint(changes[0].At) {
		t.Errorf("changes %+v", changes)
	}
}

// A changed workload is another trend, not a regression.
func TestHistoryTellsWorkloadsApart(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 40))
	all := nights(40, 20, r)
	for i := range all[20:] {
		all[20+i].Points[0].Workload = "2"
	}
	trends := NewHistory(all).Groups[0].Trends
	if len(trends) != 2 || trends[0].Unwatched != TrendEnded || trends[1].Unwatched != "" || len(trends[0].Changes)+len(trends[1].Changes) > 0 || trends[1].Point != "A (workload 2)" {
		t.Errorf("%d trends", len(trends))
	}
}

// A thousand runs are read once, then taken from the index; only changed ones are read again.
func TestReadNightsKeepsAnIndex(t *testing.T) {
	root := t.TempDir()
	for i := range 1000 {
		dir := filepath.Join(root, fmt.Sprintf("2026%04d", i))
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "run.json"), []byte("{}"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r := rand.New(rand.NewPCG(13, 50))
	row, _ := quiet.repeat("A", 1, 1, r)
	read := func(dir string) (Run, error) {
		if strings.HasSuffix(dir, "20260007") {
			return Run{}, fmt.Errorf("not whole")
		}
		run := Run{Name: dir, Run: record.Run{Manifest: manifest(), Rows: []record.Row{row}}}
		run.Manifest.Run = filepath.Base(dir)
		return run, nil
	}
	all, fresh, err := ReadNights(os.DirFS(root), Index{}, read, nil)
	if err != nil || fresh != 1000 || len(all.Nights) != 1000 {
		t.Fatalf("%d of %d nights are fresh, %v", fresh, len(all.Nights), err)
	}
	start := time.Now()
	again, fresh, err := ReadNights(os.DirFS(root), all, read, nil)
	if err != nil || fresh != 0 || len(again.Nights) != 1000 {
		t.Errorf("%d of %d nights are read again, %v", fresh, len(again.Nights), err)
	}
	h := NewHistory(again.Nights)
	t.Logf("from the index: %v", time.Since(start))
	if len(h.Unread) != 1 || len(h.Groups) != 1 || len(h.Groups[0].Nights) != 999 {
		t.Errorf("%d unread, %d groups", len(h.Unread), len(h.Groups))
	}
	if err := os.WriteFile(filepath.Join(root, "20260003", "A-r1.json"), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, fresh, _ = ReadNights(os.DirFS(root), all, read, nil); fresh != 1 {
		t.Errorf("%d nights are read again after one changed", fresh)
	}
}

// Other tools' files are nights; other files, and those inside a run, are not, and are read once.
func TestReadNightsOfFiles(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"run/run.json", "run/A-r1.json", "a.json", "deep/b.jsonl", "list.json", ".bench-history.json", "notes.md"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	others := 0
	read := func(name string) (Run, error) {
		if filepath.Base(name) == "list.json" {
			others++
			return Run{}, fmt.Errorf("reading it: %w", ErrNoRun)
		}
		return Run{Run: record.Run{Manifest: manifest()}}, nil
	}
	index, fresh, err := ReadNights(os.DirFS(root), Index{}, read, nil)
	var names []string
	for _, n := range index.Nights {
		names = append(names, n.Dir)
	}
	if got := strings.Join(names, " "); got != "run a.json deep/b.jsonl" || fresh != 3 || err != nil {
		t.Errorf("read %s, %d fresh, %v", got, fresh, err)
	}
	again, fresh, _ := ReadNights(os.DirFS(root), index, read, nil)
	if fresh != 0 || others != 1 || !again.Same(index) || index.Same(Index{Nights: index.Nights}) {
		t.Errorf("%d nights are read again, list.json %d times: %+v", fresh, others, again.Others)
	}
	if err := os.WriteFile(filepath.Join(root, "list.json"), []byte("another"), 0o644); err != nil {
		t.Fatal(err)
	}
	if changed, _, _ := ReadNights(os.DirFS(root), again, read, nil); others != 2 || changed.Same(again) {
		t.Error("a changed file is not read again")
	}
	if err := os.WriteFile(filepath.Join(root, "a.json"), []byte("another"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, fresh, _ := ReadNights(os.DirFS(root), index, read, nil); fresh != 1 {
		t.Errorf("%d nights are read again after one changed", fresh)
	}
}
