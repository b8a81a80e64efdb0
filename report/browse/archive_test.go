package browse

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"bench/experiment/record"
	fixture "bench/internal/reporttest"
	"bench/report/compare"
)

// many is a directory of n runs.
func many(t testing.TB, n int) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "results")
	writeMany(t, dir, n)
	return dir
}

func open(t testing.TB, dir string) *Archive {
	t.Helper()
	a, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

func update(t testing.TB, a *Archive) (nights []compare.Night, fresh int) {
	t.Helper()
	nights, fresh, err := a.Update(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return nights, fresh
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func rewrite(t *testing.T, name string, change func(*record.Manifest)) {
	t.Helper()
	text, err := os.ReadFile(name)
	check(t, err)
	var m record.Manifest
	check(t, json.Unmarshal(text, &m))
	change(&m)
	text, err = json.Marshal(m)
	check(t, err)
	check(t, os.WriteFile(name, text, 0o644))
}

// The first night of WriteMany.
const first = "chat/20261120T120000Z"

func TestHeadline(t *testing.T) {
	dir := many(t, 1)
	check(t, os.WriteFile(filepath.Join(dir, first, "gate.json"), []byte(`{"schema":"bench/gate/v1","verdict":"FAIL"}`), 0o644))
	nights, _ := update(t, open(t, dir))
	if len(nights) != 1 || nights[0].Error != "" {
		t.Fatalf("%+v", nights)
	}
	h := *nights[0].Headline
	if h.State != "done" || h.Rows != 6 || h.Planned != 6 || h.Server != "vllm 0.11.2" || h.Answer != "SHIP" || h.Verdict != "PASS" || h.Workloads != 2 ||
		h.Point != "D-saturation, concurrency 16" || gate(&nights[0]) != "FAIL" || h.Invalid != 0 {
		t.Errorf("%+v", h)
	}
	if h.PerGPU == nil || *h.PerGPU < 480 || *h.PerGPU > 570 || h.TTFT == nil || h.TTFT.Stat != "p99" || h.TPOT == nil || h.TPOT.Stat != "p95" || h.GPUSeconds == nil {
		t.Errorf("%+v", h)
	}
}

// Of a directory that is read again, only what changed is read.
func TestIndex(t *testing.T) {
	dir := many(t, 6)
	if nights, fresh := update(t, open(t, dir)); len(nights) != 6 || fresh != 6 {
		t.Fatalf("%d of %d are fresh", fresh, len(nights))
	}
	a := open(t, dir)
	if nights, fresh := update(t, a); len(nights) != 6 || fresh != 0 {
		t.Errorf("with an index %d of %d are fresh", fresh, len(nights))
	}
	check(t, os.WriteFile(filepath.Join(dir, "trace.json"), []byte("{}"), 0o644))
	if _, fresh := update(t, a); fresh != 0 || len(compare.ReadIndex(a.files).Others) != 1 {
		t.Errorf("%d are fresh, or the index lacks a file that is no run", fresh)
	}
	rewrite(t, filepath.Join(dir, first, "run.json"), func(m *record.Manifest) { m.State = "interrupted" })
	check(t, os.RemoveAll(filepath.Join(dir, "rag", "20261121T120000Z")))
	nights, fresh := update(t, a)
	if len(nights) != 5 || fresh != 1 || nights[0].Headline.State != "interrupted" {
		t.Errorf("%d of %d are fresh: %+v", fresh, len(nights), nights[0].Headline)
	}
	if nights, fresh := update(t, open(t, dir)); len(nights) != 5 || fresh != 0 {
		t.Errorf("the index is stale: %d of %d are fresh", fresh, len(nights))
	}
	check(t, os.WriteFile(filepath.Join(dir, compare.IndexName), []byte("{"), 0o644))
	if nights, fresh := update(t, open(t, dir)); len(nights) != 5 || fresh != 5 {
		t.Errorf("with a damaged index %d of %d are fresh", fresh, len(nights))
	}
}

// A long Update shows and keeps what it has read, the latest runs first: readers do not wait, and one that is killed goes on.
func TestReadsInParts(t *testing.T) {
	const runs = 50
	dir := many(t, runs)
	a := open(t, dir)
	a.Begin()
	s := NewServer(a).Handler()
	if _, _, page := get(t, s, "/"); !strings.Contains(page, "searching the directory for runs") {
		t.Errorf("before it begins: %s", page)
	}
	var left []int
	nights, fresh, err := a.Update(t.Context(), func(part Part) {
		left = append(left, part.Left)
		soFar, more, err := a.nights(t.Context())
		if err != nil || len(soFar) != runs-part.Left || more != part.Left {
			t.Errorf("%d read, %d left, %v; want %d", len(soFar), more, err, part.Left)
		}
		kept := compare.ReadIndex(os.DirFS(dir))
		if len(kept.Nights) != len(soFar) {
			t.Errorf("the index has %d of %d runs", len(kept.Nights), len(soFar))
		}
		if _, _, page := get(t, s, "/"); !strings.Contains(page, "of 50 runs read") {
			t.Error("the table does not show how far it is")
		}
		if n := len(soFar); n > 0 && !soFar[0].StartedAt.After(fixture.Began.AddDate(0, 0, runs-n-1)) {
			t.Errorf("the earliest of %d is of %v", n, soFar[0].StartedAt)
		}
	})
	if err != nil || len(nights) != runs || fresh != runs || !slices.Equal(left, []int{50, 34, 18, 2}) {
		t.Errorf("%d runs, %d fresh, %v left, %v", len(nights), fresh, left, err)
	}
	if _, _, page := get(t, s, "/"); strings.Contains(page, "runs read") {
		t.Error("the table is still being read")
	}
}

// A run that is being written has its state and the rows so far.
func TestRunning(t *testing.T) {
	dir := many(t, 1)
	rewrite(t, filepath.Join(dir, first, "run.json"), func(m *record.Manifest) {
		m.State, m.EndedAt = "running", time.Time{}
		for i := range m.Plan[1:] {
			m.Plan[i+1].State = "planned"
		}
	})
	rows, err := filepath.Glob(filepath.Join(dir, first, "D-*.json"))
	check(t, err)
	for _, row := range rows {
		check(t, os.Remove(row))
	}
	nights, _ := update(t, open(t, dir))
	if v := newRunView(&nights[0], false); v.State != "running, 1 of 6 rows" || v.Answer != "SHIP" {
		t.Errorf("%+v", v)
	}
}

// Without permission to write there is no index, and everything else.
func TestNoIndex(t *testing.T) {
	dir := many(t, 2)
	check(t, os.MkdirAll(filepath.Join(dir, compare.IndexName, "in the way"), 0o755)) // root may write everywhere
	a := open(t, dir)
	nights, fresh := update(t, a)
	if len(nights) != 2 || fresh != 2 || a.IndexError() == nil {
		t.Errorf("%d, %d, %v", len(nights), fresh, a.IndexError())
	}
	if left, _ := filepath.Glob(filepath.Join(dir, compare.IndexName+".*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	if _, fresh = update(t, a); fresh != 0 {
		t.Errorf("%d are read again", fresh)
	}
}

// The index replaces a link, and never what the link leads to.
func TestIndexIsNoLink(t *testing.T) {
	dir := many(t, 1)
	victim := filepath.Join(dir, first, "run.json")
	before, err := os.ReadFile(victim)
	check(t, err)
	check(t, os.Symlink(filepath.Join(first, "run.json"), filepath.Join(dir, compare.IndexName)))
	a := open(t, dir)
	update(t, a)
	if after, _ := os.ReadFile(victim); string(after) != string(before) || a.IndexError() != nil {
		t.Errorf("the link was followed, or %v", a.IndexError())
	}
}

// What leads out of the directory is not read, and listed with the reason.
func TestNothingOutside(t *testing.T) {
	dir := many(t, 12)
	secret := filepath.Join(filepath.Dir(dir), "secret")
	check(t, os.WriteFile(secret, []byte("S3CRET"), 0o644))
	runs, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	check(t, err)
	slices.Sort(runs)
	link := func(run int, name string) {
		name = filepath.Join(runs[run], name)
		_ = os.Remove(name)
		check(t, os.Symlink(secret, name))
	}
	link(0, "notes.md")
	link(1, "run.json")
	link(2, "A-short-chat-r1.json")
	link(3, "gate.json")
	check(t, syscall.Mkfifo(filepath.Join(runs[4], "B-r1.json"), 0o644)) // whoever reads it waits for ever
	rewrite(t, filepath.Join(runs[4], "run.json"), func(m *record.Manifest) { m.Plan = append(m.Plan, record.Planned{ID: "B-r1", State: "done"}) })
	check(t, os.Remove(filepath.Join(runs[5], "run.json")))
	check(t, syscall.Mkfifo(filepath.Join(runs[5], "run.json"), 0o644))
	check(t, os.Symlink(filepath.Dir(dir), filepath.Join(dir, "up"))) // a loop, too
	check(t, os.Symlink(secret, filepath.Join(dir, "secret.json")))
	check(t, os.Rename(runs[6], filepath.Join(dir, "moved")))
	check(t, os.Symlink("../moved", runs[6])) // inside: the run itself is found, its link is not followed
	nights, _ := update(t, open(t, dir))
	var unread []string
	gates := 0
	for _, n := range nights {
		if gate(&n) == "unreadable" && strings.Contains(n.GateError, "path escapes") {
			gates++
		}
		text, err := json.Marshal(n)
		check(t, err)
		if strings.Contains(string(text), "S3CRET") {
			t.Errorf("the secret is shown: %s", text)
		}
		if n.Headline == nil {
			unread = append(unread, n.Dir+": "+n.Error)
		}
	}
	if len(nights) != 13 || len(unread) != 6 || gates != 1 {
		t.Errorf("%d runs, %d unreadable gates, not readable: %d\n%s", len(nights), gates, len(unread), strings.Join(unread, "\n"))
	}
}

func TestOpenNothing(t *testing.T) {
	if _, err := Open(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	nights, fresh := update(t, open(t, t.TempDir()))
	if len(nights) != 0 || fresh != 0 {
		t.Error(nights)
	}
}

func BenchmarkIndex(b *testing.B) {
	dir := many(b, 1000)
	b.Run("build", func(b *testing.B) {
		for b.Loop() {
			_ = os.Remove(filepath.Join(dir, compare.IndexName))
			update(b, open(b, dir))
		}
	})
	b.Run("start", func(b *testing.B) {
		for b.Loop() {
			update(b, open(b, dir))
		}
	})
	a := open(b, dir)
	nights, _ := update(b, a)
	b.Run("update", func(b *testing.B) {
		for b.Loop() {
			update(b, a)
		}
	})
	b.Run("table", func(b *testing.B) {
		for b.Loop() {
			if err := tableTemplate().Execute(io.Discard, newTable(NewServer(a).shell, dir, Query{}, nights)); err != nil {
				b.Fatal(err)
			}
		}
	})
}
