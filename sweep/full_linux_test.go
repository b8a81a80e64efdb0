package sweep

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bench/experiment/mock"
)

// small mounts a file system of a few MiB.
func small(t *testing.T, options string) string {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can mount a small file system")
	}
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, options); err != nil {
		t.Skipf("mounting: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func TestFullDisk(t *testing.T) {
	base, _ := startMock(t, mock.Config{})
	dir := small(t, "size=1m")
	_, err := sweepTo(t, t.Context(), base, tiny, Options{Out: dir})
	if err == nil || !strings.Contains(err.Error(), "no space left") || !strings.Contains(err.Error(), "hint: free some space, or choose another place with --out DIR") {
		t.Errorf("got %v", err)
	}
	if left := names(t, filepath.Join(dir, "tiny")); len(left) != 0 {
		t.Errorf("a run that was never begun left %v", left)
	}
}

func TestDiskFillsUp(t *testing.T) {
	base, _ := startMock(t, mock.Config{})
	dir := small(t, "size=8m")
	ballast := filepath.Join(dir, "ballast")
	event := func(e Event) {
		if e.Finished != nil && e.Finished.Row.ID == "a-r1" {
			if err := os.WriteFile(ballast, make([]byte, 5<<20), 0o644); err != nil {
				t.Error(err)
			}
		}
	}
	result, err := sweepTo(t, t.Context(), base, tiny, Options{Out: dir, Event: event})
	if err == nil || !strings.Contains(err.Error(), "no space left") || !strings.Contains(err.Error(), "resume with --resume "+result.Dir) {
		t.Fatalf("got %v", err)
	}
	for _, name := range names(t, result.Dir) {
		if strings.HasPrefix(name, "b-r1") || strings.HasSuffix(name, partial) {
			t.Errorf("%s was left", name)
		}
	}
	if m := manifestOf(t, result.Dir); states(m) != "a-r1 done, b-r1 planned" || m.State != "failed" {
		t.Errorf("%s: %s", m.State, states(m))
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if again := complete(t, base, tiny, Options{Resume: result.Dir}); states(again.Manifest) != "a-r1 done, b-r1 done" {
		t.Errorf("%s", states(again.Manifest))
	}
}

func TestReadOnly(t *testing.T) {
	base, _ := startMock(t, mock.Config{})
	dir := small(t, "size=8m,ro")
	_, err := sweepTo(t, t.Context(), base, tiny, Options{Out: dir})
	if err == nil || !strings.Contains(err.Error(), "hint: choose another with --out DIR") {
		t.Errorf("got %v", err)
	}
}
