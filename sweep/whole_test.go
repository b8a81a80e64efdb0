package sweep

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func writes(text string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}

// TestWriteWholeLeavesWhatIsNoFile writes into a pipe, which a file must not replace.
func TestWriteWholeLeavesWhatIsNoFile(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	read := make(chan string, 1)
	go func() {
		text, _ := os.ReadFile(pipe)
		read <- string(text)
	}()
	if err := WriteWhole(pipe, writes("words")); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(pipe); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		t.Fatalf("the pipe is gone: %v, %v", info, err)
	}
	if got := <-read; got != "words" {
		t.Errorf("%q came through the pipe", got)
	}
}

// TestWriteWholeFollowsLinks replaces the file that a link leads to, and nothing on an error.
func TestWriteWholeFollowsLinks(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	if err := errors.Join(os.WriteFile(file, []byte("old"), 0o644), os.Symlink("file", link)); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	if err := WriteWhole(link, func(w io.Writer) error { return errors.Join(writes("half")(w), broken) }); !errors.Is(err, broken) {
		t.Fatalf("got %v", err)
	}
	if got, _ := os.ReadFile(file); string(got) != "old" {
		t.Errorf("after an error the file holds %q", got)
	}
	if err := WriteWhole(link, writes("new")); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(file); string(got) != "new" {
		t.Errorf("the file holds %q", got)
	}
	if to, err := os.Readlink(link); err != nil || to != "file" {
		t.Errorf("the link leads to %q: %v", to, err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 2 {
		t.Errorf("left behind: %v", left)
	}
}
