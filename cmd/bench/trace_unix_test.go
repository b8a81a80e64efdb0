package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestTraceIsInterrupted interrupts the reading of an endless pipe.
func TestTraceIsInterrupted(t *testing.T) {
	for _, words := range [][]string{{"trace"}, {"trace", "-o", "out.jsonl"}} {
		t.Run(strings.Join(words, " "), func(t *testing.T) {
			dir := t.TempDir()
			t.Chdir(dir)
			if err := syscall.Mkfifo("pipe", 0o600); err != nil {
				t.Skip(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() {
				w, err := os.OpenFile(filepath.Join(dir, "pipe"), os.O_WRONLY, 0)
				if err != nil {
					cancel()
					return
				}
				defer w.Close()
				row := []byte(`{"timestamp": 0, "input_length": 512, "output_length": 20, "hash_ids": [1]}` + "\n")
				_, _ = w.Write(bytes.Repeat(row, 10_000)) // more than any buffer holds: the reading has begun
				cancel()
				<-t.Context().Done()
			}()
			var stdout, stderr bytes.Buffer
			if code := bench(ctx, nil, &stdout, &stderr, append(words, "pipe")); code != codeInterrupted {
				t.Errorf("exit code %d: %s", code, &stderr)
			}
			if !strings.HasPrefix(stderr.String(), "error: interrupted") {
				t.Errorf("it says %q", &stderr)
			}
			if left, _ := os.ReadDir("."); len(left) != 1 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// TestTraceOfAPipe: an interrupt ends the wait for a pipe's writer; what one writes is read like a file.
func TestTraceOfAPipe(t *testing.T) {
	dir := t.TempDir()
	silent, pipe := filepath.Join(dir, "silent"), filepath.Join(dir, "pipe")
	for _, path := range []string{silent, pipe} {
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Skip(err)
		}
	}
	var stdout, stderr bytes.Buffer
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if code := bench(ctx, nil, &stdout, &stderr, []string{"trace", silent}); code != codeInterrupted { // its open goes on waiting for a writer
		t.Errorf("nobody writes: exit code %d: %s", code, &stderr)
	}
	go func() {
		row := []byte(`{"timestamp": 0, "input_length": 512, "output_length": 20, "hash_ids": [1]}` + "\n")
		if err := os.WriteFile(pipe, row, 0); err != nil {
			t.Error(err)
		}
	}()
	if code := bench(t.Context(), nil, &stdout, &stderr, []string{"trace", pipe}); code != codeDone || !strings.Contains(stdout.String(), "1 request") {
		t.Errorf("exit code %d: %s%s", code, &stdout, &stderr)
	}
}
