package collect

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// proc is a /proc of files that say what a test writes.
func proc(t *testing.T) (root string, write func(name, text string)) {
	root = t.TempDir()
	write = func(name, text string) {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("stat", "cpu 0\ncpu0 100 0 0 100 0 0 0 0\ncpu1 100 0 0 100 0 0 0 0\nintr 1\n")
	write("self/task/10/schedstat", "5 1000000 1\n")
	write("self/task/11/schedstat", "5 2000000 1\n")
	write("self/fd/0", "")
	write("self/fd/1", "")
	return root, write
}

func TestReadProc(t *testing.T) {
	root, write := proc(t)
	s := newSampler(root)
	defer s.close()
	before, now := new(reading), new(reading)
	s.read(before, nil)

	write("stat", "cpu 0\ncpu0 115 0 0 105 0 0 0 5\ncpu1 100 0 0 125 0 0 0 0\nintr 1\n") // 15 of 25 and 0 of 25 ticks, 5 stolen
	write("self/task/10/schedstat", "5 26000000 1\n")                                    // 25 ms
	if err := os.RemoveAll(filepath.Join(root, "self/task/11")); err != nil {            // a thread ended
		t.Fatal(err)
	}
	write("self/task/12/schedstat", "5 5000000 1\n") // and one began
	s.read(now, nil)
	now.at = before.at.Add(100 * time.Millisecond)
	x := difference(before, now)
	if len(x.CoreBusy) != 2 || x.CoreBusy[0] != 0.6 || x.CoreBusy[1] != 0 || *x.Steal != 0.1 {
		t.Errorf("cores %v, stolen %v", x.CoreBusy, *x.Steal)
	}
	if *x.RunDelay != 0.3 {
		t.Errorf("%g threads waited, want 30 ms in 100", *x.RunDelay)
	}
	if n := s.procfs.descriptors(); n == nil || *n < 2 {
		t.Errorf("%v files", n)
	}
}

// A file of a machine with many cores is longer than the first buffer.
func TestReadLongFile(t *testing.T) {
	root, write := proc(t)
	write("stat", "cpu 0\n"+strings.Repeat("cpu7 100 0 0 100 0 0 0 0\n", 2000))
	s := newSampler(root)
	defer s.close()
	var r reading
	if s.read(&r, nil); len(r.cores) != 2000 {
		t.Errorf("%d cores", len(r.cores))
	}
}

// A core that goes offline leaves a sample without shares, not with another core's.
func TestCoreGoesOffline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		root, write := proc(t)
		s := newSampler(root)
		defer s.close()
		before, now := new(reading), new(reading)
		s.read(before, nil)
		write("stat", "cpu 0\ncpu1 300 0 0 100 0 0 0 0\n")
		s.read(now, nil)
		if x := difference(before, now); x.CoreBusy != nil || x.Steal != nil {
			t.Errorf("%v %v", x.CoreBusy, x.Steal)
		}
	})
}
