package workload

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bench/experiment/trace"
)

// TestFilesAreReadOnce: what was looked at once is there for every later point, though the file is gone.
func TestFilesAreReadOnce(t *testing.T) {
	log := written(t, "log.csv", "in,out\n300,5\n20,6\n")
	lines := written(t, "turns.txt", "2\n3\n")
	file := func(name string, columns ...string) *File { return &File{Name: name, Columns: columns} }
	drawn := func(f *File) Length { return Length{Dist: "empirical", File: f} }
	point := func() *Workload {
		return &Workload{
			Input: drawn(file(log, "in")), Output: drawn(file(log, "out")), Pairs: &Pairs{File: file(log, "in", "out")},
			Session: &Session{Turns: Turns{drawn(file(lines))}, User: drawn(file(lines))},
			Mix:     []Class{{Input: drawn(file(log, "out")), Output: Fixed(3), Session: &Session{Turns: Turns{drawn(file(lines))}}}},
			Trace:   &Trace{Options: trace.Options{File: traceFile(t, mooncake)}},
		}
	}
	files := new(Files)
	look := func(w *Workload) (got reported) {
		w.Look(files, got.bad)
		w.Trace.Look(files, got.bad)
		return got
	}
	first, second := point(), point()
	second.Trace.File = first.Trace.File
	if got := look(first); len(got) > 0 {
		t.Fatal(got)
	}
	for _, name := range []string{log, lines, first.Trace.File} {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	if got := look(second); len(got) > 0 {
		t.Fatal(got)
	}
	if d := cmp.Diff(first, second); d != "" {
		t.Errorf("another point of the same files:\n%s", d)
	}
	want := [][]int{{300, 20}, {5, 6}}
	if d := cmp.Diff(want, second.Pairs.File.Read); d != "" || second.Pairs.File.Count != 2 || second.Mix[0].Session.Turns.File.Read[0][1] != 3 {
		t.Errorf("read wrong:\n%s", d)
	}
	third, other := point(), reported{}
	third.Look(new(Files), other.bad)
	other.want(t, "input.file", "output.file", "pairs.file", "session.turns.file", "session.user.file", "mix[0].input.file", "mix[0].session.turns.file")
}

// TestFilesTellApart: other columns of one file, and other options of one trace, are other data.
func TestFilesTellApart(t *testing.T) {
	files := new(Files)
	a, b := &Trace{Options: trace.Options{File: traceFile(t, mooncake)}}, &Trace{}
	b.Options = a.Options
	b.MinInput = 1000
	for _, x := range []*Trace{a, b} {
		x.Look(files, func(key, problem, _ string) { t.Fatal(key, problem) })
	}
	if a.Head.Whole != 4 || b.Head.Whole != 2 || a.SHA256 != b.SHA256 {
		t.Errorf("%+v\n%+v", a, b)
	}
	log := written(t, "log.csv", "a,b,\"a\"\" \"\"b\"\n1,2,3\n")
	for want, columns := range map[int][]string{1: {"a"}, 2: {"b"}, 3: {`a" "b`}} {
		l := &File{Name: log, Columns: columns}
		if err := l.look(files); err != nil || l.Read[0][0] != want {
			t.Errorf("%q: %v, %v", columns, l.Read, err)
		}
	}
}
