// Package deploy holds no code of bench: its tests hold the scripts and files beside them to what docs/install.md states.
package deploy

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// tree copies the files that git knows or would add to a folder of its own, and returns it.
func tree(t *testing.T) string {
	t.Helper()
	list := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = ".."
	names, err := list.Output()
	if err != nil {
		t.Skip("not a clone of git: ", err)
	}
	dir := t.TempDir()
	for name := range bytes.SplitSeq(bytes.TrimRight(names, "\x00"), []byte{0}) {
		from, to := filepath.Join("..", string(name)), filepath.Join(dir, string(name))
		info, err := os.Stat(from)
		if os.IsNotExist(err) { // deleted, not yet committed
			continue
		}
		text, err1 := os.ReadFile(from)
		err2 := os.MkdirAll(filepath.Dir(to), 0o755)
		if err != nil || err1 != nil || err2 != nil {
			t.Fatal(err, err1, err2)
		}
		if err := os.WriteFile(to, text, info.Mode().Perm()); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// run runs a command in dir, with more environment, and returns what it prints.
func run(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// long skips a test that takes minutes, unless BENCH_LONG is set.
func long(t *testing.T) {
	t.Helper()
	if os.Getenv("BENCH_LONG") == "" {
		t.Skip("it compiles bench anew: BENCH_LONG=1 runs it")
	}
}
